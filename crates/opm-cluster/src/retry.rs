//! When a request is sent again, and how long to wait before: pure policy, no I/O.
//!
//! Every write of this crate carries a precondition (a uid, a resourceVersion, or "must not
//! exist"), so that sending it twice never does more than sending it once. What a repeated
//! write's answer then means is decided where the write is made.

use std::time::Duration;

/// How often and how long requests are repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// The wait after the first failure; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait between two attempts.
    pub longest_wait: Duration,
    /// No attempt starts later than this after the first one.
    pub budget: Duration,
    /// The same, as long as the server has not answered anything in this run: an address where
    /// nobody listens should be reported soon.
    pub first_contact: Duration,
    /// How often a 500 with a reason is repeated at most: a broken webhook rarely mends itself.
    pub internal_errors: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(5),
            budget: Duration::from_secs(60),
            first_contact: Duration::from_secs(2),
            internal_errors: 4,
        }
    }
}

/// How one attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptFailure {
    /// No connection, so that the request was certainly not carried out.
    NotConnected,
    /// The connection broke or timed out; the request may have been carried out.
    NoAnswer,
    /// The server answered with this status.
    Status {
        status: u16,
        /// Whether the answer had a machine-readable reason.
        reason: bool,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Sending it again would fail the same way: credentials, an answer too large to read.
    Permanent,
}

impl AttemptFailure {
    /// Whether the request may have been carried out although it failed.
    pub(crate) fn in_doubt(self) -> bool {
        match self {
            Self::NoAnswer => true,
            Self::Status { status, .. } => status >= 500,
            Self::NotConnected | Self::Permanent => false,
        }
    }
}

impl AttemptFailure {
    /// Whether the request may still be carried out after it failed: nobody said that it was
    /// done with.
    pub(crate) fn may_still_land(self) -> bool {
        match self {
            Self::NoAnswer => true,
            Self::Status { status, .. } => status == 504,
            Self::NotConnected | Self::Permanent => false,
        }
    }
}

/// How far a request has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryProgress {
    /// Attempts made, at least one.
    pub(crate) attempts: u32,
    /// Time since the first attempt began.
    pub(crate) elapsed: Duration,
    /// Whether the server has answered anything in this run.
    pub(crate) contacted: bool,
}

impl RetryPolicy {
    /// How long to wait before the next attempt, or none if there is to be none. `random` is
    /// between 0 and 1.
    pub(crate) fn next(
        &self,
        failure: AttemptFailure,
        at: RetryProgress,
        random: f64,
    ) -> Option<Duration> {
        let asked = match failure {
            AttemptFailure::NotConnected | AttemptFailure::NoAnswer => None,
            AttemptFailure::Status {
                status: 429 | 502 | 503 | 504,
                retry_after,
                ..
            } => retry_after,
            AttemptFailure::Status {
                status: 500,
                reason: true,
                retry_after,
            } if at.attempts <= self.internal_errors => retry_after,
            AttemptFailure::Status { .. } | AttemptFailure::Permanent => return None,
        };
        let wait = match asked {
            // Not earlier than asked, and not everybody at once.
            Some(asked) => asked.saturating_add(self.first_wait.mul_f64(random)),
            None => self.backoff(at.attempts).mul_f64(0.5 + random / 2.0),
        };
        let budget = if at.contacted {
            self.budget
        } else {
            self.first_contact.min(self.budget)
        };
        (at.elapsed.saturating_add(wait) <= budget).then_some(wait)
    }

    fn backoff(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(20);
        self.first_wait
            .saturating_mul(1 << doublings)
            .min(self.longest_wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        first_wait: Duration::from_millis(100),
        longest_wait: Duration::from_secs(5),
        budget: Duration::from_secs(60),
        first_contact: Duration::from_secs(2),
        internal_errors: 4,
    };

    fn status(status: u16, reason: bool, retry_after: Option<u64>) -> AttemptFailure {
        AttemptFailure::Status {
            status,
            reason,
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    fn after(attempts: u32, elapsed: u64) -> RetryProgress {
        RetryProgress {
            attempts,
            elapsed: Duration::from_millis(elapsed),
            contacted: true,
        }
    }

    #[test]
    fn which_failures_are_repeated_and_when() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (name, failure, at, expected) in [
            ("first", AttemptFailure::NoAnswer, after(1, 0), ms(100)),
            ("doubles", AttemptFailure::NoAnswer, after(4, 0), ms(800)),
            (
                "is capped",
                AttemptFailure::NoAnswer,
                after(30, 0),
                ms(5000),
            ),
            (
                "refused",
                AttemptFailure::NotConnected,
                after(1, 0),
                ms(100),
            ),
            ("429", status(429, true, None), after(1, 0), ms(100)),
            (
                "429 asks",
                status(429, true, Some(3)),
                after(1, 0),
                ms(3100),
            ),
            (
                "503 asks",
                status(503, true, Some(1)),
                after(9, 0),
                ms(1100),
            ),
            (
                "502 of a proxy",
                status(502, false, None),
                after(1, 0),
                ms(100),
            ),
            ("504", status(504, true, None), after(1, 0), ms(100)),
            (
                "500 with reason",
                status(500, true, None),
                after(1, 0),
                ms(100),
            ),
            ("500 too often", status(500, true, None), after(5, 0), None),
            ("500 without", status(500, false, None), after(1, 0), None),
            ("409", status(409, true, None), after(1, 0), None),
            ("403", status(403, true, None), after(1, 0), None),
            ("422", status(422, true, Some(1)), after(1, 0), None),
            ("credentials", AttemptFailure::Permanent, after(1, 0), None),
            (
                "budget spent",
                AttemptFailure::NoAnswer,
                after(9, 58_000),
                None,
            ),
            (
                "for ever asked",
                status(429, true, Some(u64::MAX)),
                after(1, 60_000),
                None,
            ),
            (
                "budget asked",
                status(429, true, Some(90)),
                after(1, 0),
                None,
            ),
        ] {
            assert_eq!(POLICY.next(failure, at, 1.0), expected, "{name}");
        }
    }

    #[test]
    fn jitter_only_shortens_a_backoff_and_only_lengthens_what_was_asked() {
        for random in [0.0, 0.3, 0.999] {
            let wait = POLICY
                .next(AttemptFailure::NoAnswer, after(3, 0), random)
                .unwrap();
            assert!(wait >= Duration::from_millis(200) && wait <= Duration::from_millis(400));
            let asked = status(429, true, Some(2));
            let wait = POLICY.next(asked, after(3, 0), random).unwrap();
            assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_millis(2100));
        }
    }

    #[test]
    fn a_server_that_never_answered_is_given_up_soon() {
        let at = |elapsed| RetryProgress {
            contacted: false,
            ..after(3, elapsed)
        };
        assert!(
            POLICY
                .next(AttemptFailure::NotConnected, at(1000), 1.0)
                .is_some()
        );
        assert!(
            POLICY
                .next(AttemptFailure::NotConnected, at(1900), 1.0)
                .is_none()
        );
    }

    #[test]
    fn what_may_have_been_carried_out() {
        assert!(AttemptFailure::NoAnswer.in_doubt());
        assert!(status(504, true, None).in_doubt());
        assert!(status(500, true, None).in_doubt());
        assert!(!status(429, true, None).in_doubt());
        assert!(!AttemptFailure::NotConnected.in_doubt());
        assert!(AttemptFailure::NoAnswer.may_still_land());
        assert!(status(504, true, None).may_still_land());
        assert!(!status(503, true, None).may_still_land());
        assert!(!AttemptFailure::NotConnected.may_still_land());
    }
}
