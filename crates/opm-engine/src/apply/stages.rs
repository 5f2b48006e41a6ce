//! Applying everything, phase by phase and weight by weight.
//!
//! Objects of one step go at the same time, and a failure does not keep the others of its step
//! back; what comes after it is skipped. What the server cannot take yet is sent again when the
//! rest of its phase is there. Whether everything was taken is then the protocol's to judge.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use opm_core::check::{ApplyStep, CheckedPhase, CheckedPlan};
use opm_core::event::RunPhase;
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::protocol::{Applied, Locked, SendOutcome};
use opm_core::reach;
use opm_core::record::AppliedNotes;
use opm_core::words;

use super::Apply;
use super::check::ApplyContext;
use super::hooks::has_hooks_after;
use super::postponed::{Postponed, PostponedObject};
use super::send::{AppliedObject, ObjectToSend, SendError};
use crate::concurrently::concurrently;
use crate::failure::{Failure, FailureKind};
use crate::hooks::HookResults;
use crate::ports::{ApiError, Permit, Stopped};
use crate::record::LockGuard;
use crate::report::{Action, ObjectOutcome, Report};
use crate::wait::{UnreadyObject, WaitTarget};

/// What became of everything that was to be applied.
#[derive(Debug, Default)]
pub(super) struct ApplyResults {
    pub(super) outcomes: Vec<ObjectOutcome>,
    pub(super) results: HashMap<Identity, SendOutcome>,
    /// What to remember of each apply.
    noted: AppliedNotes,
    /// Set when it was not an object that failed.
    pub(super) stopped: Option<Stopped>,
    failed: bool,
    /// What would help with those that failed.
    remedies: Vec<Remedy>,
    /// What became of hooks.
    pub(super) hooks: HookResults,
}

/// A run whose objects are all applied.
pub(super) struct AppliedRun {
    pub(super) applied: Applied,
    pub(super) report: Report,
    pub(super) noted: AppliedNotes,
}

impl ApplyResults {
    pub(super) fn take(
        &mut self,
        step: &ApplyStep,
        result: Result<AppliedObject, SendError>,
    ) -> ObjectOutcome {
        let (action, reason, sent) = match result {
            Ok(AppliedObject {
                uid,
                action,
                note,
                noted,
                ..
            }) => {
                let identity = step.entry.identity.clone();
                self.noted.extend(noted.map(|noted| (identity, noted)));
                (action, note, SendOutcome::Done { uid })
            }
            Err(SendError::Stopped(stopped)) => {
                self.stopped = Some(stopped);
                let reason = ApiError::stopped(stopped).message;
                (Action::Skipped, Some(reason), SendOutcome::NotSent)
            }
            Err(SendError::Unreachable(reason)) => {
                (Action::Failed, Some(reason), SendOutcome::Uncertain)
            }
            Err(SendError::NotUpYet(reason)) => {
                let reason =
                    format!("a webhook or server that it depends on is not up yet: {reason}");
                (Action::Failed, Some(reason), SendOutcome::Failed)
            }
            Err(SendError::Refused(refusal)) => {
                self.remedies.extend(refusal.remedies());
                (Action::Failed, Some(refusal.detail()), SendOutcome::Failed)
            }
            Err(SendError::Failed { reason, .. }) => {
                (Action::Failed, Some(reason), SendOutcome::Failed)
            }
        };
        self.failed |= action == Action::Failed;
        self.results.insert(step.entry.identity.clone(), sent);
        ObjectOutcome::of(&step.entry, action, reason)
    }

    pub(super) fn is_broken(&self) -> bool {
        self.failed || self.stopped.is_some() || self.hooks.is_broken()
    }

    /// What was applied and is not ready has failed as far as the next step is concerned.
    fn not_ready(&mut self, not_ready: Vec<UnreadyObject>) {
        self.failed |= !not_ready.is_empty();
        for UnreadyObject {
            identity, reason, ..
        } in not_ready
        {
            let found = self.outcomes.iter_mut().find(|o| o.identity == identity);
            if let Some(outcome) = found {
                outcome.action = Action::Failed;
                let reason = format!("it was applied, but did not become ready: {reason}");
                outcome.reason = Some(reason);
            }
            self.results.insert(identity, SendOutcome::Failed);
        }
    }
}

