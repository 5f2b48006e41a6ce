//! The history of a repaired record: which changes there are, and which one is current.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::current::current;
use super::{ChangeMatch, ChangeSource, RecoveredChange, RepairEvidence};
use crate::record::{Change, Content, HistorySlot, LogEntry, SalvagedRecord};
use crate::time::Timestamp;

type Recovered = (Change, ChangeSource);

/// The changes, newest first.
#[derive(Debug, Clone)]
pub(super) struct History {
    /// Those of the index: the first is current.
    pub(super) slots: Vec<Recovered>,
    /// Those that are listed beside it.
    past: Vec<Recovered>,
    /// What the index names and nothing has.
    pub(super) lost: Vec<String>,
    /// Whether the current change is known for certain, and its inventory with it.
    pub(super) intact: bool,
    /// Whether there are changes, and nobody can tell which one is current.
    pub(super) undetermined: bool,
}

impl History {
    pub(super) fn of(evidence: &RepairEvidence) -> Self {
        let nothing = SalvagedRecord::default();
        let salvaged = evidence.salvaged.as_ref().unwrap_or(&nothing);
        let kept: BTreeMap<&str, &Change> = evidence
            .kept_changes
            .iter()
            .map(|change| (change.id.as_str(), change))
            .collect();
        let latest = evidence.latest();
        let history = match &salvaged.index {
            Some(ids) => Self::by_index(ids, salvaged, &kept),
            None => Self::by_age(salvaged, &kept, latest),
        };
        match history.undetermined {
            true => history.by_comparison(&evidence.matches, &evidence.log, latest),
            false => history,
        }
    }

    fn by_index(ids: &[String], salvaged: &SalvagedRecord, kept: &BTreeMap<&str, &Change>) -> Self {
        let mut lost = Vec::new();
        let mut found = |ids: &[String]| -> Vec<Recovered> {
            let found = ids.iter().filter_map(|id| {
                match (salvaged.changes.get(id), kept.get(id.as_str())) {
                    (Some(change), _) => Some((change.clone(), ChangeSource::Secret)),
                    (None, Some(change)) => Some(((*change).clone(), ChangeSource::Records)),
                    (None, None) => {
                        lost.push(id.clone());
                        None
                    }
                }
            });
            found.collect()
        };
        let (slots, past) = (found(ids), found(&salvaged.past));
        let first = ids.first();
        Self {
            undetermined: first.is_some_and(|id| lost.contains(id)) && !slots.is_empty(),
            intact: first.is_none_or(|id| salvaged.changes.contains_key(id)),
            slots,
            past,
            lost,
        }
    }

    /// Without an index, the changes may say themselves which one was current: only its objects
    /// have uids. The others follow by age; of one second, the one with the longest line of
    /// changes before it comes first.
    fn by_age(
        salvaged: &SalvagedRecord,
        kept: &BTreeMap<&str, &Change>,
        latest: Timestamp,
    ) -> Self {
        let own = salvaged.changes.values();
        let mut slots: Vec<Recovered> = own
            .map(|change| (change.clone(), ChangeSource::Secret))
            .chain(
                kept.values()
                    .filter(|change| !salvaged.changes.contains_key(&change.id))
                    .map(|change| ((*change).clone(), ChangeSource::Records)),
            )
            .collect();
        let parents: BTreeMap<String, Option<String>> = slots
            .iter()
            .map(|(change, _)| (change.id.clone(), change.parent.clone()))
            .collect();
        slots.sort_by_cached_key(|(change, _)| {
            let time = Timestamp::stored(&change.timestamp, latest);
            let age = (time, ancestors(&change.id, &parents));
            (Reverse((has_lives(change), age)), change.id.clone())
        });
        let intact = slots.first().is_some_and(|(change, _)| has_lives(change));
        Self {
            undetermined: !intact && !slots.is_empty(),
            slots,
            past: Vec::new(),
            lost: Vec::new(),
            intact,
        }
    }

    /// The change that is live becomes the first; without one, all of them are past.
    fn by_comparison(
        mut self,
        matches: &BTreeMap<String, ChangeMatch>,
        log: &[LogEntry],
        latest: Timestamp,
    ) -> Self {
        match current(&self.slots, matches, log, latest) {
            Some(at) => {
                self.slots[..=at].rotate_right(1);
                self.undetermined = false;
            }
            None => {
                let known = std::mem::take(&mut self.slots);
                self.past.splice(0..0, known);
            }
        }
        self
    }

    fn all(&self) -> impl Iterator<Item = &Recovered> {
        self.slots.iter().chain(&self.past)
    }

    /// The change that is current.
    pub(super) fn current(&self) -> Option<&Change> {
        self.slots.first().map(|(change, _)| change)
    }

    /// When the newest of all changes was recorded.
    pub(super) fn newest(&self, latest: Timestamp) -> Option<Timestamp> {
        let changes = self.all().map(|(change, _)| change);
        changes
            .filter_map(|change| Timestamp::stored(&change.timestamp, latest))
            .max()
    }

    /// The changes that have to be compared with what is live, because nothing else tells which
    /// one is current.
    pub(super) fn undetermined(&self) -> impl Iterator<Item = &Change> {
        let slots = self.slots.iter().filter(|_| self.undetermined);
        let past = self.past.iter().filter(|_| self.undetermined);
        slots.chain(past).map(|(change, _)| change)
    }

    pub(super) fn told(&self, matches: &BTreeMap<String, ChangeMatch>) -> Vec<RecoveredChange> {
        let current = self.current().map(|change| &change.id);
        self.all()
            .map(|(change, source)| RecoveredChange {
                id: change.id.clone(),
                source: *source,
                objects: change.entries().len(),
                current: Some(&change.id) == current,
                matched: matches.get(&change.id).cloned(),
            })
            .collect()
    }

    pub(super) fn into_slots(self) -> (Vec<HistorySlot>, Vec<HistorySlot>) {
        let slots = |changes: Vec<Recovered>| {
            let slots = changes.into_iter().map(|(change, _)| HistorySlot {
                id: change.id.clone(),
                content: Content::Read(Box::new(change)),
            });
            slots.collect()
        };
        (slots(self.slots), slots(self.past))
    }
}

/// Uids describe living objects: only the current change has them.
fn has_lives(change: &Change) -> bool {
    change
        .entries()
        .iter()
        .any(|recorded| recorded.entry.uid.is_some())
}

/// How many of the changes came before this one. Going back and forth makes circles, which are
/// walked once.
fn ancestors(id: &str, parents: &BTreeMap<String, Option<String>>) -> usize {
    let mut seen = BTreeSet::from([id]);
    let mut at = id;
    while let Some(Some(parent)) = parents.get(at) {
        if !parents.contains_key(parent) || !seen.insert(parent) {
            break;
        }
        at = parent;
    }
    seen.len() - 1
}
