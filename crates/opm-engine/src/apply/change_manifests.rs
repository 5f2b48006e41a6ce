//! What is kept beside the release's Secret when a change is recorded: its manifests go there
//! before, and what nothing names any more goes away after.

use std::collections::BTreeSet;

use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::protocol::Partial;
use opm_core::record::ring::named;
use opm_core::record::{AppliedNotes, Record, RecordPart, RecordRef};

use super::Apply;
use super::check::ApplyContext;
use crate::failure::{Failure, FailureKind};
use crate::record::{
    CHANGE_ANNOTATION, FAILED_ANNOTATION, KeptChange, LockGuard, RecordSecret, unswept,
};
use crate::report::Report;

/// The manifests of a change, and the record Secrets that exist.
#[derive(Default)]
pub(super) struct ChangeManifests {
    pub(super) reference: Option<RecordRef>,
    /// Those that exist beside what the record names, where the run before may have left some.
    left: Vec<RecordSecret>,
    /// The places that the record named before, or had given up.
    pub(super) places: BTreeSet<u8>,
}

impl Apply<'_> {
    /// Keeps the manifests of this change, if they are to be kept, and looks which record
    /// Secrets there are while the lock is held.
    pub(super) async fn keep_manifests(
        &self,
        guard: &LockGuard,
        noted: &AppliedNotes,
        context: &ApplyContext,
        report: &mut Report,
    ) -> ChangeManifests {
        let mut kept = ChangeManifests::default();
        let stored = &guard.record().await;
        let wanted = self.keeps_manifests(stored);
        if !wanted && named(stored).is_empty() {
            return kept;
        }
        let release = &guard.release;
        kept.places = &context.places | &named(stored);
        match self.run.left_by_others(release, stored).await {
            Ok(left) => kept.left = left,
            Err(error) => report.warnings.push(unswept(&error)),
        }
        if wanted {
            let change = self.kept_change(CHANGE_ANNOTATION);
            let permit = self.run.permit_under(guard);
            let (mut reference, applied) = futures::join!(
                Box::pin(self.run.keep_manifests(release, change, stored, permit)),
                Box::pin(
                    self.run
                        .keep_notes(release, noted, &context.notes, stored, permit)
                )
            );
            let applied = applied.map(|applied| (RecordPart::Applied, applied));
            reference.parts.extend(applied);
            if let Some(why) = reference.dropped.get(&RecordPart::Manifests) {
                let warning = format!("the manifests of this change could not be kept: {why}");
                report.warnings.push(warning);
            }
            kept.reference = Some(reference);
        }
        kept
    }

    /// Whether the manifests of this change are to be kept.
    pub(super) fn keeps_manifests(&self, stored: &Record) -> bool {
        let wanted = self.request.record && self.run.has(CHANGE_RECORDS.as_str());
        wanted || self.mode.keeps_manifests_of(stored)
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
        let given_up = &manifests.places - &named(&stored);
        let swept = self
            .run
            .sweep_places(&guard.release, &manifests.left, &given_up, &stored);
        if let Err(error) = swept.await {
            report.warnings.push(unswept(&error));
        }
    }
}
