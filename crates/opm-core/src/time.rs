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

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads what [`Timestamp`] prints; fractions of a second are allowed and cut off.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse(text).ok_or(TimeError)
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    let number = |text: &str, len: usize, max: u64| {
        let number: u64 = (text.len() == len && digits(text)).then(|| text.parse().ok())??;
        (number <= max).then_some(number)
    };
    let mut date = date.split('-');
    let (year, month, day) = (
        number(date.next()?, 4, 9999)?,
        number(date.next()?, 2, 12)?,
        number(date.next()?, 2, 31)?,
    );
    let mut time = time.split(':');
    let (hour, minute, second) = (
        number(time.next()?, 2, 23)?,
        number(time.next()?, 2, 59)?,
        number(time.next()?, 2, 60)?,
    );
    let over = date.next().is_some() || time.next().is_some() || !digits(fraction);
    if over || year < 1970 || month == 0 || day == 0 {
        return None;
    }
    let seconds = ((days_until(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(Timestamp::from_secs(seconds))
}

const FOUR_CENTURIES: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const TO_EPOCH: u64 = 719_468;

/// Days from 1970-01-01 to a date. Years are counted from March, so that the day that leap years
/// add comes last.
fn days_until(year: u64, month: u64, day: u64) -> u64 {
    let year = if month > 2 { year } else { year - 1 };
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * FOUR_CENTURIES + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_EPOCH
}

/// The Gregorian date of a day since 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + TO_EPOCH;
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
    fn other_texts_are_no_times() {
        for text in [
            "",
            "Z",
            "2026-02-11",
            "2026-02-11T14:30:00",
            "2026-02-11T14:30:00+01:00",
            "2026-13-11T14:30:00Z",
            "2026-00-11T14:30:00Z",
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
