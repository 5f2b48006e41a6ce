//! Why a module cannot be rendered, and what to do about it.

use opm_core::name::{ComponentName, NameError};
use thiserror::Error;

use crate::chart::ChartError;
use crate::components::ComponentsError;
use crate::cue::CueError;
use crate::manifests::FilesError;
use crate::module_dir::DirError;
use crate::program::CommandError;
use crate::values::ValuesError;
use crate::yaml_module::ModuleFileError;

/// Why a module cannot be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// Neither format's files are there.
    #[error("{path}: not a module: it has neither module.yaml nor cue.mod")]
    NotAModule {
        /// The directory.
        path: String,
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
    #[error("{path}: a YAML module takes no values")]
    NoValues {
        /// The module.
        path: String,
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
    /// A component's chart cannot be rendered.
    #[error("component `{component}`: {source}")]
    Chart {
        /// The component.
        component: ComponentName,
        /// What is wrong.
        source: Box<ChartError>,
    },
    /// A component's files are not valid.
    #[error("component `{component}`: {source}")]
    Component {
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
            Self::NotAModule { .. } => {
                vec!["`opm mod init DIR` writes a new module".to_owned()]
            }
            Self::NearlyAModule { .. } => vec!["rename it to module.yaml".to_owned()],
            Self::ModuleFile { source, .. } => source.hint().into_iter().collect(),
            Self::Chart { source, .. } => source.hints(),
            Self::Component { source, .. } => source.hint().into_iter().collect(),
            Self::NoValues { .. } => vec![
                "-f and --set are for CUE modules, which declare their values in #config"
                    .to_owned(),
            ],
            Self::Components(error) => error.hint().into_iter().collect(),
            Self::Cue(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

impl From<CueError> for RenderError {
    fn from(error: CueError) -> Self {
        Self::Cue(Box::new(error))
    }
}
