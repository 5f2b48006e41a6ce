//! Atomic applies: one that fails, or does not become ready in time, is rolled back.
//!
//! Nothing is recorded before everything is ready, so until then the change before is the
//! current one, and what the apply created is pending. The way back is an ordinary apply of that
//! change, from manifests that were read and verified before anything was touched; after a first
//! apply it is an ordinary delete. If it fails too, nothing is worse than after any failed
//! apply: the record knows everything, and the next run cleans up.

use std::borrow::Cow;
use std::time::Duration;

use futures::future::BoxFuture;
use opm_core::event::Event;
use opm_core::failure::Remedy;
use opm_core::record::{LogResult, Record};
use opm_core::review::ReviewMode;

use super::source::{ApplyMode, ApplySource, ApplyTask, Reapply};
use super::{ApplyEnd, release_of};
use crate::failure::{Failure, FailureKind};
use crate::history::RestoredChange;
use crate::ports::{Answer, Caller, Frontend, Prompt, Question};
use crate::report::{Release, Report};
use crate::request::{Adopt, ApplyOptions, ApplyRequest, DeleteRequest, GuardFlags, ReleaseRef};
use crate::run::Run;

/// How much longer than a lock is good for the way back waits for it: the failed run may not
/// have been able to release its own.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where an apply that fails goes back to.
#[derive(Debug, Clone)]
pub(crate) enum Fallback {
    /// To the change that is current.
    To(Box<RestoredChange>),
    /// There was none: what was created is removed again.
    Nothing {
        /// The release was deleted before, and its history stays.
        keep_history: bool,
    },
}

/// Going back after a run.
pub(crate) struct FallbackRun<'a> {
    request: &'a ApplyRequest,
    restored: RestoredChange,
    /// The run that failed.
    failed: String,
}

impl Run<'_> {
    /// Applies, and goes back if that fails.
    pub(super) async fn apply_atomic(&self, request: &ApplyRequest) -> Result<Report, Failure> {
        let release = release_of(request);
        let source = ApplySource::Module(request);
        let lock_timeout = request.options.lock_timeout;
        let ApplyEnd {
            result,
            lock_id,
            mode,
        } = Box::pin(self.apply_from(&release, &source, lock_timeout)).await?;
        let failure = match result {
            Ok(report) => return Ok(report),
            Err(failure) => failure,
        };
        use FailureKind::{Failed, Interrupted, LockLost};
        // A controller that ends does not take back what the next one goes on with.
        if failure.kind == Interrupted && self.caller.manager.is_some() {
            return Err(failure);
        }
        match (failure.kind, mode.fallback) {
            (Failed | Interrupted | LockLost, Some(fallback)) => {
                Err(Box::pin(self.go_back(request, failure, fallback, lock_id)).await)
            }
            _ => Err(failure),
        }
    }

    /// The way back, which has to be known before anything is touched.
    pub(super) async fn fallback(
        &self,
        release: &Release,
        record: Option<&Record>,
    ) -> Result<Fallback, Failure> {
        let there = record.filter(|record| !record.is_deleted());
        let Some(current) = there.and_then(Record::current) else {
            let keep_history = record.is_some_and(Record::is_deleted);
            return Ok(Fallback::Nothing { keep_history });
        };
        match self.restored(release, current).await {
            Ok(restored) => Ok(Fallback::To(Box::new(restored))),
            Err(error) => {
                let mut failure = error.failure(&current.id);
                failure.message = format!("an atomic apply has no way back: {}", failure.message);
                Err(failure.remedy(Remedy::ApplyOnceNotAtomic))
            }
        }
    }

    /// Whoever cancels wants the release as it was, so cancelling does not stop this.
    async fn go_back(
        &self,
        request: &ApplyRequest,
        failure: Failure,
        fallback: Fallback,
        failed: String,
    ) -> Failure {
        let lock_timeout = self.settings.timing.ttl + PATIENCE;
        let lock_timeout = lock_timeout.max(request.options.lock_timeout);
        self.emit(Event::GoingBack {
            change: match &fallback {
                Fallback::To(restored) => Some(restored.change.id.clone()),
                Fallback::Nothing { .. } => None,
            },
            why: failure.message.clone(),
        });
        match fallback {
            Fallback::To(restored) => {
                let done = format!("went back to {}", restored.change.id);
                let fallback = FallbackRun {
                    request,
                    restored: *restored,
                    failed,
                };
                let (release, source) = (release_of(request), ApplySource::Fallback(&fallback));
                let run = self.not_cancellable(self.caller);
                let ended = Box::pin(run.apply_from(&release, &source, lock_timeout)).await;
                let result = ended.and_then(|ended| ended.result);
                rolled_back(failure, result, &done)
            }
            Fallback::Nothing { keep_history } => {
                let caller = Caller {
                    frontend: Frontend {
                        prompt: &AgreedPrompt,
                        ..self.caller.frontend
                    },
                    ..self.caller.clone()
                };
                let delete = DeleteRequest {
                    keep_history,
                    ..removing(request, lock_timeout)
                };
                let run = self.not_cancellable(&caller);
                let removed = Box::pin(run.delete(&delete)).await;
                rolled_back(
                    failure,
                    removed,
                    "everything that it created was removed again",
                )
            }
        }
    }
}

