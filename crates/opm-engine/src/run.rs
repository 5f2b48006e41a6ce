//! What every run that writes has in common: who it is, what time it is, and how it ends.

use std::collections::BTreeMap;

use opm_core::digest::ObjectHash;
use opm_core::event::Action;
use opm_core::labels::Owner;
use opm_core::protocol::{RunEnd, RunStart};
use opm_core::record::{
    Counts, Extra, KeptObject, Lock, LogResult, Metadata, PendingObject, Record, release_labels,
};
use opm_core::time::Timestamp;

use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, SecretStore};
use crate::report::{ObjectOutcome, Release, Report, TrackedObject};

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// The server's time, as well as it is known.
    pub(crate) fn server_now(&self) -> Timestamp {
        self.secrets
            .server_time()
            .unwrap_or_else(|| self.clock.wall())
    }

    /// This run, as the lock and the log name it.
    pub(crate) async fn run(
        &self,
        command: &str,
        message: Option<String>,
        change: Option<String>,
    ) -> RunStart {
        let actor = &self.settings.actor;
        let who = self.cluster.user().await;
        let who = who.unwrap_or_else(|| actor.who.clone());
        let lock = Lock {
            id: self.unique_id(),
            holder: who.clone(),
            host: actor.host.clone(),
            pid: actor.pid,
            boot: actor.boot.clone(),
            pid_namespace: actor.pid_namespace.clone(),
            command: command.to_owned(),
            since: String::new(),
            beat: 0,
            extra: Extra::default(),
        };
        RunStart {
            lock,
            who,
            from: actor.pipeline.clone().unwrap_or_else(|| actor.host.clone()),
            opm: actor.version.clone(),
            message,
            change,
            now: self.server_now(),
        }
    }

    /// Where and when this is, in short: no other run has the same.
    fn unique_id(&self) -> String {
        let actor = &self.settings.actor;
        let (monotonic, wall) = self.now();
        let text = format!(
            "{} {:?} {:?} {} {} {}",
            actor.host,
            actor.boot,
            actor.pid_namespace,
            actor.pid,
            monotonic.0.as_nanos(),
            wall.0.as_nanos()
        );
        ObjectHash::of_bytes(text.as_bytes()).as_str().to_owned()
    }

    /// How a run ended, for the log.
    pub(crate) fn ended(
        &self,
        result: LogResult,
        reason: Option<String>,
        outcomes: &[ObjectOutcome],
    ) -> RunEnd {
        RunEnd {
            result,
            reason,
            counts: counts(outcomes),
            now: self.server_now(),
        }
    }
}

/// How often each action happened.
pub(crate) fn counts(outcomes: &[ObjectOutcome]) -> Counts {
    let mut counts = Counts::new();
    for outcome in outcomes {
        *counts.entry(outcome.action.word().to_owned()).or_default() += 1;
    }
    counts
}

/// The record of a release that has none yet.
pub(crate) fn new_record(owner: &Owner) -> Record {
    let metadata = Metadata {
        name: owner.release.to_string(),
        namespace: owner.namespace.to_string(),
        release_id: owner.id.to_string(),
        last_transition_time: None,
        extra: Extra::default(),
    };
    Record::new(metadata, release_labels(owner))
}

/// A record of which nothing is known but whose it is.
pub(crate) fn empty_record(release: &Release) -> Record {
    let metadata = Metadata {
        name: release.name.to_string(),
        namespace: release.namespace.to_string(),
        release_id: release.id.to_string(),
        last_transition_time: None,
        extra: Extra::default(),
    };
    Record::new(metadata, BTreeMap::new())
}

/// What is still to be cleaned up, as a report names it.
pub(crate) fn pending(record: &Record) -> Vec<TrackedObject> {
    record.pending.counted().map(tracked_pending).collect()
}

/// One pending object, as a report names it.
pub(crate) fn tracked_pending(object: &PendingObject) -> TrackedObject {
    TrackedObject {
        identity: object.entry.identity.clone(),
        version: object.entry.version.clone(),
        component: object.entry.component.clone(),
        why: object.why.word(),
        change: object.change.clone(),
        since: object.since.clone(),
        reason: object.reason.clone(),
    }
}

/// What was left standing on purpose, as a report names it.
pub(crate) fn kept(record: &Record) -> Vec<TrackedObject> {
    record.kept.objects.iter().map(tracked_kept).collect()
}

/// One kept object, as a report names it.
pub(crate) fn tracked_kept(object: &KeptObject) -> TrackedObject {
    TrackedObject {
        identity: object.entry.identity.clone(),
        version: object.entry.version.clone(),
        component: object.entry.component.clone(),
        why: object.why.word(),
        change: object.change.clone(),
        since: object.since.clone(),
        reason: object.reason.clone(),
    }
}

/// The objects of a report that did not work.
pub(crate) fn failed(outcomes: &[ObjectOutcome]) -> impl Iterator<Item = &ObjectOutcome> {
    outcomes
        .iter()
        .filter(|outcome| outcome.action == Action::Failed)
}

/// The report, unless objects in it did not work: then a failure that names them.
pub(crate) fn unless_failed(
    report: Report,
    kind: FailureKind,
    message: impl FnOnce(usize) -> String,
) -> Result<Report, Failure> {
    let objects: Vec<ObjectOutcome> = failed(&report.resources).cloned().collect();
    if objects.is_empty() {
        return Ok(report);
    }
    let mut failure = Failure::new(kind, message(objects.len()));
    for object in objects {
        failure = failure.object(object.identity, object.reason.unwrap_or_default());
    }
    Err(failure.after(report))
}
