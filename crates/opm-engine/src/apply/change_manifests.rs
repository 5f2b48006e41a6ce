//! What is kept beside the release's Secret when a change is recorded: its manifests go there
//! before, and what nothing names any more goes away after.

use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::record::ring::named;
use opm_core::record::{RecordPart, RecordRef};

use super::Apply;
use crate::ports::Backend;
use crate::record::{LockGuard, RecordSecret, RecordSecretScope, unswept};
use crate::report::Report;

/// The manifests of a change, and the record Secrets that exist.
#[derive(Default)]
pub(super) struct ChangeManifests {
    pub(super) reference: Option<RecordRef>,
    existing: Vec<RecordSecret>,
}

impl<B: Backend> Apply<'_, B> {
    /// Keeps the manifests of this change, if they are to be kept, and looks which record
    /// Secrets there are while the lock is held.
    pub(super) async fn keep_manifests(
        &self,
        guard: &LockGuard,
        report: &mut Report,
    ) -> ChangeManifests {
        let mut kept = ChangeManifests::default();
        let wanted = self.request.record && self.run.has(CHANGE_RECORDS.as_str());
        let stored = &guard.record().await;
        let wanted = wanted || self.mode.keeps_manifests_of(stored);
        if !wanted && named(stored).is_empty() {
            return kept;
        }
        let release = &guard.release;
        let existing = self
            .run
            .record_secrets(release, stored, RecordSecretScope::Named);
        match existing.await {
            Ok(existing) => kept.existing = existing,
            Err(error) => report.warnings.push(unswept(&error)),
        }
        if wanted {
            let candidate = &self.candidate;
            let reference = self
                .run
                .keep_manifests(
                    release,
                    candidate,
                    stored,
                    &kept.existing,
                    self.features(),
                    self.run.permit_under(guard),
                )
                .await;
            if let Some(why) = reference.dropped.get(&RecordPart::Manifests) {
                let warning = format!("the manifests of this change could not be kept: {why}");
                report.warnings.push(warning);
            }
            kept.reference = Some(reference);
        }
        kept
    }

    /// Removes the record Secrets that the record does not name any more.
    pub(super) async fn sweep(
        &self,
        manifests: &ChangeManifests,
        guard: &LockGuard,
        report: &mut Report,
    ) {
        let stored = guard.record().await;
        let swept = self.run.sweep(
            &guard.release,
            &manifests.existing,
            &stored,
            self.run.permit(),
        );
        if let Err(error) = swept.await {
            report.warnings.push(unswept(&error));
        }
    }
}
