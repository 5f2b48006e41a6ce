//! Carrying out a delete that was begun: the objects, then the record.

use std::collections::{BTreeMap, HashMap};

use opm_core::check::PruneStep;
use opm_core::event::Event;
use opm_core::hook::HookEvent;
use opm_core::identity::Identity;
use opm_core::protocol::{Applied, Conclusion, Locked, PruneOutcome, Resume};
use opm_core::record::{LogResult, Record};
use opm_core::time::Timestamp;
use opm_core::words;

use super::hooks::{hook_failure, presumed};
use super::{Delete, DeleteSource};
use crate::failure::{Failure, FailureKind};
use crate::ports::Stopped;
use crate::record::{LockGuard, RecordSecret, WriteError, not_let_go};
use crate::report::Report;

/// A delete that has done what it could.
pub(super) struct DeletedRun {
    pub(super) report: Report,
    pub(super) lingering: BTreeMap<Identity, String>,
    /// The namespace that the record lived in, if it goes too.
    pub(super) namespace: Option<PruneStep>,
}

/// Why objects were left that could have gone.
enum CutShort {
    Stopped(Stopped),
    /// Custom resources are not gone.
    Held,
}

impl Delete<'_> {
    /// Deletes everything that may go, and then the record, or what is left of it.
    pub(super) async fn delete_all(
        &self,
        mut locked: Locked,
        guard: &LockGuard,
        source: &DeleteSource,
    ) -> Result<DeletedRun, Failure> {
        let mut deleted = DeletedRun {
            report: Report {
                warnings: source.warnings.clone(),
                ..self.report()
            },
            lingering: BTreeMap::new(),
            namespace: None,
        };
        locked = self
            .hooks_first(locked, source, guard, &mut deleted.report)
            .await?;
        let mut decided = false;
        let mut beside = source.beside.clone();
        loop {
            let outcomes = presumed(&locked);
            let Ok(mut applied) = locked.finish(&outcomes) else {
                let message = "a delete applies nothing";
                return Err(Failure::new(FailureKind::Failed, message));
            };
            let results = self.delete_objects(&applied, guard, &mut deleted).await;
            if !decided {
                self.take_decided(applied.plan(), &mut deleted.report);
                decided = true;
            }
            let results = match results {
                Ok(results) => results,
                Err(cut) => {
                    let failure = match cut {
                        CutShort::Stopped(stopped) => stopped_failure(stopped, deleted.report),
                        CutShort::Held => self.held_back(deleted.report),
                    };
                    return Err(self.run.let_go(applied.stop(), guard, failure).await);
                }
            };
            let hooks = applied.plan().hooks.clone();
            let report = &mut deleted.report;
            let ran = self.run_hooks(&hooks, HookEvent::PostDelete, source, guard, report);
            let ran = ran.await;
            // When it has rested, no hook runs any more.
            if let (Some(until), false) = (self.run.may_land_until(), hooks.is_empty()) {
                applied.may_land_until(until);
            }
            if ran.is_broken() {
                let so = "the release's record stays";
                let failure = hook_failure(ran, deleted.report, so);
                return Err(self.run.let_go(applied.stop(), guard, failure).await);
            }
            if self.request.component.is_some() {
                deleted.namespace = None;
                self.record_component(applied, &results, guard, &mut deleted.report, source)
                    .await?;
                break;
            }
            match self.conclude(applied, &results, &deleted.report) {
                Conclusion::Remove => {
                    self.remove_record(guard, beside, &deleted.report).await?;
                    break;
                }
                Conclusion::Deleted(_) if deleted.namespace.is_some() => {
                    self.remove_record(guard, beside, &deleted.report).await?;
                    deleted.report.warnings.push(format!(
                        "namespace {} goes, and the release's record with it: what is kept can be \
                         found by its labels only",
                        self.release.namespace
                    ));
                    break;
                }
                Conclusion::Deleted(record) => {
                    self.leave_deleted(*record, guard, beside, &mut deleted.report)
                        .await?;
                    break;
                }
                Conclusion::Stays(record) => {
                    return Err(self.stays(*record, guard, deleted.report).await);
                }
                Conclusion::Rest { resume, until } => {
                    locked = self.rest(*resume, until, guard, &deleted.report).await?;
                    beside = None;
                }
            }
        }
        let warnings = self.run.backend.take_warnings();
        deleted.report.warnings.extend(warnings);
        Ok(deleted)
    }

    /// Deletes the objects; of the release's own namespace it is only asked whether it may go.
    async fn delete_objects(
        &self,
        applied: &Applied,
        guard: &LockGuard,
        deleted: &mut DeletedRun,
    ) -> Result<HashMap<Identity, PruneOutcome>, CutShort> {
        let permit = self.run.permit_under(guard);
        let (steps, own) = self.without_own_namespace(applied.prune());
        let namespace = deleted.namespace.take().or(own);
        let stale = &applied.plan().stale;
        let mut gone = self.remove_all(&steps, stale, false, permit).await;
        deleted.report.resources.extend(gone.removed.outcomes);
        deleted.lingering.extend(gone.removed.lingering);
        if let Some(stopped) = gone.removed.stopped {
            return Err(CutShort::Stopped(stopped));
        }
        if gone.held {
            return Err(CutShort::Held);
        }
        if let Some(own) = &namespace {
            let (result, outcome) = self.may_namespace_go(own, permit).await;
            deleted.report.resources.extend(outcome);
            let identity = own.entry.identity.clone();
            gone.removed.results.insert(identity, result);
        }
        deleted.namespace = namespace;
        Ok(gone.removed.results)
    }

    fn conclude(
        &self,
        applied: Applied,
        results: &HashMap<Identity, PruneOutcome>,
        report: &Report,
    ) -> Conclusion {
        let reconciled = applied.reconcile(results, self.run.server_now());
        let (result, reason) = match report.failed().count() {
            0 => (LogResult::Succeeded, None),
            n => (
                LogResult::Failed,
                Some(format!(
                    "{} could not be deleted",
                    words::count(n, "object")
                )),
            ),
        };
        let ended = self.run.ended(result, reason, &report.resources);
        reconciled.conclude(&ended, self.request.keep_history)
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
        let permit = self.run.permit_under(guard);
        let rested = self.run.rest(until, permit).await;
        let looked = self.run.server_now();
        let checked = self.check(resume.record(), &[]).await;
        let locked = match checked {
            Ok(checked) => resume.go_on(checked, looked),
            Err(failure) => return Err(failure.after(report.clone())),
        };
        let Err(stopped) = rested else {
            return Ok(locked);
        };
        let failure = stopped_failure(stopped, report.clone());
        let partial = match locked.finish(&HashMap::new()) {
            Ok(applied) => applied.stop(),
            Err(partial) => *partial,
        };
        Err(self.run.let_go(partial, guard, failure).await)
    }

    /// Something could not be deleted: the record stays.
    async fn stays(&self, record: Record, guard: &LockGuard, mut report: Report) -> Failure {
        report.take_tracked(&record);
        let failed = words::count(report.failed().count(), "object");
        let message = format!("{failed} could not be deleted; the release's record stays");
        let failure = Failure::new(FailureKind::Failed, message)
            .about_failed(&report)
            .remedy("fix the cause and delete again");
        report.warnings.extend(self.run.backend.take_warnings());
        let failure = failure.after(report);
        match self.run.write(guard, record).await {
            Ok(()) => failure,
            Err(error) => not_let_go(error, failure),
        }
    }

    /// Removes the record Secrets, then the record itself: as long as that is there, a delete
    /// that was cut short can be done again.
    async fn remove_record(
        &self,
        guard: &LockGuard,
        beside: Option<Vec<RecordSecret>>,
        report: &Report,
    ) -> Result<(), Failure> {
        let failed = |error: WriteError, what: &str| {
            let message = format!("all objects are deleted, but {what}");
            let failure = Failure::new(FailureKind::Failed, message);
            not_let_go(error, failure.after(report.clone()))
        };
        // Everything is gone: an interrupt has nothing left to keep, and a record without objects
        // would only be in the way.
        let run = self.run.not_cancellable(self.run.caller);
        let swept = run.remove_record_secrets(guard, beside).await;
        swept.map_err(|error| failed(error, "not the release's records"))?;
        let removed = run.remove(guard).await;
        removed.map_err(|error| failed(error, "the release's record is not"))?;
        self.run.emit(Event::Recorded { change: None });
        Ok(())
    }

    /// Something is kept: the record says so, and that the release is deleted.
    async fn leave_deleted(
        &self,
        record: Record,
        guard: &LockGuard,
        beside: Option<Vec<RecordSecret>>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        report.take_tracked(&record);
        let written = self.run.write_and_sweep_all(guard, record, beside);
        let written = written.await;
        written.map_err(|error| {
            let message =
                "what may be deleted is deleted, but the release's record does not say so";
            let failure = Failure::new(FailureKind::Failed, message);
            not_let_go(error, failure.after(report.clone()))
        })?;
        report.warnings.extend(guard.take_notes().await);
        self.run.emit(Event::Recorded { change: None });
        Ok(())
    }
}

pub(super) fn stopped_failure(stopped: Stopped, report: Report) -> Failure {
    let message = match stopped {
        Stopped::Cancelled => "interrupted; objects that are not deleted yet are still tracked",
        Stopped::LockUncertain => {
            "the release's lock could not be renewed in time, so this run stopped"
        }
    };
    Failure::new(stopped.into(), message)
        .remedy("delete again to go on")
        .after(report)
}
