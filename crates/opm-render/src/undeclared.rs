//! Modules that nobody wrote a file for: what lies in a directory, or files that were given.
//!
//! Such a module has one component. It is named after its directory or file, unless the user
//! names it, and its path is `local/<name>`: what `init` writes for it says the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opm_core::name::{ComponentName, ModuleName, NameError, ReleaseName};
use opm_core::rendered::Module;

use crate::component_source::{
    ChartOrigin, ChartSource, ChartValues, ComponentSource, KustomizeSource,
};
use crate::error::RenderError;
use crate::kustomize::FILES as KUSTOMIZATIONS;
use crate::manifests::holds_objects;
use crate::module_dir::{DirError, ModuleDir};
use crate::origin;
use crate::values::{STANDARD_INPUT, read_any};
use crate::yaml_module::{self, ComponentDefinition, ModuleDefinition, ValuesDefinition};
use crate::zarf;

/// The name of the one component.
pub(crate) const COMPONENT: &str = "app";
/// What stands for all values of a release.
pub(crate) const ALL_VALUES: &str = "${values}";
/// What `opm` itself reads in a working directory.
const OWN_FILES: [&str; 2] = ["opm-config.yaml", "opm-config.json"];
/// The most that files may hold together.
const MAX_TOTAL: usize = 128 << 20;
/// How many directories further down a message names.
const SHOWN: usize = 3;

/// What a directory without a module file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// These files, which hold objects.
    Manifests(Vec<PathBuf>),
    /// This kustomization.
    Kustomization(&'static str),
    /// A Helm chart.
    Chart,
}

impl Found {
    /// Looks what there is in a directory.
    pub(crate) fn within(dir: &ModuleDir) -> Result<Option<Self>, RenderError> {
        let mut files = dir.list(Path::new(""))?;
        let kustomization = KUSTOMIZATIONS.into_iter().find(|name| dir.has(name));
        match (kustomization, dir.has(CHART)) {
            (Some(name), false) => return Ok(Some(Self::Kustomization(name))),
            (None, true) => return Ok(Some(Self::Chart)),
            (Some(_), true) => {
                return Err(RenderError::TwoTools {
                    path: dir.given().display().to_string(),
                });
            }
            (None, false) => {}
        }
        files.retain(|file| {
            let own = OWN_FILES.iter().any(|own| file == Path::new(own));
            !own && holds_objects(file) && !dir.root().join(file).is_dir()
        });
        Ok((!files.is_empty()).then_some(Self::Manifests(files)))
    }

    /// What was found, for people.
    pub(crate) fn shown(&self) -> Vec<String> {
        match self {
            Self::Manifests(files) => files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            Self::Kustomization(file) => vec![(*file).to_owned()],
            Self::Chart => vec![CHART.to_owned()],
        }
    }

    /// What the one component is made of.
    pub(crate) fn source(&self) -> ComponentSource {
        match self {
            Self::Manifests(_) => ComponentSource::Manifests(self.shown()),
            Self::Kustomization(_) => ComponentSource::Kustomize(KustomizeSource {
                path: ".".to_owned(),
                remote: false,
                any_directory: false,
            }),
            Self::Chart => ComponentSource::Chart(Box::new(ChartSource {
                origin: ChartOrigin::Path(".".to_owned()),
                values: vec![ChartValues::File(ALL_VALUES.to_owned())],
                set: BTreeMap::new(),
                release_name: None,
                skip_crds: false,
                lookup: false,
            })),
        }
    }
}

/// The file by which Helm knows a chart.
const CHART: &str = "Chart.yaml";

/// The directories below that hold what may be manifests, where the directory itself has none.
pub(crate) fn below(dir: &ModuleDir) -> Vec<String> {
    let files = dir.walk(Path::new("")).unwrap_or_default();
    let mut parents: Vec<&Path> = files
        .iter()
        .filter(|file| holds_objects(file))
        .filter_map(|file| file.parent())
        .collect();
    parents.dedup();
    let shown = parents.iter().take(SHOWN);
    shown.map(|parent| dir.shown(parent)).collect()
}

/// What such a directory says about itself.
pub(crate) fn describe(dir: &ModuleDir, name: Option<&ReleaseName>) -> Result<Module, RenderError> {
    let name = match name {
        Some(name) => ModuleName::new(name.as_str()),
        None => fitting_name(dir.root().file_name().and_then(|name| name.to_str())),
    };
    let name = name.map_err(|source| RenderError::Unnamed {
        what: dir.given().display().to_string(),
        source,
    })?;
    Ok(module(name, origin::of(dir.root())))
}

/// The whole of it, as a module file would define it.
pub(crate) fn definition(module: Module, found: &Found) -> Result<ModuleDefinition, RenderError> {
    Ok(ModuleDefinition {
        module,
        values: match found {
            Found::Chart => ValuesDefinition::any(),
            Found::Manifests(_) | Found::Kustomization(_) => ValuesDefinition::none(),
        },
        components: vec![ComponentDefinition {
            name: ComponentName::new(COMPONENT)?,
            after: Vec::new(),
            optional: false,
            by_default: false,
            sources: vec![found.source().into()],
        }],
        filled: None,
        left_out: Vec::new(),
    })
}

