//! Why a module cannot be rendered, and what to do about it.

use opm_core::name::{ComponentName, NameError};
use thiserror::Error;

use crate::chart::ChartError;
use crate::components::ComponentsError;
use crate::cue::CueError;
use crate::kustomize::KustomizeError;
use crate::manifests::FilesError;
use crate::module_dir::DirError;
use crate::program::CommandError;
use crate::values::{ResolveError, ValuesError};
use crate::yaml_module::ModuleFileError;
use crate::zarf::ZarfError;

/// Why a module cannot be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// Neither format's files are there.
    #[error("{path}: not a module: it has neither module.yaml nor cue.mod, and no manifests")]
    NotAModule {
        /// The directory.
        path: String,
        /// Directories below it that may have manifests.
        below: Vec<String>,
    },
    /// Nothing tells what a module without a module file is called.
    #[error("{what}: it has no module file, and nothing else tells the module's name: {source}")]
    Unnamed {
        /// What was given.
        what: String,
        /// Why it gives no name.
        source: NameError,
    },
    /// Two tools would make something of it.
    #[error(
        "{path}: has both a kustomization and a Chart.yaml, and no module file says which counts"
    )]
    TwoTools {
        /// The directory.
        path: String,
    },
    /// A directory beside files.
    #[error("{path} is a directory: a module is one directory, or files")]
    DirectoryAmongFiles {
        /// The directory.
        path: String,
    },
    /// The same file twice.
    #[error("{given:?} is given twice")]
    Twice {
        /// The file.
        given: String,
    },
    /// The file has the wrong ending.
    #[error("{path}: not a module: it has a module.yml, but the file must be called module.yaml")]
    NearlyAModule {
        /// The directory.
        path: String,
    },
    /// Both formats' files are there.
    #[error("{path}: has both module.yaml and cue.mod; a module has one format")]
    TwoFormats {
        /// The directory.
        path: String,
    },
    /// A file of the module cannot be read.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// Values for a module that takes none.
    #[error("{path}: this module takes no values")]
    NoValues {
        /// The module.
        path: String,
    },
    /// A schema for values is none.
    #[error("{place}: this is no JSON Schema: {why}")]
    Schema {
        /// The file.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Values that are not the module's.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Files with definitions of custom resources are not valid.
    #[error("{source}")]
    Definitions {
        /// What is wrong.
        source: Box<FilesError>,
    },
    /// Components do not fit together.
    #[error(transparent)]
    Components(#[from] ComponentsError),
    /// The given values are not valid.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// A CUE module cannot be evaluated.
    #[error(transparent)]
    Cue(Box<CueError>),
    /// The operating system has no thread left.
    #[error("failed to start a thread: {source}")]
    Thread {
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A name breaks its rules.
    #[error(transparent)]
    Name(#[from] NameError),
    /// module.yaml is not valid.
    #[error("{place}: {source}")]
    ModuleFile {
        /// File, line and column.
        place: String,
        /// What is wrong.
        source: Box<ModuleFileError>,
    },
    /// A Zarf package definition is not valid, or not supported.
    #[error(transparent)]
    Zarf(Box<ZarfError>),
    /// A component's chart cannot be rendered.
    #[error("component `{component}`: {source}")]
    Chart {
        /// The component.
        component: ComponentName,
        /// What is wrong.
        source: Box<ChartError>,
    },
    /// A component's kustomization cannot be built.
    #[error("component `{component}`: {source}")]
    Kustomize {
        /// The component.
        component: ComponentName,
        /// What is wrong.
        source: Box<KustomizeError>,
    },
    /// Files that were given are not valid.
    #[error("{source}")]
    Given {
        /// What is wrong.
        source: Box<FilesError>,
    },
    /// A component's files are not valid.
    #[error("{place}component `{component}`: {source}")]
    Component {
        /// File, line and column of the path that is wrong, before a colon; empty if it is not one.
        place: String,
        /// The component.
        component: ComponentName,
        /// What is wrong.
        source: Box<FilesError>,
    },
}

impl RenderError {
    /// Whether the caller gave up, by its token or its observer.
    pub fn is_interrupted(&self) -> bool {
        let error = match self {
            Self::Cue(error) => error,
            Self::Chart { source, .. } => return source.is_interrupted(),
            Self::Kustomize { source, .. } => return source.is_interrupted(),
            _ => return false,
        };
        matches!(
            error.as_ref(),
            CueError::Command(CommandError::Interrupted(_))
        )
    }

    /// What to do next, as far as it is known.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NotAModule { below, .. } if !below.is_empty() => vec![format!(
                "there are manifests in {}: name one of these, or list them in a module.yaml",
                below.join(", ")
            )],
            Self::NotAModule { .. } => {
                vec!["`opm mod init DIR` writes a new module".to_owned()]
            }
            Self::Unnamed { .. } => vec!["--name gives it a name".to_owned()],
            Self::NearlyAModule { .. } => vec!["rename it to module.yaml".to_owned()],
            Self::ModuleFile { source, .. } => source.hint().into_iter().collect(),
            Self::Definitions { source } => source.hint().into_iter().collect(),
            Self::Chart { source, .. } => source.hints(),
            Self::Given { source } if matches!(**source, FilesError::Manifest { .. }) => vec![
                "if it is not meant to be a manifest: `opm mod init` writes a module.yaml that \
                 lists the files, and there it can be left out"
                    .to_owned(),
            ],
            Self::Component { source, .. } | Self::Given { source } => {
                source.hint().into_iter().collect()
            }
            Self::NoValues { .. } => vec![
                "a module.yaml declares its values under `values`, and manifests use them as \
                 `${values.port}`"
                    .to_owned(),
            ],
            Self::Zarf(error) => error.hint().into_iter().collect(),
            Self::Kustomize { source, .. } => source.hint().into_iter().collect(),
            Self::Components(error) => error.hint().into_iter().collect(),
            Self::Cue(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

impl From<ZarfError> for RenderError {
    fn from(error: ZarfError) -> Self {
        Self::Zarf(Box::new(error))
    }
}

impl From<CueError> for RenderError {
    fn from(error: CueError) -> Self {
        Self::Cue(Box::new(error))
    }
}
