//! Applying everything, phase by phase and weight by weight.
//!
//! Objects of one step go at the same time, and a failure does not keep the others of its step
//! back; what comes after it is skipped. There are two ways out: everything was taken, or not.
//! Only the first leads on to pruning.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{self, StreamExt};
use opm_core::check::{ApplyStep, CheckedPhase};
use opm_core::identity::Identity;
use opm_core::reach;

use super::send::{Refused, Sending, Taken};
use super::{Apply, Prepared};
use crate::ports::{ApiError, Clock, Cluster, SecretStore, Stopped};
use crate::report::{Action, Outcome};
use crate::wait::NotReady;

/// Every object of the plan was taken. Only this leads to pruning and recording.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) uids: HashMap<Identity, String>,
}

/// Not everything was taken: nothing is pruned, and nothing is recorded.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) outcomes: Vec<Outcome>,
    /// Set when it was not an object that failed.
    pub(super) stopped: Option<Stopped>,
}

/// What has been done so far.
#[derive(Default)]
struct Progress {
    outcomes: Vec<Outcome>,
    uids: HashMap<Identity, String>,
    stopped: Option<Stopped>,
    failed: bool,
}

impl Progress {
    fn take(&mut self, step: &ApplyStep, result: Result<Taken, Refused>) -> &Outcome {
        let (action, reason) = match result {
            Ok(taken) => {
                if let Some(uid) = taken.uid {
                    self.uids.insert(step.entry.identity.clone(), uid);
                }
                (taken.action, None)
            }
            Err(Refused::Stopped(stopped)) => {
                self.stopped = Some(stopped);
                (Action::Skipped, Some(ApiError::stopped(stopped).message))
            }
            Err(Refused::Unreachable(reason) | Refused::Failed { reason, .. }) => {
                self.failed = true;
                (Action::Failed, Some(reason))
            }
        };
        self.outcomes.push(outcome(step, action, reason));
        &self.outcomes[self.outcomes.len() - 1]
    }

    fn is_broken(&self) -> bool {
        self.failed || self.stopped.is_some()
    }

    fn not_ready(&mut self, not_ready: Vec<NotReady>) {
        self.failed |= !not_ready.is_empty();
        for NotReady { identity, reason } in not_ready {
            let found = self.outcomes.iter_mut().find(|o| o.identity == identity);
            if let Some(outcome) = found {
                outcome.action = Action::Failed;
                outcome.reason = Some(format!("it was applied, but did not become ready: {reason}"));
            }
        }
    }
}

pub(super) fn outcome(step: &ApplyStep, action: Action, reason: Option<String>) -> Outcome {
    Outcome {
        identity: step.entry.identity.clone(),
        version: step.entry.version.clone(),
        component: step.entry.component.clone(),
        action,
        reason,
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Applies everything that the plan says, in order.
    pub(super) async fn apply_all(&self, prepared: &Prepared) -> Result<Applied, Partial> {
        let mut progress = Progress::default();
        let phases = &prepared.checked.phases;
        for (at, phase) in phases.iter().enumerate() {
            for step in &phase.steps {
                if progress.is_broken() {
                    self.skip(step, &mut progress);
                    continue;
                }
                self.apply_step(prepared, step, &mut progress).await;
                if !progress.is_broken() {
                    self.ready_for_next(step, &mut progress).await;
                }
            }
            let is_last = at + 1 == phases.len();
            if !is_last && !progress.is_broken() {
                self.ready_for_next_phase(phase, &mut progress).await;
            }
        }
        let Progress {
            outcomes,
            uids,
            stopped,
            failed,
        } = progress;
        match failed || stopped.is_some() {
            false => Ok(Applied { outcomes, uids }),
            true => Err(Partial { outcomes, stopped }),
        }
    }

    async fn apply_step(&self, prepared: &Prepared, step: &[ApplyStep], progress: &mut Progress) {
        let unreachable = AtomicBool::new(false);
        let unreachable = &unreachable;
        let mut results = stream::iter(step)
            .map(|step| async move {
                if unreachable.load(Ordering::Relaxed) {
                    let reason = "the cluster did not answer for an object before it".to_owned();
                    return (step, Err(Refused::Unreachable(reason)));
                }
                let result = self.send(self.sending(prepared, step)).await;
                if matches!(result, Err(Refused::Unreachable(_))) {
                    unreachable.store(true, Ordering::Relaxed);
                }
                (step, result)
            })
            .buffer_unordered(self.request.concurrency.max(1));
        while let Some((step, result)) = results.next().await {
            let outcome = progress.take(step, result);
            self.tell_object(outcome);
        }
    }

    fn sending<'a>(&self, prepared: &'a Prepared, step: &'a ApplyStep) -> Sending<'a> {
        let identity = &step.entry.identity;
        let object = match prepared.instead.get(identity) {
            Some(object) => object,
            None => prepared.objects[identity].manifest.object(),
        };
        Sending {
            step,
            object,
            seen_version: prepared.versions.get(identity).map(String::as_str),
            seen: prepared.live.get(identity),
        }
    }

    fn skip(&self, step: &[ApplyStep], progress: &mut Progress) {
        let reason = match progress.stopped {
            Some(stopped) => ApiError::stopped(stopped).message,
            None => "an object before it failed".to_owned(),
        };
        for step in step {
            let skipped = outcome(step, Action::Skipped, Some(reason.clone()));
            self.tell_object(&skipped);
            progress.outcomes.push(skipped);
        }
    }

    /// Definitions must be served, and Namespaces active, before what follows can land there.
    async fn ready_for_next(&self, step: &[ApplyStep], progress: &mut Progress) {
        if self.request.dry_run {
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
        self.wait_for(&needed, progress).await;
        if !progress.is_broken() {
            self.wait_for_kinds(&needed, progress).await;
        }
    }

    async fn wait_for_kinds(&self, definitions: &[Identity], progress: &mut Progress) {
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
        match self.engine.wait_served(&needed, self.request.timeout).await {
            Ok(missing) => {
                let reason = |kind: &_| format!("{kind} is not served yet");
                let missing = missing.iter().flat_map(|(kind, _)| {
                    definitions.iter().map(move |identity| NotReady {
                        identity: identity.clone(),
                        reason: reason(kind),
                    })
                });
                progress.not_ready(missing.collect());
            }
            Err(error) => broke(definitions, error, progress),
        }
    }

    async fn ready_for_next_phase(&self, phase: &CheckedPhase, progress: &mut Progress) {
        if self.request.dry_run {
            return;
        }
        let applied: Vec<Identity> = phase
            .steps
            .iter()
            .flatten()
            .filter(|step| step.how != opm_core::check::How::Completed)
            .map(|step| step.entry.identity.clone())
            .collect();
        self.tell_waiting(&phase.components);
        self.wait_for(&applied, progress).await;
    }

    async fn wait_for(&self, needed: &[Identity], progress: &mut Progress) {
        match self.engine.wait_ready(needed, self.request.timeout).await {
            Ok(not_ready) => progress.not_ready(not_ready),
            Err(error) => broke(needed, error, progress),
        }
    }
}

/// The wait itself failed.
fn broke(needed: &[Identity], error: ApiError, progress: &mut Progress) {
    match Refused::from(error) {
        Refused::Stopped(stopped) => progress.stopped = Some(stopped),
        Refused::Unreachable(reason) | Refused::Failed { reason, .. } => {
            let not_ready = needed.iter().map(|identity| NotReady {
                identity: identity.clone(),
                reason: reason.clone(),
            });
            progress.not_ready(not_ready.collect());
        }
    }
}
