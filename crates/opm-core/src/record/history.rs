//! The history of a release: states, not invocations.
//!
//! An equal change overwrites its former self and moves to the front; what exceeds the maximum
//! falls off the end. The current change never does.

use std::collections::BTreeSet;

use super::{Body, Change, Content, HistorySlot, Record, ring};

/// How many changes are kept unless somebody says otherwise.
pub const DEFAULT_MAX_HISTORY: usize = 10;

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
        let former_self = self.history.iter().position(|slot| slot.id == change.id);
        let former_self = former_self.map(|at| self.history.remove(at));
        change.parent = match former {
            Some(id) if id != change.id => Some(id),
            _ => former_self.and_then(|slot| parent(&slot)),
        };
        for slot in &mut self.history {
            forget_lives(slot);
        }
        let slot = HistorySlot {
            id: change.id.clone(),
            content: Content::Read(Box::new(change)),
        };
        self.history.insert(0, slot);
        let mut dropped = self.cut_history(max_history);
        dropped.places = before.difference(&ring::named(self)).copied().collect();
        dropped
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

fn parent(slot: &HistorySlot) -> Option<String> {
    match &slot.content {
        Content::Read(change) => change.parent.clone(),
        Content::Damaged(_) | Content::Absent => None,
    }
}

/// Uid and hash describe living objects, so only the current change has them.
fn forget_lives(slot: &mut HistorySlot) {
    let Content::Read(change) = &mut slot.content else {
        return;
    };
    let Body::Here(inventory) = &mut change.inventory else {
        return;
    };
    for recorded in &mut inventory.entries {
        recorded.entry.uid = None;
        recorded.entry.hash = None;
    }
}
