//! How a command fails: a kind that scripts can match, a message that names what happened,
//! hints that say what to do next, and the objects it is about.
//!
//! Nothing here prints; `ui` renders a [`CliError`] for people and for scripts.

use std::process::ExitCode;

use opm_engine::{FailedObject, FailureKind};
use serde_json::{Value, json};

/// How `opm` ends. The numbers are part of the command line contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// Everything asked for was done.
    pub const DONE: Self = Self(0);
    /// Differences were found, and `--exit-code` asked to be told.
    pub const DIFFERENCES: Self = Self(6);
    /// Something is not ready, or has failed, and `--exit-code` asked to be told.
    pub const NOT_READY: Self = Self(8);

    /// The number.
    pub fn code(self) -> u8 {
        self.0
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// What sort of failure it is: the word that scripts find in `error.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line cannot be understood.
    Usage,
    /// A configuration file or an environment variable cannot be used.
    Config,
    /// A module, a value or another input is not valid.
    Invalid,
    /// A file or a stream could not be read or written.
    Io,
    /// A use case of the engine failed.
    UseCase(FailureKind),
}

impl ErrorKind {
    /// The word in `error.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Invalid => "invalid",
            Self::Io => "io",
            Self::UseCase(kind) => kind.word(),
        }
    }

    /// The exit code that goes with it.
    pub fn exit(self) -> Exit {
        Exit(match self {
            Self::Io => 1,
            Self::Usage | Self::Config | Self::Invalid => 2,
            Self::UseCase(kind) => kind.exit_code(),
        })
    }
}

impl From<FailureKind> for ErrorKind {
    fn from(kind: FailureKind) -> Self {
        Self::UseCase(kind)
    }
}

/// A failure, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct CliError {
    /// What sort of failure it is; decides the exit code.
    pub kind: ErrorKind,
    /// What happened, naming the object.
    pub message: String,
    /// What to do next.
    pub hints: Vec<String>,
    /// The objects it is about.
    pub objects: Vec<FailedObject>,
    /// What the command found out before it failed: the fields that its JSON document has
    /// beside `error`. Empty for most errors.
    pub document: serde_json::Map<String, Value>,
}

impl CliError {
    /// A failure without hints and objects.
    pub fn new(kind: impl Into<ErrorKind>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            hints: Vec::new(),
            objects: Vec::new(),
            document: serde_json::Map::new(),
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The document that `-o json` prints: what the command found out, and the error.
    pub fn to_json(&self) -> Value {
        let mut document = self.document.clone();
        let error = json!({
            "kind": self.kind.as_str(),
            "message": self.message,
            "hints": self.hints,
            "objects": self.objects,
        });
        document.insert("error".to_owned(), error);
        Value::Object(document)
    }
}
