//! Durations as people type them: `90s`, `5m`, `1h30m`, or `0`.

use std::time::Duration;

use jiff::SignedDuration;
use opm_core::protocol::Timing;
use opm_core::time::Timestamp;

/// Reads a duration. A bare number is refused, so that nobody waits 300 hours by accident.
pub(crate) fn parse(given: &str) -> Result<Duration, String> {
    if given == "0" {
        return Ok(Duration::ZERO);
    }
    let wrong = || format!("write it with its unit, such as 90s, 5m or 1h30m, not {given:?}");
    let parsed: SignedDuration = given.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

/// How long ago something was, in its largest unit, as `kubectl` shows ages.
pub(crate) fn age(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long before `now` a stored time was, as in `3m ago`; a text that is no time, or one that
/// lies ahead, stays as it is.
pub(crate) fn ago(time: &str, now: Timestamp) -> String {
    match Timestamp::stored(time, Timing::default().latest(now)) {
        Some(then) => format!("{} ago", age(now.since(then))),
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_is_ago() {
        let now: Timestamp = "2026-01-01T00:10:00Z".parse().unwrap();
        for (time, expected) in [
            ("2026-01-01T00:07:00Z", "3m ago"),
            ("2026-01-01T00:10:00Z", "0s ago"),
            ("2036-01-01T00:00:00Z", "2036-01-01T00:00:00Z"),
            ("yesterday", "yesterday"),
            ("", ""),
        ] {
            assert_eq!(ago(time, now), expected);
        }
    }

    #[test]
    fn reads_units_and_refuses_the_rest() {
        for (given, seconds) in [
            ("0", 0),
            ("90s", 90),
            ("5m", 300),
            ("1h30m", 5400),
            ("2h", 7200),
        ] {
            assert_eq!(parse(given), Ok(Duration::from_secs(seconds)), "{given}");
        }
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for given in ["", "5", "-5m", "five", "5 apples"] {
            assert!(parse(given).is_err(), "{given}");
        }
    }

    #[test]
    fn ages_have_one_unit() {
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7199, "119m"),
            (7200, "2h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (40_000_000, "462d"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), expected);
        }
    }
}
