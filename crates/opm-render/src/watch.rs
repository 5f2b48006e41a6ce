//! What a caller may want to know, or say, while a module renders.

use std::time::Duration;

/// Follows a rendering. Called from the thread that renders.
pub trait Watch: Send + Sync {
    /// Another program has been at work for that long; called first after a second.
    fn waiting(&self, what: &str, elapsed: Duration);

    /// Whether to give up: other programs are then ended.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Follows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Watch for Quiet {
    fn waiting(&self, _what: &str, _elapsed: Duration) {}
}
