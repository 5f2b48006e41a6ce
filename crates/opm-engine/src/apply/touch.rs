//! An apply that changes nothing: only the record is touched, by one write.
//!
//! The whole protocol is gone through in memory. No lock is needed, because nothing but the record
//! is written: the write is bound to the version that was read, so nobody can have begun since, and
//! whoever begins later has to read what it wrote.

use std::collections::HashMap;

use opm_core::identity::Identity;
use opm_core::protocol::{LockAcquisition, NewChange, SendOutcome, begin, is_idle};
use opm_core::reach::NamespacePlan;
use opm_core::record::{LogResult, Record, RecordPart};

use super::Apply;
use super::check::CheckedApply;
use super::tell::{transferred, without_request};
use crate::failure::Failure;
use crate::ports::StoredSecret;
use crate::report::{Action, ObjectOutcome, Report};

/// What became of it.
pub(super) enum Touched {
    /// It is written: the report, and the run as the log names it.
    Recorded { report: Box<Report>, run: String },
    /// Somebody else wrote the record first.
    Lost,
}

impl Apply<'_> {
    /// Writes down that nothing had to be done. None if something has to be.
    pub(super) async fn touch(
        &self,
        checked: &CheckedApply,
        acquisition: &LockAcquisition,
    ) -> Result<Option<Touched>, Failure> {
        let idle = self.is_idle(checked, acquisition);
        let Some(stored) = checked.stored.as_ref().filter(|_| idle) else {
            return Ok(None);
        };
        if self.request.options.quiet && self.has_manager(stored).await {
            let report = Box::new(self.unchanged_report(checked));
            return Ok(Some(Touched::Recorded {
                report,
                run: String::new(),
            }));
        }
        let start = self.start().await;
        let run = start.lock.id.clone();
        let (plan, record) = (checked.checked.clone(), checked.record.clone());
        let Ok(locked) = begin(record, acquisition.clone(), plan, start) else {
            return Ok(None);
        };
        let mut report = self.unchanged_report(checked);
        let Ok(applied) = locked.finish(&outcomes(checked)) else {
            return Ok(None);
        };
        report.warnings.extend(transferred(&applied.plan().stale));
        let reconciled = applied.reconcile(&HashMap::new(), self.run.server_now());
        let ended = self
            .run
            .ended(LogResult::Succeeded, None, &report.resources);
        let former = checked.record.current();
        let former = former.and_then(|change| change.record.clone());
        let change = NewChange::of(&self.candidate, self.features(), former);
        let mut recorded = reconciled.record(change, self.request.options.max_history, &ended);
        if !recorded.dropped.places.is_empty() {
            return Ok(None);
        }
        self.mark_rolled_back(&mut recorded.record);
        let tracked = recorded.record.clone();
        match self.write_unlocked(stored, recorded.record).await? {
            None => return Ok(None),
            Some(false) => return Ok(Some(Touched::Lost)),
            Some(true) => {}
        }
        report.take_tracked(&tracked);
        for outcome in &report.resources {
            self.tell_object(outcome);
        }
        self.tell_recorded();
        report.warnings.extend(self.run.backend.take_warnings());
        let report = Box::new(report);
        Ok(Some(Touched::Recorded { report, run }))
    }

    async fn write_unlocked(
        &self,
        stored: &StoredSecret,
        record: Record,
    ) -> Result<Option<bool>, Failure> {
        let records = self.run.records(self.request.record);
        let release = self.release();
        let written = self.run.write_unlocked(&release, stored, record, records);
        written.await.map_err(|failure| self.refusal(failure))
    }

    /// Whether nothing is sent, pruned, kept anew or pending, and the very change is recorded
    /// already, with its manifests.
    fn is_idle(&self, checked: &CheckedApply, acquisition: &LockAcquisition) -> bool {
        let CheckedApply {
            checked: plan,
            context,
            record,
            ..
        } = checked;
        let options = &self.request.options;
        let current = record.current();
        let current = current.filter(|current| current.id == self.candidate.change.as_str());
        let kept = |part| current.is_some_and(|current| current.holds(part));
        let waits = options.wait || self.mode.fallback.is_some();
        (!waits || options.quiet)
            && context.namespaces == NamespacePlan::default()
            && current.is_some()
            && (!self.keeps_manifests(record)
                || (kept(RecordPart::Manifests) && context.notes.manifests_there))
            // What a run that was cut short has left is swept by the next one.
            && (context.notes.swept || record.given_up().is_empty())
            && is_idle(record, acquisition, plan, |identity| {
                context.unchanged.contains_key(identity)
            })
    }

    /// Whether the record says who manages the release.
    async fn has_manager(&self, stored: &StoredSecret) -> bool {
        let mark = self.run.manager.lock().await;
        mark.is_in(&stored.content.annotations)
    }

    fn unchanged_report(&self, checked: &CheckedApply) -> Report {
        let mut report = Report {
            resources: self.unchanged_outcomes(checked),
            warnings: checked.context.warnings.clone(),
            remedies: checked.context.remedies.clone(),
            ..self.report()
        };
        report.take_tracked(&checked.record);
        report
    }

    fn unchanged_outcomes(&self, checked: &CheckedApply) -> Vec<ObjectOutcome> {
        let applies = checked.checked.applies();
        let unchanged = applies.map(|step| ObjectOutcome::of(&step.entry, Action::Unchanged, None));
        unchanged
            .chain(without_request(&checked.checked.stale))
            .collect()
    }
}

/// Everything is as it should be, as it was seen.
fn outcomes(checked: &CheckedApply) -> HashMap<Identity, SendOutcome> {
    let done = checked.checked.applies().map(|step| {
        let unchanged = checked.context.unchanged.get(&step.entry.identity);
        let uid = unchanged.and_then(|one| one.uid.clone());
        let uid = uid.or_else(|| step.entry.uid.clone());
        (step.entry.identity.clone(), SendOutcome::Done { uid })
    });
    done.collect()
}
