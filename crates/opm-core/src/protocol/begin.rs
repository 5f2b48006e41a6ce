//! The first write of a run: lock and intent, before anything else is touched.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use super::{Applied, ExpiredLock, LockAcquisition, Partial, SendOutcome, Timing, is_settled};
use crate::candidate::Candidate;
use crate::check::{ApplyMethod, CheckedPlan, Intent};
use crate::digest::values_digest;
use crate::entry::Entry;
use crate::identity::Identity;
use crate::managed::ManagerMark;
use crate::record::{
    Body, Change, Counts, Extra, Lock, LogEntry, LogResult, ModuleRef, PendingObject, Record,
    is_repeated_refusal, log,
};
use crate::time::Timestamp;

/// Who runs what, and when it started.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// A lock with an id that nobody else has; its `since` is set here.
    pub lock: Lock,
    /// Who, for the log.
    pub who: String,
    /// From where, for the log: a host, or a pipeline.
    pub from: String,
    /// The version of `opm`.
    pub opm: String,
    /// What the person said about it.
    pub message: Option<String>,
    /// The change it is about.
    pub change: Option<String>,
    /// What is to be deployed.
    pub deployed: Option<Deployed>,
    /// What it says about who manages the release.
    pub manager: ManagerMark,
    /// How many deployments the log remembers.
    pub log_entries: usize,
    /// How long things are good for.
    pub timing: Timing,
    /// The server's time.
    pub now: Timestamp,
}

/// What a run deploys, as the log names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployed {
    /// The module.
    pub module: ModuleRef,
    /// The digest of its values.
    pub values: String,
    /// The selected optional components.
    pub components: Vec<String>,
}

impl Deployed {
    /// What applying a candidate deploys.
    pub fn of(candidate: &Candidate) -> Self {
        Self {
            module: candidate.module_ref(),
            values: values_digest(&candidate.values),
            components: candidate.selected.iter().map(ToString::to_string).collect(),
        }
    }

    /// What a recorded change deployed.
    pub fn of_change(change: &Change) -> Option<Self> {
        Some(Self {
            module: change.module.clone(),
            values: values_digest(&change.values.here()?.0),
            components: change.components.clone().unwrap_or_default(),
        })
    }
}

/// Why a run cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BeginError {
    /// The lock is not the one that was judged.
    #[error("somebody else took the lock meanwhile")]
    LockChanged,
    /// Parts of the record are still in record Secrets.
    #[error("the record has not been read completely")]
    IncompleteRecord,
}

/// A run that holds the lock and has written down what it is about to do.
#[derive(Debug, Clone)]
pub struct Locked {
    pub(super) record: Record,
    pub(super) checked: CheckedPlan,
    pub(super) started: Timestamp,
    pub(super) lock_id: String,
    /// The change that the run is about, for what it leaves behind.
    pub(super) change: String,
    pub(super) took_over: bool,
    /// When the record was loaded: the cluster was looked at after that.
    pub(super) loaded: Timestamp,
}

/// Takes the lock and writes down the intent. The record of a release that has none yet is
/// [`Record::new`].
pub fn begin(
    mut record: Record,
    acquisition: LockAcquisition,
    checked: CheckedPlan,
    run: RunStart,
) -> Result<Locked, BeginError> {
    if record.needs_bodies() {
        return Err(BeginError::IncompleteRecord);
    }
    let held = record.lock.as_ref().map(|lock| &lock.id);
    let took_over = match &acquisition {
        LockAcquisition::Free { .. } if held.is_none() => false,
        LockAcquisition::TakeOver(expired) if held == Some(&expired.lock.id) => true,
        _ => return Err(BeginError::LockChanged),
    };
    let loaded = acquisition.loaded();
    believe_until(&mut record, run.timing.latest(loaded));
    if let LockAcquisition::TakeOver(expired) = acquisition {
        take_over(&mut record, &expired);
    }
    intend(&mut record, &checked.intents, &run);
    run.manager.put_into(&mut record.annotations);
    let lock_id = run.lock.id.clone();
    let change = run.change.clone().unwrap_or_default();
    log::push(&mut record.log, started(&run), run.log_entries);
    record.lock = Some(Lock {
        since: run.now.to_string(),
        ..run.lock
    });
    let started = run.now;
    Ok(Locked {
        record,
        checked,
        started,
        lock_id,
        change,
        took_over,
        loaded,
    })
}

/// Whether a run has nothing to do but to say so: nothing is sent, pruned or intended, nothing is
/// pending, and nothing of an earlier run can land. Then one write of the record is enough, bound to
/// the version that was read, and needs no lock.
pub fn is_idle(
    record: &Record,
    acquisition: &LockAcquisition,
    checked: &CheckedPlan,
    unchanged: impl Fn(&Identity) -> bool,
) -> bool {
    let mut applies = checked.applies();
    matches!(acquisition, LockAcquisition::Free { .. })
        && is_settled(record, acquisition.loaded())
        && checked.stale.prune.is_empty()
        && checked.intents.is_empty()
        && checked.hooks.is_empty()
        && record.pending.objects.here().is_some_and(Vec::is_empty)
        && applies
            .all(|step| step.method == ApplyMethod::Completed || unchanged(&step.entry.identity))
}

impl Locked {
    /// The record to write before anything is sent.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The lock without the intent, on top of the record as it is stored: for a run that has to
    /// move parts of the record out before it can write its intent down, and may do so only
    /// under the lock. Nothing may be touched on the strength of it.
    pub fn claim(&self, stored: Option<Record>) -> Record {
        let new = || Record::new(self.record.metadata.clone(), self.record.labels.clone());
        let mut claim = stored.unwrap_or_else(new);
        claim.lock.clone_from(&self.record.lock);
        claim.log.clone_from(&self.record.log);
        // Whoever finds nothing but the claim must wait as long as this run would have.
        claim.pending.until.clone_from(&self.record.pending.until);
        claim
    }

