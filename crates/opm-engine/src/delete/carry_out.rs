//! Carrying out a delete that was begun: objects, record, and the namespace around it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use opm_core::check::PruneStep;
use opm_core::event::{Event, Wait};
use opm_core::identity::{GroupKind, Identity};
use opm_core::protocol::{Applied, Conclusion, Locked, Partial, PruneOutcome, Resume};
use opm_core::record::moved::missing;
use opm_core::record::{LogResult, Record};
use opm_core::time::Timestamp;

use super::remove::RemovalResults;
use super::{Delete, DeleteSource};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Cluster, ErrorKind, SecretStore, Stopped};
use crate::record::{LockGuard, RecordSecretScope, WriteError};
use crate::removal::{RemovalOptions, RemovalOutcome};
use crate::report::Report;
use crate::run::{failed, kept, pending};

/// How a delete ends that has done what it could.
pub(super) struct DeleteEnd {
    pub(super) report: Report,
    lingering: BTreeMap<Identity, String>,
    /// The namespace that the record lived in, if it goes too.
    namespace: Option<PruneStep>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// Deletes everything, while the lock is renewed.
    pub(super) async fn carry_out(
        &self,
        locked: Locked,
        guard: LockGuard,
        source: DeleteSource,
    ) -> Result<Report, Failure> {
        let mut report = Report {
            warnings: source.warnings.clone(),
            ..self.report()
        };
        let work = self.work(locked, &guard, &mut report, &source);
        let done = self.engine.while_renewing(&guard, work).await;
        let warnings = self.engine.cluster.take_warnings();
        let mut done = match done {
            Ok(done) => done,
            Err(mut failure) => {
                failure.report.warnings.extend(warnings);
                return Err(failure);
            }
        };
        done.report.warnings.extend(warnings);
        let done = self.namespace_last(done).await?;
        self.wait_until_gone(done).await
    }

    async fn work(
        &self,
        mut locked: Locked,
        guard: &LockGuard,
        report: &mut Report,
        source: &DeleteSource,
    ) -> Result<DeleteEnd, Failure> {
        let mut lingering = BTreeMap::new();
        let mut namespace = None;
        let mut decided = false;
        loop {
            let Ok(applied) = locked.finish(&HashMap::new()) else {
                let message = "a delete applies nothing";
                return Err(Failure::new(FailureKind::Failed, message));
            };
            let (steps, own) = self.without_own_namespace(applied.prune());
            namespace = namespace.or(own);
            let gone = self.remove_all(&steps, false).await;
            let RemovalResults {
                outcomes,
                mut results,
                lingering: more,
                warnings,
                stopped,
            } = gone;
            report.resources.extend(outcomes);
            report.warnings.extend(warnings);
            if !decided {
                self.decided(applied.plan(), report);
                decided = true;
            }
            lingering.extend(more);
            if let Some(stopped) = stopped {
                let failure = stopped_failure(stopped, report.clone());
                return Err(self.let_go(applied.stop(), guard, failure).await);
            }
            if let Some(own) = &namespace {
                let result = self.may_namespace_go(own).await;
                if let PruneOutcome::Failed(reason) = &result {
                    let removed = RemovalOutcome::Failed(reason.clone());
                    let mut noted = RemovalResults::default();
                    self.note(own, &removed, &mut noted);
                    report.resources.extend(noted.outcomes);
                }
                results.insert(own.entry.identity.clone(), result);
            }
            if self.request.component.is_some() {
                let report = self.record_component(applied, &results, guard, report, source);
                let report = report.await?;
                return Ok(DeleteEnd {
                    report,
                    lingering,
                    namespace: None,
                });
            }
            match self.conclude(applied, &results, report) {
                Conclusion::Remove => {
                    self.remove_record(guard, report).await?;
                    let report = report.clone();
                    return Ok(DeleteEnd {
                        report,
                        lingering,
                        namespace,
                    });
                }
                Conclusion::Stays(record) => {
                    report.pending = pending(&record);
                    report.kept = kept(&record);
                    let failure = not_all_deleted(report.clone());
                    return Err(match self.engine.write(guard, *record).await {
                        Ok(()) => failure,
                        Err(error) => unwritten(error, failure),
                    });
                }
                Conclusion::Rest { resume, until } => {
                    locked = self.rest(*resume, until, guard, report).await?;
                }
            }
        }
    }

