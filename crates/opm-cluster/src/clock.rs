//! The clocks of this machine.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use opm_engine::ports::{Clock, Instant, Timestamp};

/// The system's wall clock and monotonic clock, with tokio's timer.
///
/// All of them in one process agree on the monotonic clock's origin, so that a deadline set
/// through one holds for all.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl SystemClock {
    /// Both clocks, as a [`opm_engine::ports::Gate`] wants them.
    pub fn now(&self) -> (Instant, Timestamp) {
        (self.monotonic(), self.wall())
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        // A clock before 1970 is as good as none; zero keeps deadlines in the past.
        Timestamp(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or(Duration::ZERO),
        )
    }

    fn monotonic(&self) -> Instant {
        static ORIGIN: OnceLock<StdInstant> = OnceLock::new();
        Instant(ORIGIN.get_or_init(StdInstant::now).elapsed())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_clocks_move_on_and_share_an_origin() {
        let before = SystemClock.now();
        SystemClock.sleep(Duration::from_millis(20)).await;
        let after = SystemClock.now();
        assert!(after.0.0 >= before.0.0 + Duration::from_millis(20));
        assert!(after.1 > before.1);
    }
}
