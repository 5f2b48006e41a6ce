//! `apply`: RFC-0001's flow, from top to bottom.
//!
//! Everything up to `begin` only reads; losing the race for the record there means starting over
//! from the load. After it, either everything is applied and the way leads on to pruning and
//! recording, or nothing more happens but letting go of the lock.

mod atomic;
mod beforehand;
mod begin;
mod change_manifests;
mod check;
mod claims;
mod diff_report;
mod dry_run;
mod early;
mod hooks;
mod observe;
mod orphans;
mod plan;
mod postponed;
mod probe;
mod prune;
mod readiness;
mod record;
mod recreate;
mod review;
mod rights;
mod send;
mod source;
mod stages;
mod take_over;
pub(crate) mod tell;
mod touch;
mod unchanged;

use std::sync::Arc;
use std::time::Duration;

use opm_core::candidate::Candidate;
use opm_core::event::AnnouncedObject;
use opm_core::ids::ReleaseId;
use tracing::{Instrument as _, info_span};

use crate::failure::Failure;
use crate::ports::ServedKinds;
use crate::record::{
    Attempt, FreeRecord, LockedRun, NoRecord, Prepared, RecordAccess, RecordWriter, WritableRecord,
};
use crate::report::{Release, Report};
use crate::request::ApplyRequest;
use crate::run::Run;

pub(crate) use dry_run::Orphans;
use early::EarlyLook;
pub(crate) use source::{ApplyMode, ApplySource, ApplyTask, Reapply};
use touch::Touched;

/// One apply: what every step of it needs.
struct Apply<'a> {
    run: &'a Run<'a>,
    request: &'a ApplyRequest,
    mode: &'a ApplyMode,
    served: &'a Arc<ServedKinds>,
    candidate: Candidate,
}

/// How an apply ended that had begun.
pub(crate) struct ApplyEnd {
    pub(crate) result: Result<Report, Failure>,
    /// The run, as lock and log name it.
    lock_id: String,
    mode: ApplyMode,
}

impl Run<'_> {
    /// Applies a rendered module.
    pub(crate) async fn apply(&self, request: &ApplyRequest) -> Result<Report, Failure> {
        if request.options.dry_run {
            return self.dry_run(request, Orphans::LeftOut).await?.into_report();
        }
        if request.atomic {
            return self.apply_atomic(request).await;
        }
        let (release, source) = (release_of(request), ApplySource::Module(request));
        let lock_timeout = request.options.lock_timeout;
        let ended = self.apply_from(&release, &source, lock_timeout).await?;
        ended.result
    }

    /// The whole way, for whatever is applied. An error means that nothing was touched.
    pub(crate) async fn apply_from(
        &self,
        release: &Release,
        source: &ApplySource<'_>,
        lock_timeout: Duration,
    ) -> Result<ApplyEnd, Failure> {
        let mut writer = ApplyWriter {
            run: self,
            release,
            source,
            served: None,
            early: None,
            agreed: None,
        };
        self.write_release(release, lock_timeout, &mut writer).await
    }
}

/// An apply on its way to the record.
struct ApplyWriter<'a> {
    run: &'a Run<'a>,
    release: &'a Release,
    source: &'a ApplySource<'a>,
    served: Option<Arc<ServedKinds>>,
    /// What is to be applied and what was seen of it while the record was looked for, if there is
    /// none.
    early: Option<(Candidate, EarlyLook)>,
    /// The plan that somebody has agreed to.
    agreed: Option<Vec<AnnouncedObject>>,
}

