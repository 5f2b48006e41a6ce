//! Deleting what is left of a release whose namespace is gone, and its record with it.
//!
//! There is nowhere to write a lock or an intent, and nobody else could hold one. What cannot be
//! deleted keeps its labels, so that deleting again finds it.

use opm_core::check::CheckedPlan;
use opm_core::words;

use super::Delete;
use crate::failure::{Failure, FailureKind};
use crate::report::Report;

impl Delete<'_> {
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
        let message = |count| format!("{} could not be deleted", words::count(count, "object"));
        let report = report.unless_failed(FailureKind::Failed, message);
        report.map_err(|failure| failure.remedy("fix the cause and delete again"))
    }
}
