//! `--atomic`: an apply that fails, or does not become ready in time, is made undone.
//!
//! Nothing is recorded before everything is ready, so until then the change before is the
//! current one, and what the apply created is pending. The way back is an ordinary apply of that
//! change, from manifests that were read and verified before anything was touched; after a first
//! apply it is an ordinary delete. If it fails too, nothing is worse than after any failed
//! apply: the record knows everything, and the next run cleans up.

use std::borrow::Cow;
use std::time::Duration;

use opm_core::record::Record;

use super::course::{ApplyMode, ApplyTask, Reapply};
use super::{ApplyEnd, ApplySource, release_of};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::history::RestoredChange;
use crate::ports::{Answer, Clock, Cluster, Frontend, Prompt, Question, SecretStore};
use crate::report::{Release, Report};
use crate::request::{Adopt, ApplyOptions, ApplyRequest, DeleteRequest, GuardFlags, ReleaseRef};

/// How much longer than a lock is good for the way back waits for it: the failed run may not
/// have been able to release its own.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where an apply that fails goes back to.
#[derive(Debug, Clone)]
pub(crate) enum Fallback {
    /// To the change that is current.
    To(Box<RestoredChange>),
    /// There was none: what was created is removed again.
    Nothing,
}

/// Going back after a run.
pub(crate) struct FallbackRun<'a> {
    request: &'a ApplyRequest,
    state: RestoredChange,
    /// The run that failed.
    run: String,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Applies, and goes back if that fails.
    pub(super) async fn apply_atomic(
        &self,
        request: &ApplyRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let release = release_of(request);
        let source = ApplySource::Module(request);
        let ApplyEnd {
            result,
            run,
            course,
        } = self
            .apply_from(&release, &source, request.options.lock_timeout, frontend)
            .await?;
        let failure = match result {
            Ok(report) => return Ok(report),
            Err(failure) => failure,
        };
        use FailureKind::{Failed, Interrupted, LockLost};
        match (failure.kind, course.back) {
            (Failed | Interrupted | LockLost, Some(back)) => {
                Err(self.go_back(request, failure, back, run, frontend).await)
            }
            _ => Err(failure),
        }
    }

    /// A dry run says too that there is no way back.
    pub(super) async fn rehearse_way_back(&self, request: &ApplyRequest) -> Result<(), Failure> {
        if !request.atomic {
            return Ok(());
        }
        let release = release_of(request);
        let (loaded, _) = self.load(&release).await?;
        let record = loaded.as_ref().map(|loaded| &loaded.record);
        self.way_back(&release, record).await.map(|_| ())
    }

    /// The way back, which has to be known before anything is touched.
    pub(super) async fn way_back(
        &self,
        release: &Release,
        record: Option<&Record>,
    ) -> Result<Fallback, Failure> {
        let Some(current) = record.and_then(Record::current) else {
            return Ok(Fallback::Nothing);
        };
        match self.state_of(release, current).await {
            Ok(state) => Ok(Fallback::To(Box::new(state))),
            Err(error) => {
                let mut failure = error.failure(&current.id);
                failure.message = format!("--atomic has no way back: {}", failure.message);
                Err(failure.hint("apply once without --atomic: that keeps its manifests"))
            }
        }
    }

    async fn go_back(
        &self,
        request: &ApplyRequest,
        failure: Failure,
        back: Fallback,
        run: String,
        frontend: Frontend<'_>,
    ) -> Failure {
        // Whoever interrupts wants the release as it was. A second time, nothing is waited for.
        self.gate.go_back();
        match back {
            Fallback::To(state) => {
                let id = state.change.id.clone();
                let (state, release) = (*state, release_of(request));
                let returning = FallbackRun {
                    request,
                    state,
                    run,
                };
                let patience =
                    (self.settings.timing.ttl + PATIENCE).max(request.options.lock_timeout);
                let source = ApplySource::Fallback(&returning);
                let result = match self.apply_from(&release, &source, patience, frontend).await {
                    Ok(ending) => ending.result,
                    Err(failure) => Err(failure),
                };
                returned(failure, result, &format!("went back to {id}"))
            }
            Fallback::Nothing => {
                let removed = self.remove_again(request, frontend).await;
                returned(
                    failure,
                    removed,
                    "everything that it created was removed again",
                )
            }
        }
    }

    async fn remove_again(
        &self,
        request: &ApplyRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let delete = DeleteRequest {
            release: ReleaseRef::Module {
                path: request.rendered.module.path.clone(),
                name: request.name.clone(),
                namespace: request.namespace.clone(),
            },
            namespace: request.namespace.clone(),
            component: None,
            dry_run: false,
            guards: GuardFlags::default(),
            wait: false,
            timeout: request.options.timeout,
            lock_timeout: self.settings.timing.ttl + PATIENCE,
            ignore_not_found: true,
            max_history: request.options.max_history,
            concurrency: request.options.concurrency,
            message: None,
        };
        let frontend = Frontend {
            prompt: &AgreedPrompt,
            ..frontend
        };
        self.delete(&delete, frontend).await
    }
}

