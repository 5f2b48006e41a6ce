//! The record Secrets of a release: a fixed ring of 64 names, so that RBAC can name them.
//!
//! A payload takes as many places as it needs. Places are taken before the release's Secret
//! names them and given back after it has stopped naming them, so a crash in between leaves at
//! worst Secrets that no index names, which the next run sweeps.

use std::collections::BTreeSet;

use super::Record;
use crate::ids::RECORD_SLOTS;

/// The most that one record Secret holds.
pub const MAX_SECRET_BYTES: usize = 900_000;
/// The most that all record Secrets of a release hold together.
pub const MAX_TOTAL_BYTES: u64 = 8_000_000;

/// How many places a payload of this size needs.
pub fn places_needed(bytes: usize) -> usize {
    bytes.div_ceil(MAX_SECRET_BYTES).max(1)
}

/// The pieces of a payload, one for each place, in order.
pub fn pieces(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    let empty = payload.is_empty().then_some(payload);
    payload.chunks(MAX_SECRET_BYTES).chain(empty)
}

/// Every place that a record names.
pub fn named(record: &Record) -> BTreeSet<u8> {
    let places = record.locations().flat_map(|held| &held.places);
    places.copied().collect()
}

/// The highest free places, for what is written beside something that takes the lowest.
pub fn allocate_last(needed: usize, taken: &BTreeSet<u8>) -> Option<Vec<u8>> {
    let free = (0..RECORD_SLOTS)
        .rev()
        .filter(|place| !taken.contains(place));
    let places: Vec<u8> = free.take(needed).collect();
    // The other one must not run into it.
    (places.len() == needed && taken.len() + needed < usize::from(RECORD_SLOTS) / 2)
        .then_some(places)
}

/// The lowest free places, as many as asked for, or none when the ring is full.
///
/// `taken` must hold what the stored record names as well as what the next one will: a place
/// that is about to be given up still has its old content until the index has changed.
pub fn allocate(needed: usize, taken: &BTreeSet<u8>) -> Option<Vec<u8>> {
    let free = (0..RECORD_SLOTS).filter(|place| !taken.contains(place));
    let places: Vec<u8> = free.take(needed).collect();
    (places.len() == needed).then_some(places)
}
