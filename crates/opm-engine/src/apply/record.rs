//! Carrying out what was begun, and writing down how it ended.

use std::collections::BTreeMap;

use opm_core::protocol::{NewChange, Partial, Reconciled, RunEnd};
use opm_core::record::room::make_room;
use opm_core::record::{LogResult, Record, RecordRef};

use super::Apply;
use super::begin::LockedRun;
use super::prepare::ApplyContext;
use super::tell::presence;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Cluster, ErrorKind, SecretStore, Stopped};
use crate::record::{LockGuard, WriteError};
use crate::report::{ObjectOutcome, Report};
use crate::run::{failed, kept, pending};
use crate::wait::{UnreadyObject, WaitTarget};

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Applies, prunes and records, while the lock is renewed; then waits, if asked to.
    pub(super) async fn carry_out(&self, in_hand: LockedRun) -> Result<Report, Failure> {
        let LockedRun {
            mut locked,
            guard,
            context,
        } = in_hand;
        let awaited = self.awaited(locked.plan().applies());
        let work = async {
            let sent = self.apply_all(locked.plan(), &context).await;
            let mut report = self.report_so_far(&context, sent.outcomes);
            if self.engine.gate.has_unanswered() {
                let request = self.engine.settings.timing.request;
                locked.may_land_until(self.engine.server_now() + request);
            }
            let applied = match locked.finish(&sent.results) {
                Ok(applied) => applied,
                Err(partial) => {
                    // An object whose fate is unknown hides that the run was stopped.
                    let stopped = sent
                        .stopped
                        .or(self.engine.gate.check(self.engine.now()).err());
                    let failure = self.not_applied(report, stopped);
                    return Err(self.let_go(*partial, &guard, failure).await);
                }
            };
            let pruned = self.prune(&applied).await;
            report.resources.extend(pruned.outcomes);
            if let Some(stopped) = pruned.stopped {
                let failure = stopped_failure(stopped, report);
                return Err(self.let_go(applied.stop(), &guard, failure).await);
            }
            if let Some(failure) = self.not_ready_first(&awaited, &report).await {
                return Err(self.let_go(applied.stop(), &guard, failure).await);
            }
            let presence = presence(&applied.plan().stale);
            for outcome in &presence {
                self.tell_object(outcome);
            }
            report.resources.extend(presence);
            report
                .warnings
                .extend(super::tell::transferred(&applied.plan().stale));
            let reconciled = applied.reconcile(&pruned.results, self.engine.server_now());
            self.record(reconciled, &guard, report).await
        };
        let mut report = self.engine.while_renewing(&guard, work).await?;
        report.warnings.extend(self.engine.cluster.take_warnings());
        let unpruned = !report.pending.is_empty();
        self.wait_until_ready(report, unpruned, &awaited).await
    }

    /// Writes the change down and lets go of the lock.
    async fn record(
        &self,
        reconciled: Reconciled,
        guard: &LockGuard,
        mut report: Report,
    ) -> Result<Report, Failure> {
        let ended = self
            .engine
            .ended(LogResult::Succeeded, None, &report.resources);
        let beside = self.keep(guard, &mut report).await;
        let change = self.new_change(beside.manifests.clone());
        let mut recorded = reconciled.record(change, self.request.options.max_history, &ended);
        self.undo(&mut recorded.record);
        make_room(&mut recorded.record);
        report.pending = pending(&recorded.record);
        report.kept = kept(&recorded.record);
        match self.engine.write(guard, recorded.record).await {
            Ok(()) => {
                self.tell_recorded();
                report.warnings.extend(guard.take_notes().await);
                self.sweep(&beside, guard, &mut report).await;
                Ok(report)
            }
            Err(error) => Err(not_recorded(error).after(report)),
        }
    }

    fn new_change(&self, record: Option<RecordRef>) -> NewChange {
        NewChange::of(&self.candidate, self.features(), record)
    }

    /// The feature flags that the change is recorded with.
    pub(super) fn features(&self) -> BTreeMap<String, bool> {
        self.course.features(&self.engine.settings.features)
    }

    /// Where there has to be a way back, nothing is recorded before it is ready.
    async fn not_ready_first(&self, awaited: &[WaitTarget], report: &Report) -> Option<Failure> {
        self.course.back.as_ref()?;
        self.tell_awaited(awaited);
        let failure = match self
            .engine
            .wait_ready(awaited, self.request.options.timeout)
            .await
        {
            Ok(not_ready) if not_ready.is_empty() => return None,
            Ok(not_ready) => {
                let message = format!("not ready in time: {}", first_of(&not_ready));
                let failure = Failure::new(FailureKind::Failed, message);
                not_ready.into_iter().fold(failure, |failure, object| {
                    failure.object(object.identity, object.reason)
                })
            }
            Err(error) => match error.kind {
                ErrorKind::Stopped(stopped) => stopped_failure(stopped, Report::default()),
                _ => {
                    let message = format!("whether everything is ready is unknown: {error}");
                    Failure::new(FailureKind::Failed, message)
                }
            },
        };
        Some(failure.after(report.clone()))
    }

    /// The log of a run that this one makes undone says so.
    fn undo(&self, record: &mut Record) {
        let undone = self.course.undoes.as_ref();
        let mut log = record.log.iter_mut();
        if let Some(entry) = log.find(|entry| Some(&entry.id) == undone) {
            entry.result = LogResult::RolledBack;
        }
    }

    /// The record is written; whether everything becomes ready changes nothing in it.
    async fn wait_until_ready(
        &self,
        report: Report,
        unpruned: bool,
        awaited: &[WaitTarget],
    ) -> Result<Report, Failure> {
        let mut failure = unpruned.then(|| {
            let count = report.pending.len();
            let message = format!(
                "recorded, but {count} stale objects could not be removed; they stay pending"
            );
            let mut failure = Failure::new(FailureKind::Incomplete, message)
                .hint("the next apply tries again; `opm mod status` shows them");
            for object in failed(&report.resources) {
                failure = failure.object(
                    object.identity.clone(),
                    object.reason.clone().unwrap_or_default(),
                );
            }
            failure
        });
        if self.request.options.wait && self.course.back.is_none() {
            self.tell_awaited(awaited);
            match self
                .engine
                .wait_ready(awaited, self.request.options.timeout)
                .await
            {
                Ok(not_ready) if not_ready.is_empty() => {}
                Ok(not_ready) => {
                    let mut late = failure.unwrap_or_else(|| {
                        let message =
                            format!("recorded, but not ready: {} objects", not_ready.len());
                        Failure::new(FailureKind::Incomplete, message)
                    });
                    for object in not_ready {
                        late = late.object(object.identity, object.reason);
                    }
                    failure = Some(late);
                }
                Err(error) if error.kind == ErrorKind::Stopped(Stopped::Interrupted) => {
                    let message = "interrupted while waiting; the change is recorded";
                    return Err(Failure::new(FailureKind::Interrupted, message).after(report));
                }
                Err(error) => {
                    let message = format!("recorded, but readiness is unknown: {error}");
                    failure = Some(Failure::new(FailureKind::Incomplete, message));
                }
            }
        }
        match failure {
            Some(failure) => Err(failure.after(report)),
            None => Ok(report),
        }
    }

    /// Lets go of the lock after something went wrong: the intent stays, nothing is recorded.
    async fn let_go(&self, partial: Partial, guard: &LockGuard, mut failure: Failure) -> Failure {
        let result = match failure.kind {
            FailureKind::Interrupted => LogResult::Interrupted,
            _ => LogResult::Failed,
        };
        let outcomes = &failure.report.resources;
        let reason = failure.for_the_log();
        let ended: RunEnd = self.engine.ended(result, Some(reason), outcomes);
        let record: Record = partial.release(&ended, &self.engine.settings.timing);
        failure.report.pending = pending(&record);
        failure.report.kept = kept(&record);
        match self.engine.write(guard, record).await {
            Ok(()) => {}
            Err(WriteError::Lost) if failure.kind != FailureKind::Interrupted => {
                failure.kind = FailureKind::LockLost;
                failure.message = format!("{}; and the lock was lost", failure.message);
            }
            Err(error) => failure.report.warnings.push(format!(
                "the lock could not be released and expires by itself: {}",
                not_recorded(error)
            )),
        }
        let warnings = self.engine.cluster.take_warnings();
        failure.report.warnings.extend(warnings);
        failure
    }

    fn not_applied(&self, report: Report, stopped: Option<Stopped>) -> Failure {
        if let Some(stopped) = stopped {
            return stopped_failure(stopped, report);
        }
        let objects: Vec<&ObjectOutcome> = failed(&report.resources).collect();
        let message = format!(
            "{} of {} objects could not be applied; nothing was pruned and nothing was recorded",
            objects.len(),
            report.resources.len()
        );
        let mut failure = Failure::new(FailureKind::Failed, message);
        for object in objects {
            let reason = object.reason.clone().unwrap_or_default();
            failure = failure.object(object.identity.clone(), reason);
        }
        failure
            .hint("mend the cause and apply again; what was created meanwhile is not forgotten")
            .after(report)
    }

    fn report_so_far(&self, context: &ApplyContext, outcomes: Vec<ObjectOutcome>) -> Report {
        Report {
            first_apply: context.first_apply,
            resources: outcomes,
            warnings: context.warnings.clone(),
            ..self.report()
        }
    }
}