impl Apply<'_> {
    /// Applies everything that the plan says. What is not applied whole is let go of: nothing is
    /// pruned, and nothing recorded.
    pub(super) async fn apply_all(
        &self,
        mut locked: Locked,
        context: &ApplyContext,
        guard: &LockGuard,
    ) -> Result<AppliedRun, Failure> {
        let permit = self.run.permit_under(guard);
        let objects = locked.plan().applies().count();
        self.tell_phase(RunPhase::Apply, objects);
        let mut sent = self.apply_phases(locked.plan(), context, permit).await;
        sent.outcomes.append(&mut sent.hooks.outcomes);
        sent.results.extend(std::mem::take(&mut sent.hooks.results));
        let report = Report {
            first_apply: context.first_apply,
            resources: sent.outcomes,
            warnings: context.warnings.clone(),
            remedies: context.remedies.clone(),
            ..self.report()
        };
        if let Some(until) = self.run.may_land_until() {
            locked.may_land_until(until);
        }
        match locked.finish(&sent.results) {
            Ok(applied) => Ok(AppliedRun {
                applied,
                report,
                noted: sent.noted,
            }),
            Err(partial) => {
                // An object whose fate is unknown hides that the run was stopped.
                let stopped = sent.stopped.or(sent.hooks.stopped);
                let stopped = stopped.or(permit.check(self.run.now()).err());
                let failure = not_applied(report, stopped, sent.remedies, sent.hooks.failed);
                Err(self.let_go(*partial, guard, failure).await)
            }
        }
    }

    async fn apply_phases(
        &self,
        checked: &CheckedPlan,
        context: &ApplyContext,
        permit: Permit<'_>,
    ) -> ApplyResults {
        let mut all = ApplyResults::default();
        let phases = &checked.phases;
        for (at, phase) in phases.iter().enumerate() {
            self.hooks_before(checked, phase, permit, &mut all).await;
            let mut postponed = Postponed::default();
            for step in &phase.steps {
                if all.is_broken() {
                    self.skip(step, &mut all);
                    continue;
                }
                let late = self.apply_step(step, context, permit, &mut all).await;
                postponed.extend(late);
                if postponed.holds_up() {
                    self.send_postponed(&mut postponed, context, permit, &mut all)
                        .await;
                }
                if !all.is_broken() {
                    self.ready_for_next(step, permit, &mut all).await;
                }
            }
            self.send_postponed(&mut postponed, context, permit, &mut all)
                .await;
            let is_last = at + 1 == phases.len();
            let awaited = !is_last || has_hooks_after(checked, phase);
            if awaited && !all.is_broken() {
                self.ready_for_next_phase(phase, permit, &mut all).await;
            }
            self.hooks_after(checked, phase, permit, &mut all).await;
        }
        self.hooks_without_objects(checked, permit, &mut all).await;
        let places: HashMap<&Identity, usize> = checked
            .applies()
            .enumerate()
            .map(|(at, step)| (&step.entry.identity, at))
            .collect();
        all.outcomes
            .sort_by_key(|outcome| places.get(&outcome.identity).copied());
        all
    }

    /// Objects of one weight, at the same time. Each is told and noted as its answer comes.
    /// Answers with those that the server cannot take yet.
    async fn apply_step<'s>(
        &self,
        step: &'s [ApplyStep],
        context: &ApplyContext,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) -> Vec<PostponedObject<'s>> {
        let unreachable = &AtomicBool::new(false);
        let concurrency = self.request.options.concurrency;
        let (limit, permit) = (concurrency.limit(), concurrency.pace(permit));
        let mut sends = pin!(concurrently(limit, step.len(), |at| async move {
            if unreachable.load(Ordering::Relaxed) {
                return (at, Err(SendError::because("the cluster stopped answering")));
            }
            let result = self.send_or_skip(&step[at], context, permit).await;
            if matches!(result, Err(SendError::Unreachable(_))) {
                unreachable.store(true, Ordering::Relaxed);
            }
            (at, result)
        }));
        let mut postponed = Vec::new();
        while let Some((at, result)) = sends.next().await {
            if let Err(SendError::NotUpYet(said)) = result {
                let step = &step[at];
                postponed.push(PostponedObject { step, said });
                continue;
            }
            let outcome = all.take(&step[at], result);
            self.tell_object(&outcome);
            all.outcomes.push(outcome);
        }
        postponed
    }

    pub(super) async fn send_or_skip(
        &self,
        step: &ApplyStep,
        context: &ApplyContext,
        permit: Permit<'_>,
    ) -> Result<AppliedObject, SendError> {
        let identity = &step.entry.identity;
        if let Some(applied) = context.already.get(identity) {
            return Ok(applied.clone());
        }
        if let Some(unchanged) = context.unchanged.get(identity) {
            return Ok(unchanged.clone());
        }
        let Some(object) = self.object(identity, context) else {
            return Err(SendError::because("it is not rendered"));
        };
        self.run.tell_sent(&step.entry);
        self.send(ObjectToSend {
            step,
            object: &object,
            seen: context.before(identity),
            recreate: context.recreate.contains(identity),
            permit,
        })
        .await
    }

    fn skip(&self, step: &[ApplyStep], all: &mut ApplyResults) {
        let reason = match all.stopped {
            Some(stopped) => ApiError::stopped(stopped).message,
            None => "an object before it failed".to_owned(),
        };
        for step in step {
            let skipped = ObjectOutcome::of(&step.entry, Action::Skipped, Some(reason.clone()));
            self.tell_object(&skipped);
            all.outcomes.push(skipped);
            let identity = step.entry.identity.clone();
            all.results.insert(identity, SendOutcome::NotSent);
        }
    }

    /// Definitions must be served, and Namespaces active, before what follows can land there.
    async fn ready_for_next(&self, step: &[ApplyStep], permit: Permit<'_>, all: &mut ApplyResults) {
        if self.request.options.dry_run {
            return;
        }
        let needed: Vec<Identity> = step
            .iter()
            .map(|step| &step.entry.identity)
            .filter(|identity| {
                identity.group_kind.is("", "Namespace")
                    || identity
                        .group_kind
                        .is("apiextensions.k8s.io", "CustomResourceDefinition")
            })
            .cloned()
            .collect();
        if needed.is_empty() {
            return;
        }
        let targets: Vec<WaitTarget> = needed.iter().cloned().map(WaitTarget::from).collect();
        self.wait_for(&targets, permit, all).await;
        if !all.is_broken() {
            self.wait_for_kinds(&needed, permit, all).await;
        }
    }

    async fn wait_for_kinds(
        &self,
        definitions: &[Identity],
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let defined = definitions
            .iter()
            .filter_map(|identity| {
                let mut objects = self.candidate.objects.iter();
                objects.find(|object| object.manifest.identity() == identity)
            })
            .flat_map(|object| reach::defined_by(&object.manifest));
        let needed: Vec<_> = defined
            .filter(|(kind, version)| {
                self.candidate.objects.iter().any(|object| {
                    object.manifest.identity().group_kind == *kind
                        && object.manifest.version() == version
                })
            })
            .collect();
        match self
            .run
            .wait_served(&needed, self.request.options.timeout, permit)
            .await
        {
            Ok(missing) => {
                let reason = |kind: &_| format!("{kind} is not served yet");
                let missing = missing.iter().flat_map(|(kind, _)| {
                    definitions
                        .iter()
                        .map(move |identity| UnreadyObject::late(identity.clone(), reason(kind)))
                });
                all.not_ready(missing.collect());
            }
            Err(error) => broke(definitions, error, all),
        }
    }

    async fn ready_for_next_phase(
        &self,
        phase: &CheckedPhase,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        if self.request.options.dry_run {
            return;
        }
        let targets = self.targets(phase.steps.iter().flatten());
        self.tell_targets(&targets);
        self.wait_for(&targets, permit, all).await;
    }

    async fn wait_for(&self, targets: &[WaitTarget], permit: Permit<'_>, all: &mut ApplyResults) {
        match self
            .run
            .wait_ready(targets, self.request.options.timeout, permit)
            .await
        {
            Ok(not_ready) => all.not_ready(not_ready),
            Err(error) => {
                let needed: Vec<Identity> = targets.iter().map(|a| a.identity.clone()).collect();
                broke(&needed, error, all);
            }
        }
    }
}

