//! One part of a component, rendered: manifests are read, kustomizations built, charts rendered.

use std::path::Path;

use opm_core::manifest::Manifest;
use opm_core::name::ComponentName;
use opm_core::rendered::Module;

use crate::chart::{self, ChartRelease};
use crate::component_source::ComponentSource;
use crate::context::RenderContext;
use crate::error::RenderError;
use crate::lint::Lint;
use crate::manifests::{self, ManifestReader};
use crate::module_dir::ModuleDir;
use crate::{kustomize, yaml, yaml_module};

/// What a part renders to.
pub(crate) struct RenderedPart {
    pub(crate) manifests: Vec<Manifest>,
    /// A chart's name for its release, and which archive was fetched for it.
    pub(crate) fetched: Option<(String, String)>,
}

/// A part of a component, and all that has to be known to render it.
pub(crate) struct SourceToRender<'a> {
    pub(crate) dir: &'a ModuleDir,
    pub(crate) module: &'a Module,
    pub(crate) component: &'a ComponentName,
    pub(crate) release: ChartRelease<'a>,
}

impl SourceToRender<'_> {
    /// Its objects.
    pub(crate) fn render(
        &self,
        source: &ComponentSource,
        reader: &mut ManifestReader,
        context: &RenderContext<'_>,
    ) -> Result<RenderedPart, RenderError> {
        let component = || self.component.clone();
        let mut fetched = None;
        let manifests = match source {
            ComponentSource::Manifests(paths) => {
                let objects = reader.objects(self.dir, paths).map_err(Box::new);
                objects.map_err(|source| match self.module.undeclared {
                    true => RenderError::Given { source },
                    false => RenderError::Component {
                        place: place_of_path(self.dir, paths),
                        component: component(),
                        source,
                    },
                })?
            }
            ComponentSource::Kustomize(source) => {
                let built = kustomize::build(self.dir, source, context).map_err(|source| {
                    RenderError::Kustomize {
                        component: component(),
                        source: Box::new(source),
                    }
                })?;
                let objects = reader.texts(std::iter::once(Ok(built))).map_err(Box::new);
                objects.map_err(|source| RenderError::Component {
                    place: String::new(),
                    component: component(),
                    source,
                })?
            }
            ComponentSource::Chart(source) => {
                let failed = |source| RenderError::Chart {
                    component: component(),
                    source: Box::new(source),
                };
                let filled = reader.substitution().map(|with| source.filled_in(with));
                let filled = filled.transpose().map_err(|error| failed(error.into()))?;
                let source = filled.as_ref().unwrap_or(source);
                let chart = chart::render(self.dir, source, self.release, reader.memory(), context);
                let chart = chart.map_err(failed)?;
                reader.remember(chart.words);
                if source.lookup && self.release.lookup.is_none() {
                    reader.remember(vec![Lint::NoLookup(component())]);
                }
                let name = source.release_name.clone();
                let name = name.unwrap_or_else(|| self.release.name.to_string());
                fetched = chart.fetched.map(|archive| (name, archive));
                chart.manifests
            }
        };
        Ok(RenderedPart { manifests, fetched })
    }
}

/// Where module.yaml names the first path that leads to no files, if one does, as messages begin.
fn place_of_path(dir: &ModuleDir, paths: &[String]) -> String {
    let file = Path::new(yaml_module::FILE);
    let leads_nowhere = |path: &&String| manifests::files(dir, std::slice::from_ref(path)).is_err();
    let place = || {
        let path = paths.iter().find(leads_nowhere)?;
        let at = yaml::locate::scalar(&dir.read(file).ok()?, path)?;
        Some(format!("{}:{}:{}: ", dir.shown(file), at.line, at.column))
    };
    place().unwrap_or_default()
}
