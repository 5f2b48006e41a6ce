//! What a caller may want to know, or say, while a module renders.

use std::time::Duration;

/// Follows a rendering. Called from the thread that renders.
pub trait RenderObserver: Send + Sync {
    /// The program `what` has been running for that long. The first call comes after a second.
    fn waiting(&self, what: &str, elapsed: Duration);

    /// Something is about to be fetched from somewhere else.
    fn fetching(&self, _what: &str) {}

    /// Whether to give up: the program that runs is then ended.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Follows nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl RenderObserver for NoObserver {
    fn waiting(&self, _what: &str, _elapsed: Duration) {}
}
