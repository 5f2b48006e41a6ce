//! Which change of a history is meant.

use thiserror::Error;

use crate::ids::ChangeId;
use crate::record::{LogEntry, LogResult, Record, RecordRef, number_of};

/// A text that does not name one change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangeNameError {
    /// None begins like that.
    #[error("there is no change {0} in the history")]
    Unknown(String),
    /// The deployment of this number made none that is still there.
    #[error("deployment #{number} ({command}, {result}) made no change that is in the history")]
    NoChange {
        /// The deployment.
        number: u64,
        /// What was run.
        command: String,
        /// How it ended.
        result: String,
    },
    /// More than one does.
    #[error("{given} could be any of these changes: {}", changes.join(", "))]
    Ambiguous {
        /// What was given.
        given: String,
        /// The changes that begin like that.
        changes: Vec<String>,
    },
}

/// The id of the change that `given` names: its full id, the beginning of its digits, how many
/// changes ago it was (`~1`), `current`, `previous`, `last-good`, or the deployment (`#7`).
pub fn named<'a>(record: &'a Record, given: &str) -> Result<&'a str, ChangeNameError> {
    let ids = || record.slots().map(|slot| slot.id.as_str());
    if let Some(id) = ids().find(|id| *id == given) {
        return Ok(id);
    }
    let unknown = || ChangeNameError::Unknown(given.chars().take(80).collect());
    let before = |changes: usize| {
        let slot = record.history.get(changes);
        slot.map(|slot| slot.id.as_str()).ok_or_else(unknown)
    };
    match (given, given.strip_prefix('~'), given.strip_prefix('#')) {
        ("current", ..) => return before(0),
        ("previous", ..) => return before(1),
        ("last-good", ..) => return last_good(record).ok_or_else(unknown),
        (_, Some(changes), _) => return before(changes.parse().map_err(|_| unknown())?),
        (_, _, Some(number)) => {
            let number = number.parse().map_err(|_| unknown())?;
            let entry = deployment(record, number).ok_or_else(unknown)?;
            let made = ids().find(|id| entry.change.as_deref() == Some(id));
            return made.ok_or_else(|| ChangeNameError::NoChange {
                number,
                command: entry.command.clone(),
                result: entry.result.word().to_owned(),
            });
        }
        _ => {}
    }
    let digits = given.strip_prefix(ChangeId::PREFIX).unwrap_or(given);
    if digits.is_empty() {
        return Err(unknown());
    }
    let begins = |id: &&str| {
        id.strip_prefix(ChangeId::PREFIX)
            .is_some_and(|all| all.starts_with(digits))
    };
    let mut found: Vec<&str> = ids().filter(begins).collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(unknown()),
        (Some(id), true) => Ok(id),
        (Some(_), false) => Err(ChangeNameError::Ambiguous {
            given: given.to_owned(),
            changes: ids().filter(begins).map(str::to_owned).collect(),
        }),
    }
}

/// The deployment of this number.
fn deployment(record: &Record, number: u64) -> Option<&LogEntry> {
    let mut places = 0..record.log.len();
    let at = places.find(|at| number_of(&record.log, *at) == number)?;
    record.log.get(at)
}

/// The newest change of the history whose last deployment succeeded.
fn last_good(record: &Record) -> Option<&str> {
    let last_of = |id: &str| {
        let mut log = record.log.iter();
        log.find(|entry| entry.change.as_deref() == Some(id) && entry.result != LogResult::Refused)
    };
    let mut changes = record.history.iter().map(|slot| slot.id.as_str());
    changes.find(|id| last_of(id).is_some_and(|entry| entry.result == LogResult::Succeeded))
}

/// The change of a failed run that `given` names, and where its manifests are, as long as they
/// are kept.
pub fn failed_run<'a>(record: &'a Record, given: &str) -> Option<(&'a str, &'a RecordRef)> {
    if let Some(number) = given.strip_prefix('#') {
        let entry = deployment(record, number.parse().ok()?)?;
        return Some((entry.change.as_deref()?, entry.record.as_ref()?));
    }
    let digits = given.strip_prefix(ChangeId::PREFIX).unwrap_or(given);
    let mut failed = record
        .log
        .iter()
        .filter_map(|entry| Some((entry.change.as_deref()?, entry.record.as_ref()?)));
    failed.find(|(id, _)| {
        let all = id.strip_prefix(ChangeId::PREFIX);
        !digits.is_empty() && all.is_some_and(|all| all.starts_with(digits))
    })
}

/// Why a change is the default target of a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetReason {
    /// The last deployment did not succeed, so the current change is what should be there.
    LastFailed {
        /// What was run.
        command: String,
        /// How it ended.
        result: LogResult,
    },
    /// The release was deleted, so it is the change that was current then.
    Deleted,
    /// The last deployment succeeded, so it is the change before the current one.
    Before,
}

/// The default target of a rollback; none in a history that has no such change.
pub fn default_target(record: &Record) -> Option<(&str, TargetReason)> {
    let current = record.history.first()?;
    if record.is_deleted() {
        return Some((&current.id, TargetReason::Deleted));
    }
    match last_deployment(record) {
        Some(last) if !last.result.is_recorded() => {
            let reason = TargetReason::LastFailed {
                command: last.command.clone(),
                result: last.result.clone(),
            };
            Some((&current.id, reason))
        }
        _ => Some((&record.history.get(1)?.id, TargetReason::Before)),
    }
}

/// The last run that was to change what the release consists of, and was let.
fn last_deployment(record: &Record) -> Option<&LogEntry> {
    let deploys = |entry: &&LogEntry| ["apply", "rollback", "delete"].contains(&&*entry.command);
    let mut deployments = record.log.iter().filter(deploys);
    deployments.find(|entry| entry.result != LogResult::Refused)
}
