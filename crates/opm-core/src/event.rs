//! What happens while a use case runs: one stream, which begins with the whole plan.
//!
//! A terminal, JSON lines and later interfaces consume the same events. They tell what happened;
//! the result of a run is its report, never something that has to be put together from here.

use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::health::HealthState;
use crate::identity::Identity;

/// What happened to one object. A dry run says what would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It was created.
    Created,
    /// It was there, and was changed.
    Configured,
    /// It was there, and is as it was.
    Unchanged,
    /// It was deleted and created again.
    Recreated,
    /// It was there, untracked or another release's, and is this release's now.
    Adopted,
    /// It was stale, and was deleted.
    Pruned,
    /// It was deleted with its release.
    Deleted,
    /// It was left standing on purpose.
    Kept,
    /// It could not be applied or deleted.
    Failed,
    /// It was not tried, because something before it failed.
    Skipped,
    /// A check refuses it: an apply would not touch anything. Only differences say so.
    Refused,
}

impl Action {
    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Recreated => "recreated",
            Self::Adopted => "adopted",
            Self::Pruned => "pruned",
            Self::Deleted => "deleted",
            Self::Kept => "kept",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }
}

/// What a plan means to do with one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlannedAction {
    /// It is not there, and will be created.
    Create,
    /// It is there, and will be brought to what is rendered.
    Update,
    /// It is there, and will be taken over.
    Adopt,
    /// It is stale, and will be deleted.
    Prune,
    /// It is stale, and will be left standing.
    Keep,
}

impl PlannedAction {
    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Adopt => "adopt",
            Self::Prune => "prune",
            Self::Keep => "keep",
        }
    }
}

/// One object of an announced plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnnouncedObject {
    /// Which object.
    #[serde(flatten)]
    pub identity: Identity,
    /// Its component.
    pub component: String,
    /// What is meant to happen to it.
    #[serde(rename = "aim")]
    pub planned: PlannedAction,
}

/// What a run does with its objects, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunPhase {
    /// It looks at what there is.
    Look,
    /// It lets the server pretend to take them.
    Rehearse,
    /// It applies them.
    Apply,
    /// It removes what became stale.
    Prune,
    /// It deletes them with their release.
    Delete,
    /// It writes the record.
    Record,
}

impl RunPhase {
    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Rehearse => "rehearse",
            Self::Apply => "apply",
            Self::Prune => "prune",
            Self::Delete => "delete",
            Self::Record => "record",
        }
    }
}

/// What a run is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Another holder of the release's lock, named here.
    Lock(String),
    /// Objects to become ready, or kinds to be served.
    Ready(Vec<Identity>),
    /// Objects to be gone.
    Gone(Vec<Identity>),
    /// A webhook or an aggregated API to answer, so that these objects can be sent; and what the
    /// server said of the first.
    Answer(Vec<Identity>, String),
    /// A lock that was taken over: a request of its former holder may still land.
    Rest(std::time::Duration),
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(holder) => write!(f, "waiting for the lock of {holder}"),
            Self::Ready(objects) => write!(f, "waiting until ready: {}", some_of(objects)),
            Self::Gone(objects) => write!(f, "waiting until gone: {}", some_of(objects)),
            Self::Answer(objects, said) => write!(
                f,
                "waiting until the server can take {}: {said}",
                some_of(objects)
            ),
            Self::Rest(rest) => write!(
                f,
                "waiting {} s: a request of an earlier run may still land",
                rest.as_secs()
            ),
        }
    }
}

/// In words: what exactly is waited for is for people.
impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Wait", 1)?;
        fields.serialize_field("message", &self.to_string())?;
        fields.end()
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Serialize for RunPhase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Serialize for PlannedAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
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

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The whole plan. Comes first, and once; again only when somebody else wrote the record in
    /// between and everything was planned anew.
    Planned {
        /// The release's name.
        release: String,
        /// The change that is being made, if one is.
        change: Option<String>,
        /// Every object, in order.
        objects: Vec<AnnouncedObject>,
    },
    /// A phase of the run begins.
    Phase {
        /// Which.
        phase: RunPhase,
        /// With how many objects.
        objects: usize,
    },
    /// Which change of the history is applied again, and why that one.
    GoingBack {
        /// The change; none when what a first apply created is removed again.
        change: Option<String>,
        /// Why it is that one, in words.
        why: String,
    },
    /// The lock of another holder had expired, and was taken over.
    TookOver {
        /// Whose it was.
        holder: String,
    },
    /// The lock is held and the intent is written down: from here on things are touched.
    Begun,
    /// A request about one object is on its way.
    Sent {
        /// Which object.
        #[serde(flatten)]
        identity: Identity,
        /// Its component.
        component: String,
    },
    /// How an object is doing that the run waits for.
    Health {
        /// Which object.
        #[serde(flatten)]
        identity: Identity,
        /// In one word.
        state: HealthState,
        /// In a few words; empty when there is nothing to say.
        message: String,
    },
    /// Something was done about one object.
    Object {
        /// Which object.
        #[serde(flatten)]
        identity: Identity,
        /// Its component.
        component: String,
        /// What was done.
        action: Action,
        /// Why, where that is not plain.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run waits.
    Waiting(Wait),
    /// The record is written.
    Recorded {
        /// The change that is current now; none when the release is gone.
        change: Option<String>,
    },
}
