//! Applying everything, phase by phase and weight by weight.
//!
//! Objects of one step go at the same time, and a failure does not keep the others of its step
//! back; what comes after it is skipped. Whether everything was taken is then the protocol's to
//! judge.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{self, StreamExt};
use opm_core::check::{ApplyMethod, ApplyStep, CheckedPhase, CheckedPlan};
use opm_core::health;
use opm_core::identity::Identity;
use opm_core::protocol::SendOutcome;
use opm_core::reach;

use super::Apply;
use super::prepare::ApplyContext;
use super::send::{AppliedObject, ObjectToSend, SendError};
use crate::ports::{ApiError, Clock, Cluster, SecretStore, Stopped};
use crate::report::{Action, ObjectOutcome};
use crate::wait::{UnreadyObject, WaitTarget};

/// What became of everything that was to be applied.
#[derive(Debug, Default)]
pub(super) struct ApplyResults {
    pub(super) outcomes: Vec<ObjectOutcome>,
    pub(super) results: HashMap<Identity, SendOutcome>,
    /// Set when it was not an object that failed.
    pub(super) stopped: Option<Stopped>,
    failed: bool,
}

impl ApplyResults {
    fn take(
        &mut self,
        step: &ApplyStep,
        result: Result<AppliedObject, SendError>,
    ) -> ObjectOutcome {
        let (action, reason, sent) = match result {
            Ok(AppliedObject { uid, action, .. }) => (action, None, SendOutcome::Done { uid }),
            Err(SendError::Stopped(stopped)) => {
                self.stopped = Some(stopped);
                let reason = ApiError::stopped(stopped).message;
                (Action::Skipped, Some(reason), SendOutcome::NotSent)
            }
            Err(SendError::Unreachable(reason)) => {
                (Action::Failed, Some(reason), SendOutcome::Uncertain)
            }
            Err(SendError::Failed { reason, .. } | SendError::Conflict(reason)) => {
                (Action::Failed, Some(reason), SendOutcome::Failed)
            }
        };
        self.failed |= action == Action::Failed;
        self.results.insert(step.entry.identity.clone(), sent);
        let outcome = outcome(step, action, reason);
        self.outcomes.push(outcome.clone());
        outcome
    }

    fn is_broken(&self) -> bool {
        self.failed || self.stopped.is_some()
    }

