//! What keeps a render from becoming a candidate, and what is worth a warning.

use std::fmt::Write as _;

use thiserror::Error;

use super::Duplicate;
use crate::identity::{GroupKind, Identity};
use crate::name::ComponentName;
use crate::words;

/// A name that no component has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// The component that was probably meant.
    pub similar: Option<ComponentName>,
}

/// What keeps a render from becoming a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CandidateError {
    /// Components were selected that the module does not have.
    #[error("the module has no component {}", listed(names))]
    UnknownComponents {
        /// The names, as given.
        names: Vec<UnknownName>,
        /// The components that could have been selected.
        optional: Vec<ComponentName>,
    },
    /// A component comes after one that the module does not have.
    #[error(
        "component {component} comes after a component that the module does not have: {}",
        listed(std::slice::from_ref(after))
    )]
    UnknownAfter {
        /// The component that says so.
        component: ComponentName,
        /// What it names.
        after: UnknownName,
    },
    /// Two components have one name.
    #[error("the module has two components named {0}")]
    SameComponent(ComponentName),
    /// Objects were rendered more than once.
    #[error("{}", duplicates_listed(.0))]
    Duplicates(Vec<Duplicate>),
    /// Not everything that is asked for would be carried out, and that is what was asked for.
    #[error("not everything that the module asks for would be carried out:{}", indented(.0))]
    LeftOut(Vec<String>),
    /// A Secret whose data cannot be sent as it is.
    #[error("{object}: `{field}` must be {expected}, not {found}")]
    Secret {
        /// The Secret.
        object: Box<Identity>,
        /// The path of the field; never its value.
        field: String,
        /// What was expected there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
}

impl CandidateError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownComponents { optional, .. } if optional.is_empty() => {
                Some("it has no optional components; leave the selection out".to_owned())
            }
            Self::UnknownComponents { optional, .. } => {
                let names: Vec<&str> = optional.iter().map(ComponentName::as_str).collect();
                Some(format!("its optional components are: {}", names.join(", ")))
            }
            Self::Duplicates(_) => Some(
                "the API version is not part of an object's identity: render each object once"
                    .to_owned(),
            ),
            Self::UnknownAfter { .. }
            | Self::SameComponent(_)
            | Self::LeftOut(_)
            | Self::Secret { .. } => None,
        }
    }
}

fn listed(names: &[UnknownName]) -> String {
    let one = |unknown: &UnknownName| match &unknown.similar {
        Some(similar) => format!("{:?} (did you mean {similar}?)", unknown.name),
        None => format!("{:?}", unknown.name),
    };
    names.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

fn duplicates_listed(duplicates: &[Duplicate]) -> String {
    let mut text = String::from("the module renders the same object more than once:");
    for Duplicate { identity, places } in duplicates {
        let places: Vec<String> = places
            .iter()
            .map(|(component, version)| format!("component {component} as {version}"))
            .collect();
        // Writing into a String cannot fail.
        let _ = write!(text, "\n  {identity}: {}", places.join(", "));
    }
    text
}

/// What is worth a warning, though it stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CandidateWarning {
    /// Nothing says where the objects of a kind live.
    #[error("nothing says whether {0} lives in namespaces; it is taken to")]
    UnknownScope(GroupKind),
    /// A cluster-scoped object was rendered with a namespace.
    #[error("{0}: its kind lives in no namespace; the namespace is left out")]
    NamespaceLeftOut(Identity),
    /// A field that only the server may write was rendered.
    #[error("{object}: `{field}` is written by the server alone; it is left out")]
    ServerField {
        /// The object.
        object: Identity,
        /// The path of the field.
        field: &'static str,
    },
    /// Objects that Helm would run at a certain moment, or for a test only.
    #[error(
        "Helm would treat these as hooks or tests; opm applies them like every other object, on \
         each apply: {}",
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    HelmHooks(Vec<Identity>),
    /// A hook of a chart names a moment that there is not.
    #[error("{object}: there is no hook {word:?}, so it does not run then")]
    UnknownHook {
        /// The hook.
        object: Identity,
        /// What it names.
        word: String,
    },
    /// Objects say that another tool manages them.
    #[error(
        "{object}{}: the label `app.kubernetes.io/managed-by` says {manager:?}; \
         it is replaced, because opm manages what it applies",
        and_more(*more)
    )]
    ManagedBy {
        /// The first of them.
        object: Identity,
        /// Whom it names.
        manager: String,
        /// How many more there are.
        more: usize,
    },
    /// A component that was once selected is no longer there.
    #[error("component {0:?} was selected before; the module no longer has it")]
    ComponentGone(String),
    /// What the module asks for and is not carried out.
    #[error("{0}")]
    LeftOut(String),
}

fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" and {}", words::count(more, "more object")),
    }
}
