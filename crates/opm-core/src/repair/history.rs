//! The history of a repaired record: which changes there are, and which one is current.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChangeSource, RecoveredChange, RepairEvidence};
use crate::record::{Change, Content, HistorySlot, SalvagedRecord};

/// The changes, newest first.
#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) slots: Vec<(Change, ChangeSource)>,
    /// What the index names and nothing has.
    pub(super) lost: Vec<String>,
    /// Whether the current change is known for certain, and its inventory with it.
    pub(super) intact: bool,
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
        match &salvaged.index {
            Some(ids) => Self::by_index(ids, salvaged, &kept),
            None => Self::by_age(salvaged, &kept),
        }
    }

    fn by_index(ids: &[String], salvaged: &SalvagedRecord, kept: &BTreeMap<&str, &Change>) -> Self {
        let (mut slots, mut lost) = (Vec::new(), Vec::new());
        for id in ids {
            match (salvaged.changes.get(id), kept.get(id.as_str())) {
                (Some(change), _) => slots.push((change.clone(), ChangeSource::Secret)),
                (None, Some(change)) => slots.push(((*change).clone(), ChangeSource::Records)),
                (None, None) => lost.push(id.clone()),
            }
        }
        let current = ids.first();
        let intact = current.is_none_or(|id| salvaged.changes.contains_key(id));
        Self {
            slots,
            lost,
            intact,
        }
    }

    /// Without an index, the changes say themselves which one was current: only its objects have
    /// uids. Else the newest comes first; of one second, the one with the longest line of
    /// changes before it.
    fn by_age(salvaged: &SalvagedRecord, kept: &BTreeMap<&str, &Change>) -> Self {
        let own = salvaged.changes.values();
        let mut slots: Vec<(Change, ChangeSource)> = own
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
            let age = (change.timestamp.clone(), ancestors(&change.id, &parents));
            (Reverse((has_lives(change), age)), change.id.clone())
        });
        let intact = slots.first().is_some_and(|(change, _)| has_lives(change));
        Self {
            slots,
            lost: Vec::new(),
            intact,
        }
    }

    pub(super) fn told(&self) -> Vec<RecoveredChange> {
        self.slots
            .iter()
            .map(|(change, source)| RecoveredChange {
                id: change.id.clone(),
                source: *source,
                objects: change.entries().len(),
            })
            .collect()
    }

    pub(super) fn into_slots(self) -> Vec<HistorySlot> {
        self.slots
            .into_iter()
            .map(|(change, _)| HistorySlot {
                id: change.id.clone(),
                content: Content::Read(Box::new(change)),
            })
            .collect()
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
