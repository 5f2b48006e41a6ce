//! Who watches a use case, and who answers its questions.

use std::future::Future;
use std::pin::Pin;

use opm_core::event::Event;
use opm_core::identity::Identity;

use crate::repair::RepairReport;

/// Takes the stream of events. Must not block.
pub trait Events: Send + Sync {
    /// One thing has happened.
    fn emit(&self, event: Event);
}

/// What only a person may decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A field of this object cannot be changed in place. Delete and recreate it?
    /// `--recreate` says yes beforehand; `--yes` alone does not.
    Recreate {
        /// The object.
        identity: Identity,
        /// The fields, as the server names them.
        fields: Vec<String>,
    },
    /// These objects will be deleted, and the release with them. `--yes` says yes beforehand.
    Delete {
        /// The release's name.
        release: String,
        /// What will be deleted.
        objects: Vec<Identity>,
    },
    /// These kept objects will be deleted. `--yes` says yes beforehand.
    PruneKept {
        /// What will be deleted.
        objects: Vec<Identity>,
    },
    /// Going back does not bring the content of volumes back. `--yes` says yes beforehand.
    VolumeData {
        /// Claims that stay with their data, and that nothing uses any more.
        leaves: Vec<Identity>,
        /// Claims that do not exist any more, and begin empty.
        fresh: Vec<Identity>,
    },
    /// The record of a release will be rebuilt like this. `--yes` says yes beforehand.
    Repair(Box<RepairReport>),
    /// The lock of this holder will be removed. `--yes` says yes beforehand.
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

/// Asks a person. Must not block the thread: the lock is renewed while the question stands.
pub trait Prompt: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
}

/// Both of them.
#[derive(Clone, Copy)]
pub struct Frontend<'a> {
    /// Who watches.
    pub events: &'a dyn Events,
    /// Who answers.
    pub prompt: &'a dyn Prompt,
}
