//! Waiting for the cluster: until objects are ready, until they are gone, until kinds are
//! served. Every wait has an end, and an interrupt ends it at once.

mod gone;
mod ready;
mod served;

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};

pub(crate) use ready::{UnreadyObject, WaitTarget};

use crate::engine::Engine;
use crate::ports::{Clock, Instant, Stopped, Timestamp};

/// How often a wait looks up to see whether it was interrupted.
const LOOK_UP: Duration = Duration::from_millis(100);

impl<C, S, K: Clock> Engine<C, S, K> {
    /// Both clocks, as the gate wants them.
    pub(crate) fn now(&self) -> (Instant, Timestamp) {
        (self.clock.monotonic(), self.clock.wall())
    }

    /// Waits for something, unless the gate closes first.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let stopped = pin!(async {
            loop {
                if let Err(stopped) = self.gate.check(self.now()) {
                    return stopped;
                }
                self.clock.sleep(LOOK_UP).await;
            }
        });
        match select(pin!(work), stopped).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((stopped, _)) => Err(stopped),
        }
    }
}
