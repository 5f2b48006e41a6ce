//! What is kept beside the release's Secret when a change is recorded: its manifests go there
//! before, and what nothing names any more goes away after.

use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::protocol::Partial;
use opm_core::record::ring::named;
use opm_core::record::{RecordPart, RecordRef};

use super::Apply;
use crate::failure::{Failure, FailureKind};
use crate::ports::Backend;
use crate::record::{
    CHANGE_ANNOTATION, FAILED_ANNOTATION, KeptChange, LockGuard, RecordSecret, RecordSecretScope,
    unswept,
};
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
            let change = self.kept_change(CHANGE_ANNOTATION);
            let reference = self
                .run
                .keep_manifests(
                    release,
                    change,
                    stored,
                    &kept.existing,
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

    fn kept_change(&self, annotation: &'static str) -> KeptChange<'_> {
        KeptChange {
            candidate: &self.candidate,
            features: self.features(),
            annotation,
        }
    }

    /// Lets go of the lock after a failure, and keeps what was to be applied for a look at it.
    pub(super) async fn let_go(
        &self,
        partial: Partial,
        guard: &LockGuard,
        failure: Failure,
    ) -> Failure {
        let kept = match failure.kind {
            FailureKind::Failed => self.keep_failed(guard).await,
            _ => None,
        };
        let run = self.run;
        run.let_go_with(partial, guard, failure, kept).await
    }

    /// None where no manifests are to be kept, or there is no room for them.
    async fn keep_failed(&self, guard: &LockGuard) -> Option<RecordRef> {
        if !self.request.record || !self.run.has(CHANGE_RECORDS.as_str()) {
            return None;
        }
        let stored = &guard.record().await;
        if stored.change(self.candidate.change.as_str()).is_some() {
            return None;
        }
        let permit = self.run.permit_under(guard);
        let kept = self.run.keep_manifests(
            &guard.release,
            self.kept_change(FAILED_ANNOTATION),
            stored,
            &[],
            permit,
        );
        let kept = kept.await;
        (!kept.parts.is_empty()).then_some(kept)
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
