//! The event stream, as lines for people or as lines of JSON.

use opm_core::event::{Action, Event};
use opm_core::identity::Identity;

use opm_engine::ports::Events;

use crate::ui::Ui;

/// Shows events as they come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    ui: Ui,
    json: bool,
}

impl Progress {
    /// Through `ui`; `json` is `--events`.
    pub(super) fn new(ui: Ui, json: bool) -> Self {
        Self { ui, json }
    }
}

impl Events for Progress {
    fn emit(&self, event: Event) {
        if self.json {
            self.ui.event(&event);
            return;
        }
        match event {
            Event::Planned { objects, .. } => self
                .ui
                .detail(&format!("planned {} objects", objects.len())),
            Event::GoingBack { change, why } => {
                self.ui.info(&format!("going back to {change}: {why}"));
            }
            Event::TookOver { holder } => {
                self.ui.warn(&format!(
                    "the lock of {holder} had expired, and was taken over"
                ));
            }
            Event::Begun => self
                .ui
                .detail("the lock is held, and the intent is recorded"),
            Event::Object {
                identity,
                action,
                reason,
                ..
            } => self.object(&identity, action, reason.as_deref()),
            Event::Waiting(wait) => self.ui.info(&wait.to_string()),
            Event::Recorded { change } => {
                self.ui.detail(&format!(
                    "recorded {}",
                    change.as_deref().unwrap_or("that it is gone")
                ));
            }
        }
    }
}

impl Progress {
    fn object(&self, identity: &Identity, action: Action, reason: Option<&str>) {
        let why = reason
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        self.ui
            .detail(&format!("{identity} {}{why}", action.word()));
    }
}
