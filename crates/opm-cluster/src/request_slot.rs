//! Waiting for a place among the requests about objects, as many at a time as [`Pace`] says.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::pace::Pace;

/// The turns of one run.
pub(crate) struct RequestSlots {
    free: Arc<Semaphore>,
    state: Mutex<SlotState>,
}

struct SlotState {
    pace: Pace,
    /// How many turns there are.
    turns: usize,
}

/// A turn, until its request is answered.
pub(crate) struct RequestSlot<'a> {
    turns: &'a RequestSlots,
    permit: Option<OwnedSemaphorePermit>,
}

impl Default for RequestSlots {
    fn default() -> Self {
        let pace = Pace::default();
        let turns = pace.limit();
        Self {
            free: Arc::new(Semaphore::new(turns)),
            state: Mutex::new(SlotState { pace, turns }),
        }
    }
}

impl RequestSlots {
    /// Waits for a turn.
    pub(crate) async fn next(&self) -> RequestSlot<'_> {
        // Nobody closes it.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        RequestSlot {
            turns: self,
            permit,
        }
    }

    /// Before the first request: as many turns as suit a server at this distance. How many there
    /// are now.
    pub(crate) fn begin(&self, distance: Duration) -> usize {
        let mut state = self.state();
        state.pace.begin(distance);
        let limit = state.pace.limit();
        self.free.add_permits(limit.saturating_sub(state.turns));
        state.turns = state.turns.max(limit);
        limit
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestSlot<'_> {
    /// Its request was answered after this time.
    pub(crate) fn answered(self, took: Duration) {
        self.turns.state().pace.answered(took);
    }

    /// The server said that this is too much.
    pub(crate) fn refused(self) {
        self.turns.state().pace.refused();
    }
}

impl Drop for RequestSlot<'_> {
    /// Makes the turns as many as they should be now, by this one or more.
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let limit = state.pace.limit();
        if state.turns > limit {
            state.turns = state.turns.saturating_sub(1);
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        } else {
            self.turns
                .free
                .add_permits(limit.saturating_sub(state.turns));
            state.turns = limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn there_are_as_many_turns_as_the_pace_allows() {
        let turns = RequestSlots::default();
        let mut held = Vec::new();
        for _ in 0..24 {
            held.push(turns.next().await);
        }
        assert_eq!(turns.free.available_permits(), 0);
        for turn in held {
            turn.answered(Duration::from_millis(5));
        }
        assert_eq!(turns.free.available_permits(), 48);
        turns.next().await.refused();
        let mut held = Vec::new();
        while turns.free.available_permits() > 0 {
            held.push(turns.next().await);
        }
        // RequestSlots that are given back are fewer, until there are as many as there should be.
        drop(held);
        assert_eq!(turns.free.available_permits(), 24);
    }
}
