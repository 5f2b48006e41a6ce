//! The history of a release: states, not invocations.
//!
//! An equal change overwrites its former self and moves to the front; what exceeds the maximum
//! falls off the end. The current change never does.

use std::collections::BTreeSet;

use super::{Change, Record, ring};

/// How many changes are kept unless somebody says otherwise.
pub const DEFAULT_MAX_HISTORY: usize = 10;

/// One place in the history, named by the index.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySlot {
    /// The change id, which is also the data key.
    pub id: String,
    /// What is stored under that key.
    pub content: Content,
}

/// What is stored for one id of the index.
///
/// Only older changes can be anything but `Read`: a record whose current change cannot be read
/// is an error, because its inventory would look empty.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A change.
    Read(Box<Change>),
    /// Something that cannot be read as a change; kept byte for byte.
    Damaged(Vec<u8>),
    /// Nothing: the index names a key that is not there.
    Absent,
}

impl HistorySlot {
    /// The change, if it can be read.
    pub fn change(&self) -> Option<&Change> {
        match &self.content {
            Content::Read(change) => Some(change),
            Content::Damaged(_) | Content::Absent => None,
        }
    }

    pub(super) fn change_mut(&mut self) -> Option<&mut Change> {
        match &mut self.content {
            Content::Read(change) => Some(change),
            Content::Damaged(_) | Content::Absent => None,
        }
    }
}

/// What fell off the end of the history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DroppedChanges {
    /// The ids, which were data keys too.
    pub changes: Vec<String>,
    /// Places of the ring that nothing names any longer, former selves of the change included.
    pub places: BTreeSet<u8>,
}

impl Record {
    /// Makes `change` the current one and keeps at most `max_history` changes.
    pub fn push_change(&mut self, mut change: Change, max_history: usize) -> DroppedChanges {
        let before = ring::named(self);
        let former = self.current().map(|current| current.id.clone());
        self.take_past();
        let same = self.history.iter().position(|slot| slot.id == change.id);
        let same = same.map(|at| self.history.remove(at));
        change.parent = match former {
            Some(id) if id != change.id => Some(id),
            _ => same.and_then(|slot| slot.change()?.parent.clone()),
        };
        self.history.iter_mut().for_each(forget_lives);
        let slot = HistorySlot {
            id: change.id.clone(),
            content: Content::Read(Box::new(change)),
        };
        self.history.insert(0, slot);
        let mut dropped = self.cut_history(max_history);
        dropped.places = before.difference(&ring::named(self)).copied().collect();
        dropped
    }

    /// Once there is a current change, what was found again is older than it.
    fn take_past(&mut self) {
        let past = std::mem::take(&mut self.past);
        let known: BTreeSet<String> = self.history.iter().map(|slot| slot.id.clone()).collect();
        let past = past.into_iter().filter(|slot| !known.contains(&slot.id));
        self.history.extend(past);
    }

    /// Drops the oldest changes until at most `max_history` are left, never the current one.
    pub(super) fn cut_history(&mut self, max_history: usize) -> DroppedChanges {
        let before = ring::named(self);
        let keep = max_history.max(1).min(self.history.len());
        let cut = self.history.split_off(keep);
        let changes = cut.into_iter().map(|slot| slot.id).collect();
        DroppedChanges {
            changes,
            places: before.difference(&ring::named(self)).copied().collect(),
        }
    }
}

/// Uid and hash describe living objects, so only the current change has them.
fn forget_lives(slot: &mut HistorySlot) {
    let inventory = slot.change_mut().and_then(|c| c.inventory.here_mut());
    for recorded in inventory.into_iter().flat_map(|i| &mut i.entries) {
        recorded.entry.uid = None;
        recorded.entry.hash = None;
    }
}
