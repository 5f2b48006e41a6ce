//! Removing a release's objects, group by group: custom resources first.
//!
//! Their controllers may be among what comes after them, so nothing else is touched before they
//! are really gone.

use std::time::Duration;

use opm_core::check::{
    CheckedPlan, PruneMethod, PruneStep, StaleDecisions, prune_groups, still_holds,
};
use opm_core::event::{Event, Wait};
use opm_core::identity::Identity;
use opm_core::plan::Guard;
use opm_core::words;

use super::Delete;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, Permit};
use crate::removal::{RemovalOptions, RemovalOutcome, RemovalResults};
use crate::report::{Action, ObjectOutcome, Report};

/// What became of the objects.
#[derive(Default)]
pub(super) struct DeletedObjects {
    pub(super) removed: RemovalResults,
    /// Whether custom resources hold back everything that comes after them.
    pub(super) held: bool,
}

impl Delete<'_> {
    /// Removes these objects, which were decided about together with the others, in order.
    pub(super) async fn remove_all(
        &self,
        steps: &[PruneStep],
        stale: &StaleDecisions,
        dry_run: bool,
        permit: Permit<'_>,
    ) -> DeletedObjects {
        let mut gone = DeletedObjects::default();
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: self.request.concurrency,
            dry_run,
            done: Action::Deleted,
            awaits: false,
            permit,
        };
        let (custom, others) = steps.split_at(steps.partition_point(PruneStep::is_custom));
        self.remove_custom(custom, options, &mut gone.removed).await;
        if gone.removed.stopped.is_none() && !dry_run {
            let stands = |step: &PruneStep| gone.removed.stands(&step.entry.identity);
            let unknown = stale.undetermined_custom().next().is_some();
            gone.held = !others.is_empty() && (unknown || custom.iter().any(stands));
        }
        if gone.held {
            self.skip(others, &mut gone.removed);
            return gone;
        }
        for group in prune_groups(others) {
            if gone.removed.stopped.is_none() {
                let group = self.still_empty(group, dry_run, &mut gone.removed).await;
                let removed = &mut gone.removed;
                self.run.remove_group(&group, options, removed).await;
            }
        }
        let removed = &mut gone.removed;
        self.run.remove_rebuilt(others, options, removed).await;
        gone
    }

    /// Removes custom resources, and waits until they are gone.
    async fn remove_custom(
        &self,
        custom: &[PruneStep],
        options: RemovalOptions<'_>,
        removed: &mut RemovalResults,
    ) {
        let options = RemovalOptions {
            awaits: !options.dry_run,
            ..options
        };
        for group in prune_groups(custom) {
            if removed.stopped.is_none() {
                self.run.remove_group(group, options, removed).await;
            }
        }
        let awaited = match options.awaits {
            true => std::mem::take(&mut removed.lingering),
            false => return,
        };
        if awaited.is_empty() {
            return;
        }
        let waiting = Wait::Gone(awaited.keys().cloned().collect());
        self.run.emit(Event::Waiting(waiting));
        let timeout = match removed.stopped {
            Some(_) => Duration::ZERO,
            None => self.request.timeout,
        };
        let waited = self.run.wait_gone(&awaited, timeout, options.permit).await;
        if let Err(ApiError {
            kind: ApiErrorKind::Stopped(stopped),
            ..
        }) = waited
        {
            removed.stopped = Some(stopped);
        }
        let lingers = |step: &&PruneStep| awaited.contains_key(&step.entry.identity);
        for step in custom.iter().filter(lingers) {
            let identity = &step.entry.identity;
            let outcome = match &waited {
                Ok(there) => match there.iter().find(|(still, _)| still == identity) {
                    Some((_, why)) => RemovalOutcome::Failed(format!("it is not gone: {why}")),
                    None => RemovalOutcome::Gone { lingering: false },
                },
                Err(error) => {
                    RemovalOutcome::Failed(format!("whether it is gone is not known: {error}"))
                }
            };
            self.tell(step, &outcome, removed);
        }
    }

    fn tell(&self, step: &PruneStep, outcome: &RemovalOutcome, removed: &mut RemovalResults) {
        if let Some(outcome) = removed.take(step, outcome, Action::Deleted) {
            self.run.emit(outcome.event());
            removed.outcomes.push(outcome);
        }
    }

    fn skip(&self, steps: &[PruneStep], removed: &mut RemovalResults) {
        for step in steps {
            let reason = "custom resources before it are not gone".to_owned();
            let skipped = ObjectOutcome::of(&step.entry, Action::Skipped, Some(reason));
            self.run.emit(skipped.event());
            removed.outcomes.push(skipped);
        }
    }

    /// The group without the definitions of which somebody has made objects since the check.
    async fn still_empty(
        &self,
        group: &[PruneStep],
        dry_run: bool,
        removed: &mut RemovalResults,
    ) -> Vec<PruneStep> {
        let mut empty = Vec::with_capacity(group.len());
        for step in group {
            let identity = &step.entry.identity;
            let defines = Guard::of(&identity.group_kind) == Some(Guard::Crd)
                && step.method == PruneMethod::Delete;
            let held = match defines && !dry_run {
                true => self.still_holds(identity).await,
                false => None,
            };
            match held {
                Some(why) => self.tell(step, &RemovalOutcome::Failed(why), removed),
                None => empty.push(step.clone()),
            }
        }
        empty
    }

    /// What a definition holds by now, if so.
    async fn still_holds(&self, definition: &Identity) -> Option<String> {
        match self.run.discover_all().await {
            Ok(served) => still_holds(&self.run.occupants(definition, &served).await),
            Err(failure) => Some(failure.message),
        }
    }

    /// Custom resources are not gone in time: why nothing else was deleted.
    pub(super) fn held_back(&self, report: Report) -> Failure {
        let count = report.failed().count();
        let message = format!(
            "{} {} not gone, so nothing else was deleted: their \
             controllers may be part of the release",
            words::count(count, "custom resource"),
            words::is_or_are(count)
        );
        Failure::new(FailureKind::Failed, message)
            .about_failed(&report)
            .remedy(
                "see what their controllers say, or remove the finalizers by hand, and delete again",
            )
            .after(report)
    }

    /// A dry run: the server only pretends.
    pub(super) async fn rehearse(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
    ) -> Result<Report, Failure> {
        let report = self.unwritten(checked, warnings, true).await?;
        report.unless_failed(FailureKind::Refused, |count| {
            format!("{} would not be deleted", words::count(count, "object"))
        })
    }

    /// Removes everything and writes nothing down about it.
    pub(super) async fn unwritten(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
        dry_run: bool,
    ) -> Result<Report, Failure> {
        let (permit, stale) = (self.run.permit(), &checked.stale);
        let gone = self.remove_all(&stale.prune, stale, dry_run, permit).await;
        let mut report = Report {
            resources: gone.removed.outcomes,
            warnings,
            ..self.report()
        };
        self.take_decided(checked, &mut report);
        report.warnings.extend(self.run.backend.take_warnings());
        match gone.removed.stopped {
            None if gone.held => Err(self.held_back(report)),
            None => Ok(report),
            Some(stopped) => {
                let what = match dry_run {
                    true => "the dry run was cut short",
                    false => "the delete was cut short",
                };
                Err(Failure::stopped(what, stopped).after(report))
            }
        }
    }
}