impl FallbackRun<'_> {
    /// The change that was current, applied again. If somebody else came in between, the release
    /// is theirs.
    pub(super) fn task(&self, record: Option<&Record>) -> Result<ApplyTask<'_>, Failure> {
        let last = record.and_then(|record| record.log.first());
        if last.is_none_or(|entry| entry.id != self.run) {
            let message = "somebody else has deployed the release meanwhile, and was left alone";
            return Err(Failure::new(FailureKind::Refused, message));
        }
        let change = &self.state.change;
        let options = ApplyOptions {
            no_prune: false,
            adopt: Adopt::None,
            take_ownership: false,
            allow_empty: true,
            guards: GuardFlags::default(),
            wait: true,
            prune_after_ready: false,
            wait_for_deletion: true,
            message: Some("--atomic went back".to_owned()),
            ..self.request.options.clone()
        };
        let request = ApplyRequest {
            rendered: self.state.rendered.clone(),
            selection: Some(self.state.selection()),
            atomic: false,
            options,
            ..self.request.clone()
        };
        Ok(ApplyTask {
            request: Cow::Owned(request),
            course: ApplyMode {
                again: Some(Reapply::of(change)),
                undoes: Some(self.run.clone()),
                ..ApplyMode::default()
            },
            warnings: Vec::new(),
        })
    }
}

/// Whoever asks for `--atomic` has agreed to what the way back removes.
struct AgreedPrompt;

impl Prompt for AgreedPrompt {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> std::pin::Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        let answer = match question {
            Question::Delete { .. } => Answer::Yes,
            _ => Answer::CannotAsk,
        };
        Box::pin(async move { answer })
    }
}

/// What failed, and what became of the way back: both causes, if both failed.
fn returned(mut failure: Failure, back: Result<Report, Failure>, done: &str) -> Failure {
    let cause = failure.message.clone();
    failure.hints.clear();
    let report = match back {
        Ok(report) => {
            failure.message = format!("{cause}; {done}");
            report
        }
        // It is what it was, only not ready, or not rid of everything.
        Err(other) if other.kind == FailureKind::Incomplete => {
            failure.message = format!("{cause}; {done}, but: {}", other.message);
            failure.objects.extend(other.objects);
            *other.report
        }
        Err(other) => {
            failure.message = format!("{cause}; and going back failed: {}", other.message);
            failure.objects.extend(other.objects);
            failure.hints = other.hints;
            failure.hints.push(
                "nothing is forgotten: `opm mod rollback`, or another apply, ends clean".to_owned(),
            );
            *other.report
        }
    };
    failure.report.pending = report.pending;
    failure.report.kept = report.kept;
    failure.report.warnings.extend(report.warnings);
    failure
}
