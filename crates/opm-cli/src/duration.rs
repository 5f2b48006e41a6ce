//! Durations as people type them: `90s`, `5m`, `1h30m`, or `0`.

use std::time::Duration;

use jiff::SignedDuration;

/// Reads a duration. A bare number is refused, so that nobody waits 300 hours by accident.
pub(crate) fn parse(given: &str) -> Result<Duration, String> {
    if given == "0" {
        return Ok(Duration::ZERO);
    }
    let wrong = || format!("write it with its unit, such as 90s, 5m or 1h30m, not {given:?}");
    let parsed: SignedDuration = given.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
