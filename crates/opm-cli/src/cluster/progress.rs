//! The event stream, as lines for people or as lines of JSON.

use opm_core::event::{Action, Event, Wait};
use opm_core::identity::Identity;
use opm_engine::ports::Events;
use serde_json::{Value, json};

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
            self.ui.event(&encode(&event));
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
            Event::Waiting(wait) => self.ui.info(&waiting(&wait)),
            Event::Recorded { change } => {
                self.ui.detail(&format!(
                    "recorded {}",
                    change.as_deref().unwrap_or("that it is gone")
                ));
            }
            Event::Warning(warning) => self.ui.detail(&warning),
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

fn waiting(wait: &Wait) -> String {
    match wait {
        Wait::Lock(holder) => format!("waiting for the lock of {holder}"),
        Wait::Ready(objects) => format!("waiting until ready: {}", some_of(objects)),
        Wait::Gone(objects) => format!("waiting until gone: {}", some_of(objects)),
        Wait::Rest(rest) => {
            format!(
                "waiting {} s: a request of an earlier run may still land",
                rest.as_secs()
            )
        }
    }
}

/// The first few, and how many more.
fn some_of(objects: &[Identity]) -> String {
    let first: Vec<String> = objects.iter().take(3).map(ToString::to_string).collect();
    match objects.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The event as `--events` writes it.
fn encode(event: &Event) -> Value {
    match event {
        Event::Planned {
            release,
            change,
            objects,
        } => {
            let objects: Vec<Value> = objects
                .iter()
                .map(|object| {
                    object_json(
                        &object.identity,
                        &object.component,
                        "aim",
                        object.planned.word(),
                    )
                })
                .collect();
            json!({"event": "planned", "release": release, "change": change, "objects": objects})
        }
        Event::GoingBack { change, why } => {
            json!({"event": "going-back", "change": change, "why": why})
        }
        Event::TookOver { holder } => json!({"event": "took-over", "holder": holder}),
        Event::Begun => json!({"event": "begun"}),
        Event::Object {
            identity,
            component,
            action,
            reason,
        } => {
            let mut object = object_json(identity, component, "action", action.word());
            object["event"] = json!("object");
            if let Some(reason) = reason {
                object["reason"] = json!(reason);
            }
            object
        }
        Event::Waiting(wait) => json!({"event": "waiting", "message": waiting(wait)}),
        Event::Recorded { change } => json!({"event": "recorded", "change": change}),
        Event::Warning(warning) => json!({"event": "warning", "message": warning}),
    }
}

fn object_json(identity: &Identity, component: &str, key: &str, word: &str) -> Value {
    json!({
        "group": identity.group(),
        "kind": identity.kind(),
        "namespace": identity.namespace.as_deref().unwrap_or_default(),
        "name": identity.name,
        "component": component,
        key: word,
    })
}
