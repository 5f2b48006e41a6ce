//! The last write of a run: the change and the end of the lock, or only the latter.

use std::collections::BTreeMap;

use super::begin::shorten;
use super::{Locked, Partial, Reconciled, Timing};
use crate::candidate::Candidate;
use crate::check::CheckedPlan;
use crate::entry::Entry;
use crate::identity::Identity;
use crate::plan::Purpose;
use crate::record::history::DroppedChanges;
use crate::record::{
    Body, Change, Counts, Extra, Inventory, LogResult, ModuleRef, Record, RecordRef, RecordedEntry,
    ReleaseState, Values,
};
use crate::time::Timestamp;

/// What a new change says about itself; its inventory is what was settled.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChange {
    /// Its id.
    pub id: String,
    /// The module.
    pub module: ModuleRef,
    /// The resolved values.
    pub values: Values,
    /// The digest of the rendered manifests.
    pub manifest_digest: String,
    /// The selected optional components.
    pub components: Vec<String>,
    /// The feature flags it was rendered with.
    pub features: BTreeMap<String, bool>,
    /// Which components come after which others.
    pub order: BTreeMap<String, Vec<String>>,
    /// The moments at which it has hooks.
    pub hooks: Vec<String>,
    /// The paths of the values that were given.
    pub set: Vec<String>,
    /// Where its manifests are, if they are recorded.
    pub record: Option<RecordRef>,
}

impl NewChange {
    /// The change that applying a candidate makes.
    pub fn of(
        candidate: &Candidate,
        features: BTreeMap<String, bool>,
        record: Option<RecordRef>,
    ) -> Self {
        Self {
            id: candidate.change.to_string(),
            module: candidate.module_ref(),
            values: Values(candidate.values.clone()),
            manifest_digest: candidate.digest.to_string(),
            components: candidate.selected.iter().map(ToString::to_string).collect(),
            features,
            order: candidate.order(),
            hooks: candidate.hook_events(),
            set: candidate.set.clone(),
            record,
        }
    }

    /// The change as far as it is known without the cluster: what is kept beside its manifests,
    /// for the day on which the release's Secret is lost. `stored` is the record before it.
    pub fn alone(self, candidate: &Candidate, stored: &Record, now: Timestamp) -> Change {
        let former = stored.current().map(|former| former.id.clone());
        let entries = candidate.entries().into_iter();
        Change {
            module: self.module,
            values: Body::Here(self.values),
            manifest_digest: self.manifest_digest,
            timestamp: now.to_string(),
            inventory: Body::Here(Inventory {
                entries: entries.map(RecordedEntry::from).collect(),
                extra: Extra::default(),
            }),
            components: Some(self.components),
            features: Some(self.features),
            order: self.order,
            hooks: self.hooks,
            set: self.set,
            parent: former.filter(|former| *former != self.id),
            id: self.id,
            record: None,
            extra: Extra::default(),
        }
    }
}

/// How a run ended, for the log.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// How it ended.
    pub result: LogResult,
    /// Why it ended that way.
    pub reason: Option<String>,
    /// What it did.
    pub counts: Counts,
    /// Where its manifests are, if it failed and they are kept.
    pub record: Option<RecordRef>,
    /// The server's time.
    pub now: Timestamp,
}

/// A run whose change is recorded, once this record is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The record to write.
    pub record: Record,
    /// What fell off the end of the history.
    pub dropped: DroppedChanges,
    /// Whether something stale could not be removed and stays pending.
    pub unpruned: bool,
}

/// How a delete goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Conclusion {
    /// Nothing is left that the release could be needed for: remove its Secrets, records first.
    Remove,
    /// Something is kept: the record stays, says that the release is deleted, and has to be
    /// written. The changes are no longer in it.
    Deleted(Box<Record>),
    /// Something of an earlier run may still land: look once more at this time, then conclude.
    Rest {
        /// What to go on with then.
        resume: Box<Resume>,
        /// When to look again.
        until: Timestamp,
    },
    /// Something could not be deleted: the record stays and has to be written.
    Stays(Box<Record>),
}

/// How a run ends that makes no change.
#[derive(Debug, Clone, PartialEq)]
pub enum Released {
    /// The record stays and has to be written.
    Stays(Box<Record>),
    /// The last object that a deleted release kept is gone: remove its Secret, by the version
    /// that this run holds the lock in. This is what would have been written.
    Remove(Box<Record>),
}

impl Released {
    /// The record as it is, or would be.
    pub fn into_record(self) -> Record {
        match self {
            Self::Stays(record) | Self::Remove(record) => *record,
        }
    }
}

/// A delete that still holds the lock and waits for the last requests of others to land.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    record: Record,
    lock_id: String,
    change: String,
    started: Timestamp,
}

impl Resume {
    /// The record to plan from again.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Goes on with a plan that was checked after the rest. `looked` is the server's time before
    /// the cluster was looked at again.
    pub fn go_on(self, checked: CheckedPlan, looked: Timestamp) -> Locked {
        let Self {
            record,
            lock_id,
            change,
            started,
        } = self;
        let (took_over, loaded) = (false, looked);
        Locked {
            record,
            checked,
            started,
            lock_id,
            change,
            took_over,
            loaded,
        }
    }
}

impl Reconciled {
    /// The record as it stands, without the change that is about to be recorded.
    pub fn stored(&self) -> &Record {
        &self.record
    }

