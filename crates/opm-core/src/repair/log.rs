//! The log of a repaired record: what the Secret still has of it, else the copies that changes
//! keep beside their manifests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::Timing;
use crate::record::{Change, LogEntry, LogResult, SalvagedRecord};
use crate::time::Timestamp;

/// The deployments, newest first. A copy was written just before its change was recorded, so a
/// run that had only started then is taken to have recorded its change if that is there.
pub fn recovered_log(
    salvaged: Option<&SalvagedRecord>,
    copies: &[Vec<LogEntry>],
    kept_changes: &[Change],
    now: Timestamp,
) -> Vec<LogEntry> {
    if let Some(salvaged) = salvaged.filter(|salvaged| !salvaged.log.is_empty()) {
        return salvaged.log.clone();
    }
    let changes: BTreeSet<&str> = kept_changes.iter().map(|change| &*change.id).collect();
    let mut entries: BTreeMap<&str, &LogEntry> = BTreeMap::new();
    for entry in copies.iter().flatten() {
        let known = entries.entry(&entry.id).or_insert(entry);
        if known.result == LogResult::Started {
            *known = entry;
        }
    }
    let mut log: Vec<LogEntry> = entries.into_values().cloned().collect();
    let latest = Timing::default().latest(now);
    log.sort_by_cached_key(|entry| {
        let time = Timestamp::stored(&entry.time, latest);
        (Reverse(time), age(&entry.id, copies))
    });
    for entry in &mut log {
        if entry.result == LogResult::Started {
            let change = entry.change.as_deref();
            let recorded = change.is_some_and(|change| changes.contains(change));
            entry.result = match recorded {
                true => LogResult::Succeeded,
                false => LogResult::Lost,
            };
        }
    }
    log
}

/// Orders runs of one second, newest first: every later run copied the ones before it, so an
/// older one is in more copies, and within a copy the newest stands first.
fn age(id: &str, copies: &[Vec<LogEntry>]) -> (usize, Option<usize>) {
    let mut places = copies
        .iter()
        .filter_map(|copy| copy.iter().position(|entry| entry.id == id));
    let first = places.next();
    (usize::from(first.is_some()) + places.count(), first)
}
