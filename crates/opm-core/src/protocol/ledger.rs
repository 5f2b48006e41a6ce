//! Where every object outside the inventory ends up when a run has done what it could: gone, kept,
//! or pending. Nothing else is possible, so nothing is forgotten.

use std::collections::{HashMap, HashSet};

use super::PruneOutcome;
use crate::check::CheckedPlan;
use crate::entry::Entry;
use crate::identity::Identity;
use crate::plan::StaleOrigin;
use crate::record::{KeptObject, KeptWhy, PendingObject, PendingWhy, Record};
use crate::time::Timestamp;

/// Where every object outside the inventory ends up.
pub(super) struct Ledger<'a> {
    pending_before: HashMap<&'a Identity, &'a PendingObject>,
    kept_before: HashMap<&'a Identity, &'a KeptObject>,
    change: &'a str,
    now: Timestamp,
    /// Whether a request of an earlier run may still land.
    hold: bool,
    pub(super) unpruned: bool,
    pub(super) pending: Vec<PendingObject>,
    pub(super) kept: Vec<KeptObject>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(
        checked: &CheckedPlan,
        record: &'a Record,
        change: &'a str,
        now: Timestamp,
        hold: bool,
    ) -> Self {
        let (objects, kept) = (record.pending.objects(), &record.kept.objects);
        // Pending objects that this plan neither applies nor removes stay as they are.
        let decided = decided(checked);
        let untouched = objects
            .iter()
            .filter(|o| !decided.contains(&o.entry.identity));
        Self {
            pending_before: objects.iter().map(|o| (&o.entry.identity, o)).collect(),
            kept_before: kept.iter().map(|o| (&o.entry.identity, o)).collect(),
            change,
            now,
            hold,
            unpruned: false,
            pending: untouched.cloned().collect(),
            kept: checked.carried.clone(),
        }
    }

    /// Decides about every stale object.
    pub(super) fn reconcile(
        &mut self,
        checked: &CheckedPlan,
        outcomes: &HashMap<Identity, PruneOutcome>,
    ) {
        for gone in &checked.stale.gone {
            self.gone(&gone.entry, &gone.origin);
        }
        for keep in &checked.stale.keep {
            if keep.mine || !self.may_become_mine(&keep.entry) {
                self.keep(&keep.entry, keep.why, &keep.reason);
            }
        }
        for transferred in &checked.stale.transferred {
            self.may_become_mine(&transferred.entry);
        }
        for undetermined in &checked.stale.undetermined {
            self.failed(
                &undetermined.entry,
                &undetermined.origin,
                &undetermined.reason,
            );
        }
        for step in &checked.stale.prune {
            match outcomes.get(&step.entry.identity) {
                Some(PruneOutcome::Done) => self.gone(&step.entry, &step.origin),
                Some(PruneOutcome::NotMine(reason)) => {
                    self.keep(&step.entry, KeptWhy::NotMine, reason);
                }
                Some(PruneOutcome::Failed(reason)) => {
                    self.failed(&step.entry, &step.origin, reason);
                }
                None => self.failed(&step.entry, &step.origin, "it was not tried"),
            }
        }
    }

    /// A hook that ran is gone, or stands as its chart wants it to: then it is kept, until the
    /// release goes.
    pub(super) fn hooks(&mut self, checked: &CheckedPlan, uids: &HashMap<Identity, String>) {
        let mut seen = HashSet::new();
        for step in &checked.hooks {
            if !seen.insert(&step.entry.identity) {
                continue;
            }
            let uid = uids.get(&step.entry.identity).cloned();
            let entry = Entry {
                uid: uid.clone(),
                ..step.entry.clone()
            };
            let origin = StaleOrigin::Pending {
                why: PendingWhy::Create,
                late: false,
            };
            match uid {
                Some(_) => self.keep(&entry, KeptWhy::OptOut, HOOK),
                None => self.gone(&entry, &origin),
            }
        }
    }

    /// Gone for good, unless a request of an earlier run may still bring it back.
    fn gone(&mut self, entry: &Entry, origin: &StaleOrigin) {
        if self.hold {
            let why = match origin {
                StaleOrigin::Pending { why, .. } => *why,
                StaleOrigin::Inventory | StaleOrigin::Kept(_) => PendingWhy::Create,
            };
            let object = self.object(entry, why, None, true);
            self.pending.push(object);
        }
    }

    /// Somebody else's, but a request of an earlier run that takes it over may still land: then it
    /// stays pending.
    fn may_become_mine(&mut self, entry: &Entry) -> bool {
        let pending = self.pending_before.get(&entry.identity);
        let Some(why) = pending.filter(|_| self.hold).map(|object| object.why) else {
            return false;
        };
        let object = self.object(entry, why, None, true);
        self.pending.push(object);
        true
    }

    fn failed(&mut self, entry: &Entry, origin: &StaleOrigin, reason: &str) {
        self.unpruned = true;
        let why = match origin {
            // What was there before must not be deleted by a later run either.
            StaleOrigin::Pending { why, .. } if why.was_there_before() => *why,
            _ => PendingWhy::PruneFailed,
        };
        let object = self.object(entry, why, Some(reason.to_owned()), false);
        self.pending.push(object);
    }

    fn object(
        &self,
        entry: &Entry,
        why: PendingWhy,
        reason: Option<String>,
        late: bool,
    ) -> PendingObject {
        let before = self.pending_before.get(&entry.identity);
        PendingObject {
            entry: Entry {
                hash: None,
                ..entry.clone()
            },
            why,
            change: before.map_or_else(|| self.change.to_owned(), |object| object.change.clone()),
            since: before.map_or_else(|| self.now.to_string(), |object| object.since.clone()),
            reason,
            late,
            extra: before
                .map(|object| object.extra.clone())
                .unwrap_or_default(),
        }
    }

    fn keep(&mut self, entry: &Entry, why: KeptWhy, reason: &str) {
        let before = self.kept_before.get(&entry.identity);
        self.kept.push(KeptObject {
            entry: Entry {
                hash: None,
                ..entry.clone()
            },
            why,
            change: before.map_or_else(|| self.change.to_owned(), |object| object.change.clone()),
            since: before.map_or_else(|| self.now.to_string(), |object| object.since.clone()),
            reason: Some(reason.to_owned()),
            extra: before
                .map(|object| object.extra.clone())
                .unwrap_or_default(),
        });
    }
}

/// Why a hook is kept.
const HOOK: &str = "hook";

fn decided(checked: &CheckedPlan) -> HashSet<&Identity> {
    let stale = &checked.stale;
    let applies = checked.applies().map(|step| &step.entry.identity);
    applies
        .chain(checked.hooks.iter().map(|step| &step.entry.identity))
        .chain(stale.prune.iter().map(|step| &step.entry.identity))
        .chain(stale.keep.iter().map(|keep| &keep.entry.identity))
        .chain(
            stale
                .undetermined
                .iter()
                .map(|undetermined| &undetermined.entry.identity),
        )
        .chain(stale.gone.iter().map(|gone| &gone.entry.identity))
        .chain(
            stale
                .transferred
                .iter()
                .map(|transferred| &transferred.entry.identity),
        )
        .collect()
}
