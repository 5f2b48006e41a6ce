//! Which objects should go: `(previous ∪ pending) − current`, compared by identity alone.

use std::collections::{HashMap, HashSet};

use super::{Current, DesiredObject, PlannedObject, StaleObject, StaleOrigin, TrackedAs};
use crate::entry::Entry;
use crate::identity::Identity;
use crate::record::{KeptObject, PendingObject, Record};

/// What the record knows, by identity.
pub(super) type KnownObjects<'a> = HashMap<&'a Identity, (TrackedAs, &'a Entry)>;

/// Everything that the record knows. Inventory, pending and kept are disjoint, but for what is
/// taken over in the place of an inventoried object: then the latter is gone. In a record that
/// breaks this otherwise, the inventory counts.
pub(super) fn known(stored: Option<&Record>) -> KnownObjects<'_> {
    let Some(record) = stored else {
        return HashMap::new();
    };
    let mut known = HashMap::with_capacity(record.inventory().len());
    for kept in &record.kept.objects {
        known.insert(
            &kept.entry.identity,
            (TrackedAs::Kept(kept.why), &kept.entry),
        );
    }
    for pending in record.pending.objects() {
        known.insert(
            &pending.entry.identity,
            (TrackedAs::Pending(pending.why), &pending.entry),
        );
    }
    let replaced = replaced(record);
    let inventory = record.inventory().iter();
    for recorded in inventory.filter(|one| !replaced.contains(&one.entry.identity)) {
        known.insert(
            &recorded.entry.identity,
            (TrackedAs::Inventoried, &recorded.entry),
        );
    }
    known
}

/// What a run was about to take over. It was there before the release touched it, also where the
/// inventory has another object of that name.
pub(super) fn replaced(record: &Record) -> HashSet<&Identity> {
    let pending = record.pending.objects().iter();
    let taken = pending.filter(|object| object.why.was_there_before());
    taken.map(|object| &object.entry.identity).collect()
}

/// One object to apply, with what the record knows of it.
pub(super) fn planned(object: &DesiredObject, known: &KnownObjects<'_>) -> PlannedObject {
    let known = known.get(&object.entry.identity);
    let recorded = known.map(|(_, entry)| *entry);
    let hash = recorded.and_then(|entry| entry.hash.as_ref());
    PlannedObject {
        known: known.map_or(TrackedAs::No, |(known, _)| *known),
        recorded_uid: recorded.and_then(|entry| entry.uid.clone()),
        same_hash: hash.is_some() && hash == object.entry.hash.as_ref(),
        object: object.clone(),
    }
}

/// What the record has and the render does not, each object once.
pub(super) fn stale(stored: Option<&Record>, current: &Current<'_>) -> Vec<StaleObject> {
    let Some(record) = stored else {
        return Vec::new();
    };
    let mut seen: HashSet<&Identity> = HashSet::new();
    let replaced = replaced(record);
    let inventory = record
        .inventory()
        .iter()
        .filter(|recorded| !replaced.contains(&recorded.entry.identity))
        .map(|recorded| (&recorded.entry, StaleOrigin::Inventory));
    let pending = record
        .pending
        .objects()
        .iter()
        .map(|object| (&object.entry, origin(object)));
    inventory
        .chain(pending)
        .filter(|(entry, _)| !current.contains_key(&entry.identity) && seen.insert(&entry.identity))
        .map(|(entry, origin)| StaleObject {
            entry: entry.clone(),
            origin,
        })
        .collect()
}

/// Where a pending object is known from.
pub(super) fn origin(object: &PendingObject) -> StaleOrigin {
    StaleOrigin::Pending {
        why: object.why,
        late: object.late,
    }
}

/// What earlier runs left standing and is not rendered again.
pub(super) fn carried(stored: Option<&Record>, current: &Current<'_>) -> Vec<KeptObject> {
    let kept = stored.into_iter().flat_map(|record| &record.kept.objects);
    kept.filter(|object| !current.contains_key(&object.entry.identity))
        .cloned()
        .collect()
}
