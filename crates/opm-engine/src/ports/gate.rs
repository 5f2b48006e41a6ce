//! The gate in front of every request that writes: closed once the user interrupts, and once
//! this run can no longer be certain that it holds the release's lock. It remembers whether
//! something that passed it was never answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{Instant, Timestamp};

/// Why nothing more may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The user asked to stop.
    Interrupted,
    /// The lock's deadline has passed without a successful renewal.
    LockUncertain,
}

/// Shared between the use case, the lock's renewal, the signal handler and every request.
///
/// The deadline is kept on both clocks: the monotonic one stands still while a machine sleeps,
/// the wall clock may be set back. Whichever says "too late" first is right.
#[derive(Debug)]
pub struct Gate {
    interrupted: AtomicBool,
    going_back: AtomicBool,
    monotonic_deadline: AtomicU64,
    wall_deadline: AtomicU64,
    unanswered: AtomicBool,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            interrupted: AtomicBool::new(false),
            going_back: AtomicBool::new(false),
            monotonic_deadline: AtomicU64::new(u64::MAX),
            wall_deadline: AtomicU64::new(u64::MAX),
            unanswered: AtomicBool::new(false),
        }
    }
}

impl Gate {
    /// Closes the gate for good, because the user asked to stop.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
    }

    /// Lets through what makes an interrupted run undone. That the user asked to stop is not
    /// forgotten: whoever asks again is heard elsewhere.
    pub fn go_back(&self) {
        self.going_back.store(true, Ordering::Release);
    }

    /// Whether the user asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Sets the point after which the lock is no longer certain: `hold` after a renewal that
    /// was *sent* at these times succeeded.
    pub fn hold_until(&self, sent: (Instant, Timestamp), hold: Duration) {
        self.monotonic_deadline
            .store(millis(sent.0.0 + hold), Ordering::Release);
        self.wall_deadline
            .store(millis(sent.1.0 + hold), Ordering::Release);
    }

    /// Closes the gate because the lock is known to be lost.
    pub fn lock_lost(&self) {
        self.monotonic_deadline.store(0, Ordering::Release);
    }

    /// No lock is held (any more), so none can be lost.
    pub fn no_lock(&self) {
        self.monotonic_deadline.store(u64::MAX, Ordering::Release);
        self.wall_deadline.store(u64::MAX, Ordering::Release);
    }

    /// Says that something was to be created by a request that was sent and not answered. It was
    /// made again, or given up; either way the first attempt may still land.
    pub fn note_unanswered(&self) {
        self.unanswered.store(true, Ordering::Release);
    }

    /// Whether something that passed this gate may still land although nobody waits for it.
    pub fn has_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Acquire)
    }

    /// To be asked before every attempt of every writing request.
    pub fn check(&self, now: (Instant, Timestamp)) -> Result<(), Stopped> {
        if self.is_interrupted() && !self.going_back.load(Ordering::Acquire) {
            return Err(Stopped::Interrupted);
        }
        let late = millis(now.0.0) >= self.monotonic_deadline.load(Ordering::Acquire)
            || millis(now.1.0) >= self.wall_deadline.load(Ordering::Acquire);
        if late {
            Err(Stopped::LockUncertain)
        } else {
            Ok(())
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic: u64, wall: u64) -> (Instant, Timestamp) {
        (
            Instant(Duration::from_secs(monotonic)),
            Timestamp(Duration::from_secs(wall)),
        )
    }

    #[test]
    fn open_until_either_clock_passes_the_deadline() {
        let gate = Gate::default();
        assert_eq!(gate.check(at(1, 1)), Ok(()));
        gate.hold_until(at(10, 1000), Duration::from_secs(20));
        for (now, expected) in [
            (at(29, 1019), Ok(())),
            (at(30, 1019), Err(Stopped::LockUncertain)),
            (at(12, 1020), Err(Stopped::LockUncertain)), // the machine slept
            (at(29, 500), Ok(())),                       // the clock was set back
        ] {
            assert_eq!(gate.check(now), expected, "{now:?}");
        }
        gate.no_lock();
        assert_eq!(gate.check(at(99, 9999)), Ok(()));
        gate.lock_lost();
        assert_eq!(gate.check(at(99, 9999)), Err(Stopped::LockUncertain));
    }

    #[test]
    fn an_interrupt_closes_it_whatever_the_lock_says() {
        let gate = Gate::default();
        gate.interrupt();
        assert_eq!(gate.check(at(0, 0)), Err(Stopped::Interrupted));
        gate.go_back();
        assert_eq!(
            gate.check(at(0, 0)),
            Ok(()),
            "what makes it undone goes through"
        );
        assert!(
            gate.is_interrupted(),
            "and a second interrupt is told from the first"
        );
    }
}
