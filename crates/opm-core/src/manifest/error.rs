//! What keeps a JSON value from being a Kubernetes object, in words.

use thiserror::Error;

/// What keeps a JSON value from being a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The value is a list, a string, a number, …
    #[error("a manifest must be a mapping, not {0}")]
    NotAMapping(&'static str),
    /// A list of objects in the place of one.
    #[error("a {kind} is not an object: its items must be given one by one")]
    List {
        /// The list's kind.
        kind: String,
    },
    /// Something is wrong with the object.
    #[error("{object}: {problem}")]
    Object {
        /// As much of the object's identity as is known.
        object: String,
        /// What is wrong.
        problem: ManifestProblem,
    },
}

/// What is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestProblem {
    /// A field that every object needs is missing or empty.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field has the wrong type.
    #[error("`{field}` must be {expected}, not {found}")]
    WrongType {
        /// The path of the field.
        field: String,
        /// What was expected there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A field has a value that Kubernetes would not take.
    #[error("`{field}` is not valid: {rule}")]
    Invalid {
        /// The path of the field.
        field: &'static str,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// The server would choose the name, so that nothing could be tracked by it.
    #[error(
        "`metadata.generateName` cannot be used, because a release tracks its objects by name; \
         give it a `metadata.name`"
    )]
    GenerateName,
    /// Nested too deeply to be stored and read back.
    #[error("it is nested more than {} levels deep", super::MAX_DEPTH)]
    TooDeep,
}
