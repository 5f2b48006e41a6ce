//! The backend as it is, or with a mistake planted into it: what a simulation is worth shows when
//! something is wrong. Each mistake is one that such a tool could well make. They are planted
//! between the engine and the cluster, so that what is shipped knows nothing of them.

mod backend;
mod record;

pub(crate) use backend::Mistaken;

/// A mistake that somebody could make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// Objects are created before the record says that they will be.
    NoIntent,
    /// What failed counts as applied, so that pruning and recording go on.
    PruneBeforeAllIsApplied,
    /// A delete means whatever has the name now.
    DeleteWithoutUid,
    /// What was seen is deleted whatever became of it since.
    DeleteWithoutVersion,
    /// Requests are sent although the lock is uncertain.
    FenceNotChecked,
    /// The lock is not renewed.
    RenewalSkipped,
    /// What a failed run left is forgotten when it ends.
    PendingDropped,
    /// Requests that may still land are forgotten.
    LateForgotten,
    /// What nobody answered does not count as sent.
    DoubtForgotten,
    /// Kept objects count as stale.
    KeptIsStale,
    /// What once was absent still is, whatever happened since.
    StaleListIsAbsence,
    /// What may not be seen does not exist.
    ForbiddenIsAbsence,
    /// The record is written whoever wrote it meanwhile.
    RecordWithoutVersion,
    /// The record is removed whoever wrote it meanwhile.
    RemovalWithoutVersion,
    /// A repair takes the newest change for the current one.
    RepairTrustsTime,
    /// An adoption that was cut short counts as a creation.
    AdoptionIsCreation,
    /// The first to leave a shared object deletes it.
    SharedIsOwn,
    /// After a failure, the rest goes on without a lock.
    NoLockAfterFailure,
    /// What is believed absent is applied onto whatever is there.
    CreateMerges,
    /// What was seen is applied whatever became of it since.
    UpdateWithoutVersion,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::NoIntent,
        Self::PruneBeforeAllIsApplied,
        Self::DeleteWithoutUid,
        Self::DeleteWithoutVersion,
        Self::FenceNotChecked,
        Self::RenewalSkipped,
        Self::PendingDropped,
        Self::LateForgotten,
        Self::DoubtForgotten,
        Self::KeptIsStale,
        Self::StaleListIsAbsence,
        Self::ForbiddenIsAbsence,
        Self::RecordWithoutVersion,
        Self::RemovalWithoutVersion,
        Self::RepairTrustsTime,
        Self::AdoptionIsCreation,
        Self::SharedIsOwn,
        Self::NoLockAfterFailure,
        Self::CreateMerges,
        Self::UpdateWithoutVersion,
    ];
}

impl Mistake {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoIntent => "no intent before create",
            Self::PruneBeforeAllIsApplied => "prune before all is applied",
            Self::DeleteWithoutUid => "delete without uid",
            Self::DeleteWithoutVersion => "delete without resourceVersion",
            Self::FenceNotChecked => "fence not checked",
            Self::RenewalSkipped => "renewal skipped",
            Self::PendingDropped => "pending dropped after a failure",
            Self::LateForgotten => "late requests forgotten",
            Self::DoubtForgotten => "unanswered requests forgotten",
            Self::KeptIsStale => "kept treated as stale",
            Self::StaleListIsAbsence => "stale LIST taken for absence",
            Self::ForbiddenIsAbsence => "Forbidden taken for absence",
            Self::RecordWithoutVersion => "record written without resourceVersion",
            Self::RemovalWithoutVersion => "record removed without resourceVersion",
            Self::RepairTrustsTime => "repair trusts time",
            Self::AdoptionIsCreation => "adoption forgets crash state",
            Self::SharedIsOwn => "shared object deleted by the first to leave",
            Self::NoLockAfterFailure => "atomic way back without lock",
            Self::CreateMerges => "create merges into what is there",
            Self::UpdateWithoutVersion => "update without resourceVersion",
        }
    }
}
