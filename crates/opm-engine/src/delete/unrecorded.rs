//! Deleting what is left of a release whose namespace is gone, and its record with it.
//!
//! There is nowhere to write a lock or an intent, and nobody else could hold one. What cannot be
//! deleted keeps its labels, so that deleting again finds it.

use opm_core::check::CheckedPlan;
use opm_core::identity::{GroupKind, Identity};

use super::Delete;
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::observe::metadata;
use crate::ports::{Clock, Cluster, Detail, Found, SecretStore};
use crate::report::{Release, Report};
use crate::run::unless_failed;

impl<C: Cluster, S, K> Engine<C, S, K> {
    /// Whether the namespace of a release is gone, or going, so that no record fits into it.
    pub(super) async fn is_homeless(&self, release: &Release) -> bool {
        let name = release.namespace.as_str();
        let namespace = Identity::new(GroupKind::new("", "Namespace"), None, name);
        let wanted = [namespace.clone()];
        let mut looks = self.cluster.look(&wanted, Detail::Metadata).await;
        match looks.remove(&namespace) {
            Some(Found::Absent) => true,
            Some(Found::Present(object)) => metadata(&object, "deletionTimestamp").is_some(),
            Some(Found::Failed(_)) | None => false,
        }
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// Deletes what the labels say, without lock and record.
    pub(super) async fn unrecorded(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
    ) -> Result<Report, Failure> {
        let mut report = self.unwritten(checked, warnings, false).await?;
        report.warnings.push(format!(
            "namespace {} is gone, so nothing is recorded about this delete",
            self.release.namespace
        ));
        let message = |count| format!("{count} objects could not be deleted");
        unless_failed(report, FailureKind::Failed, message)
            .map_err(|failure| failure.hint("mend the cause and delete again"))
    }
}
