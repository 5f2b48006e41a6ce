//! How a use case fails: what kind of failure it is, in words and with hints, and what had been
//! done by then.

use std::fmt;

use opm_core::check::{Refusal, RefusalKind, Refusals};
use opm_core::identity::Identity;
use opm_core::name::ReleaseName;

use crate::ports::{ApiError, ErrorKind, Stopped};
use crate::report::Report;

/// The closed set of ways in which a use case does not end well. Each has one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The user asked to stop.
    Interrupted,
    /// Somebody else holds the lock.
    Locked,
    /// The lock was lost, or somebody else wrote the record first.
    LockLost,
    /// Nothing was written: the cluster did not permit it.
    NotPermitted,
    /// Nothing was written: the cluster could not be reached.
    Unreachable,
    /// Nothing was written: there is no such release, or no such object in it.
    NotFound,
    /// Nothing was written: a check refused, the input is not valid, or a prompt was declined.
    Refused,
    /// Something failed on the way; nothing was recorded.
    Failed,
    /// Recorded, but not everything could be pruned, or not everything became ready in time.
    Incomplete,
}

impl FailureKind {
    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Locked | Self::LockLost => 7,
            Self::NotPermitted => 4,
            Self::Unreachable => 3,
            Self::NotFound => 5,
            Self::Refused => 2,
            Self::Failed => 1,
            Self::Incomplete => 8,
        }
    }

    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Locked => "locked",
            Self::LockLost => "lock-lost",
            Self::NotPermitted => "not-permitted",
            Self::Unreachable => "unreachable",
            Self::NotFound => "not-found",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// One object that has to do with a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedObject {
    /// Which object.
    pub identity: Identity,
    /// What is the matter with it.
    pub reason: String,
}

/// A use case that did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hints: Vec<String>,
    /// The objects it is about.
    pub objects: Vec<FailedObject>,
    /// What had been done by then.
    pub report: Box<Report>,
}

impl Failure {
    /// A failure of this kind, about no object in particular, before anything was done.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
            objects: Vec::new(),
            report: Box::default(),
        }
    }

    /// A request failed before anything was written.
    pub fn before_writing(what: &str, error: &ApiError) -> Self {
        let kind = match error.kind {
            ErrorKind::Unreachable => FailureKind::Unreachable,
            ErrorKind::Forbidden => FailureKind::NotPermitted,
            ErrorKind::Stopped(Stopped::Interrupted) => FailureKind::Interrupted,
            ErrorKind::Stopped(Stopped::LockUncertain) => FailureKind::LockLost,
            _ => FailureKind::Refused,
        };
        Self::new(kind, format!("{what}: {error}"))
    }

    /// Somebody else wrote the record first, time and again.
    pub(crate) fn overtaken(release: &ReleaseName) -> Self {
        let message = format!("somebody else keeps writing the record of release {release}");
        Self::new(FailureKind::LockLost, message).hint("try again when the other run is done")
    }

    /// A check refused, with every reason at once.
    pub fn refused(refusals: &Refusals) -> Self {
        let kind = match refusals.kind() {
            RefusalKind::Forbidden => FailureKind::NotPermitted,
            RefusalKind::Unreachable => FailureKind::Unreachable,
            RefusalKind::Refused => FailureKind::Refused,
        };
        let reasons: Vec<String> = refusals.0.iter().map(Refusal::message).collect();
        let mut failure = Self::new(kind, reasons.join("\n"));
        for refusal in &refusals.0 {
            let hint = refusal.hint();
            if !failure.hints.contains(&hint) {
                failure.hints.push(hint);
            }
            if let Some(identity) = &refusal.object {
                failure.objects.push(FailedObject {
                    identity: identity.clone(),
                    reason: refusal.message(),
                });
            }
        }
        failure
    }

    /// Two refusals at once. What both are, it is; else it is just refused.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if self.kind != other.kind {
            self.kind = FailureKind::Refused;
        }
        self.message = format!("{}\n{}", self.message, other.message);
        self.hints.extend(other.hints);
        self.objects.extend(other.objects);
        self
    }

    /// What the log says of it: the first object too, because the log has no list of them.
    pub(crate) fn for_the_log(&self) -> String {
        match self.objects.first() {
            Some(first) => format!("{}: {}: {}", self.message, first.identity, first.reason),
            None => self.message.clone(),
        }
    }

    /// The same, with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same, with one more object.
    #[must_use]
    pub fn object(mut self, identity: Identity, reason: impl Into<String>) -> Self {
        self.objects.push(FailedObject {
            identity,
            reason: reason.into(),
        });
        self
    }

    /// The same, with what had been done by then.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = Box::new(report);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