    /// What to do.
    pub fn plan(&self) -> &CheckedPlan {
        &self.checked
    }

    /// The id of the lock that is held.
    pub fn lock_id(&self) -> &str {
        &self.lock_id
    }

    /// Says that an attempt which was not answered, and was made again, may still land until
    /// then: it could bring back an object that a later run has deleted by then.
    pub fn may_land_until(&mut self, until: Timestamp) {
        hold_until(&mut self.record, until);
    }

    /// Judges what became of the apply: everything was applied, or not.
    ///
    /// An object without an outcome counts as sent with its answer lost.
    pub fn finish(
        self,
        outcomes: &HashMap<Identity, SendOutcome>,
    ) -> Result<Applied, Box<Partial>> {
        super::reconcile::finish(self, outcomes)
    }
}

/// What the old holder had written down may still come true: all of it is late.
fn take_over(record: &mut Record, expired: &ExpiredLock) {
    if let Body::Here(objects) = &mut record.pending.objects {
        for object in objects {
            object.late = true;
        }
    }
    if let Some(rest) = expired.rest_until {
        hold_until(record, rest);
    }
    for entry in &mut record.log {
        if entry.id == expired.lock.id && entry.result == LogResult::Started {
            entry.result = LogResult::Lost;
            entry.reason = Some("its lock expired and was taken over".to_owned());
        }
    }
}

/// What was sent before the record was loaded has landed by `latest`, whatever the record says.
fn believe_until(record: &mut Record, latest: Timestamp) {
    let until = &mut record.pending.until;
    if let Some(text) = until {
        let believed = Timestamp::stored(text, latest).unwrap_or(latest);
        *until = Some(believed.to_string());
    }
}

/// Nothing that is not found before `until` may be forgotten.
pub(super) fn hold_until(record: &mut Record, until: Timestamp) {
    let before = record
        .pending
        .until
        .as_deref()
        .and_then(|text| text.parse().ok());
    if before.is_none_or(|before: Timestamp| before < until) {
        record.pending.until = Some(until.to_string());
    }
}

fn intend(record: &mut Record, intents: &[Intent], run: &RunStart) {
    let Body::Here(pending) = &mut record.pending.objects else {
        return;
    };
    let change = run.change.clone().unwrap_or_default();
    let at: HashMap<Identity, usize> = pending
        .iter()
        .enumerate()
        .map(|(at, o)| (o.entry.identity.clone(), at))
        .collect();
    for intent in intents {
        match at
            .get(&intent.entry.identity)
            .and_then(|at| pending.get_mut(*at))
        {
            Some(object) => {
                object.why = intent.why;
                object.late = false;
            }
            None => pending.push(PendingObject {
                entry: Entry {
                    hash: None,
                    ..intent.entry.clone()
                },
                why: intent.why,
                change: change.clone(),
                since: run.now.to_string(),
                reason: None,
                late: false,
                extra: Extra::default(),
            }),
        }
    }
    let pending: HashSet<&Identity> = intents
        .iter()
        .map(|intent| &intent.entry.identity)
        .collect();
    record
        .kept
        .objects
        .retain(|kept| !pending.contains(&kept.entry.identity));
}

/// The log of a release of which a run was refused before it touched anything. None if the log
/// says so already.
pub fn log_refusal(mut log: Vec<LogEntry>, run: &RunStart, reason: &str) -> Option<Vec<LogEntry>> {
    let entry = LogEntry {
        result: LogResult::Refused,
        reason: Some(shorten(reason)),
        ..started(run)
    };
    // A controller tries until it is no longer refused, and says each reason once.
    let last = log.first().map(|known| (&known.result, &known.reason));
    let tried_again = matches!(run.manager, ManagerMark::Set(_))
        && last == Some((&LogResult::Refused, &entry.reason));
    if tried_again || is_repeated_refusal(&log, &entry, run.now) {
        return None;
    }
    log::push(&mut log, entry, run.log_entries);
    Some(log)
}

/// Says in the log that a recorded run did not become ready in time. False if the log does not
/// know it.
pub fn log_not_ready(log: &mut [LogEntry], lock_id: &str, reason: &str, now: Timestamp) -> bool {
    let Some(entry) = log.iter_mut().find(|entry| entry.id == lock_id) else {
        return false;
    };
    entry.result = LogResult::NotReady;
    entry.reason = Some(shorten(reason));
    if let Ok(started) = entry.time.parse() {
        entry.seconds = now.since(started).as_secs();
    }
    true
}

fn started(run: &RunStart) -> LogEntry {
    LogEntry {
        number: None,
        id: run.lock.id.clone(),
        command: run.lock.command.clone(),
        time: run.now.to_string(),
        seconds: 0,
        who: run.who.clone(),
        from: run.from.clone(),
        opm: run.opm.clone(),
        message: run.message.as_deref().map(shorten),
        change: run.change.clone(),
        module: run.deployed.as_ref().map(|one| one.module.clone()),
        values: run.deployed.as_ref().map(|one| one.values.clone()),
        components: run.deployed.as_ref().map(|one| one.components.clone()),
        record: None,
        result: LogResult::Started,
        reason: None,
        counts: Counts::new(),
        extra: Extra::default(),
    }
}

/// The log is part of a Secret of limited size.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(500) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