    /// What was applied and is not ready has failed as far as the next step is concerned.
    fn not_ready(&mut self, not_ready: Vec<UnreadyObject>) {
        self.failed |= !not_ready.is_empty();
        for UnreadyObject { identity, reason } in not_ready {
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

pub(super) fn outcome(step: &ApplyStep, action: Action, reason: Option<String>) -> ObjectOutcome {
    ObjectOutcome {
        identity: step.entry.identity.clone(),
        version: step.entry.version.clone(),
        component: step.entry.component.clone(),
        action,
        reason,
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Applies everything that the plan says, in order.
    pub(super) async fn apply_all(
        &self,
        checked: &CheckedPlan,
        context: &ApplyContext,
    ) -> ApplyResults {
        let mut all = ApplyResults::default();
        let phases = &checked.phases;
        for (at, phase) in phases.iter().enumerate() {
            for step in &phase.steps {
                if all.is_broken() {
                    self.skip(step, &mut all);
                    continue;
                }
                self.apply_step(step, context, &mut all).await;
                if !all.is_broken() {
                    self.ready_for_next(step, &mut all).await;
                }
            }
            let is_last = at + 1 == phases.len();
            if !is_last && !all.is_broken() {
                self.ready_for_next_phase(phase, &mut all).await;
            }
        }
        all
    }

    /// Objects of one weight, at the same time. Each is told and noted as its answer comes.
    async fn apply_step(&self, step: &[ApplyStep], context: &ApplyContext, all: &mut ApplyResults) {
        let unreachable = &AtomicBool::new(false);
        let mut results = stream::iter(step.iter().enumerate())
            .map(|(at, step)| async move {
                if unreachable.load(Ordering::Relaxed) {
                    return (at, Err(SendError::because("the cluster stopped answering")));
                }
                let result = self.send_or_skip(step, context).await;
                if matches!(result, Err(SendError::Unreachable(_))) {
                    unreachable.store(true, Ordering::Relaxed);
                }
                (at, result)
            })
            .buffer_unordered(self.request.options.concurrency.max(1));
        let before = all.outcomes.len();
        let mut order = Vec::with_capacity(step.len());
        while let Some((at, result)) = results.next().await {
            let outcome = all.take(&step[at], result);
            self.tell_object(&outcome);
            order.push(at);
        }
        drop(results);
        // Answers come in any order; the report has them in the plan's.
        let done = all.outcomes.split_off(before);
        let mut sorted: Vec<(usize, ObjectOutcome)> = order.into_iter().zip(done).collect();
        sorted.sort_by_key(|(at, _)| *at);
        all.outcomes.extend(sorted.into_iter().map(|(_, o)| o));
    }

    pub(super) async fn send_or_skip(
        &self,
        step: &ApplyStep,
        context: &ApplyContext,
    ) -> Result<AppliedObject, SendError> {
        let identity = &step.entry.identity;
        if let Some(taken) = context.already.get(identity) {
            return Ok(taken.clone());
        }
        let Some(object) = context.object(identity) else {
            return Err(SendError::because("it is not rendered"));
        };
        self.send(ObjectToSend {
            step,
            object,
            seen: context.live.get(identity),
        })
        .await
    }

    fn skip(&self, step: &[ApplyStep], all: &mut ApplyResults) {
        let reason = match all.stopped {
            Some(stopped) => ApiError::stopped(stopped).message,
            None => "an object before it failed".to_owned(),
        };
        for step in step {
            let skipped = outcome(step, Action::Skipped, Some(reason.clone()));
            self.tell_object(&skipped);
            all.outcomes.push(skipped);
            let identity = step.entry.identity.clone();
            all.results.insert(identity, SendOutcome::NotSent);
        }
    }

    /// Definitions must be served, and Namespaces active, before what follows can land there.
    async fn ready_for_next(&self, step: &[ApplyStep], all: &mut ApplyResults) {
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
        let awaited: Vec<WaitTarget> = needed.iter().cloned().map(WaitTarget::from).collect();
        self.wait_for(&awaited, all).await;
        if !all.is_broken() {
            self.wait_for_kinds(&needed, all).await;
        }
    }

    async fn wait_for_kinds(&self, definitions: &[Identity], all: &mut ApplyResults) {
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
            .engine
            .wait_served(&needed, self.request.options.timeout)
            .await
        {
            Ok(missing) => {
                let reason = |kind: &_| format!("{kind} is not served yet");
                let missing = missing.iter().flat_map(|(kind, _)| {
                    definitions.iter().map(move |identity| UnreadyObject {
                        identity: identity.clone(),
                        reason: reason(kind),
                    })
                });
                all.not_ready(missing.collect());
            }
            Err(error) => broke(definitions, error, all),
        }
    }

    async fn ready_for_next_phase(&self, phase: &CheckedPhase, all: &mut ApplyResults) {
        if self.request.options.dry_run {
            return;
        }
        let awaited = self.awaited(phase.steps.iter().flatten());
        self.tell_awaited(&awaited);
        self.wait_for(&awaited, all).await;
    }

    async fn wait_for(&self, awaited: &[WaitTarget], all: &mut ApplyResults) {
        match self
            .engine
            .wait_ready(awaited, self.request.options.timeout)
            .await
        {
            Ok(not_ready) => all.not_ready(not_ready),
            Err(error) => {
                let needed: Vec<Identity> = awaited.iter().map(|a| a.identity.clone()).collect();
                broke(&needed, error, all);
            }
        }
    }

    /// What readiness is waited for: not what is ready as soon as it exists, and not what is
    /// done and gone.
    pub(super) fn awaited<'s>(
        &self,
        steps: impl IntoIterator<Item = &'s ApplyStep>,
    ) -> Vec<WaitTarget> {
        let desired = self.candidate.desired().objects;
        let expiring: HashSet<&Identity> = desired
            .iter()
            .filter(|object| object.expires)
            .map(|object| &object.entry.identity)
            .collect();
        steps
            .into_iter()
            .filter(|step| step.method != ApplyMethod::Completed)
            .map(|step| &step.entry.identity)
            .filter(|identity| health::takes_time(&identity.group_kind))
            .map(|identity| WaitTarget {
                identity: identity.clone(),
                expires: expiring.contains(identity),
            })
            .collect()
    }
}

/// The wait itself failed.
fn broke(needed: &[Identity], error: ApiError, all: &mut ApplyResults) {
    match SendError::from(error) {
        SendError::Stopped(stopped) => all.stopped = Some(stopped),
        SendError::Unreachable(reason)
        | SendError::Conflict(reason)
        | SendError::Failed { reason, .. } => {
            let not_ready = needed.iter().map(|identity| UnreadyObject {
                identity: identity.clone(),
                reason: reason.clone(),
            });
            all.not_ready(not_ready.collect());
        }
    }
}
