//! How a use case fails: a closed set of kinds, each with its exit code and its word, and what
//! to do next as a value.
//!
//! How a remedy is worded, as a flag, a field or a button, is for whoever shows it: nothing here
//! knows a command line.

use std::fmt;

use crate::api_error::{ApiError, ApiErrorKind, Stopped};
use crate::identity::Identity;
use crate::plan::Guard;
use crate::rights::ResourceRight;

/// The closed set of ways in which a use case does not end well, in the order in which they are
/// decided: the first that applies is what the run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The caller asked to stop.
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
    /// The exit code of a command.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Refused => 2,
            Self::Unreachable => 3,
            Self::NotPermitted => 4,
            Self::NotFound => 5,
            Self::Locked | Self::LockLost => 7,
            Self::Incomplete => 8,
            Self::Interrupted => 130,
        }
    }

    /// The word that scripts see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Locked | Self::LockLost => "locked",
            Self::NotPermitted => "not-permitted",
            Self::Unreachable => "unreachable",
            Self::NotFound => "not-found",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
        }
    }

    /// A request failed before anything was written. Only an answer that is about what was sent
    /// is a refusal of it; any other is a server that cannot be worked with for now.
    pub fn before_writing(error: &ApiError) -> Self {
        match error.kind {
            ApiErrorKind::Forbidden => Self::NotPermitted,
            ApiErrorKind::NotFound
            | ApiErrorKind::NamespaceMissing
            | ApiErrorKind::NamespaceTerminating
            | ApiErrorKind::KindNotServed
            | ApiErrorKind::FieldConflict
            | ApiErrorKind::Invalid
            | ApiErrorKind::TooLarge
            | ApiErrorKind::Denied => Self::Refused,
            ApiErrorKind::Rejected if matches!(error.status, Some(400..=499)) => Self::Refused,
            ApiErrorKind::Unreachable
            | ApiErrorKind::NotUpYet
            | ApiErrorKind::AlreadyExists
            | ApiErrorKind::Stale
            | ApiErrorKind::Rejected => Self::Unreachable,
            ApiErrorKind::Stopped(stopped) => stopped.into(),
        }
    }

    /// Several refusals at once: what all of them are, it is; else it is just refused.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self == other {
            true => self,
            false => Self::Refused,
        }
    }
}

impl From<Stopped> for FailureKind {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Self::Interrupted,
            Stopped::LockUncertain => Self::LockLost,
        }
    }
}

/// What to do next about a failure, or what would lift a refusal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// Adopt objects that no release tracks, or delete them.
    Adopt,
    /// Adopt this object by name.
    AdoptNamed(Identity),
    /// Adopt this object by name: that takes over its fields as well.
    AdoptFieldsOf(Identity),
    /// Take over objects of other releases.
    TakeOwnership,
    /// Take over fields that other managers set.
    ForceConflicts,
    /// Go on without the hooks of charts.
    NoHooks,
    /// Wait for objects that are being deleted.
    WaitForDeletion,
    /// Let a module that renders nothing remove everything, or delete the release.
    AllowEmpty,
    /// Let another module take the place of everything, or tell the two apart by path or name.
    ReplaceAll,
    /// Start from the recorded values.
    ReuseValues,
    /// Delete and recreate objects whose immutable fields changed.
    Recreate,
    /// Create the release's namespace.
    CreateNamespace(String),
    /// Lift the guard of this kind as well.
    LiftGuard(Guard),
    /// Remove what is inside first, or leave the guard of this kind in place.
    EmptyOrKeepGuard(Guard),
    /// Get the right to list what is inside, or leave the guard of this kind in place.
    ListOrKeepGuard(Guard),
    /// Repair or delete what an API group is served by, or leave the guard of this kind in place.
    RepairServerOrKeepGuard {
        /// What says who serves it.
        server: String,
        /// The guard.
        guard: Guard,
    },
    /// Prune at once instead of when the new objects are ready.
    PruneAtOnce,
    /// Go without the way back, or leave the guard in place.
    NotAtomicOrKeepGuard,
    /// Apply once without a way back: that keeps the manifests which the way back needs.
    ApplyOnceNotAtomic,
    /// Keep records, so that what does not fit moves into them.
    KeepRecords,
    /// Wait for the other holder of the lock.
    WaitForLock,
    /// Confirm beforehand.
    Confirm,
    /// Confirm beforehand, or look at what would be written.
    ConfirmOrDryRun,
    /// Look at the list of all releases.
    ListReleases,
    /// The same; another namespace may be meant.
    ListReleasesOrNamespace,
    /// Name the release by its id.
    NameById,
    /// Name the release by its module's directory: that needs no right to list.
    NameByDirectory,
    /// Name the module's directory instead of the release.
    NameDirectoryToRender,
    /// Name a namespace in which Secrets may be listed.
    NameNamespace,
    /// Look at what the release tracks.
    ShowStatus,
    /// The next apply tries again; the status shows what is pending.
    ShowPending,
    /// Look at the changes of the release.
    ShowHistory,
    /// Look at the changes; the beginning of a change's digits is enough to name one.
    ShowHistoryToName,
    /// Look at the changes that can be read.
    ShowReadableHistory,
    /// Look at which changes one can go back to.
    ShowWaysBack,
    /// Look at the deployments, failed ones included.
    ShowDeployments,
    /// Name a change of the history.
    NameRevision,
    /// Compare two changes that are in the history.
    CompareTwo,
    /// Repair the record.
    Repair,
    /// Roll back, or apply again.
    RollbackOrApply,
    /// Save a new plan, and have it reviewed.
    ReviewAgain,
    /// Get this right, for objects of these names.
    GrantRight {
        /// The right.
        right: ResourceRight,
        /// The names of the objects.
        names: Vec<String>,
    },
    /// Watch how it goes on, or give it more time.
    WaitLonger,
    /// Fix the cause and apply again, or roll back.
    FixOrGoBack,
    /// Change the resource that manages the release instead, or suspend it.
    SuspendManager {
        /// The resource, as kind and name.
        resource: String,
        /// Its namespace.
        namespace: String,
    },
    /// In words that name no way of calling a use case.
    Text(String),
}

