//! The namespace that the record lives in: it goes last of all, after the record, and only if
//! the server has said before that it may.

use opm_core::check::{PruneMethod, PruneStep};
use opm_core::event::{Event, Wait};
use opm_core::identity::{GroupKind, Identity};
use opm_core::protocol::PruneOutcome;
use opm_core::words;

use super::Delete;
use super::conclude::DeletedRun;
use crate::failure::{Failure, FailureKind};
use crate::observe::metadata;
use crate::ports::{ApiErrorKind, Detail, Observation, Permit, Stopped};
use crate::removal::{RemovalOptions, RemovalOutcome, RemovalResults};
use crate::report::{Action, ObjectOutcome, Report};
use crate::request::Concurrency;

impl Delete<'_> {
    fn own_namespace(&self) -> Identity {
        let name = self.release.namespace.as_str();
        Identity::new(GroupKind::new("", "Namespace"), None, name)
    }

    /// Whether the namespace of the release is gone, or going, so that no record fits into it.
    pub(super) async fn is_homeless(&self) -> bool {
        let namespace = self.own_namespace();
        match self
            .run
            .look_at((&namespace).into(), Detail::Metadata)
            .await
        {
            Observation::Absent => true,
            Observation::Present(object) => metadata(&object, "deletionTimestamp").is_some(),
            Observation::Failed(_) => false,
        }
    }

    pub(super) fn without_own_namespace(
        &self,
        steps: &[PruneStep],
    ) -> (Vec<PruneStep>, Option<PruneStep>) {
        let own = self.own_namespace();
        let is_own =
            |step: &PruneStep| step.entry.identity == own && step.method == PruneMethod::Delete;
        let others = steps.iter().filter(|step| !is_own(step)).cloned();
        (others.collect(), steps.iter().find(|s| is_own(s)).cloned())
    }

    /// Once the record is gone nobody would know of a namespace that cannot be deleted, so the
    /// server is asked first. Tells the object if it may not go.
    pub(super) async fn may_namespace_go(
        &self,
        step: &PruneStep,
        permit: Permit<'_>,
    ) -> (PruneOutcome, Option<ObjectOutcome>) {
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: Concurrency::Fixed(1),
            dry_run: true,
            done: Action::Deleted,
            awaits: false,
            permit,
        };
        match self.run.remove_one(step, options).await {
            RemovalOutcome::Gone { .. } | RemovalOutcome::Left => (PruneOutcome::Done, None),
            RemovalOutcome::NotMine(reason) => (PruneOutcome::NotMine(reason), None),
            RemovalOutcome::Stopped(stopped) => {
                let reason = crate::ports::ApiError::stopped(stopped).message;
                (PruneOutcome::Failed(reason), None)
            }
            failed @ RemovalOutcome::Failed(_) => {
                let mut results = RemovalResults::default();
                let outcome = results.take(step, &failed, Action::Deleted);
                if let Some(outcome) = &outcome {
                    self.run.emit(outcome.event());
                }
                let result = results.results.remove(&step.entry.identity);
                let result = result.unwrap_or(PruneOutcome::Done);
                (result, outcome)
            }
        }
    }

    /// Deletes the namespace, now that the record is gone.
    pub(super) async fn namespace_last(
        &self,
        mut deleted: DeletedRun,
    ) -> Result<DeletedRun, Failure> {
        let Some(step) = deleted.namespace.take() else {
            return Ok(deleted);
        };
        let steps = std::slice::from_ref(&step);
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: Concurrency::Fixed(1),
            dry_run: false,
            done: Action::Deleted,
            awaits: false,
            permit: self.run.permit(),
        };
        let removed = self.run.remove_all(steps, options).await;
        deleted.report.resources.extend(removed.outcomes);
        deleted.lingering.extend(removed.lingering);
        let failed = deleted.report.failed().next().is_some();
        if failed || removed.stopped.is_some() {
            let identity = step.entry.identity.clone();
            let message = format!("the release is deleted, but {identity} is not");
            return Err(Failure::new(FailureKind::Failed, message)
                .object(identity, "it could not be deleted")
                .after(deleted.report));
        }
        Ok(deleted)
    }

    /// If that is asked for, waits until everything is really gone.
    pub(super) async fn wait_until_gone(&self, deleted: DeletedRun) -> Result<Report, Failure> {
        let DeletedRun {
            report, lingering, ..
        } = deleted;
        if !self.request.wait || lingering.is_empty() {
            return Ok(report);
        }
        let waiting = Wait::Gone(lingering.keys().cloned().collect());
        self.run.emit(Event::Waiting(waiting));
        let timeout = self.request.timeout;
        let waited = self.run.wait_gone(&lingering, timeout, self.run.permit());
        match waited.await {
            Ok(there) if there.is_empty() => Ok(report),
            Ok(there) => {
                let are = words::is_or_are(there.len());
                let count = words::count(there.len(), "object");
                let message = format!("deleted, but {count} {are} not gone yet");
                let failure = Failure::new(FailureKind::Incomplete, message);
                let there = there.into_iter();
                let failure = there.fold(failure, |failure, (identity, why)| {
                    failure.object(identity, why)
                });
                Err(failure.after(report))
            }
            Err(error) if error.kind == ApiErrorKind::Stopped(Stopped::Cancelled) => {
                let message = "interrupted while waiting; everything is deleted";
                Err(Failure::new(FailureKind::Interrupted, message).after(report))
            }
            Err(error) => {
                let message = format!("deleted, but whether all is gone is unknown: {error}");
                let failure = Failure::new(FailureKind::Incomplete, message);
                Err(failure.because(error).after(report))
            }
        }
    }
}