impl RecordWriter for ApplyWriter<'_> {
    type Output = ApplyEnd;

    fn access(&self) -> RecordAccess {
        RecordAccess::Create
    }

    async fn prepare(&mut self, unrecorded: NoRecord) -> Result<Prepared, Failure> {
        if self.served.is_none() {
            self.served = Some(self.run.discover().await?);
        }
        let (run, served) = (self.run, self.served.clone());
        let manager;
        (self.early, manager) = match unrecorded.await {
            Ok(()) => futures::join!(
                Box::pin(self.look_early()),
                Box::pin(run.manager_of_none(self.release, served.as_deref()))
            ),
            Err(_) => (None, None),
        };
        Ok(Prepared { served, manager })
    }

    async fn attempt(&mut self, loaded: WritableRecord) -> Result<Attempt<ApplyEnd>, Failure> {
        let (run, free) = (self.run, loaded.free());
        let task = self.source.render(run, self.release, loaded.record()).await;
        let task = self.or_log(task, &free).await?;
        let served = self.serve(&task).await?;
        let early = self.early.take().filter(|_| loaded.loaded.is_none());
        let (candidate, early) = early.unzip();
        let apply = match candidate {
            Some(candidate) => Apply::of(run, &task, &served, candidate),
            None => Apply::candidate(run, &task, &served, loaded.record()),
        };
        let apply = self.or_log(apply, &free).await?;
        let warnings = [loaded.warnings, task.warnings.clone()].concat();
        let checked = async {
            let planned = apply.plan(loaded.loaded, warnings, early.as_ref());
            let planned = Box::pin(planned).await?;
            let observed = Box::pin(apply.observe(planned, early)).await;
            Box::pin(apply.check(observed)).await
        };
        let checked = match run.unless_cancelled(checked).await {
            Ok(Some(checked)) => checked,
            Ok(None) => {
                self.served = None;
                return Ok(Attempt::Again);
            }
            Err(failure) => return Err(apply.log_refused(failure, free).await),
        };
        apply.ask_about_data(&checked.checked).await?;
        apply.review(&checked, &mut self.agreed).await?;
        match Box::pin(apply.touch(&checked, &loaded.acquisition)).await? {
            None => {}
            Some(Touched::Lost) => return Ok(Attempt::Again),
            Some(Touched::Recorded { report, run }) => {
                return Ok(Attempt::Done(ApplyEnd {
                    result: Ok(*report),
                    lock_id: run,
                    mode: task.mode,
                }));
            }
        }
        let begun = Box::pin(apply.begin(checked, loaded.acquisition)).await?;
        let Some((LockedRun { locked, guard }, context)) = begun else {
            return Ok(Attempt::Again);
        };
        let lock_id = locked.lock_id().to_owned();
        let targets = apply.targets(locked.plan().applies());
        let recorded = run.while_renewing(&guard, async {
            let applied = Box::pin(apply.apply_all(locked, &context, &guard));
            let applied = applied.instrument(info_span!("apply")).await?;
            let pruned = Box::pin(apply.prune(applied, &targets, &guard));
            let pruned = pruned.instrument(info_span!("prune")).await?;
            let recorded = apply.record(pruned, &context, &guard);
            recorded.instrument(info_span!("record")).await
        });
        let result = match recorded.await {
            Ok(recorded) => {
                let waited = apply.wait_until_ready(recorded, &targets, &guard, &lock_id);
                waited.instrument(info_span!("wait")).await
            }
            Err(failure) => Err(failure),
        };
        Ok(Attempt::Done(ApplyEnd {
            result,
            lock_id,
            mode: task.mode,
        }))
    }
}

impl ApplyWriter<'_> {
    /// What the cluster serves, asked again if it does not know what is rendered.
    async fn serve(&mut self, task: &ApplyTask<'_>) -> Result<Arc<ServedKinds>, Failure> {
        let served = self.served.take().unwrap_or_default();
        let known = self.run.discover_rendered(served, &task.request.rendered);
        let served = Box::pin(known).await?;
        self.served = Some(Arc::clone(&served));
        Ok(served)
    }

    /// What is refused before it is known what would be applied is in the log, too.
    async fn or_log<T>(
        &self,
        step: Result<T, Failure>,
        free: &Option<FreeRecord>,
    ) -> Result<T, Failure> {
        let failure = match step {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        let (run, release) = (self.run, self.release);
        let (command, message) = self.source.called();
        let start = run.start(command, message, None, None);
        let logged = run.log_if_refused(release, free.clone(), failure, start);
        Err(logged.await)
    }
}

/// The release that a request is about: it follows from the names alone.
fn release_of(request: &ApplyRequest) -> Release {
    let ApplyRequest {
        rendered,
        name,
        namespace,
        ..
    } = request;
    Release {
        id: ReleaseId::of(&rendered.module.path, name, namespace),
        name: name.clone(),
        namespace: namespace.clone(),
    }
}

impl Apply<'_> {
    fn release(&self) -> Release {
        Release::of(&self.candidate.owner)
    }

    /// What every report of this apply begins with.
    fn report(&self) -> Report {
        Report {
            change_id: Some(self.candidate.change.clone()),
            manifest_digest: Some(self.candidate.digest.to_string()),
            dry_run: self.request.options.dry_run,
            ..Report::about(&self.release())
        }
    }

    fn refusal(&self, failure: Failure) -> Failure {
        failure.after(self.report())
    }

    /// What checks refuse is a deployment too, of a release that is there.
    async fn log_refused(&self, failure: Failure, free: Option<FreeRecord>) -> Failure {
        let (run, start) = (self.run, self.start());
        run.log_if_refused(&self.release(), free, failure, start)
            .await
    }
}
