//! `prune`: removes what became stale, once everything is applied.

use opm_core::event::RunPhase;
use opm_core::protocol::{Applied, Reconciled};
use opm_core::record::AppliedNotes;

use super::Apply;
use super::stages::{AppliedRun, stopped_failure};
use super::tell::{transferred, without_request};
use crate::failure::Failure;
use crate::ports::{ApiErrorKind, Permit};
use crate::record::LockGuard;
use crate::removal::{RemovalOptions, RemovalOutcome, RemovalResults};
use crate::report::{Action, Report};
use crate::wait::WaitTarget;

/// A run that has done all it could.
pub(super) struct PrunedRun {
    pub(super) reconciled: Reconciled,
    pub(super) report: Report,
    pub(super) noted: AppliedNotes,
}

impl Apply<'_> {
    /// Removes every stale object that may go, in order. What is cut short is let go of: nothing
    /// is recorded. Where there has to be a way back, neither is what is not ready.
    pub(super) async fn prune(
        &self,
        applied: AppliedRun,
        targets: &[WaitTarget],
        guard: &LockGuard,
    ) -> Result<PrunedRun, Failure> {
        let AppliedRun {
            applied,
            mut report,
            noted,
        } = applied;
        let permit = self.run.permit_under(guard);
        let pruned = self.prune_stale(&applied, targets, permit).await;
        report.resources.extend(pruned.outcomes);
        if let Some(stopped) = pruned.stopped {
            let failure = stopped_failure(stopped, report);
            return Err(self.let_go(applied.stop(), guard, failure).await);
        }
        if let Some(failure) = self.not_ready_first(targets, permit).await {
            let failure = failure.after(report);
            return Err(self.let_go(applied.stop(), guard, failure).await);
        }
        let stale = &applied.plan().stale;
        for outcome in without_request(stale) {
            self.tell_object(&outcome);
            report.resources.push(outcome);
        }
        report.warnings.extend(transferred(stale));
        let reconciled = applied.reconcile(&pruned.results, self.run.server_now());
        Ok(PrunedRun {
            reconciled,
            report,
            noted,
        })
    }

    async fn prune_stale(
        &self,
        applied: &Applied,
        targets: &[WaitTarget],
        permit: Permit<'_>,
    ) -> RemovalResults {
        let mut pruned = RemovalResults::default();
        if let Some(reason) = self
            .not_before_ready(applied, targets, permit, &mut pruned)
            .await
        {
            for step in applied.prune() {
                let unpruned = RemovalOutcome::Failed(reason.clone());
                if let Some(outcome) = pruned.take(step, &unpruned, Action::Pruned) {
                    self.tell_object(&outcome);
                    pruned.outcomes.push(outcome);
                }
            }
        }
        if pruned.stopped.is_some() || !pruned.outcomes.is_empty() {
            return pruned;
        }
        if !applied.prune().is_empty() {
            self.tell_phase(RunPhase::Prune, applied.prune().len());
        }
        let options = RemovalOptions {
            release: &self.candidate.owner.id,
            concurrency: self.request.options.concurrency,
            dry_run: self.request.options.dry_run,
            done: Action::Pruned,
            awaits: false,
            permit,
        };
        self.run.remove_all(applied.prune(), options).await
    }

    /// Where pruning waits for the new objects, why the stale ones have to stay for now.
    async fn not_before_ready(
        &self,
        applied: &Applied,
        targets: &[WaitTarget],
        permit: Permit<'_>,
        pruned: &mut RemovalResults,
    ) -> Option<String> {
        if !self.request.options.prune_after_ready || applied.prune().is_empty() {
            return None;
        }
        self.tell_targets(targets);
        let timeout = self.request.options.timeout;
        match self.run.wait_ready(targets, timeout, permit).await {
            Ok(not_ready) => not_ready
                .first()
                .map(|first| format!("{} is not ready yet: {}", first.identity, first.reason)),
            Err(error) => match error.kind {
                ApiErrorKind::Stopped(stopped) => {
                    pruned.stopped = Some(stopped);
                    None
                }
                _ => Some(format!(
                    "whether the new objects are ready is unknown: {error}"
                )),
            },
        }
    }
}