    fn conclude(
        &self,
        applied: Applied,
        results: &HashMap<Identity, PruneOutcome>,
        report: &Report,
    ) -> Conclusion {
        let reconciled = applied.reconcile(results, self.engine.server_now());
        let failed = failed(&report.resources).count();
        let (result, reason) = match failed {
            0 => (LogResult::Succeeded, None),
            n => (
                LogResult::Failed,
                Some(format!("{n} objects could not be deleted")),
            ),
        };
        reconciled.conclude(&self.engine.ended(result, reason, &report.resources))
    }

    /// A request of a holder whose lock was taken over may still land: waits until none can,
    /// then looks once more.
    async fn rest(
        &self,
        resume: Resume,
        until: Timestamp,
        guard: &LockGuard,
        report: &Report,
    ) -> Result<Locked, Failure> {
        let rest = until.since(self.engine.server_now()) + Duration::from_secs(1);
        self.frontend.events.emit(Event::Waiting(Wait::Rest(rest)));
        let rested = self
            .engine
            .unless_stopped(self.engine.clock.sleep(rest))
            .await;
        let looked = self.engine.server_now();
        let checked = self.check(resume.record()).await;
        let locked = match checked {
            Ok(checked) => resume.go_on(checked, looked),
            Err(failure) => return Err(failure.after(report.clone())),
        };
        match rested {
            Ok(()) => Ok(locked),
            Err(stopped) => {
                let failure = stopped_failure(stopped, report.clone());
                match locked.finish(&HashMap::new()) {
                    Ok(applied) => Err(self.let_go(applied.stop(), guard, failure).await),
                    Err(partial) => Err(self.let_go(*partial, guard, failure).await),
                }
            }
        }
    }

    /// Removes the record Secrets, then the record itself: as long as that is there, a delete
    /// that was cut short can be done again.
    async fn remove_record(&self, guard: &LockGuard, report: &Report) -> Result<(), Failure> {
        if let Err(error) = self.remove_record_secrets(guard).await {
            let failure = Failure::new(
                FailureKind::Failed,
                "all objects are deleted, but not the release's records",
            );
            return Err(unwritten(error, failure.after(report.clone())));
        }
        match self.engine.remove(guard).await {
            Ok(()) => {
                self.frontend.events.emit(Event::Recorded { change: None });
                Ok(())
            }
            Err(error) => {
                let failure = Failure::new(
                    FailureKind::Failed,
                    "all objects are deleted, but the release's record is not",
                );
                Err(unwritten(error, failure.after(report.clone())))
            }
        }
    }

    /// A record whose parts are gone could not be read any more, so it stops naming them first:
    /// there is nothing left that they could be needed for.
    async fn remove_record_secrets(&self, guard: &LockGuard) -> Result<(), WriteError> {
        let record = guard.record().await;
        let existing = self
            .engine
            .record_secrets(&self.release, &record, RecordSecretScope::All)
            .await?;
        let mut nothing = Record::new(record.metadata.clone(), record.labels.clone());
        if !missing(&record).is_empty() {
            nothing = Record {
                history: Vec::new(),
                pending: nothing.pending,
                kept: nothing.kept,
                ..record
            };
            self.engine.write(guard, nothing.clone()).await?;
        }
        let swept = self.engine.sweep(&self.release, &existing, &nothing);
        Ok(swept.await?)
    }

    /// Lets go of the lock after the delete was cut short: nothing is forgotten.
    async fn let_go(&self, partial: Partial, guard: &LockGuard, mut failure: Failure) -> Failure {
        let result = match failure.kind {
            FailureKind::Interrupted => LogResult::Interrupted,
            _ => LogResult::Failed,
        };
        let reason = Some(failure.message.clone());
        let ended = self.engine.ended(result, reason, &failure.report.resources);
        let record = partial.release(&ended, &self.engine.settings.timing);
        failure.report.pending = pending(&record);
        failure.report.kept = kept(&record);
        if let Err(error) = self.engine.write(guard, record).await {
            failure = unwritten(error, failure);
        }
        failure
    }

    fn without_own_namespace(&self, steps: &[PruneStep]) -> (Vec<PruneStep>, Option<PruneStep>) {
        let name = self.release.namespace.as_str();
        let own = Identity::new(GroupKind::new("", "Namespace"), None, name);
        let is_own = |step: &PruneStep| {
            step.entry.identity == own && step.method == opm_core::check::PruneMethod::Delete
        };
        let others = steps.iter().filter(|step| !is_own(step)).cloned();
        (others.collect(), steps.iter().find(|s| is_own(s)).cloned())
    }

