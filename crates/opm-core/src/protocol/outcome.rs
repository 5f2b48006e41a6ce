//! Which exit code a run comes to: the first match of a fixed order.

use crate::check::RefusalKind;

/// What is known about a run when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Somebody stopped it.
    pub interrupted: bool,
    /// Somebody else holds the lock, or took it, or wrote the record first.
    pub locked: bool,
    /// It was refused before anything was written.
    pub refused: Option<RefusalKind>,
    /// There is no such release.
    pub not_found: bool,
    /// An object failed, or a phase did not become ready: nothing was recorded.
    pub failed: bool,
    /// It went back to the change before.
    pub went_back: bool,
    /// A delete left something behind.
    pub delete_incomplete: bool,
    /// It was recorded, but something could not be pruned.
    pub unpruned: bool,
    /// It was recorded, but was not ready in time.
    pub not_ready: bool,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is done; some objects may have been kept.
    Done,
    /// Something failed.
    Failed,
    /// Refused before anything was touched.
    Refused,
    /// The cluster cannot be reached.
    Unreachable,
    /// Not permitted.
    Forbidden,
    /// No such release.
    NotFound,
    /// Somebody else holds the lock.
    Locked,
    /// Recorded, with something left to do.
    Incomplete,
    /// Somebody stopped it.
    Interrupted,
}

impl Outcome {
    /// The first that matches.
    pub fn of(facts: &Facts) -> Self {
        if facts.interrupted {
            return Self::Interrupted;
        }
        if facts.locked {
            return Self::Locked;
        }
        match facts.refused {
            Some(RefusalKind::Forbidden) => return Self::Forbidden,
            Some(RefusalKind::Unreachable) => return Self::Unreachable,
            _ if facts.not_found => return Self::NotFound,
            Some(RefusalKind::Refused) => return Self::Refused,
            None => {}
        }
        if facts.failed || facts.went_back || facts.delete_incomplete {
            return Self::Failed;
        }
        if facts.unpruned || facts.not_ready {
            Self::Incomplete
        } else {
            Self::Done
        }
    }

    /// The exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Refused => 2,
            Self::Unreachable => 3,
            Self::Forbidden => 4,
            Self::NotFound => 5,
            Self::Locked => 7,
            Self::Incomplete => 8,
            Self::Interrupted => 130,
        }
    }
}