/// The delete that takes a first apply back.
fn removing(request: &ApplyRequest, lock_timeout: Duration) -> DeleteRequest {
    let release = ReleaseRef::Module {
        path: request.rendered.module.path.clone(),
        name: request.name.clone(),
        namespace: request.namespace.clone(),
    };
    DeleteRequest {
        timeout: request.options.timeout,
        lock_timeout,
        ignore_not_found: true,
        max_history: request.options.max_history,
        concurrency: request.options.concurrency,
        ..DeleteRequest::new(release, request.namespace.clone())
    }
}

impl FallbackRun<'_> {
    /// The change that was current, applied again. If somebody else came in between, the release
    /// is theirs.
    pub(super) fn task(&self, record: Option<&Record>) -> Result<ApplyTask<'_>, Failure> {
        let mut log = record.into_iter().flat_map(|record| &record.log);
        let last = log.find(|entry| entry.result != LogResult::Refused);
        if last.is_none_or(|entry| entry.id != self.failed) {
            let message = "somebody else has deployed the release meanwhile, and was left alone";
            return Err(Failure::refused(message));
        }
        let options = ApplyOptions {
            no_prune: false,
            adopt: Adopt::None,
            take_ownership: false,
            allow_empty: true,
            replace_all: true,
            guards: GuardFlags::default(),
            wait: true,
            prune_after_ready: false,
            wait_for_deletion: true,
            quiet: false,
            review: ReviewMode::Never,
            reviewed: None,
            message: Some("an atomic apply went back".to_owned()),
            ..self.request.options.clone()
        };
        let request = ApplyRequest {
            rendered: self.restored.rendered.clone(),
            selection: Some(self.restored.selection()),
            atomic: false,
            options,
            ..self.request.clone()
        };
        Ok(ApplyTask {
            request: Cow::Owned(request),
            mode: ApplyMode {
                reapply: Some(Reapply::of(&self.restored.change)),
                rolls_back: Some(self.failed.clone()),
                ..ApplyMode::default()
            },
            warnings: Vec::new(),
        })
    }
}

/// Whoever asks for an atomic apply has agreed to what the way back removes.
struct AgreedPrompt;

impl Prompt for AgreedPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let answer = match question {
            Question::Delete { .. } => Answer::Yes,
            _ => Answer::CannotAsk,
        };
        Box::pin(async move { answer })
    }
}

/// What failed, and what became of the way back: both causes, if both failed.
fn rolled_back(mut failure: Failure, back: Result<Report, Failure>, done: &str) -> Failure {
    let cause = failure.message.clone();
    failure.remedies.clear();
    let report = match back {
        Ok(report) => {
            failure.message = format!("{cause}; {done}");
            failure.went_back = true;
            report
        }
        // It is what it was, only not ready, or not rid of everything.
        Err(other) if other.kind == FailureKind::Incomplete => {
            failure.message = format!("{cause}; {done}, but: {}", other.message);
            failure.went_back = true;
            failure.objects.extend(other.objects);
            *other.report
        }
        Err(other) => {
            failure.message = format!("{cause}; and going back failed: {}", other.message);
            failure.objects.extend(other.objects);
            failure.remedies = other.remedies;
            failure.remedies.push(Remedy::RollbackOrApply);
            *other.report
        }
    };
    failure.report.pending = report.pending;
    failure.report.kept = report.kept;
    failure.report.warnings.extend(report.warnings);
    failure
}
