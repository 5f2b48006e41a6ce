//! Who calls a use case: who watches it, who answers its questions, what stops it, and as whom
//! it acts.

use futures::future::BoxFuture;
use opm_core::check::HookStep;
use opm_core::event::{AnnouncedObject, Event};
use opm_core::hook::HookEvent;
use opm_core::identity::Identity;
use opm_core::managed::Manager;

use tokio_util::sync::CancellationToken;

use crate::repair::RepairReport;

/// Takes the stream of events. Must not block.
pub trait Events: Send + Sync {
    /// One thing has happened.
    fn emit(&self, event: Event);
}

/// A hook that runs if somebody agrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedHook {
    /// The object that is made for it.
    pub identity: Identity,
    /// When.
    pub event: HookEvent,
}

impl AnnouncedHook {
    pub(crate) fn of(step: &HookStep) -> Self {
        Self {
            identity: step.entry.identity.clone(),
            event: step.event,
        }
    }
}

/// What only a person may decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A field of this object cannot be changed in place. Delete and recreate it?
    /// Only the option to recreate says yes beforehand.
    Recreate {
        /// The object.
        identity: Identity,
        /// The fields, as the server names them.
        fields: Vec<String>,
    },
    /// Nothing is rendered, so everything that the release has will be deleted. Is that meant?
    /// Only the option to allow it says yes beforehand.
    EmptyRender {
        /// The release's name.
        release: String,
        /// What will be deleted.
        objects: Vec<Identity>,
    },
    /// This looks like another module: everything that the release has will be removed for it.
    /// Only the option to replace everything says yes beforehand.
    ReplaceAll {
        /// The release's name.
        release: String,
        /// What will be removed.
        objects: Vec<Identity>,
    },
    /// This will be done. Only a person is asked: where nobody can be, it is done.
    Review {
        /// The release's name.
        release: String,
        /// What is meant to happen to which object.
        objects: Vec<AnnouncedObject>,
        /// Those that are deleted and created again.
        recreated: Vec<Identity>,
        /// The hooks of charts that run.
        hooks: Vec<AnnouncedHook>,
    },
    /// These objects will be deleted, and the release with them.
    Delete {
        /// The release's name.
        release: String,
        /// What will be deleted.
        objects: Vec<Identity>,
        /// What will be left standing.
        kept: Vec<Identity>,
        /// The hooks of charts that run.
        hooks: Vec<AnnouncedHook>,
    },
    /// These kept objects will be deleted.
    PruneKept {
        /// What will be deleted.
        objects: Vec<Identity>,
    },
    /// These objects will be forgotten, and the release with its history.
    ForgetAll {
        /// The release's name.
        release: String,
        /// What will be forgotten.
        objects: Vec<Identity>,
    },
    /// Going back does not bring the content of volumes back.
    VolumeData {
        /// Claims that stay with their data, and that nothing uses any more.
        leaves: Vec<Identity>,
        /// Claims that do not exist any more, and begin empty.
        fresh: Vec<Identity>,
    },
    /// The record of a release will be rebuilt like this.
    Repair(Box<RepairReport>),
    /// The lock of this holder will be removed.
    Unlock {
        /// The holder, with host and time.
        holder: String,
    },
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Nobody is there to be asked.
    CannotAsk,
}

/// Asks a person. Must not block the thread: the lock is renewed while the question stands. A
/// question that nobody needs answered any more, because the run was cancelled or has lost its
/// lock, is dropped.
pub trait Prompt: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// What a use case shows, and whom it asks.
#[derive(Clone, Copy)]
pub struct Frontend<'a> {
    /// Who watches.
    pub events: &'a dyn Events,
    /// Who answers.
    pub prompt: &'a dyn Prompt,
}

/// Nobody watches, and nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

impl Events for Unattended {
    fn emit(&self, _event: Event) {}
}

impl Prompt for Unattended {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::CannotAsk })
    }
}

/// One call of a use case, seen from outside.
#[derive(Clone)]
pub struct Caller<'a> {
    /// What it shows, and whom it asks.
    pub frontend: Frontend<'a>,
    /// Stops this call, and no other.
    pub cancel: CancellationToken,
    /// The user to act as, instead of the one that the credentials say.
    pub act_as: Option<String>,
    /// The resource that a controller calls for: it manages the releases that this call writes.
    pub manager: Option<Manager>,
}

impl Default for Caller<'_> {
    /// Nobody watches, nobody can be asked, and nothing stops it.
    fn default() -> Self {
        Self {
            frontend: Frontend {
                events: &Unattended,
                prompt: &Unattended,
            },
            cancel: CancellationToken::new(),
            act_as: None,
            manager: None,
        }
    }
}
