//! What is asked of a history.

use opm_core::name::NamespaceName;

use crate::request::ReleaseRef;

/// Look at the history of a release.
#[derive(Debug, Clone)]
pub struct HistoryRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
}

/// Show what is recorded of one change.
#[derive(Debug, Clone)]
pub struct ShowRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which change: its id, or the beginning of its digits; none means the current one.
    pub revision: Option<String>,
    /// Show what Secrets hold.
    pub reveal: bool,
}

/// Which changes are compared. Each is named by its id, or the beginning of its digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparedChanges {
    /// One, with the change that was current before it.
    One(String),
    /// Two: from the first to the second.
    Two(String, String),
}

/// Compare changes.
#[derive(Debug, Clone)]
pub struct CompareRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which changes.
    pub compared: ComparedChanges,
}
