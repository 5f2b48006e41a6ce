//! What is wrong with a package definition, and where.

use opm_core::name::NameError;
use opm_core::nearest::{did_you_mean, nearest};
use thiserror::Error;

use crate::module_dir::DirError;
use crate::substitution::SubstitutionError;

/// A package definition that cannot be a module.
#[derive(Debug, Error)]
#[error("{place}: {problem}")]
pub struct ZarfError {
    /// The file, and as far as is known line and column.
    pub(super) place: String,
    /// What is wrong.
    pub(super) problem: ZarfProblem,
}

impl ZarfError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        self.problem.hint()
    }
}

/// What is wrong with a package definition.
#[derive(Debug, Error)]
pub(super) enum ZarfProblem {
    /// It is no YAML, or not of the shape that is expected.
    #[error("{0}")]
    Shape(String),
    /// It is of another version.
    #[error(
        "apiVersion {0:?} is not supported; a package definition has zarf.dev/v1alpha1, or none"
    )]
    ApiVersion(String),
    /// It is something else.
    #[error("kind {0:?} is not supported; a package definition has ZarfPackageConfig")]
    Kind(String),
    /// A field that cannot be left out.
    #[error("`{field}` is not supported: {why}")]
    Unsupported { field: String, why: &'static str },
    /// Something is named by a URL.
    #[error("{0:?} would be fetched, and {1} are not")]
    Remote(String, &'static str),
    /// A name breaks its rules.
    #[error("{0}")]
    Name(#[from] NameError),
    /// Two components of one name remain.
    #[error("component `{0}` is defined twice for this architecture and flavor")]
    Twice(String),
    /// A component that says nowhere what its chart is.
    #[error("chart `{0}` must have exactly one of `localPath` and `url`")]
    ChartSource(String),
    /// A chart whose version is not given.
    #[error("chart `{0}` needs an exact `version`, such as 1.4.0")]
    ChartVersion(String),
    /// A chart that cannot be fetched by what is said.
    #[error("chart `{0}`: {1}")]
    ChartReference(String, &'static str),
    /// Components import each other.
    #[error("components import each other: {0}")]
    ImportCycle(String),
    /// A path leads out of where files may be.
    #[error(
        "{0:?} leads out of the package's directory, and out of the repository around it, if there is one"
    )]
    Outside(String),
    /// The import leads to a package without the component.
    #[error("{package} has {count} component `{name}` for this architecture and flavor")]
    ImportedComponent {
        package: String,
        count: &'static str,
        name: String,
        known: Vec<String>,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] DirError),
    /// Nothing says for which one a package is rendered.
    #[error(
        "component `{component}` is for {what} `{wanted}` only, and nothing says which one it is here"
    )]
    Unfiltered {
        component: String,
        what: &'static str,
        wanted: String,
    },
    /// Variables without a default and without a value.
    #[error("no value is given for {}, and there is no default", .0.join(", "))]
    MissingValues(Vec<String>),
    /// Values that nothing in the package takes.
    #[error("the package has no variable {}", .0.join(", "))]
    UnknownValues(Vec<String>, Vec<String>),
    /// A value that its variable does not take. The value may be secret.
    #[error("the value of {name} does not match its pattern {pattern:?}")]
    Pattern { name: String, pattern: String },
    /// A value that is no text.
    #[error("the value of {0} must be a text, a number or a boolean, because it has a pattern")]
    PatternOfStructure(String),
    /// A pattern that is none.
    #[error("the pattern {0:?} of {1} cannot be read")]
    BadPattern(String, String),
    /// A marker that stands for nothing.
    #[error("{0}")]
    Marker(#[from] SubstitutionError),
}

impl ZarfProblem {
    /// The same, where something is.
    pub(super) fn at(self, place: impl Into<String>) -> ZarfError {
        ZarfError {
            place: place.into(),
            problem: self,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::ImportedComponent { name, known, .. } => {
                did_you_mean(&nearest(name, known.iter().map(String::as_str)))
            }
            Self::UnknownValues(given, known) => {
                let first = given.first()?;
                let near = did_you_mean(&nearest(first, known.iter().map(String::as_str)));
                near.or_else(|| match known.is_empty() {
                    true => Some("it takes no values".to_owned()),
                    false => Some(format!("it has: {}", known.join(", "))),
                })
            }
            Self::MissingValues(names) => {
                let first = names.first()?;
                Some(format!("--set {first}=… gives it"))
            }
            Self::Unfiltered { what, wanted, .. } => {
                let key = match *what {
                    "architecture" => "architecture",
                    _ => "localOS",
                };
                Some(format!("--set {key}={wanted} says so"))
            }
            Self::Remote(..) | Self::Outside(_) | Self::File(DirError::Outside { .. }) => {
                Some("copy it into the package".to_owned())
            }
            Self::Marker(error) => error.hint(),
            _ => None,
        }
    }
}
