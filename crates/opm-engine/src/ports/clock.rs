//! Time, as an argument.

use std::time::Duration;

use async_trait::async_trait;
pub use opm_core::time::Timestamp;

/// A point on a clock that never goes back, but may stand still while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub Duration);

/// The two clocks of this machine, and waiting.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock: may jump, but moves on while the machine sleeps.
    fn wall(&self) -> Timestamp;

    /// The monotonic clock: never jumps, but stands still while the machine sleeps.
    fn monotonic(&self) -> Instant;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}