/// The first object that is not ready, and how many more there are.
fn first_of(not_ready: &[UnreadyObject]) -> String {
    let first = not_ready.first().map(|one| one.identity.to_string());
    match not_ready.len().saturating_sub(1) {
        0 => first.unwrap_or_default(),
        more => format!("{} and {more} more", first.unwrap_or_default()),
    }
}

fn stopped_failure(stopped: Stopped, report: Report) -> Failure {
    let failure = match stopped {
        Stopped::Interrupted => Failure::new(
            FailureKind::Interrupted,
            "interrupted; nothing was recorded, and what was begun is not forgotten",
        ),
        Stopped::LockUncertain => Failure::new(
            FailureKind::LockLost,
            "the release's lock could not be renewed in time, so this run stopped",
        ),
    };
    failure.hint("apply again to go on").after(report)
}

/// Everything is applied, but the record does not say so.
fn not_recorded(error: WriteError) -> Failure {
    match error {
        WriteError::Lost => Failure::new(
            FailureKind::LockLost,
            "the release's lock was lost before the change was recorded",
        ),
        WriteError::Api(error) => {
            let kind = match error.kind {
                ErrorKind::Stopped(_) => FailureKind::LockLost,
                _ => FailureKind::Failed,
            };
            let error: ApiError = error;
            Failure::new(
                kind,
                format!("the release's record could not be written: {error}"),
            )
        }
    }
    .hint("apply again: what was done is not forgotten")
}
