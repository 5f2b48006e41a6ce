//! From what became of the requests to what the record has to say about every object.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::Locked;
use super::begin::hold_until;
use super::ledger::Ledger;
use crate::check::{ApplyMethod, CheckedPlan, KeepDecision, PruneStep};
use crate::entry::Entry;
use crate::identity::Identity;
use crate::plan::Purpose;
use crate::record::{Body, KeptObject, PendingObject, Record, RecordedEntry};
use crate::time::Timestamp;

/// What became of sending one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is as rendered, sent or not; its uid, if it is there.
    Done {
        /// The uid.
        uid: Option<String>,
    },
    /// The server refused it.
    Failed,
    /// It may or may not have reached the server.
    Uncertain,
    /// It was not sent.
    NotSent,
}

/// What became of pruning one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneOutcome {
    /// The server accepted it, or the object was gone.
    Done,
    /// The object turned out to be somebody else's by now: it has another uid, or another
    /// release has joined or taken it.
    NotMine(String),
    /// It did not work, for this reason.
    Failed(String),
}

/// A run whose objects have all been applied. Only this one may prune.
#[derive(Debug, Clone)]
pub struct Applied {
    locked: Locked,
    uids: HashMap<Identity, String>,
}

/// A run that did not apply everything. It can only let go of the lock.
#[derive(Debug, Clone)]
pub struct Partial {
    pub(super) record: Record,
    pub(super) lock_id: String,
    pub(super) started: Timestamp,
    uncertain: bool,
}

/// A run that has done all it could: every object is applied, and every stale one is gone, kept
/// or pending.
#[derive(Debug, Clone)]
pub struct Reconciled {
    pub(super) purpose: Purpose,
    pub(super) record: Record,
    pub(super) lock_id: String,
    pub(super) change: String,
    pub(super) started: Timestamp,
    pub(super) inventory: Vec<RecordedEntry>,
    /// Whether something stale could not be removed.
    pub(super) unpruned: bool,
    /// Until when something may still land that this run has not seen.
    pub(super) rest_until: Option<Timestamp>,
    /// Whether this run took over somebody else's lock.
    pub(super) took_over: bool,
    /// What a delete leaves: its record stays as it is until it is known how it ends.
    pub(super) left: LeftObjects,
}

/// The objects that a deleted release still tracks.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftObjects {
    pub(super) pending: Vec<PendingObject>,
    pub(super) kept: Vec<KeptObject>,
}

impl LeftObjects {
    /// A release that is deleted has no business with what is not its own any more.
    fn let_go(&mut self, keep: &[KeepDecision]) {
        let foreign = keep.iter().filter(|keep| !keep.mine);
        let foreign: HashSet<&Identity> = foreign.map(|keep| &keep.entry.identity).collect();
        self.kept
            .retain(|kept| !foreign.contains(&kept.entry.identity));
    }
}

pub(super) fn finish(
    locked: Locked,
    outcomes: &HashMap<Identity, SendOutcome>,
) -> Result<Applied, Box<Partial>> {
    let mut uids = HashMap::new();
    let (mut complete, mut uncertain) = (true, false);
    for step in locked.checked.applies() {
        match outcomes.get(&step.entry.identity) {
            Some(SendOutcome::Done { uid }) => {
                uids.extend(uid.clone().map(|uid| (step.entry.identity.clone(), uid)));
            }
            _ if step.method == ApplyMethod::Completed => {}
            Some(SendOutcome::Failed | SendOutcome::NotSent) => complete = false,
            Some(SendOutcome::Uncertain) | None => (complete, uncertain) = (false, true),
        }
    }
    for step in &locked.checked.hooks {
        match outcomes.get(&step.entry.identity) {
            Some(SendOutcome::Done { uid }) => {
                uids.extend(uid.clone().map(|uid| (step.entry.identity.clone(), uid)));
            }
            Some(SendOutcome::Failed | SendOutcome::NotSent) => complete = false,
            Some(SendOutcome::Uncertain) | None => (complete, uncertain) = (false, true),
        }
    }
    let applied = Applied { locked, uids };
    if complete {
        Ok(applied)
    } else {
        Err(Box::new(applied.into_partial(uncertain)))
    }
}

impl Applied {
    /// What to prune, in order.
    pub fn prune(&self) -> &[PruneStep] {
        &self.locked.checked.stale.prune
    }

    /// What to do.
    pub fn plan(&self) -> &CheckedPlan {
        &self.locked.checked
    }

    /// The same as for a run that has not applied everything: see there.
    pub fn may_land_until(&mut self, until: Timestamp) {
        self.locked.may_land_until(until);
    }

    /// Until when something of earlier runs may still land, of which the look that this run acts
    /// on can say nothing.
    pub fn rest_until(&self) -> Option<Timestamp> {
        rest_until(&self.locked.record, self.locked.loaded)
    }