    /// Records the change and lets go of the lock.
    pub fn record(self, change: NewChange, max_history: usize, ended: &RunEnd) -> Recorded {
        let Self {
            mut record,
            inventory,
            lock_id,
            started,
            unpruned,
            ..
        } = self;
        let time = ended.now.to_string();
        let inventory = Inventory {
            entries: inventory,
            extra: Extra::default(),
        };
        let former = record.change(&change.id).map(|former| former.extra.clone());
        let id = change.id.clone();
        let change = Change {
            id: change.id,
            module: change.module,
            values: Body::Here(change.values),
            manifest_digest: change.manifest_digest,
            timestamp: time.clone(),
            inventory: Body::Here(inventory),
            components: Some(change.components),
            features: Some(change.features),
            order: change.order,
            hooks: change.hooks,
            set: change.set,
            parent: None,
            record: change.record,
            extra: former.unwrap_or_default(),
        };
        let dropped = record.push_change(change, max_history);
        record.metadata.last_transition_time = Some(time);
        record.metadata.state = ReleaseState::Live;
        close(&mut record, &lock_id, started, ended);
        if let Some(entry) = record.log.iter_mut().find(|entry| entry.id == lock_id) {
            entry.change = Some(id);
        }
        Recorded {
            record,
            dropped,
            unpruned,
        }
    }

    /// Concludes a delete. With `keep_history` changes and log stay.
    pub fn conclude(self, ended: &RunEnd, keep_history: bool) -> Conclusion {
        debug_assert!(
            self.purpose == Purpose::Delete,
            "only a delete has no change to record"
        );
        match self.rest_until {
            _ if self.unpruned => {
                let mut record = self.record;
                close(&mut record, &self.lock_id, self.started, ended);
                Conclusion::Stays(Box::new(record))
            }
            Some(until) => {
                let Self {
                    record,
                    lock_id,
                    change,
                    started,
                    ..
                } = self;
                let resume = Box::new(Resume {
                    record,
                    lock_id,
                    change,
                    started,
                });
                Conclusion::Rest { resume, until }
            }
            None if self.left.kept.is_empty() && !keep_history => Conclusion::Remove,
            None => Conclusion::Deleted(Box::new(self.deleted(ended, keep_history))),
        }
    }

    /// The record of a deleted release that keeps something.
    fn deleted(self, ended: &RunEnd, keep_history: bool) -> Record {
        let Self {
            mut record,
            lock_id,
            started,
            left,
            ..
        } = self;
        record.metadata.state = ReleaseState::Deleted;
        if !keep_history {
            record.history.clear();
        }
        record.pending.objects = Body::Here(left.pending);
        record.pending.until = None;
        record.kept.objects = left.kept;
        close(&mut record, &lock_id, started, ended);
        record
    }

    /// Stops tracking objects. Returns what was tracked.
    pub fn forget(&mut self, forgotten: impl Fn(&Identity) -> bool) -> Vec<Entry> {
        self.record.forget(forgotten)
    }

    /// Gives the release up, if it tracks nothing any more: its history goes with it.
    pub fn give_up(&mut self) {
        let record = &mut self.record;
        let pending = record.pending.objects.here().is_some_and(Vec::is_empty);
        if record.inventory().is_empty() && pending && record.kept.objects.is_empty() {
            record.metadata.state = ReleaseState::Deleted;
            record.history.clear();
            record.past.clear();
        }
    }

    /// Lets go of the lock and records no change: what is pending and kept is all that is new.
    /// A run that took over a lock leaves the record in any case: a request of the old holder
    /// may still land.
    pub fn release(self, ended: &RunEnd) -> Released {
        let Self {
            mut record,
            lock_id,
            started,
            took_over,
            ..
        } = self;
        close(&mut record, &lock_id, started, ended);
        match record.is_spent() && !took_over {
            true => Released::Remove(Box::new(record)),
            false => Released::Stays(Box::new(record)),
        }
    }

    /// The record as it will be, without the change: what is pending and kept from now on.
    pub fn preview(&self) -> &Record {
        &self.record
    }

    /// Whether something stale could not be removed and stays pending.
    pub fn unpruned(&self) -> bool {
        self.unpruned
    }
}

impl Locked {
    /// Gives a claim back whose intent was never written down: `claimed` is the record as it is
    /// stored, and nothing was touched.
    pub fn give_up(&self, mut claimed: Record, ended: &RunEnd) -> Record {
        close(&mut claimed, &self.lock_id, self.started, ended);
        claimed
    }
}

impl Partial {
    /// Lets go of the lock and records nothing but that: what was pending stays pending.
    pub fn release(mut self, ended: &RunEnd, timing: &Timing) -> Record {
        self.rest(ended.now, timing.request);
        let Self {
            mut record,
            lock_id,
            started,
            ..
        } = self;
        close(&mut record, &lock_id, started, ended);
        record
    }
}

fn close(record: &mut Record, lock_id: &str, started: Timestamp, ended: &RunEnd) {
    record.lock = None;
    // Only the newest failed run keeps its manifests.
    if ended.record.is_some() {
        record.log.iter_mut().for_each(|entry| entry.record = None);
    }
    if let Some(entry) = record.log.iter_mut().find(|entry| entry.id == lock_id) {
        entry.result = ended.result.clone();
        entry.reason = ended.reason.as_deref().map(shorten);
        entry.counts = ended.counts.clone();
        entry.record.clone_from(&ended.record);
        entry.seconds = ended.now.since(started).as_secs();
    }
}
