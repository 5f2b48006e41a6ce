//! Points in time, as arguments: this crate has no clock.
//!
//! Times in a record come from the server's clock, to the second, and are written as Kubernetes
//! writes them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Time since the Unix epoch: a point in wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub Duration);

/// A text that is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a time must look like 2026-02-11T14:30:00Z")]
pub struct TimeError;

impl Timestamp {
    /// A number of seconds since the Unix epoch.
    pub fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// How long ago `earlier` was; nothing if it was not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time that a stored text says. None if it says none, or one later than `latest`: what
    /// nobody can have written yet is not believed.
    pub fn stored(text: &str, latest: Self) -> Option<Self> {
        text.parse().ok().filter(|time| *time <= latest)
    }
}

/// How long something takes, as people write it: `90s`, `5m`, `1h30m`.
pub fn duration_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    let unit = |count: u64, unit: char| match count {
        0 => String::new(),
        count => format!("{count}{unit}"),
    };
    match seconds {
        0 if !duration.is_zero() => format!("{}ms", duration.as_millis()),
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{}", unit(seconds % 60, 's')),
        _ => format!("{hours}h{}", unit(minutes, 'm')),
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, in UTC, to the second: as Kubernetes writes times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0.as_secs()).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{time:.0}")
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads what [`Timestamp`] prints; fractions of a second are allowed and cut off. `jiff`
    /// takes more spellings than that; only one is ever stored.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let time: jiff::Timestamp = text.parse().map_err(|_| TimeError)?;
        let seconds = u64::try_from(time.as_second()).map_err(|_| TimeError)?;
        let time = Self::from_secs(seconds);
        let whole = text.split(['.', 'Z']).next().unwrap_or_default();
        let usual = text.ends_with('Z') && time.to_string() == format!("{whole}Z");
        usual.then_some(time).ok_or(TimeError)
    }
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
            assert_eq!(text.parse(), Ok(Timestamp::from_secs(seconds)));
        }
        let exact: Timestamp = "2026-02-11T14:30:00.123456Z".parse().unwrap();
        assert_eq!(exact, Timestamp::from_secs(1_770_820_200));
    }

    #[test]
    fn every_day_of_five_centuries_comes_back() {
        for day in 0..182_621 {
            let time = Timestamp::from_secs(day * 86_400 + 43_199);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn what_nobody_can_have_stored_yet_is_not_believed() {
        let latest = Timestamp::from_secs(1_770_820_200);
        for (text, seconds) in [
            ("2026-02-11T14:29:59Z", Some(1_770_820_199)),
            ("2026-02-11T14:30:00Z", Some(1_770_820_200)),
            ("2026-02-11T14:30:01Z", None),
            ("9999-12-30T22:00:00Z", None),
            ("tomorrow", None),
        ] {
            let stored = seconds.map(Timestamp::from_secs);
            assert_eq!(Timestamp::stored(text, latest), stored, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "Z",
            "2026-02-11",
            "2026-02-11T14:30:00",
            "2026-02-11T14:30:00+01:00",
            "2026-13-11T14:30:00Z",
            "2026-00-11T14:30:00Z",
            "2026-02-30T14:30:00Z",
            "2026-02-11 14:30:00Z",
            "2026-02-11T24:30:00Z",
            "1969-12-31T23:59:59Z",
            "2026-2-11T14:30:00Z",
            "2026-02-11T14:30:00.Z",
            "2026-02-11-01T14:30:00Z",
            "+026-02-11T14:30:00Z",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(TimeError), "{text}");
        }
    }
}