impl Remedy {
    /// In words that name no way of calling a use case.
    pub fn text(words: impl Into<String>) -> Self {
        Self::Text(words.into())
    }
}

/// In plain words, for whoever has none of its own.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adopt => "delete it by hand, or adopt it",
            Self::AdoptNamed(identity) => return write!(f, "adopt {identity} by name"),
            Self::AdoptFieldsOf(identity) => {
                return write!(
                    f,
                    "adopt {identity} by name: that takes over its fields as well"
                );
            }
            Self::NoHooks => "go on without hooks: they are then not run",
            Self::TakeOwnership => "take ownership: that transfers it to this release",
            Self::ForceConflicts => "force conflicts: that makes these objects what is rendered",
            Self::WaitForDeletion => "wait until it is deleted",
            Self::ReuseValues => "start from the recorded values to keep them",
            Self::AllowEmpty => "allow an empty render if that is meant, or delete the release",
            Self::ReplaceAll => {
                "replace everything if that is meant, or give the module a path or the release a name \
                 of its own"
            }
            Self::Recreate => "let it be deleted and recreated",
            Self::CreateNamespace(namespace) => return write!(f, "create namespace {namespace}"),
            Self::LiftGuard(_) => "lift the guard of its kind as well",
            Self::EmptyOrKeepGuard(_) => "remove them first, or leave the guard in place",
            Self::ListOrKeepGuard(_) => "ask for the right to list it, or leave the guard in place",
            Self::RepairServerOrKeepGuard { server, .. } => {
                return write!(
                    f,
                    "repair or delete {server}, or leave the guard in place"
                );
            }
            Self::PruneAtOnce => "prune at once: the old workload is then removed first",
            Self::NotAtomicOrKeepGuard => "apply without a way back, or leave the guard in place",
            Self::ApplyOnceNotAtomic => "apply once without a way back: that keeps its manifests",
            Self::KeepRecords => {
                "keep records: what does not fit then moves into Secrets of its own"
            }
            Self::WaitForLock => "wait for the lock",
            Self::Confirm => "confirm it beforehand",
            Self::ConfirmOrDryRun => "confirm it beforehand, or do a dry run first",
            Self::ListReleases => "list all releases",
            Self::ListReleasesOrNamespace => "list all releases; another namespace may be meant",
            Self::NameById => "name the release by its id",
            Self::NameByDirectory => {
                "name the release by its module's directory: that needs no right to list"
            }
            Self::NameDirectoryToRender => {
                "if its directory is at hand, name that instead of the release"
            }
            Self::NameNamespace => {
                "the right to list Secrets in a namespace shows the releases there; name it"
            }
            Self::ShowStatus => "the status shows what it tracks",
            Self::ShowPending => "the next apply tries again; the status shows them",
            Self::ShowHistory => "the history shows the changes",
            Self::ShowHistoryToName => {
                "the history shows the changes; the beginning of a change's digits is enough"
            }
            Self::ShowReadableHistory => "the history shows the changes that can be read",
            Self::ShowWaysBack => "the history shows which changes one can go back to",
            Self::ShowDeployments => "the log of deployments shows what was tried",
            Self::NameRevision => "name a change; the history shows them",
            Self::CompareTwo => "compare any two changes that are",
            Self::Repair => "a repair shows what is left of the record and rebuilds it",
            Self::RollbackOrApply => "what was applied is tracked: roll back, or apply again",
            Self::ReviewAgain => "save a new plan, and have it reviewed",
            Self::GrantRight { .. } => "ask for this right, or act as somebody who has it",
            Self::WaitLonger => "watch its status, give it more time, or roll back",
            Self::SuspendManager {
                resource,
                namespace,
            } => {
                return write!(
                    f,
                    "change {resource} in namespace {namespace} instead, or suspend it first"
                );
            }
            Self::FixOrGoBack => "fix the cause and apply again, or roll back",
            Self::Text(words) => words,
        })
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::text(words)
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Text(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_codes_and_words_of_the_contract() {
        use FailureKind::{
            Failed, Incomplete, Interrupted, LockLost, Locked, NotFound, NotPermitted, Refused,
            Unreachable,
        };
        let table = [
            (Interrupted, 130, "interrupted"),
            (Locked, 7, "locked"),
            (LockLost, 7, "locked"),
            (NotPermitted, 4, "not-permitted"),
            (Unreachable, 3, "unreachable"),
            (NotFound, 5, "not-found"),
            (Refused, 2, "refused"),
            (Failed, 1, "failed"),
            (Incomplete, 8, "incomplete"),
        ];
        for (kind, code, word) in table {
            assert_eq!((kind.exit_code(), kind.word()), (code, word), "{kind:?}");
        }
        assert!(table.is_sorted_by_key(|row| row.0), "the first decides");
    }

    #[test]
    fn a_request_that_failed_before_anything_was_written() {
        use ApiErrorKind as Error;
        for (kind, expected) in [
            (Error::Unreachable, FailureKind::Unreachable),
            (Error::NotUpYet, FailureKind::Unreachable),
            (Error::Forbidden, FailureKind::NotPermitted),
            (Error::NotFound, FailureKind::Refused),
            (Error::NamespaceMissing, FailureKind::Refused),
            (Error::NamespaceTerminating, FailureKind::Refused),
            (Error::KindNotServed, FailureKind::Refused),
            // A look cannot conflict with anything: the server does not do what it is asked.
            (Error::AlreadyExists, FailureKind::Unreachable),
            (Error::Stale, FailureKind::Unreachable),
            (Error::FieldConflict, FailureKind::Refused),
            (Error::Invalid, FailureKind::Refused),
            (Error::TooLarge, FailureKind::Refused),
            (Error::Denied, FailureKind::Refused),
            (Error::Rejected, FailureKind::Unreachable),
            (Error::Stopped(Stopped::Cancelled), FailureKind::Interrupted),
            (
                Error::Stopped(Stopped::LockUncertain),
                FailureKind::LockLost,
            ),
        ] {
            let error = ApiError::local(kind, "");
            assert_eq!(FailureKind::before_writing(&error), expected, "{kind:?}");
        }
        for (status, expected) in [
            (400, FailureKind::Refused),
            (405, FailureKind::Refused),
            (500, FailureKind::Unreachable),
            (302, FailureKind::Unreachable),
        ] {
            let error = ApiError {
                status: Some(status),
                ..ApiError::local(Error::Rejected, "")
            };
            assert_eq!(FailureKind::before_writing(&error), expected, "{status}");
        }
        let (forbidden, refused) = (FailureKind::NotPermitted, FailureKind::Refused);
        assert_eq!(forbidden.and(forbidden), forbidden);
        assert_eq!(forbidden.and(refused), refused, "it is not the only cause");
    }
}
