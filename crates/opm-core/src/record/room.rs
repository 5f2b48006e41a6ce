//! Makes room among the record Secrets: the oldest manifests go first, and the change says so.

use super::ring::{MAX_TOTAL_BYTES, named};
use super::{Content, Part, Record};

/// The most places that changes hold, so that a new one always finds some that are free.
const MAX_PLACES: usize = 48;

/// Why manifests are no longer there.
const MADE_ROOM: &str = "made room for the manifests of newer changes";

/// Drops the oldest manifests until what is kept fits. The current change keeps its own.
pub fn make_room(record: &mut Record) {
    while too_much(record) {
        let oldest =
            record
                .history
                .iter_mut()
                .skip(1)
                .rev()
                .find_map(|slot| match &mut slot.content {
                    Content::Read(change) => change
                        .record
                        .as_mut()
                        .filter(|held| held.parts.contains_key(&Part::Manifests)),
                    Content::Damaged(_) | Content::Absent => None,
                });
        let Some(held) = oldest else {
            return;
        };
        held.parts.remove(&Part::Manifests);
        held.dropped.insert(Part::Manifests, MADE_ROOM.to_owned());
    }
}

fn too_much(record: &Record) -> bool {
    let held = record.changes().filter_map(|change| change.record.as_ref());
    let bytes: u64 = held.map(|held| held.bytes()).sum();
    bytes > MAX_TOTAL_BYTES || named(record).len() > MAX_PLACES
}
