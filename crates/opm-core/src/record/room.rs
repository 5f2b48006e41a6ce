//! Makes room among the record Secrets: the oldest manifests go first, and the change says so.

use super::ring::{MAX_TOTAL_BYTES, named};
use super::{Content, PartLocation, Record, RecordPart};

/// The most places that a record names, so that a new change always finds some that are free.
pub const MAX_PLACES: usize = 48;

/// Why manifests are no longer there.
const MADE_ROOM: &str = "made room for the manifests of newer changes";

/// Drops the oldest manifests until what is kept fits. The current change keeps its own.
pub fn make_room(record: &mut Record) {
    while too_much(record) && drop_oldest_manifests(record) {}
}

/// Gives up the least of what the record Secrets hold: the oldest manifests, else the oldest
/// change altogether. False when there is nothing left that could be given up.
pub fn give_way(record: &mut Record) -> bool {
    if drop_oldest_manifests(record) {
        return true;
    }
    let changes = record.history.len();
    record.cut_history(changes.saturating_sub(1));
    record.history.len() < changes
}

fn drop_oldest_manifests(record: &mut Record) -> bool {
    let oldest = record
        .history
        .iter_mut()
        .skip(1)
        .rev()
        .find_map(|slot| match &mut slot.content {
            Content::Read(change) => change
                .record
                .as_mut()
                .filter(|held| held.parts.contains_key(&RecordPart::Manifests)),
            Content::Damaged(_) | Content::Absent => None,
        });
    let Some(held) = oldest else {
        return false;
    };
    held.parts.remove(&RecordPart::Manifests);
    held.dropped
        .insert(RecordPart::Manifests, MADE_ROOM.to_owned());
    true
}

fn too_much(record: &Record) -> bool {
    let changes = record.changes().filter_map(|change| change.record.as_ref());
    let beside = [&record.pending.held, &record.kept.held];
    let beside = beside
        .into_iter()
        .flatten()
        .map(|held: &PartLocation| held.bytes);
    let bytes: u64 = changes.map(|held| held.bytes()).chain(beside).sum();
    bytes > MAX_TOTAL_BYTES || named(record).len() > MAX_PLACES
}