fn module(name: ModuleName, origin: Option<String>) -> Module {
    Module {
        origin,
        undeclared: true,
        ..Module::local(name)
    }
}

/// As much of a directory's or file's name as can be a module's name.
pub(crate) fn fitting_name(base: Option<&str>) -> Result<ModuleName, NameError> {
    let fitting: String = base
        .unwrap_or_default()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    ModuleName::new(fitting.trim_matches('-'))
}

/// Manifests that were given, as files or by standard input, and are read already: a pipe can be
/// read only once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenManifests {
    pub(crate) files: Arc<[GivenFile]>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GivenFile {
    /// What messages call it.
    pub(crate) shown: String,
    pub(crate) text: String,
}

impl std::fmt::Debug for GivenFile {
    /// Without the text, which may be a Secret's.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GivenFile").field(&self.shown).finish()
    }
}

impl GivenManifests {
    /// Reads what was given; `-` is standard input.
    pub(crate) fn read(given: &[String]) -> Result<Self, RenderError> {
        let (mut files, mut total) = (Vec::new(), 0);
        for (place, name) in given.iter().enumerate() {
            if given[..place].contains(name) {
                return Err(RenderError::Twice {
                    given: name.clone(),
                });
            }
            if Path::new(name).is_dir() {
                return Err(RenderError::DirectoryAmongFiles { path: name.clone() });
            }
            let text = read_any(name)?;
            total += text.len();
            if total > MAX_TOTAL {
                return Err(RenderError::Dir(DirError::TooLarge {
                    path: name.clone(),
                    limit: MAX_TOTAL as u64,
                }));
            }
            let shown = match name.as_str() {
                "-" => STANDARD_INPUT.to_owned(),
                path => path.to_owned(),
            };
            files.push(GivenFile { shown, text });
        }
        Ok(Self {
            files: files.into(),
        })
    }

    /// Manifests that are texts already: what messages call each, and the text.
    pub fn of_texts(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = texts.into_iter();
        let files = files.map(|(shown, text)| GivenFile { shown, text });
        Self {
            files: files.collect(),
        }
    }

    /// Each of them: what messages call it, and the text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter();
        files.map(|file| (file.shown.as_str(), file.text.as_str()))
    }

    /// What they say about themselves.
    pub(crate) fn describe(&self, name: Option<&ReleaseName>) -> Result<Module, RenderError> {
        let unnamed = |source| RenderError::Unnamed {
            what: self.to_string(),
            source,
        };
        let name = match (name, &*self.files) {
            (Some(name), _) => ModuleName::new(name.as_str()),
            (None, [file]) if file.shown != STANDARD_INPUT => {
                let stem = Path::new(&file.shown).file_stem();
                fitting_name(stem.and_then(|stem| stem.to_str()))
            }
            // More than one, and none of them stands for all.
            (None, _) => ModuleName::new(""),
        };
        Ok(module(name.map_err(unnamed)?, self.origin()))
    }

    /// Which files they are; a pipe comes from nowhere.
    fn origin(&self) -> Option<String> {
        let paths: Option<Vec<PathBuf>> = self
            .files
            .iter()
            .map(|file| {
                let path = Path::new(&file.shown);
                path.is_file().then(|| path.canonicalize().ok())?
            })
            .collect();
        origin::of_files(paths?)
    }
}

impl std::fmt::Display for GivenManifests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.files.iter().map(|file| file.shown.as_str()).collect();
        f.write_str(&names.join(", "))
    }
}

/// Whether what was given stands for manifests and not for a module's directory: a file, a pipe,
/// or what would be a file if it were there.
pub(crate) fn is_file(given: &str) -> bool {
    let path = Path::new(given);
    match path.metadata() {
        Ok(meta) => !meta.is_dir(),
        Err(_) => given == "-" || (!given.contains('@') && has_ending(path)),
    }
}

fn has_ending(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
}

/// Whether a file defines the directory that it is in.
pub(crate) fn defines_directory(given: &str) -> bool {
    let name = Path::new(given).file_name().and_then(|name| name.to_str());
    let definitions = [yaml_module::FILE, CHART, zarf::FILE];
    let mut definitions = definitions.iter().chain(&KUSTOMIZATIONS);
    name.is_some_and(|name| definitions.any(|definition| *definition == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_directories() {
        for (base, expected) in [
            (Some("web"), Some("web")),
            (Some("My_App"), Some("my-app")),
            (Some("shop.v2"), Some("shop-v2")),
            (None, None),
            (Some("___"), None),
        ] {
            let name = fitting_name(base).ok();
            assert_eq!(name.as_ref().map(ModuleName::as_str), expected, "{base:?}");
        }
        assert!(fitting_name(Some(&"long".repeat(50))).is_ok());
    }
}
