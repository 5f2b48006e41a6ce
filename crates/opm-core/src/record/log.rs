//! The deployments of a release: what was run, by whom, and how it ended.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

use serde_json::Value;

use super::field::{StoredValue, stored_fields};
use super::{Extra, Finding};

/// How many deployments are remembered.
pub const MAX_LOG: usize = 50;

/// How a deployment ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogResult {
    /// It is running, or its end could not be written.
    Started,
    /// Everything was done.
    Succeeded,
    /// Something failed.
    Failed,
    /// Somebody stopped it.
    Interrupted,
    /// Somebody else took over its lock.
    Lost,
    /// It failed and went back to the change before.
    RolledBack,
    /// A word that this version does not know.
    Other(String),
}

impl LogResult {
    /// The word that stands for it in the record.
    pub fn word(&self) -> &str {
        match self {
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
            Self::RolledBack => "rolled-back",
            Self::Other(word) => word,
        }
    }

    /// The result that a word stands for.
    pub fn from_word(word: &str) -> Self {
        match word {
            "started" => Self::Started,
            "succeeded" => Self::Succeeded,
            "failed" => Self::Failed,
            "interrupted" => Self::Interrupted,
            "lost" => Self::Lost,
            "rolled-back" => Self::RolledBack,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl StoredValue for LogResult {
    fn read(value: Value) -> Result<Self, Finding> {
        String::read(value).map(|word| Self::from_word(&word))
    }

    fn write(&self) -> Value {
        self.word().into()
    }
}

/// How many objects were created, configured, … by a deployment.
pub type Counts = BTreeMap<String, u64>;

impl Serialize for LogResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// One deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEntry {
    /// Its id: the id of the lock it held.
    pub id: String,
    /// What was run, such as `apply`.
    pub command: String,
    /// When it started.
    pub time: String,
    /// How long it took.
    pub seconds: u64,
    /// Who ran it.
    pub who: String,
    /// From where.
    pub from: String,
    /// The version of `opm`.
    pub opm: String,
    /// What the person said about it.
    pub message: Option<String>,
    /// The change it was about.
    pub change: Option<String>,
    /// How it ended.
    pub result: LogResult,
    /// Why it ended that way.
    pub reason: Option<String>,
    /// What it did.
    pub counts: Counts,
    /// Fields that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

stored_fields!(LogEntry {
    id: field("id"),
    command: field("command"),
    time: field("time"),
    seconds: field("seconds"),
    who: field("who"),
    from: field("from"),
    opm: field("opm"),
    message: field("message"),
    change: field("change"),
    result: field("result"),
    reason: field("reason"),
    counts: field("counts"),
    extra: rest(),
});
