//! The clocks of this machine.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use opm_engine::ports::{Clock, Instant, Timestamp};

/// The system's wall clock and monotonic clock, with tokio's timer.
///
/// All of them in one process agree on the monotonic clock's origin, so that a deadline set
/// through one holds for all.
#[derive(Clone, Default)]
pub struct SystemClock {
    /// In seconds.
    wrong_by: i64,
    simulated: Option<Arc<dyn SimulatedMachine>>,
}

/// A machine that is only simulated: whoever runs on it learns time and chance from here.
pub trait SimulatedMachine: Send + Sync {
    /// Both clocks.
    fn now(&self) -> (Instant, Timestamp);

    /// A number from 0 up to 1, another one every time.
    fn random(&self) -> f64;
}

impl SystemClock {
    /// The clocks of a machine whose wall clock is wrong by so many seconds; negative when it is
    /// behind. Nothing that others can see may depend on it.
    pub fn wrong_by(seconds: i64) -> Self {
        Self {
            wrong_by: seconds,
            simulated: None,
        }
    }

    /// The clocks of a simulated machine. Waiting is tokio's, whose time can be simulated too.
    pub fn simulated(machine: Arc<dyn SimulatedMachine>) -> Self {
        Self {
            wrong_by: 0,
            simulated: Some(machine),
        }
    }

    /// From 0 up to 1, different every time. Enough to spread clients out.
    pub(crate) fn random(&self) -> f64 {
        if let Some(machine) = &self.simulated {
            return machine.random();
        }
        let bits = RandomState::new().hash_one(0_u8) >> 11;
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let fraction = bits as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// Both clocks, as a [`opm_engine::ports::Permit`] wants them.
    pub fn now(&self) -> (Instant, Timestamp) {
        (self.monotonic(), self.wall())
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        if let Some(machine) = &self.simulated {
            return machine.now().1;
        }
        // A clock before 1970 is as good as none; zero keeps deadlines in the past.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or(Duration::ZERO);
        let shift = Duration::from_secs(self.wrong_by.unsigned_abs());
        Timestamp(match self.wrong_by {
            0.. => now.saturating_add(shift),
            _ => now.saturating_sub(shift),
        })
    }

    fn monotonic(&self) -> Instant {
        if let Some(machine) = &self.simulated {
            return machine.now().0;
        }
        static ORIGIN: OnceLock<StdInstant> = OnceLock::new();
        Instant(ORIGIN.get_or_init(StdInstant::now).elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_clocks_move_on_and_share_an_origin() {
        let clock = SystemClock::default();
        let before = clock.now();
        clock.sleep(Duration::from_millis(20)).await;
        let after = clock.now();
        assert!(after.0.0 >= before.0.0 + Duration::from_millis(20));
        assert!(after.1 > before.1);
    }

    #[test]
    fn a_wall_clock_can_be_wrong_either_way() {
        let (_, right) = SystemClock::default().now();
        let (_, ahead) = SystemClock::wrong_by(600).now();
        let (_, behind) = SystemClock::wrong_by(-600).now();
        assert!(ahead.0 >= right.0 + Duration::from_secs(600));
        assert!(behind.0 < right.0 - Duration::from_secs(500));
    }
}
