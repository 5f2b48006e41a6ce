//! Why a condition is what it is: a fixed list, for scripts and dashboards.

/// One word for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// The release is as its module says.
    Applied,
    /// An attempt goes on.
    Progressing,
    /// Applied, but its objects are not ready yet.
    NotReady,
    /// Nothing is done until it is resumed.
    Suspended,
    /// A resource that it depends on is not ready.
    DependencyNotReady,
    /// It depends on itself, by way of others.
    DependencyCycle,
    /// A field of the resource cannot be what it is.
    InvalidSpec,
    /// It refers to another namespace, which the controller does not allow.
    CrossNamespaceReference,
    /// A ConfigMap, Secret or key that it refers to is not there, or cannot be read.
    SourceUnavailable,
    /// The module does not render.
    RenderFailed,
    /// It would be another release from now on.
    ReleaseIdChanged,
    /// Checks refused, and nothing was touched.
    Refused,
    /// A right is missing, and nothing was touched.
    NotPermitted,
    /// The cluster could not be asked.
    Unreachable,
    /// Somebody else writes the release at the moment.
    Locked,
    /// Something could not be applied.
    ApplyFailed,
    /// Something could not be applied or did not become ready, and the change before is back.
    RolledBack,
    /// Applied, but something could not be removed.
    PruneIncomplete,
    /// The controller was stopped.
    Interrupted,
    /// Somebody changed or deleted objects.
    DriftDetected,
    /// Nobody changed or deleted objects.
    NoDrift,
    /// What somebody did to objects was put right.
    DriftCorrected,
    /// The release could not be deleted.
    DeleteFailed,
    /// The release was deleted.
    Deleted,
    /// The release was left as it is, managed by nobody.
    Orphaned,
}

impl Reason {
    /// The word, as conditions, events and metrics have it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Progressing => "Progressing",
            Self::NotReady => "NotReady",
            Self::Suspended => "Suspended",
            Self::DependencyNotReady => "DependencyNotReady",
            Self::DependencyCycle => "DependencyCycle",
            Self::InvalidSpec => "InvalidSpec",
            Self::CrossNamespaceReference => "CrossNamespaceReference",
            Self::SourceUnavailable => "SourceUnavailable",
            Self::RenderFailed => "RenderFailed",
            Self::ReleaseIdChanged => "ReleaseIdChanged",
            Self::Refused => "Refused",
            Self::NotPermitted => "NotPermitted",
            Self::Unreachable => "Unreachable",
            Self::Locked => "Locked",
            Self::ApplyFailed => "ApplyFailed",
            Self::RolledBack => "RolledBack",
            Self::PruneIncomplete => "PruneIncomplete",
            Self::Interrupted => "Interrupted",
            Self::DriftDetected => "DriftDetected",
            Self::NoDrift => "NoDrift",
            Self::DriftCorrected => "DriftCorrected",
            Self::DeleteFailed => "DeleteFailed",
            Self::Deleted => "Deleted",
            Self::Orphaned => "Orphaned",
        }
    }
}
