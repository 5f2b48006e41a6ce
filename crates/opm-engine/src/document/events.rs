//! The stream of events, one document each.

use opm_core::event::{AnnouncedObject, Event};
use serde::Serialize;

use super::{IdentityDocument, all};

/// An event, ready to be written as a document.
pub struct EventDocument<'a>(pub &'a Event);

#[derive(Serialize)]
struct Announced<'a> {
    #[serde(flatten)]
    identity: IdentityDocument<'a>,
    component: &'a str,
    aim: &'static str,
}

impl<'a> From<&'a AnnouncedObject> for Announced<'a> {
    fn from(object: &'a AnnouncedObject) -> Self {
        Self {
            identity: (&object.identity).into(),
            component: &object.component,
            aim: object.planned.word(),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Document<'a> {
    Planned {
        release: &'a str,
        change: Option<&'a str>,
        objects: Vec<Announced<'a>>,
    },
    GoingBack {
        change: &'a str,
        why: &'a str,
    },
    TookOver {
        holder: &'a str,
    },
    Begun,
    Object {
        #[serde(flatten)]
        identity: IdentityDocument<'a>,
        component: &'a str,
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    Waiting {
        message: String,
    },
    Recorded {
        change: Option<&'a str>,
    },
}

impl<'a> From<&'a Event> for Document<'a> {
    fn from(event: &'a Event) -> Self {
        match event {
            Event::Planned {
                release,
                change,
                objects,
            } => Self::Planned {
                release,
                change: change.as_deref(),
                objects: all(objects),
            },
            Event::GoingBack { change, why } => Self::GoingBack { change, why },
            Event::TookOver { holder } => Self::TookOver { holder },
            Event::Begun => Self::Begun,
            Event::Object {
                identity,
                component,
                action,
                reason,
            } => Self::Object {
                identity: identity.into(),
                component,
                action: action.word(),
                reason: reason.as_deref(),
            },
            Event::Waiting(wait) => Self::Waiting {
                message: wait.to_string(),
            },
            Event::Recorded { change } => Self::Recorded {
                change: change.as_deref(),
            },
        }
    }
}

impl Serialize for EventDocument<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::from(self.0).serialize(serializer)
    }
}
