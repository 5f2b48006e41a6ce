//! Which objects should go: `(previous ∪ pending) − current`, compared by identity alone.

use std::collections::{HashMap, HashSet};

use super::{Current, DesiredObject, PlannedObject, StaleObject, StaleOrigin, TrackedAs};
use crate::entry::Entry;
use crate::identity::Identity;
use crate::record::{KeptObject, PendingObject, Record};

/// What the record knows, by identity.
pub(super) type KnownObjects<'a> = HashMap<&'a Identity, (TrackedAs, &'a Entry)>;

/// Everything that the record knows. Inventory, pending and kept are disjoint; in a record that
/// breaks this, the inventory counts.
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
    for recorded in record.inventory() {
        known.insert(
            &recorded.entry.identity,
            (TrackedAs::Inventoried, &recorded.entry),
        );
    }
    known
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
    let inventory = record
        .inventory()
        .iter()
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
