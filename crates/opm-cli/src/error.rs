//! How a command fails: a kind that scripts can match, a message that names what happened,
//! hints that say what to do next, and the objects it is about.
//!
//! Nothing here prints; `ui` renders a [`CliError`] for people and for scripts.

use std::process::ExitCode;

use opm_core::identity::Identity;
use serde_json::{Value, json};

/// How `opm` ends. The numbers are part of the command line contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done.
    Done = 0,
    /// Something failed on the way.
    Failed = 1,
    /// Invalid input or usage, or refused by a check before anything was touched.
    Invalid = 2,
    /// The cluster cannot be reached.
    Unreachable = 3,
    /// Not permitted.
    NotPermitted = 4,
    /// Not found.
    NotFound = 5,
    /// Differences were found, and `--exit-code` asked to be told.
    Differences = 6,
    /// Somebody else holds the lock, or wrote the record first.
    Locked = 7,
    /// Recorded, but not ready in time, or something could not be pruned.
    Incomplete = 8,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
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
    /// A check refused before anything was touched.
    Refused,
    /// The cluster cannot be reached.
    Unreachable,
    /// Not permitted.
    NotPermitted,
    /// Not found.
    NotFound,
    /// Somebody else holds the lock, or wrote the record first.
    Locked,
    /// Something failed on the way.
    Failed,
    /// Recorded, but not ready in time, or something could not be pruned.
    Incomplete,
    /// Interrupted by the user.
    Interrupted,
    /// A file or a stream could not be read or written.
    Io,
}

impl ErrorKind {
    /// The word in `error.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::NotPermitted => "not-permitted",
            Self::NotFound => "not-found",
            Self::Locked => "locked",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::Interrupted => "interrupted",
            Self::Io => "io",
        }
    }

    /// The exit code that goes with it.
    pub fn exit(self) -> Exit {
        match self {
            Self::Usage | Self::Config | Self::Invalid | Self::Refused => Exit::Invalid,
            Self::Unreachable => Exit::Unreachable,
            Self::NotPermitted => Exit::NotPermitted,
            Self::NotFound => Exit::NotFound,
            Self::Locked => Exit::Locked,
            Self::Failed | Self::Io => Exit::Failed,
            Self::Incomplete => Exit::Incomplete,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

/// An object that an error is about, with what is wrong with it where that differs by object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorObject {
    /// Which object.
    pub identity: Identity,
    /// What is wrong with it.
    pub reason: Option<String>,
}

impl ErrorObject {
    /// The object as it appears in `error.objects`. A cluster-scoped one has an empty namespace.
    fn to_json(&self) -> Value {
        let mut object = json!({
            "group": self.identity.group(),
            "kind": self.identity.kind(),
            "namespace": self.identity.namespace.as_deref().unwrap_or_default(),
            "name": self.identity.name,
        });
        if let (Some(map), Some(reason)) = (object.as_object_mut(), &self.reason) {
            map.insert("reason".to_owned(), json!(reason));
        }
        object
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
    pub objects: Vec<ErrorObject>,
    /// What the command found out before it failed: the fields that its JSON document has
    /// beside `error`. Empty for most errors.
    pub document: serde_json::Map<String, Value>,
}

impl CliError {
    /// A failure without hints and objects.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
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

    /// Adds an object that it is about.
    #[must_use]
    pub fn object(mut self, identity: Identity, reason: Option<String>) -> Self {
        self.objects.push(ErrorObject { identity, reason });
        self
    }

    /// The document that `-o json` prints: what the command found out, and the error.
    pub fn to_json(&self) -> Value {
        let mut document = self.document.clone();
        let error = json!({
            "kind": self.kind.as_str(),
            "message": self.message,
            "hints": self.hints,
            "objects": self.objects.iter().map(ErrorObject::to_json).collect::<Vec<_>>(),
        });
        document.insert("error".to_owned(), error);
        Value::Object(document)
    }
}
