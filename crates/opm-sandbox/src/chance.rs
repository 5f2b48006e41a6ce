//! What a sandbox takes from the machine: the time, and values that nobody can guess. A simulated
//! one is given both, so that the same requests have the same answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// The time since 1970, as somebody else tells it.
pub type TimeSource = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Where time and random values come from.
#[derive(Clone, Default)]
pub(crate) enum Chance {
    #[default]
    Machine,
    Given {
        time: TimeSource,
        seed: u64,
        drawn: Arc<AtomicU64>,
    },
}

impl Chance {
    pub(crate) fn given(time: TimeSource, seed: u64) -> Chance {
        Chance::Given {
            time,
            seed,
            drawn: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Chance::Machine => Timestamp::now(),
            Chance::Given { time, .. } => {
                let nanoseconds = i128::try_from(time().as_nanos()).unwrap_or(i128::MAX);
                Timestamp::from_nanosecond(nanoseconds).unwrap_or(Timestamp::MAX)
            }
        }
    }

    pub(crate) fn uuid(&self) -> Uuid {
        match self {
            Chance::Machine => Uuid::new_v4(),
            Chance::Given { seed, drawn, .. } => {
                let drawn = drawn.fetch_add(1, Ordering::Relaxed);
                let text = format!("{seed}.{drawn}");
                Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
            }
        }
    }
}
