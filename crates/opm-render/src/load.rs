//! From a module, wherever it is, to what it renders or says about itself. Blocking; the entry
//! points that choose a thread are [`crate::load`] and [`crate::ModuleRenderer`].

use std::collections::BTreeMap;
use std::path::Path;

use opm_core::name::{ComponentName, ModulePath, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::values::Value;

use crate::chart::{self, ChartRelease};
use crate::component_source::ComponentSource;
use crate::context::RenderContext;
use crate::error::RenderError;
use crate::manifests::ManifestReader;
use crate::module_dir::ModuleDir;
use crate::source::{Format, ModuleRef};
use crate::yaml_module::{self, ModuleDefinition, ModuleFileError};
use crate::{Inputs, Loaded, components, cue, origin};

/// Renders a module.
pub(crate) fn load(
    module: &ModuleRef,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let loaded = match module {
        ModuleRef::Directory(path) => load_directory(path, inputs, context)?,
        ModuleRef::Registry { path, version } => {
            let cached = cue::resolve(path, version, context)?;
            let mut loaded = load_directory(&cached.directory, inputs, context)?;
            loaded.rendered.module.version = Some(cached.version);
            loaded
        }
    };
    components::check(&loaded.rendered.components)?;
    Ok(loaded)
}

/// Whether a module has charts.
pub(crate) fn has_charts(module: &ModuleRef) -> bool {
    let ModuleRef::Directory(path) = module else {
        return false;
    };
    let definition = ModuleDir::open(path).map_err(RenderError::from);
    let definition = definition.and_then(|dir| read_module_file(&dir, yaml_module::parse));
    definition.is_ok_and(|module| {
        let mut components = module.components.iter();
        components.any(|one| matches!(one.source, ComponentSource::Chart(_)))
    })
}

/// Reads what a module says about itself.
pub(crate) fn describe(
    module: &ModuleRef,
    context: &RenderContext<'_>,
) -> Result<Module, RenderError> {
    match module {
        ModuleRef::Directory(path) => {
            let dir = ModuleDir::open(path)?;
            match Format::of(&dir)? {
                Format::Yaml => read_module_file(&dir, yaml_module::parse_metadata),
                Format::Cue => Ok(cue::describe(&dir, context)?),
            }
        }
        ModuleRef::Registry { path, version } => {
            let cached = cue::resolve(path, version, context)?;
            let dir = ModuleDir::open(&cached.directory)?;
            let mut module = cue::describe(&dir, context)?;
            module.version = Some(cached.version);
            Ok(module)
        }
    }
}

/// Name and namespace of a module's release: what is given, else what the module would like.
///
/// [`load`](crate::load) decides alike, so this finds the release that it rendered for.
pub fn release(
    module: &Module,
    name: Option<&ReleaseName>,
    namespace: Option<&NamespaceName>,
) -> Result<(ReleaseName, NamespaceName), RenderError> {
    let name = match name {
        Some(name) => name.clone(),
        None => ReleaseName::new(module.name.as_str())?,
    };
    let namespace = match namespace.or(module.default_namespace.as_ref()) {
        Some(namespace) => namespace.clone(),
        None => NamespaceName::new("default")?,
    };
    Ok((name, namespace))
}

fn load_directory(
    path: &Path,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let dir = ModuleDir::open(path)?;
    match Format::of(&dir)? {
        Format::Cue => Ok(cue::load(&dir, inputs, context)?),
        Format::Yaml if !inputs.values.is_empty() => Err(RenderError::NoValues {
            path: path.display().to_string(),
        }),
        Format::Yaml => load_yaml(&dir, inputs, context),
    }
}

fn load_yaml(
    dir: &ModuleDir,
    inputs: &Inputs,
    context: &RenderContext<'_>,
) -> Result<Loaded, RenderError> {
    let ModuleDefinition {
        mut module,
        components,
    } = read_module_file(dir, yaml_module::parse)?;
    if module.path == ModulePath::local(&module.name) {
        module.origin = origin::of(dir.root());
    }
    let (name, namespace) = release(&module, inputs.name.as_ref(), inputs.namespace.as_ref())?;
    let capabilities = inputs.capabilities.clone().unwrap_or_default();
    let chart_release = ChartRelease {
        name: &name,
        namespace: &namespace,
        capabilities: &capabilities,
    };
    let mut reader = ManifestReader::new(dir);
    let mut rendered = Vec::new();
    for component in components {
        let manifests = match &component.source {
            ComponentSource::Manifests(paths) => {
                let objects = reader.objects(paths);
                objects.map_err(|source| RenderError::Component {
                    component: component.name.clone(),
                    source: Box::new(source),
                })?
            }
            ComponentSource::Kustomize(_) => {
                return Err(unsupported(dir, &component.name, "kustomize"));
            }
            ComponentSource::Chart(source) => {
                let chart = chart::render(dir, source, chart_release, reader.memory(), context);
                let chart = chart.map_err(|source| RenderError::Chart {
                    component: component.name.clone(),
                    source: Box::new(source),
                })?;
                reader.remember(chart.words);
                chart.manifests
            }
        };
        rendered.push(Component {
            name: component.name,
            after: component.after,
            optional: component.optional,
            manifests,
        });
    }
    // What a YAML module has: no values at all.
    let values = Value::Struct(BTreeMap::new());
    Ok(Loaded {
        name,
        namespace,
        rendered: Rendered {
            module,
            values: values.to_cue(),
            components: rendered,
        },
        values,
        notes: reader.words(),
    })
}

fn unsupported(dir: &ModuleDir, component: &ComponentName, what: &'static str) -> RenderError {
    let component = component.clone();
    RenderError::ModuleFile {
        place: dir.shown(Path::new(yaml_module::FILE)),
        source: Box::new(ModuleFileError::Unsupported { component, what }),
    }
}

/// Reads module.yaml with one of the parsers, and says where in it an error is.
fn read_module_file<T>(
    dir: &ModuleDir,
    parse: impl FnOnce(&str) -> Result<T, ModuleFileError>,
) -> Result<T, RenderError> {
    let file = Path::new(yaml_module::FILE);
    let text = dir.read(file)?;
    parse(&text).map_err(|source| {
        let file = dir.shown(file);
        let place = match source.position() {
            Some(at) => format!("{file}:{}:{}", at.line, at.column),
            None => file,
        };
        RenderError::ModuleFile {
            place,
            source: Box::new(source),
        }
    })
}
