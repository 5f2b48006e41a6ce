//! Whether a lock is alive, reckoned from the server's clocks only, and when a holder must stop.

use std::time::Duration;

use crate::record::{Lock, Record};
use crate::time::Timestamp;

/// Server times have a granularity of one second, at either end.
const SKEW: Duration = Duration::from_secs(2);

/// How long things are good for. Settable, so that tests need not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// After this long without renewal a lock has expired.
    pub ttl: Duration,
    /// How often the holder renews.
    pub renew: Duration,
    /// How long after sending its last successful renewal the holder still acts.
    pub hold: Duration,
    /// How long after the last write of a lock that was taken over requests of its holder may
    /// still land.
    pub take_over_rest: Duration,
    /// How long a request whose answer was lost may still land.
    pub request: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(30),
            renew: Duration::from_secs(10),
            hold: Duration::from_secs(20),
            take_over_rest: Duration::from_secs(90),
            request: Duration::from_secs(60),
        }
    }
}

impl Timing {
    /// The latest time that anybody can have stored by `now`, the server's clock: nothing that
    /// is written down reaches further ahead, and servers that stand side by side are not further
    /// apart.
    pub fn latest(&self, now: Timestamp) -> Timestamp {
        now + self.ttl.max(self.take_over_rest).max(self.request) + SKEW
    }
}

/// How the age of a lock is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAge {
    /// By when it was written, according to the server.
    Written(Timestamp),
    /// By watching it: somebody wiped managedFields.
    Unknown,
    /// By watching it: it says to be written at this time, which has not come yet.
    Ahead(Timestamp),
}

impl LockAge {
    /// How to tell the age of a lock that was `written` then, as far as anybody says.
    pub fn of(written: Option<Timestamp>, server_time: Timestamp, timing: &Timing) -> Self {
        match written {
            None => Self::Unknown,
            Some(written) if written > timing.latest(server_time) => Self::Ahead(written),
            Some(written) => Self::Written(written),
        }
    }
}

/// A lock as it was seen.
#[derive(Debug, Clone, Copy)]
pub struct LockObservation {
    /// The newest managedFields time of an entry that owns `data.lock`, if there is one.
    pub written: Option<Timestamp>,
    /// The Date of the same answer.
    pub server_time: Timestamp,
    /// For how long the caller has seen the lock unchanged.
    pub unchanged_for: Duration,
    /// Whether the holder ran on this machine, in this boot and pid namespace, and is dead.
    pub holder_dead: bool,
}

/// A lock whose holder has stopped renewing it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpiredLock {
    /// The lock.
    pub lock: Lock,
    /// Until when requests of the old holder may still land; none if it is known to be dead.
    pub rest_until: Option<Timestamp>,
    /// The server's time when the record was loaded.
    pub loaded: Timestamp,
}

/// Whether no request of an earlier run can land any more: nobody holds the lock, and the time is
/// over until which something may come. What is looked at from then on stays as it is seen, as far
/// as this release's runs are concerned. `loaded` is the server's time when the record was loaded.
pub fn is_settled(record: &Record, loaded: Timestamp) -> bool {
    let until = record.pending.until.as_deref();
    let over = |until: &str| until.parse().is_ok_and(|until: Timestamp| until <= loaded);
    record.lock.is_none() && until.is_none_or(over)
}

/// How a record may be opened for writing. It remembers when the record was loaded: everything
/// that a run looks at, it looks at later than that.
#[derive(Debug, Clone, PartialEq)]
pub enum LockAcquisition {
    /// Nobody holds it.
    Free {
        /// The server's time when the record was loaded.
        loaded: Timestamp,
    },
    /// Somebody held it and has stopped renewing.
    TakeOver(Box<ExpiredLock>),
}

impl LockAcquisition {
    /// For a release that has no record yet.
    pub fn without_record() -> Self {
        Self::Free {
            loaded: Timestamp::from_secs(0),
        }
    }

    /// The server's time when the record was loaded.
    pub fn loaded(&self) -> Timestamp {
        match self {
            Self::Free { loaded } => *loaded,
            Self::TakeOver(expired) => expired.loaded,
        }
    }
}

/// What a look at the lock says.
#[derive(Debug, Clone, PartialEq)]
pub enum LockState {
    /// The record may be opened.
    Open(LockAcquisition),
    /// Somebody is at work; the lock expires after this long if nothing more is heard.
    Held {
        /// The lock.
        lock: Box<Lock>,
        /// How long until it expires.
        expires_in: Duration,
        /// How its age is told.
        age: LockAge,
    },
}

impl LockState {
    /// Judges the lock of a record.
    pub fn of(record: Option<&Record>, sight: &LockObservation, timing: &Timing) -> Self {
        let Some(lock) = record.and_then(|record| record.lock.as_ref()) else {
            return Self::Open(LockAcquisition::Free {
                loaded: sight.server_time,
            });
        };
        let age = LockAge::of(sight.written, sight.server_time, timing);
        let (expires_in, last_write) = match age {
            LockAge::Written(written) => {
                let expires = written + timing.ttl + SKEW;
                (expires.since(sight.server_time), written)
            }
            LockAge::Unknown | LockAge::Ahead(_) => {
                let expires_in = timing.ttl.saturating_sub(sight.unchanged_for);
                (expires_in, sight.server_time)
            }
        };
        if !sight.holder_dead && !expires_in.is_zero() {
            return Self::Held {
                lock: Box::new(lock.clone()),
                expires_in,
                age,
            };
        }
        let rest = (!sight.holder_dead).then(|| last_write + timing.take_over_rest);
        Self::Open(LockAcquisition::TakeOver(Box::new(ExpiredLock {
            lock: lock.clone(),
            rest_until: rest,
            loaded: sight.server_time,
        })))
    }
}

/// Until when a holder may act. It counts from when it *sent* the renewal that was answered last,
/// and on both clocks: the monotonic one stands still while the machine sleeps, the wall clock
/// may be set back. Whichever says "too late" first is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    monotonic: Duration,
    wall: Duration,
}

impl Deadline {
    /// The deadline of a renewal that was sent at these times.
    pub fn after_renewal(monotonic: Duration, wall: Duration, timing: &Timing) -> Self {
        Self {
            monotonic: monotonic.saturating_add(timing.hold),
            wall: wall.saturating_add(timing.hold),
        }
    }

    /// Whether the holder must stop now.
    pub fn has_passed(&self, monotonic: Duration, wall: Duration) -> bool {
        monotonic >= self.monotonic || wall >= self.wall
    }
}

/// The lock for the next renewal. The beat moves, because an identical write would move no time.
pub fn renewed(lock: &Lock) -> Lock {
    Lock {
        beat: lock.beat.saturating_add(1),
        ..lock.clone()
    }
}

/// Whether a record is still held under this lock id.
pub fn still_held(record: &Record, id: &str) -> bool {
    record.lock.as_ref().is_some_and(|lock| lock.id == id)
}
