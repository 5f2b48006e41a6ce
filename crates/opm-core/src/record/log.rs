//! The deployments of a release: what was run, by whom, and how it ended.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

use serde_json::Value;

use super::field::{StoredValue, stored_fields};
use super::{Extra, Finding, ModuleRef, RecordRef};
use crate::time::Timestamp;

/// How many deployments are remembered unless somebody says otherwise.
pub const DEFAULT_LOG_ENTRIES: usize = 50;

/// How long the same refusal is not logged again, in seconds.
const REFUSED_ONCE: u64 = 60;

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
    /// Checks said no, and nothing was touched.
    Refused,
    /// It is recorded, and did not become ready in time.
    NotReady,
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
            Self::Refused => "refused",
            Self::NotReady => "not-ready",
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
            "refused" => Self::Refused,
            "not-ready" => Self::NotReady,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl LogResult {
    /// Whether the change that the run was about is recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(self, Self::Succeeded | Self::NotReady)
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
    /// Which deployment of the release it is, counted from 1; none where nobody counted yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
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
    /// The module that was to be deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleRef>,
    /// The digest of the values: `sha256:` and 64 hexadecimal digits, of the canonical text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// The selected optional components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<String>>,
    /// Where the manifests of a failed run are, as long as they are kept.
    #[serde(skip)]
    pub record: Option<RecordRef>,
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
    number: field("number"),
    id: field("id"),
    command: field("command"),
    time: field("time"),
    seconds: field("seconds"),
    who: field("who"),
    from: field("from"),
    opm: field("opm"),
    message: field("message"),
    change: field("change"),
    module: field("module"),
    values: field("values"),
    components: field("components"),
    record: field("record"),
    result: field("result"),
    reason: field("reason"),
    counts: field("counts"),
    extra: rest(),
});

/// The deployments with one more, at most `limit` of them.
pub(crate) fn push(log: &mut Vec<LogEntry>, entry: LogEntry, limit: usize) {
    let before = if log.is_empty() { 0 } else { number_of(log, 0) };
    let number = Some(before.saturating_add(1));
    log.insert(0, LogEntry { number, ..entry });
    log.truncate(limit.max(1));
}

/// The number of the deployment at this place of a log. Where it was not counted when it ran, it
/// follows from its place: logs were that short then.
pub fn number_of(log: &[LogEntry], at: usize) -> u64 {
    let counted = log.get(at).and_then(|entry| entry.number);
    let place = log.len().saturating_sub(at);
    counted.unwrap_or(u64::try_from(place).unwrap_or(u64::MAX))
}

/// The newest deployment that touched anything: one that checks refused did not.
pub fn last_run(log: &[LogEntry]) -> Option<&LogEntry> {
    log.iter().find(|entry| entry.result != LogResult::Refused)
}

/// Whether the same refusal is in the log already, and has been for less than a minute: whoever
/// tries again and again must not push everything else out.
pub fn is_repeated_refusal(log: &[LogEntry], entry: &LogEntry, now: Timestamp) -> bool {
    let same = |known: &&LogEntry| {
        known.result == LogResult::Refused
            && known.command == entry.command
            && known.reason == entry.reason
    };
    let recent = |known: &LogEntry| {
        let time: Option<Timestamp> = known.time.parse().ok();
        time.is_some_and(|time| time <= now && now.since(time).as_secs() < REFUSED_ONCE)
    };
    log.iter().filter(|known| same(known)).any(recent)
}
