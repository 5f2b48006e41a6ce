//! What is asked of a rollback.

use opm_core::name::NamespaceName;

use crate::history::RestoredChange;
use crate::report::Release;
use crate::request::{ApplyOptions, ApplyRequest, ReleaseRef};

/// Apply a recorded change again.
#[derive(Debug, Clone)]
pub struct RollbackRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which change: its id, or the beginning of its digits. None means the current one if the
    /// last deployment failed, else the one before it.
    pub revision: Option<String>,
    /// How to go about it.
    pub options: ApplyOptions,
}

impl RollbackRequest {
    /// The apply that this comes to.
    pub(crate) fn applying(&self, restored: RestoredChange, release: &Release) -> ApplyRequest {
        ApplyRequest {
            selection: Some(restored.selection()),
            options: self.options.clone(),
            ..ApplyRequest::new(
                restored.rendered,
                release.name.clone(),
                release.namespace.clone(),
            )
        }
    }
}
