//! What is kept beside the release's Secret when a change is recorded: its manifests go there
//! before, and what nothing names any more goes away after.

use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::record::ring::named;
use opm_core::record::{RecordPart, RecordRef};

use super::Apply;
use crate::ports::{Clock, Cluster, SecretStore};
use crate::record::{LockGuard, RecordSecret, RecordSecretScope, unswept};
use crate::report::Report;

/// The manifests of a change, and the record Secrets that exist.
#[derive(Default)]
pub(super) struct ChangeManifests {
    pub(super) manifests: Option<RecordRef>,
    existing: Vec<RecordSecret>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Keeps the manifests of this change, if they are to be kept, and looks which record
    /// Secrets there are while the lock is held.
    pub(super) async fn keep(&self, guard: &LockGuard, report: &mut Report) -> ChangeManifests {
        let mut beside = ChangeManifests::default();
        let wanted = self.request.record && self.engine.has(CHANGE_RECORDS.as_str());
        let stored = &guard.record().await;
        let wanted = wanted || self.course.keeps_what_is_kept(stored);
        if !wanted && named(stored).is_empty() {
            return beside;
        }
        let release = &guard.release;
        let existing = self
            .engine
            .record_secrets(release, stored, RecordSecretScope::Named);
        match existing.await {
            Ok(existing) => beside.existing = existing,
            Err(error) => report.warnings.push(unswept(&error)),
        }
        if wanted {
            let candidate = &self.candidate;
            let kept = self
                .engine
                .keep_manifests(
                    release,
                    candidate,
                    stored,
                    &beside.existing,
                    self.features(),
                )
                .await;
            if let Some(why) = kept.dropped.get(&RecordPart::Manifests) {
                let warning = format!("the manifests of this change could not be kept: {why}");
                report.warnings.push(warning);
            }
            beside.manifests = Some(kept);
        }
        beside
    }

    /// Removes the record Secrets that the record does not name any more.
    pub(super) async fn sweep(
        &self,
        beside: &ChangeManifests,
        guard: &LockGuard,
        report: &mut Report,
    ) {
        let stored = guard.record().await;
        let swept = self.engine.sweep(&guard.release, &beside.existing, &stored);
        if let Err(error) = swept.await {
            report.warnings.push(unswept(&error));
        }
    }
}
