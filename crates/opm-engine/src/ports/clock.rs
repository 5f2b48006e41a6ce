//! Time, as an argument.

use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Seconds since the Unix epoch, with nanoseconds: a point in wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Duration);

impl fmt::Display for Timestamp {
    /// RFC 3339, in UTC, to the second: as Kubernetes writes times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// The Gregorian date of a day since 1970-01-01. Years are counted from March, so that the day
/// that leap years add comes last.
fn date(days: u64) -> (u64, u64, u64) {
    const FOUR_CENTURIES: u64 = 146_097;
    let days = days + 719_468;
    let (era, of_era) = (days / FOUR_CENTURIES, days % FOUR_CENTURIES);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// A point on a clock that never goes back, but may stand still while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub Duration);

/// The two clocks of this machine, and waiting.
pub trait Clock: Send + Sync {
    /// The wall clock: may jump, but moves on while the machine sleeps.
    fn wall(&self) -> Timestamp;

    /// The monotonic clock: never jumps, but stands still while the machine sleeps.
    fn monotonic(&self) -> Instant;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_read_as_kubernetes_writes_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_770_820_200, "2026-02-11T14:30:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = Timestamp(Duration::from_millis(seconds * 1000 + 999));
            assert_eq!(time.to_string(), text);
        }
    }
}