    /// That time has passed, and the cluster is looked at from now on.
    pub fn rested(&mut self, now: Timestamp) {
        (self.locked.loaded, self.locked.took_over) = (now, false);
    }

    /// Gives up before pruning or recording, because somebody interrupted the run. All that it
    /// sent was answered, and a delete that lands late brings nothing back.
    pub fn stop(self) -> Partial {
        self.into_partial(false)
    }

    /// What the objects of a failed run turned out to be is worth knowing: a uid makes them
    /// recognisable without their labels.
    fn into_partial(self, uncertain: bool) -> Partial {
        let Locked {
            mut record,
            lock_id,
            started,
            ..
        } = self.locked;
        if let Body::Here(objects) = &mut record.pending.objects {
            for object in objects {
                if let Some(uid) = self.uids.get(&object.entry.identity) {
                    object.entry.uid = Some(uid.clone());
                }
            }
        }
        Partial {
            record,
            lock_id,
            started,
            uncertain,
        }
    }

    /// Says what became of pruning. A step without an outcome counts as failed.
    pub fn reconcile(
        self,
        outcomes: &HashMap<Identity, PruneOutcome>,
        now: Timestamp,
    ) -> Reconciled {
        let Applied { locked, uids } = self;
        let Locked {
            mut record,
            checked,
            started,
            lock_id,
            change,
            took_over,
            loaded,
        } = locked;
        let rest_until = rest_until(&record, loaded);
        let hold = took_over || rest_until.is_some();
        let mut ledger = Ledger::new(&checked, &record, &change, now, hold);
        ledger.reconcile(&checked, outcomes);
        ledger.hooks(&checked, &uids);
        let Ledger {
            pending,
            kept,
            unpruned,
            ..
        } = ledger;
        let mut left = LeftObjects { pending, kept };
        if checked.purpose == Purpose::Delete {
            left.let_go(&checked.stale.keep);
        }
        // A delete that cannot end yet leaves the record as it is: the inventory still has
        // everything in it.
        if checked.purpose != Purpose::Delete {
            let LeftObjects { pending, kept } = std::mem::take(&mut left);
            record.pending.objects = Body::Here(pending);
            record.pending.until = rest_until.map(|until| until.to_string());
            record.kept.objects = kept;
        }
        // What belongs to others now is let go of, also where no new inventory is recorded.
        if matches!(checked.purpose, Purpose::Delete | Purpose::PruneKept) {
            let transferred = checked.stale.transferred.iter();
            let transferred = transferred.map(|one| &one.entry.identity);
            let pending = record.pending.objects().iter();
            // Unless a request that takes it over may still land.
            let held: HashSet<Identity> = match hold {
                true => pending.map(|one| one.entry.identity.clone()).collect(),
                false => HashSet::new(),
            };
            let let_go: HashSet<&Identity> =
                transferred.filter(|one| !held.contains(*one)).collect();
            record.forget(|identity| let_go.contains(identity));
        }
        let inventory = inventory(&checked, &record, &uids);
        Reconciled {
            purpose: checked.purpose,
            record,
            lock_id,
            change,
            started,
            inventory,
            unpruned,
            rest_until,
            took_over,
            left,
        }
    }
}

impl Partial {
    /// Marks what may still land, once the caller knows what time it is.
    pub(super) fn rest(&mut self, now: Timestamp, request: Duration) {
        if self.uncertain {
            hold_until(&mut self.record, now + request);
        }
    }
}

/// What counts is when the cluster was looked at, not what time it has become.
fn rest_until(record: &Record, looked: Timestamp) -> Option<Timestamp> {
    let until = record.pending.until.as_deref()?.parse().ok();
    until.filter(|until: &Timestamp| looked < *until)
}

/// The entries of the new inventory, in apply order, with uid and hash.
fn inventory(
    checked: &CheckedPlan,
    before: &Record,
    uids: &HashMap<Identity, String>,
) -> Vec<RecordedEntry> {
    let known: HashMap<&Identity, &RecordedEntry> = before
        .inventory()
        .iter()
        .map(|recorded| (&recorded.entry.identity, recorded))
        .collect();
    let applied = checked.applies().map(|step| {
        let former = known.get(&step.entry.identity);
        let former_uid = former.and_then(|recorded| recorded.entry.uid.clone());
        let uid = uids.get(&step.entry.identity).cloned().or(former_uid);
        let extra = former
            .map(|recorded| recorded.extra.clone())
            .unwrap_or_default();
        RecordedEntry {
            entry: Entry {
                uid,
                ..step.entry.clone()
            },
            extra,
        }
    });
    applied.chain(checked.remaining.iter().cloned()).collect()
}
