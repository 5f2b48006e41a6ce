//! Makes room among the record Secrets: the oldest manifests go first, and the change says so.

use super::ring::{MAX_TOTAL_BYTES, named};
use super::{Record, RecordPart};

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
    if record.past.pop().is_some() {
        return true;
    }
    let changes = record.history.len();
    record.cut_history(changes.saturating_sub(1));
    record.history.len() < changes
}

fn drop_oldest_manifests(record: &mut Record) -> bool {
    let mut failed = record.log.iter_mut();
    if let Some(entry) = failed.find(|entry| entry.record.is_some()) {
        entry.record = None;
        return true;
    }
    let older = record.history.iter_mut().skip(1);
    let mut older = older.chain(&mut record.past).rev();
    let oldest = older.find_map(|slot| {
        let held = slot.change_mut()?.record.as_mut()?;
        held.parts
            .contains_key(&RecordPart::Manifests)
            .then_some(held)
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
    let sizes = record.locations().map(|held| held.bytes);
    let bytes = sizes.fold(0, u64::saturating_add);
    bytes > MAX_TOTAL_BYTES || named(record).len() > MAX_PLACES
}