/// The wait itself failed.
fn broke(needed: &[Identity], error: ApiError, all: &mut ApplyResults) {
    match SendError::from(error) {
        SendError::Stopped(stopped) => all.stopped = Some(stopped),
        SendError::Refused(refusal) => {
            let not_ready = needed
                .iter()
                .map(|identity| UnreadyObject::late(identity.clone(), refusal.detail()));
            all.not_ready(not_ready.collect());
        }
        SendError::Unreachable(reason)
        | SendError::NotUpYet(reason)
        | SendError::Failed { reason, .. } => {
            let not_ready = needed
                .iter()
                .map(|identity| UnreadyObject::late(identity.clone(), reason.clone()));
            all.not_ready(not_ready.collect());
        }
    }
}

fn not_applied(
    report: Report,
    stopped: Option<Stopped>,
    remedies: Vec<Remedy>,
    hook: Option<String>,
) -> Failure {
    if let Some(stopped) = stopped {
        return stopped_failure(stopped, report);
    }
    let message = match hook {
        Some(hook) => format!("{hook}; nothing was pruned and nothing was recorded"),
        None => format!(
            "{} of {} could not be applied; nothing was pruned and nothing was recorded",
            report.failed().count(),
            words::count(report.resources.len(), "object")
        ),
    };
    let failure = Failure::new(FailureKind::Failed, message);
    let failure = remedies.into_iter().fold(failure, Failure::remedy);
    failure
        .about_failed(&report)
        .remedy("fix the cause and apply again; objects that were already created are tracked")
        .after(report)
}

/// The run was stopped before everything was applied and pruned.
pub(super) fn stopped_failure(stopped: Stopped, report: Report) -> Failure {
    let message = match stopped {
        Stopped::Cancelled => {
            "interrupted; nothing was recorded, and objects that were already created are tracked"
        }
        Stopped::LockUncertain => {
            "the release's lock could not be renewed in time, so this run stopped"
        }
    };
    Failure::new(stopped.into(), message)
        .remedy("apply again to go on")
        .after(report)
}