    /// Once the record is gone nobody would know of a namespace that cannot be deleted, so the
    /// server is asked first.
    async fn may_namespace_go(&self, step: &PruneStep) -> PruneOutcome {
        let removing = RemovalOptions {
            release: &self.release.id,
            concurrency: 1,
            dry_run: true,
        };
        let step = std::slice::from_ref(step);
        let removed = self.engine.remove_group(step, removing, |_, _| {}).await;
        match removed.into_iter().next() {
            Some(RemovalOutcome::Gone { .. }) | None => PruneOutcome::Done,
            Some(RemovalOutcome::NotMine(reason)) => PruneOutcome::NotMine(reason),
            Some(RemovalOutcome::Failed(reason)) => PruneOutcome::Failed(reason),
            Some(RemovalOutcome::Stopped(stopped)) => {
                PruneOutcome::Failed(ApiError::stopped(stopped).message)
            }
        }
    }

    async fn namespace_last(&self, mut done: DeleteEnd) -> Result<DeleteEnd, Failure> {
        let Some(step) = done.namespace.take() else {
            return Ok(done);
        };
        let gone = self.remove_all(std::slice::from_ref(&step), false).await;
        done.report.resources.extend(gone.outcomes);
        done.lingering.extend(gone.lingering);
        if failed(&done.report.resources).next().is_some() || gone.stopped.is_some() {
            let identity = step.entry.identity.clone();
            let message = format!("the release is deleted, but {identity} is not");
            return Err(Failure::new(FailureKind::Failed, message)
                .object(identity, "it could not be deleted")
                .after(done.report));
        }
        Ok(done)
    }

    /// With `--wait`, until everything is really gone.
    async fn wait_until_gone(&self, done: DeleteEnd) -> Result<Report, Failure> {
        let DeleteEnd {
            report, lingering, ..
        } = done;
        if !self.request.wait || lingering.is_empty() {
            return Ok(report);
        }
        let waiting = Wait::Gone(lingering.keys().cloned().collect());
        self.frontend.events.emit(Event::Waiting(waiting));
        match self
            .engine
            .wait_gone(&lingering, self.request.timeout)
            .await
        {
            Ok(there) if there.is_empty() => Ok(report),
            Ok(there) => {
                let message = format!("deleted, but {} objects are not gone yet", there.len());
                let mut failure = Failure::new(FailureKind::Incomplete, message);
                for (identity, why) in there {
                    failure = failure.object(identity, why);
                }
                Err(failure.after(report))
            }
            Err(error) if error.kind == ErrorKind::Stopped(Stopped::Interrupted) => {
                let message = "interrupted while waiting; everything is deleted";
                Err(Failure::new(FailureKind::Interrupted, message).after(report))
            }
            Err(error) => {
                let message = format!("deleted, but whether all is gone is unknown: {error}");
                Err(Failure::new(FailureKind::Incomplete, message).after(report))
            }
        }
    }
}

fn stopped_failure(stopped: Stopped, report: Report) -> Failure {
    let failure = match stopped {
        Stopped::Interrupted => Failure::new(
            FailureKind::Interrupted,
            "interrupted; what is not deleted yet is not forgotten",
        ),
        Stopped::LockUncertain => Failure::new(
            FailureKind::LockLost,
            "the release's lock could not be renewed in time, so this run stopped",
        ),
    };
    failure.hint("delete again to go on").after(report)
}

fn not_all_deleted(report: Report) -> Failure {
    let message = format!(
        "{} objects could not be deleted; the release's record stays",
        failed(&report.resources).count()
    );
    let mut failure = Failure::new(FailureKind::Failed, message);
    for object in failed(&report.resources) {
        let reason = object.reason.clone().unwrap_or_default();
        failure = failure.object(object.identity.clone(), reason);
    }
    failure
        .hint("mend the cause and delete again")
        .after(report)
}

/// The failure stands; that the record could not be written comes on top.
fn unwritten(error: WriteError, mut failure: Failure) -> Failure {
    match error {
        WriteError::Lost => {
            if failure.kind != FailureKind::Interrupted {
                failure.kind = FailureKind::LockLost;
            }
            failure.message = format!("{}; and the release's lock was lost", failure.message);
        }
        WriteError::Api(error) => failure.report.warnings.push(format!(
            "the release's record could not be written, its lock expires by itself: {error}"
        )),
    }
    failure
}
