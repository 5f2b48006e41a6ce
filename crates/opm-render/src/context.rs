//! What every step of a rendering needs besides the module: settings, an observer, and the way
//! to give up.

use crate::cancellation::Cancellation;
use crate::observer::RenderObserver;
use crate::settings::RenderSettings;

/// Passed down from the entry points to whatever runs another program.
#[derive(Clone, Copy)]
pub(crate) struct RenderContext<'a> {
    pub(crate) settings: &'a RenderSettings,
    pub(crate) observer: &'a dyn RenderObserver,
    pub(crate) cancellation: &'a Cancellation,
}

impl RenderContext<'_> {
    /// Whether the caller has given up, by either way.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled() || self.observer.cancelled()
    }
}
