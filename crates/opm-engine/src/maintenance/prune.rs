//! `prune`: deletes kept objects that were named. Being named is what lifts their guard.

use std::collections::HashSet;

use opm_core::check::{PruneStep, StaleDecisions};
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::protocol::PruneOutcome;
use opm_core::record::{LogResult, Record};
use opm_core::words;

use crate::apply::tell::{transferred, without_request};
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Permit, Question, Stopped};
use crate::record::{Attempt, RecordAccess, RecordWriter, WritableRecord};
use crate::removal::{RemovalOptions, RemovalResults};
use crate::report::{Action, ObjectOutcome, Release, Report};
use crate::request::{ObjectSelection, PruneRequest};
use crate::run::Run;

impl Run<'_> {
    /// Deletes kept objects by name.
    pub(crate) async fn prune(&self, request: &PruneRequest) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut prune = Prune {
            run: self,
            request,
            release: release.clone(),
            confirmed: false,
        };
        self.write_release(&release, request.lock_timeout, &mut prune)
            .await
    }
}

struct Prune<'a> {
    run: &'a Run<'a>,
    request: &'a PruneRequest,
    release: Release,
    confirmed: bool,
}

impl RecordWriter for Prune<'_> {
    type Output = Report;

    fn access(&self) -> RecordAccess {
        RecordAccess::to_change(self.request.dry_run)
    }

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let (run, release) = (self.run, &self.release);
        let Some(loaded) = record.loaded else {
            return Err(Failure::gone(release, &record.warnings));
        };
        let named = self.named(&loaded.record).await?;
        let is_named = |identity: &Identity| named.contains(identity);
        let checked = run
            .plan_maintenance(release, &loaded.record, is_named)
            .await?;
        let mut report = Report {
            dry_run: self.request.dry_run,
            resources: without_request(&checked.stale),
            warnings: [record.warnings, loaded.warnings.clone()].concat(),
            ..Report::about(release)
        };
        report.warnings.extend(transferred(&checked.stale));
        let gone = checked.stale.gone.iter();
        report
            .warnings
            .extend(gone.map(|gone| format!("{} is not there any more", gone.entry.identity)));
        let mut standing = left_standing(&checked.stale);
        if self.request.dry_run {
            let pruned = self.remove(&checked.stale.prune, run.permit()).await;
            standing.extend(not_removed(&pruned));
            report.resources.extend(pruned.outcomes);
            let ended = self.ended(report, pruned.stopped, &standing);
            return ended.map(Attempt::Done);
        }
        if self.request.objects == ObjectSelection::All && !self.confirmed {
            self.confirm(&named).await?;
            self.confirmed = true;
        }
        let begun = run.begin_maintenance(release, loaded, record.acquisition, checked, "prune");
        let Some((applied, guard)) = begun.await? else {
            return Ok(Attempt::Again);
        };
        let work = self.remove(applied.prune(), run.permit_under(&guard));
        let pruned = run.while_renewing(&guard, work).await;
        standing.extend(not_removed(&pruned));
        report.resources.extend(pruned.outcomes);
        let reconciled = applied.reconcile(&pruned.results, run.server_now());
        let (result, reason) = match (pruned.stopped, reconciled.unpruned()) {
            (Some(Stopped::Cancelled), _) => (LogResult::Interrupted, None),
            (None, false) => (LogResult::Succeeded, None),
            _ => (
                LogResult::Failed,
                Some("not everything was deleted".to_owned()),
            ),
        };
        let released = reconciled.release(&run.ended(result, reason, &report.resources));
        let report = run.end_maintenance(&guard, released, report).await?;
        let ended = self.ended(report, pruned.stopped, &standing);
        ended.map(Attempt::Done)
    }
}

impl Prune<'_> {
    async fn named(&self, record: &Record) -> Result<Vec<Identity>, Failure> {
        let kept = record.kept.objects.iter();
        let kept: Vec<&Identity> = kept.map(|kept| &kept.entry.identity).collect();
        let objects = &self.request.objects;
        let selected = self.run.selected("kept object", objects, &kept).await?;
        let named = kept.into_iter().filter(|identity| selected.has(identity));
        Ok(named.cloned().collect())
    }

    async fn remove(&self, steps: &[PruneStep], permit: Permit<'_>) -> RemovalResults {
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: self.request.concurrency,
            dry_run: self.request.dry_run,
            done: Action::Pruned,
            awaits: false,
            permit,
        };
        self.run.remove_all(steps, options).await
    }

    async fn confirm(&self, objects: &[Identity]) -> Result<(), Failure> {
        let question = Question::PruneKept {
            objects: objects.to_vec(),
        };
        match self.run.confirm(&question).await? {
            Answer::Yes => Ok(()),
            Answer::No => Err(Failure::refused("declined: nothing was deleted")),
            Answer::CannotAsk => {
                let message = "deleting all kept objects has to be confirmed";
                Err(Failure::refused(message).remedy(Remedy::Confirm))
            }
        }
    }

    /// What a prune came to. What was named and still stands is a failure; asked for all, what is
    /// not this release's any more is only told.
    fn ended(
        &self,
        report: Report,
        stopped: Option<Stopped>,
        standing: &HashSet<Identity>,
    ) -> Result<Report, Failure> {
        if stopped == Some(Stopped::Cancelled) {
            let message = "interrupted; objects that were not deleted are still tracked";
            return Err(Failure::new(FailureKind::Interrupted, message).after(report));
        }
        let named = self.request.objects != ObjectSelection::All;
        let stands = |outcome: &&ObjectOutcome| {
            outcome.action == Action::Failed || (named && standing.contains(&outcome.identity))
        };
        let standing: Vec<&ObjectOutcome> = report.resources.iter().filter(stands).collect();
        if standing.is_empty() {
            return Ok(report);
        }
        let message = format!(
            "{} could not be deleted",
            words::count(standing.len(), "object")
        );
        let failure = standing.into_iter().fold(
            Failure::new(FailureKind::Failed, message),
            |failure, one| {
                failure.object(one.identity.clone(), one.reason.clone().unwrap_or_default())
            },
        );
        Err(failure.remedy(Remedy::ShowStatus).after(report))
    }
}

/// What is left standing without any request.
fn left_standing(stale: &StaleDecisions) -> HashSet<Identity> {
    let keep = stale.keep.iter().map(|keep| &keep.entry.identity);
    let undetermined = stale.undetermined.iter().map(|one| &one.entry.identity);
    keep.chain(undetermined).cloned().collect()
}

fn not_removed(pruned: &RemovalResults) -> impl Iterator<Item = Identity> {
    let results = pruned.results.iter();
    let standing = results.filter(|(_, outcome)| **outcome != PruneOutcome::Done);
    standing.map(|(identity, _)| identity.clone())
}
