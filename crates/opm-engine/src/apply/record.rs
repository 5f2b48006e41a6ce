//! `record`: writes the change down and lets go of the lock.

use std::collections::BTreeMap;

use opm_core::event::RunPhase;
use opm_core::protocol::NewChange;
use opm_core::record::room::make_room;
use opm_core::record::{LogResult, Record};

use super::Apply;
use super::check::ApplyContext;
use super::prune::PrunedRun;
use crate::failure::{Failure, FailureKind};
use crate::ports::ApiErrorKind;
use crate::record::{LockGuard, WriteError};
use crate::report::Report;

/// A run whose change is recorded.
pub(super) struct RecordedRun {
    pub(super) report: Report,
    /// Whether something stale could not be removed and stays pending.
    pub(super) unpruned: bool,
}

impl Apply<'_> {
    /// Keeps the change's manifests, writes the change down, lets go of the lock, and removes
    /// what the record names no longer.
    pub(super) async fn record(
        &self,
        pruned: PrunedRun,
        context: &ApplyContext,
        guard: &LockGuard,
    ) -> Result<RecordedRun, Failure> {
        let PrunedRun {
            reconciled,
            mut report,
            noted,
        } = pruned;
        self.tell_phase(RunPhase::Record, self.candidate.objects.len());
        let ended = self
            .run
            .ended(LogResult::Succeeded, None, &report.resources);
        let manifests = self
            .keep_manifests(guard, &noted, context, &mut report)
            .await;
        let kept = manifests.reference.clone();
        let change = NewChange::of(&self.candidate, self.features(), kept);
        let mut recorded = reconciled.record(change, self.request.options.max_history, &ended);
        self.mark_rolled_back(&mut recorded.record);
        let unpruned = recorded.unpruned;
        recorded.record.drop_former_notes();
        make_room(&mut recorded.record);
        recorded.record.give_up_places(&manifests.places);
        report.take_tracked(&recorded.record);
        let written = self.run.write(guard, recorded.record).await;
        if let Err(error) = written {
            return Err(not_recorded(error).after(report));
        }
        self.tell_recorded();
        report.warnings.extend(guard.take_notes().await);
        self.sweep(&manifests, guard, &mut report).await;
        report.warnings.extend(self.run.backend.take_warnings());
        Ok(RecordedRun { report, unpruned })
    }

    /// The feature flags that the change is recorded with.
    pub(super) fn features(&self) -> BTreeMap<String, bool> {
        self.mode.features(&self.run.settings.features)
    }

    /// The log of a run that this one rolls back says so.
    pub(super) fn mark_rolled_back(&self, record: &mut Record) {
        let rolled_back = self.mode.rolls_back.as_ref();
        let mut log = record.log.iter_mut();
        if let Some(entry) = log.find(|entry| Some(&entry.id) == rolled_back) {
            entry.result = LogResult::RolledBack;
        }
    }
}

/// Everything is applied, but the record does not say so.
fn not_recorded(error: WriteError) -> Failure {
    let failure = match error {
        WriteError::Lost => Failure::new(
            FailureKind::LockLost,
            "the release's lock was lost before the change was recorded",
        ),
        WriteError::Api(error) => {
            let kind = match error.kind {
                ApiErrorKind::Stopped(_) => FailureKind::LockLost,
                _ => FailureKind::Failed,
            };
            let message = format!("the release's record could not be written: {error}");
            Failure::new(kind, message).because(error)
        }
    };
    failure.remedy("apply again: what was applied is tracked")
}
