//! How many requests about objects are on their way at a time, where nobody has said so: pure
//! policy, no I/O.
//!
//! It begins with a number that serves a cluster close by, and with more on a long way to the server,
//! where most of the time nothing but the way is waited for. It doubles as long as answers take no
//! longer for it, and then grows by little. When all answers of a
//! round take longer, the server is at its limits, and a quarter less is sent; when it says so
//! itself, half.

use std::time::Duration;

/// How many at the beginning; answers that take longer are no reason for less.
const START: usize = 24;
/// For each time that the way to the server and back takes so long, as many more.
const FAR: Duration = Duration::from_millis(10);
/// How many at most: each of them is a connection.
const MOST: usize = 96;
/// The same where the server is close by: it is busy with fewer, and a connection costs both sides
/// more than it brings.
const MOST_NEAR: usize = 32;
/// How many at least, whatever the server says.
const LEAST: usize = 2;
/// How many more after a round that was as fast as any, once it is known that there is a limit.
const MORE: usize = 4;

/// How many requests are sent at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pace {
    limit: usize,
    /// The fastest answer of all rounds.
    base: Option<Duration>,
    /// The fastest answer of this round, and how many there were.
    fastest: Option<Duration>,
    answers: usize,
    /// Whether the limit of the server was met.
    met: bool,
    /// How many answers are still to requests that were sent before the last refusal.
    earlier: usize,
    /// How many there may be.
    most: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            limit: START,
            base: None,
            fastest: None,
            answers: 0,
            met: false,
            earlier: 0,
            most: MOST,
        }
    }
}

impl Pace {
    /// How many at a time.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Before the first request, to a server at this distance.
    pub(crate) fn begin(&mut self, distance: Duration) {
        if *self != Self::default() {
            return;
        }
        let times = distance.as_millis().div_euclid(FAR.as_millis());
        let times = usize::try_from(times).unwrap_or(MOST);
        let more = START.saturating_mul(times);
        self.limit = START.saturating_add(more).min(MOST);
        self.most = if times == 0 { MOST_NEAR } else { MOST };
    }

    /// An answer came after this time. A round is as many answers as there are requests at a time.
    pub(crate) fn answered(&mut self, took: Duration) {
        self.earlier = self.earlier.saturating_sub(1);
        self.answers = self.answers.saturating_add(1);
        self.fastest = Some(self.fastest.map_or(took, |fastest| fastest.min(took)));
        if self.answers < self.limit {
            return;
        }
        let fastest = self.fastest.take().unwrap_or(took);
        let base = self.base.map_or(fastest, |base| base.min(fastest));
        self.base = Some(base);
        self.answers = 0;
        self.limit = match fastest > base.saturating_mul(2) {
            true => {
                self.met = true;
                let less = self.limit.saturating_sub(self.limit.div_ceil(4));
                less.max(START.min(self.limit))
            }
            false if self.met => self.limit.saturating_add(MORE).min(self.most),
            false => self.limit.saturating_mul(2).min(self.most),
        };
    }

    /// The server said that this is too much (429, 503). What was sent before it said so says it
    /// only once.
    pub(crate) fn refused(&mut self) {
        if self.earlier > 0 {
            self.earlier = self.earlier.saturating_sub(1);
            return;
        }
        self.met = true;
        self.earlier = self.limit.saturating_sub(1);
        self.limit = self.limit.div_euclid(2).max(LEAST);
        (self.fastest, self.answers) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in which the fastest answer took so many milliseconds, and the limits after each.
    fn limits(rounds: &[u64]) -> Vec<usize> {
        let mut pace = Pace::default();
        let mut limits = Vec::new();
        for fastest in rounds {
            for n in 0..pace.limit() {
                // One is on an open connection, the others open one first.
                let took = if n == 3 { *fastest } else { fastest * 3 };
                pace.answered(Duration::from_millis(took));
            }
            limits.push(pace.limit());
        }
        limits
    }

    #[test]
    fn it_follows_how_long_answers_take() {
        for (name, rounds, expected) in [
            ("far away", vec![100; 4], vec![48, 96, 96, 96]),
            ("a server at its limits", vec![2, 5, 5], vec![48, 36, 27]),
            (
                "not less than at first",
                vec![2, 5, 5, 5, 5],
                vec![48, 36, 27, 24, 24],
            ),
            (
                "by little after that",
                vec![2, 5, 2, 2],
                vec![48, 36, 40, 44],
            ),
            ("it was slow at first", vec![9, 3, 3], vec![48, 96, 96]),
        ] {
            assert_eq!(limits(&rounds), expected, "{name}");
        }
    }

    #[test]
    fn it_begins_with_more_on_a_long_way() {
        for (milliseconds, expected) in [(0, 24), (2, 24), (20, 72), (100, 96), (u64::MAX, 96)] {
            let mut pace = Pace::default();
            pace.begin(Duration::from_millis(milliseconds));
            assert_eq!(pace.limit(), expected, "{milliseconds} ms");
            pace.refused();
            pace.begin(Duration::from_secs(1));
            assert_eq!(pace.limit(), expected / 2, "not once it is under way");
        }
    }

    #[test]
    fn it_does_not_grow_far_close_by() {
        for (milliseconds, most) in [(2, MOST_NEAR), (20, MOST)] {
            let mut pace = Pace::default();
            pace.begin(Duration::from_millis(milliseconds));
            for _ in 0..1000 {
                pace.answered(Duration::from_millis(milliseconds));
            }
            assert_eq!(pace.limit(), most, "{milliseconds} ms");
        }
    }

    #[test]
    fn a_refusal_halves_it_once_for_what_was_on_its_way() {
        let mut pace = Pace::default();
        for _ in 0..24 {
            pace.refused();
        }
        assert_eq!(pace.limit(), 12, "one burst counts once");
        pace.refused();
        assert_eq!(pace.limit(), 6);
        for _ in 0..100 {
            pace.refused();
        }
        assert_eq!(pace.limit(), LEAST);
        for _ in 0..40 {
            pace.answered(Duration::from_millis(1));
        }
        assert!(pace.limit() > LEAST, "and it comes back");
        assert!(pace.limit() < START);
    }

    #[test]
    fn it_never_leaves_its_bounds() {
        let mut pace = Pace::default();
        for n in 0..5000_u64 {
            match n % 7 {
                0 => pace.refused(),
                _ => pace.answered(Duration::from_micros(n % 13)),
            }
            assert!((LEAST..=MOST).contains(&pace.limit()));
        }
    }
}
