//! The hooks of a delete: those of the current change, as its manifests record them.

use std::collections::HashMap;

use opm_core::candidate::CandidateHook;
use opm_core::check::HookStep;
use opm_core::failure::Remedy;
use opm_core::hook::{HookEvent, HookFlow};
use opm_core::identity::Identity;
use opm_core::protocol::{Locked, SendOutcome};
use opm_core::record::Record;

use super::{Delete, DeleteSource};
use crate::failure::{Failure, FailureKind};
use crate::hooks::{HookOptions, HookResults};
use crate::record::LockGuard;
use crate::report::Report;

impl Delete<'_> {
    /// The hooks that run, from the manifests of the current change. One component goes without
    /// its hooks, and so does a release that is deleted already.
    pub(super) async fn hooks(&self, record: &Record) -> Result<Vec<CandidateHook>, Failure> {
        let current = record.current().filter(|_| !record.is_deleted());
        let Some(change) = current.filter(|_| self.request.hooks) else {
            return Ok(Vec::new());
        };
        let due = |word: &String| {
            let event = HookEvent::from_word(word);
            event.is_some_and(|event| HookFlow::Delete.has(event))
        };
        if self.request.component.is_some() || !change.hooks.iter().any(due) {
            return Ok(Vec::new());
        }
        match self.run.restored(&self.release, change).await {
            Ok(restored) => Ok(CandidateHook::restored(&restored.rendered)),
            Err(error) => {
                let mut failure = error.failure(&change.id);
                failure.message = format!(
                    "the release has hooks that run when it is deleted, and they are not \
                     recorded: {}",
                    failure.message
                );
                Err(failure.remedy(Remedy::NoHooks).after(self.report()))
            }
        }
    }

    /// Runs the hooks of one moment. When they are done they go, whatever their chart says.
    pub(super) async fn run_hooks(
        &self,
        hooks: &[HookStep],
        event: HookEvent,
        source: &DeleteSource,
        guard: &LockGuard,
        report: &mut Report,
    ) -> HookResults {
        let mut all = HookResults::default();
        let steps = hooks.iter().filter(|step| step.event == event);
        let steps: Vec<_> = steps.collect();
        let options = HookOptions {
            release: &self.release.id,
            hooks: &source.hooks,
            timeout: self.request.timeout,
            removed: true,
            permit: self.run.permit_under(guard),
        };
        self.run.run_hooks(&steps, options, &mut all).await;
        report.resources.append(&mut all.outcomes);
        all
    }

    /// Runs what comes before the objects go; if it fails, nothing is deleted.
    pub(super) async fn hooks_first(
        &self,
        mut locked: Locked,
        source: &DeleteSource,
        guard: &LockGuard,
        report: &mut Report,
    ) -> Result<Locked, Failure> {
        let steps = locked.plan().hooks.clone();
        let ran = self.run_hooks(&steps, HookEvent::PreDelete, source, guard, report);
        let ran = ran.await;
        if let Some(until) = self.run.may_land_until() {
            locked.may_land_until(until);
        }
        if !ran.is_broken() {
            return Ok(locked);
        }
        let failure = hook_failure(ran, std::mem::take(report), "nothing was deleted");
        let partial = match locked.finish(&not_run(&steps)) {
            Ok(applied) => applied.stop(),
            Err(partial) => *partial,
        };
        Err(self.run.let_go(partial, guard, failure).await)
    }
}

/// What a delete counts with: its hooks leave nothing behind.
pub(super) fn presumed(locked: &Locked) -> HashMap<Identity, SendOutcome> {
    let steps = locked.plan().hooks.iter();
    let gone = |step: &HookStep| (step.entry.identity.clone(), SendOutcome::Done { uid: None });
    steps.map(gone).collect()
}

fn not_run(steps: &[HookStep]) -> HashMap<Identity, SendOutcome> {
    let failed = |step: &HookStep| (step.entry.identity.clone(), SendOutcome::Failed);
    steps.iter().map(failed).collect()
}

/// A hook failed, or was cut short.
pub(super) fn hook_failure(ran: HookResults, report: Report, so: &str) -> Failure {
    if let Some(stopped) = ran.stopped {
        return super::conclude::stopped_failure(stopped, report);
    }
    let hook = ran.failed.unwrap_or_default();
    Failure::new(FailureKind::Failed, format!("{hook}; {so}"))
        .about_failed(&report)
        .remedy("fix the cause and delete again")
        .remedy(Remedy::NoHooks)
        .after(report)
}
