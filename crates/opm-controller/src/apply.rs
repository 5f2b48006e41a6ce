//! One apply on behalf of a resource, and whether what it applied is ready.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use opm_core::event::Event;
use opm_core::identity::Identity;
use opm_core::managed::Manager;
use opm_engine::Failure;
use opm_engine::ports::{Answer, Caller, Events, Frontend, Prompt, Question, Unattended};
use opm_engine::report::{Action, Report};
use opm_engine::request::ApplyRequest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::reason::Reason;
use crate::reconcile::{objects_there, verdict_of};
use crate::report;
use crate::resource::{DriftPolicy, ModuleRelease};
use crate::status::Findings;
use crate::verdict::Verdict;

/// How long an attempt holds the lock before the resource says so.
const LONG: Duration = Duration::from_secs(2);

/// Agrees that a release whose resource is deleted goes; nobody else can be asked.
pub(crate) struct ControllerPrompt;

impl Prompt for ControllerPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let answer = match question {
            Question::Delete { .. } => Answer::Yes,
            _ => Answer::CannotAsk,
        };
        Box::pin(async move { answer })
    }
}

/// Hears when the lock is held: from then on an attempt is more than a look.
#[derive(Default)]
struct BegunListener(Notify);

impl Events for BegunListener {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Begun) {
            self.0.notify_one();
        }
    }
}

/// What was applied, or would have been.
pub(crate) struct AppliedResult {
    pub(crate) report: Report,
    pub(crate) drift: Option<Result<(), String>>,
}

/// An apply on behalf of a resource.
pub(crate) struct ResourceApply<'a> {
    pub(crate) resource: &'a ModuleRelease,
    pub(crate) context: &'a Arc<Context>,
    pub(crate) act_as: Option<String>,
    pub(crate) request: ApplyRequest,
}

/// Who calls the engine for a resource.
pub(crate) fn caller<'a>(
    resource: &ModuleRelease,
    act_as: Option<String>,
    events: &'a dyn Events,
    context: &Context,
) -> Caller<'a> {
    let uid = resource.metadata.uid.clone().unwrap_or_default();
    let stopped = || {
        let stopped = CancellationToken::new();
        stopped.cancel();
        stopped
    };
    Caller {
        frontend: Frontend {
            events,
            prompt: &ControllerPrompt,
        },
        // Another replica's from now on: nothing is begun, and what was begun ends.
        cancel: context
            .shards
            .of(&uid)
            .map_or_else(stopped, |shard| shard.child_token()),
        act_as,
        manager: Some(Manager {
            name: resource.metadata.name.clone().unwrap_or_default(),
            uid,
        }),
    }
}

impl ResourceApply<'_> {
    fn caller<'a>(&self, events: &'a dyn Events) -> Caller<'a> {
        caller(self.resource, self.act_as.clone(), events, self.context)
    }

    /// Applies; that something is being done is told meanwhile, if it takes long.
    pub(crate) async fn apply_telling(
        &self,
        findings: &Findings,
    ) -> Result<AppliedResult, Failure> {
        let begun = BegunListener::default();
        let mut applying = Box::pin(self.apply(&begun));
        let long = async {
            begun.0.notified().await;
            tokio::time::sleep(LONG).await;
        };
        tokio::select! {
            done = &mut applying => return done,
            () = long => {}
        }
        if !self.context.dry_run {
            // It is only told; the end of the attempt says it again.
            let _ = report::begin(self.resource, findings, self.context).await;
        }
        applying.await
    }

    async fn apply(&self, events: &dyn Events) -> Result<AppliedResult, Failure> {
        let (engine, caller) = (&self.context.engine, self.caller(events));
        if self.context.dry_run {
            let diff = engine.diff(&self.request, &caller).await?;
            return Ok(AppliedResult {
                report: diff.into_report()?,
                drift: None,
            });
        }
        let status = self.resource.status.as_ref();
        let change = status.and_then(|status| status.change.as_deref());
        let policy = self.resource.spec.drift_policy;
        if let (Some(change), DriftPolicy::Report | DriftPolicy::Ignore) = (change, policy) {
            let diff = engine.diff(&self.request, &caller).await?;
            let same = diff.change_id.as_str() == change && diff.current.as_deref() == Some(change);
            if same && diff.pending.is_empty() && diff.would_fail.is_none() {
                let drifted = diff.objects.iter().filter(|one| one.differs());
                let drifted: Vec<String> = drifted
                    .map(|one| one.outcome.identity.to_string())
                    .collect();
                let drift = match (policy, drifted.is_empty()) {
                    (DriftPolicy::Ignore, _) => None,
                    (_, true) => Some(Ok(())),
                    (_, false) => Some(Err(drifted.join(", "))),
                };
                return Ok(AppliedResult {
                    report: diff.into_report()?,
                    drift,
                });
            }
        }
        let report = engine.apply(&self.request, &caller).await?;
        let applied = report.change_id.as_ref().map(ToString::to_string);
        if change.is_some() && applied.as_deref() == change {
            let corrected = report.resources.iter().filter(|one| {
                matches!(
                    one.action,
                    Action::Created | Action::Configured | Action::Recreated
                )
            });
            let corrected: Vec<String> = corrected.map(|one| one.identity.to_string()).collect();
            self.context.metrics.corrected(corrected.len() as u64);
            if !corrected.is_empty() {
                report::corrected(self.resource, &corrected.join(", "), self.context).await;
            }
        }
        let drift = (policy != DriftPolicy::Ignore).then_some(Ok(()));
        Ok(AppliedResult { report, drift })
    }

    /// Whether what was applied is ready, where that counts.
    pub(crate) async fn readiness(&self, applied: &AppliedResult, ready: Verdict) -> Verdict {
        let objects: Vec<Identity> = objects_there(&applied.report).cloned().collect();
        let caller = self.caller(&Unattended);
        let unready = match self.context.engine.unready(&objects, &caller).await {
            Ok(unready) if unready.is_empty() => return ready,
            Ok(unready) => unready,
            Err(failure) => return verdict_of(&failure),
        };
        let unready = unready.iter();
        let unready = unready.map(|(identity, health)| format!("{identity}: {}", health.message));
        let message: Vec<String> = unready.collect();
        Verdict::waiting(Reason::NotReady, message.join("; "))
    }
}
