//! What is asked of a rollback.

use std::time::Duration;

use opm_core::name::NamespaceName;

use crate::history::State;
use crate::report::Release;
use crate::request::{Adopt, ApplyRequest, GuardFlags, ReleaseRef};

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
    /// Only show what would happen.
    pub dry_run: bool,
    /// Leave stale objects standing, as kept.
    pub no_prune: bool,
    /// How many changes the record keeps.
    pub max_history: usize,
    /// Which untracked objects may be taken over.
    pub adopt: Adopt,
    /// Take over objects of other releases.
    pub take_ownership: bool,
    /// Delete and recreate objects whose immutable fields changed.
    pub recreate: bool,
    /// A change without objects may prune everything.
    pub allow_empty: bool,
    /// Take over fields that other managers own, also on objects that are new to the inventory.
    pub force_conflicts: bool,
    /// Which guarded kinds may go.
    pub guards: GuardFlags,
    /// Wait until the release is ready, after it is recorded.
    pub wait: bool,
    /// Prune only when the new objects are ready.
    pub prune_after_ready: bool,
    /// How long to wait, for phases, readiness and deletions each.
    pub timeout: Duration,
    /// Wait for objects that are being deleted, instead of refusing.
    pub wait_for_deletion: bool,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
    /// How many requests at a time.
    pub concurrency: usize,
    /// What the log says about this deployment.
    pub message: Option<String>,
}

impl RollbackRequest {
    /// The apply that this comes to.
    pub(crate) fn applying(&self, state: State, release: &Release) -> ApplyRequest {
        ApplyRequest {
            selection: Some(state.selection()),
            rendered: state.rendered,
            name: release.name.clone(),
            namespace: release.namespace.clone(),
            dry_run: self.dry_run,
            no_prune: self.no_prune,
            max_history: self.max_history,
            create_namespace: false,
            adopt: self.adopt.clone(),
            take_ownership: self.take_ownership,
            recreate: self.recreate,
            allow_empty: self.allow_empty,
            force_conflicts: self.force_conflicts,
            guards: self.guards,
            wait: self.wait,
            prune_after_ready: self.prune_after_ready,
            timeout: self.timeout,
            wait_for_deletion: self.wait_for_deletion,
            lock_timeout: self.lock_timeout,
            atomic: false,
            record: true,
            concurrency: self.concurrency,
            message: self.message.clone(),
        }
    }
}
