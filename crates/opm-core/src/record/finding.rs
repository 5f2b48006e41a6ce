//! What is wrong with a stored record, key by key, without ever quoting what is stored.

use std::fmt;

use thiserror::Error;

/// One thing that is wrong with one key of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The data key.
    pub key: String,
    /// Where in the key's JSON, such as `inventory.entries[3].kind`; empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub problem: FindingKind,
}

/// What can be wrong with a stored value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum FindingKind {
    /// The key, or the field, is not there.
    #[error("is missing")]
    Missing,
    /// The bytes are not JSON.
    #[error("is not valid JSON (line {line}, column {column})")]
    Syntax {
        /// The line of the mistake, from 1.
        line: usize,
        /// The column of the mistake, from 1.
        column: usize,
    },
    /// The value has the wrong type.
    #[error("must be {expected}, not {found}")]
    WrongType {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// The value is a text that means nothing here.
    #[error("must be one of {expected}")]
    UnknownWord {
        /// What would mean something.
        expected: &'static str,
    },
    /// The index names a change that is not stored.
    #[error("is named by the index and is not stored")]
    AbsentChange,
    /// The index names a change more than once, or a set holds an object more than once.
    #[error("is listed more than once")]
    Duplicate,
}

impl Finding {
    pub(super) fn new(key: &str, path: impl Into<String>, problem: FindingKind) -> Self {
        Self {
            key: key.to_owned(),
            path: path.into(),
            problem,
        }
    }

    /// The same finding, seen from further out.
    pub(super) fn within(mut self, outer: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => outer.to_owned(),
            path if path.starts_with('[') => format!("{outer}{path}"),
            path => format!("{outer}.{path}"),
        };
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.key)?;
        if !self.path.is_empty() {
            write!(f, ": `{}`", self.path)?;
        }
        write!(f, " {}", self.problem)
    }
}
