//! What every writing request asks before each attempt: whether the caller still wants it, and
//! whether this run can still be certain that it holds the release's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opm_core::protocol::{Deadline, Timing};
use tokio_util::sync::CancellationToken;

use super::{Instant, Stopped, Timestamp};

/// The end of what a holder of a lock may do. It moves on with every renewal.
#[derive(Debug, Default)]
pub struct Fence(Mutex<FenceState>);

#[derive(Debug, Default, Clone, Copy)]
enum FenceState {
    /// No lock is held, so none can be lost.
    #[default]
    Open,
    /// The lock is certain until then.
    Until(Deadline),
    /// The lock is lost.
    Closed,
}

impl Fence {
    /// The lock is certain for as long as `timing` says after a write that was *sent* then.
    pub fn extend(&self, sent: (Instant, Timestamp), timing: &Timing) {
        *self.state() = FenceState::Until(Deadline::after_renewal(sent.0.0, sent.1.0, timing));
    }

    /// The lock was given back: nothing depends on it any more.
    pub fn open(&self) {
        *self.state() = FenceState::Open;
    }

    /// The lock is lost.
    pub fn close(&self) {
        *self.state() = FenceState::Closed;
    }

    fn check(&self, now: (Instant, Timestamp)) -> Result<(), Stopped> {
        let state = *self.state();
        match state {
            FenceState::Open => Ok(()),
            FenceState::Until(deadline) if !deadline.has_passed(now.0.0, now.1.0) => Ok(()),
            FenceState::Until(_) | FenceState::Closed => Err(Stopped::LockUncertain),
        }
    }

    fn state(&self) -> MutexGuard<'_, FenceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something that a run sent was never answered, so that it may still land.
#[derive(Debug, Default)]
pub struct Doubt(AtomicBool);

impl Doubt {
    /// Whether something may still land although nobody waits for it.
    pub fn exists(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The permission to send a writing request. Every attempt checks it again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Permit<'a> {
    /// What stops the run; none for writes that must still be made then.
    pub cancel: Option<&'a CancellationToken>,
    /// The lock under which the request is sent, if it needs one.
    pub fence: Option<&'a Fence>,
    /// Where unanswered requests are noted.
    pub doubt: Option<&'a Doubt>,
    /// Whether the request is one of many, of which as many are sent at a time as the server takes
    /// well.
    pub paced: bool,
}

impl Permit<'_> {
    /// To be asked before every attempt of every writing request.
    pub fn check(&self, now: (Instant, Timestamp)) -> Result<(), Stopped> {
        if self.cancel.is_some_and(CancellationToken::is_cancelled) {
            return Err(Stopped::Cancelled);
        }
        self.fence.map_or(Ok(()), |fence| fence.check(now))
    }

    /// Says that something was to be created or changed by a request that was sent and not
    /// answered. It was made again, or given up; either way the first attempt may still land.
    pub fn note_unanswered(&self) {
        if let Some(doubt) = self.doubt {
            doubt.0.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(monotonic: u64, wall: u64) -> (Instant, Timestamp) {
        (
            Instant(Duration::from_secs(monotonic)),
            Timestamp(Duration::from_secs(wall)),
        )
    }

    #[test]
    fn a_fence_is_open_until_either_clock_passes_the_deadline() {
        let fence = Fence::default();
        assert_eq!(fence.check(at(1, 1)), Ok(()));
        fence.extend(at(10, 1000), &Timing::default());
        for (now, expected) in [
            (at(29, 1019), Ok(())),
            (at(30, 1019), Err(Stopped::LockUncertain)),
            (at(12, 1020), Err(Stopped::LockUncertain)), // the machine slept
            (at(29, 500), Ok(())),                       // the clock was set back
        ] {
            assert_eq!(fence.check(now), expected, "{now:?}");
        }
        fence.open();
        assert_eq!(fence.check(at(99, 9999)), Ok(()));
        fence.close();
        assert_eq!(fence.check(at(99, 9999)), Err(Stopped::LockUncertain));
    }

    #[test]
    fn a_cancelled_run_sends_nothing_whatever_its_lock_says() {
        let (cancel, fence, doubt) = <(CancellationToken, Fence, Doubt)>::default();
        let permit = Permit {
            cancel: Some(&cancel),
            fence: Some(&fence),
            doubt: Some(&doubt),
            paced: false,
        };
        assert_eq!(permit.check(at(0, 0)), Ok(()));
        cancel.cancel();
        assert_eq!(permit.check(at(0, 0)), Err(Stopped::Cancelled));
        let record = Permit {
            cancel: None,
            ..permit
        };
        assert_eq!(
            record.check(at(0, 0)),
            Ok(()),
            "the lock is still given back"
        );
        assert!(!doubt.exists());
        permit.note_unanswered();
        assert!(doubt.exists());
    }
}
