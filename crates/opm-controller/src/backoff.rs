//! How long to wait before another attempt: longer after every failure, up to a bound, and never
//! quite as long as others who failed at the same moment.

use std::time::Duration;

/// How long after the first failure.
const FIRST: Duration = Duration::from_secs(1);

/// How long to wait after so many failures in a row. `chance` is any number: it takes off up to
/// a quarter.
pub(crate) fn after_failures(failures: u32, most: Duration, chance: u64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(20));
    let full = doubled.min(most.max(FIRST));
    full - part_of(full, chance, 1024)
}

/// The interval between looks at a release that is as it should be, with up to a tenth off: those
/// that were created together do not stay together.
pub(crate) fn regular(interval: Duration, chance: u64) -> Duration {
    interval - part_of(interval, chance, 2560)
}

/// Up to 255 of so many parts of a time.
fn part_of(time: Duration, chance: u64, parts: u32) -> Duration {
    let part = u32::try_from(chance % 256).unwrap_or_default();
    (time / parts).saturating_mul(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound() {
        let most = Duration::from_secs(60);
        for (failures, seconds) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (4000, 60)] {
            let waited = after_failures(failures, most, 0);
            assert_eq!(waited, Duration::from_secs(seconds), "{failures}");
        }
        assert_eq!(after_failures(9, Duration::ZERO, 0), FIRST, "never at once");
    }

    #[test]
    fn chance_takes_off_less_than_a_quarter() {
        let most = Duration::from_secs(60);
        for chance in [1, 255, 256, 1023, u64::MAX] {
            for failures in [1, 5, 40] {
                let full = after_failures(failures, most, 0);
                let waited = after_failures(failures, most, chance);
                assert!(
                    waited <= full && waited > full * 3 / 4,
                    "{chance} {failures}"
                );
            }
            let waited = regular(most, chance);
            assert!(waited <= most && waited >= most * 9 / 10, "{chance}");
            for longest in [Duration::MAX, Duration::from_secs(i64::MAX as u64)] {
                assert!(regular(longest, chance) >= longest / 10 * 9);
                assert!(after_failures(u32::MAX, longest, chance) > FIRST);
            }
        }
    }
}
