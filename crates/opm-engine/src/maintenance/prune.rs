//! `prune`: deletes kept objects that were named. Being named is what lifts their guard.

use std::collections::HashMap;

use opm_core::check::PruneStep;
use opm_core::identity::Identity;
use opm_core::protocol::PruneOutcome;
use opm_core::record::{LogResult, Record};

use super::{ATTEMPTS, nothing_named, unmatched, unwritten};
use crate::apply::tell::{presence, transferred};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Clock, Cluster, Frontend, Question, SecretStore, Stopped};
use crate::record::LockGuard;
use crate::removal::{RemovalOptions, RemovalOutcome, groups};
use crate::report::{Action, ObjectOutcome, Release, Report};
use crate::request::{ObjectSelection, PruneRequest};
use crate::run::{kept, pending, unless_failed};

/// What became of the named objects.
#[derive(Default)]
struct Pruned {
    outcomes: Vec<ObjectOutcome>,
    results: HashMap<Identity, PruneOutcome>,
    stopped: Option<Stopped>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Deletes kept objects by name.
    pub async fn prune(
        &self,
        request: &PruneRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut confirmed = false;
        for _ in 0..ATTEMPTS {
            let patience = request.lock_timeout;
            let (loaded, acquisition, warnings) =
                self.turn_of(&release, patience, frontend).await?;
            let named = self.named(request, &loaded.record)?;
            let is_named = |identity: &Identity| named.contains(identity);
            let checked = self
                .plan_maintenance(&release, &loaded.record, is_named)
                .await?;
            let mut report = Report {
                release: Some(release.clone()),
                dry_run: request.dry_run,
                warnings,
                ..Report::default()
            };
            report.resources = presence(&checked.stale);
            report.warnings.extend(transferred(&checked.stale));
            if request.dry_run {
                let steps = &checked.stale.prune;
                let pruned = self.prune_steps(steps, request, &release, frontend).await;
                report.resources.extend(pruned.outcomes);
                return Ok(report);
            }
            if request.objects == ObjectSelection::All && !confirmed {
                confirm(&named, frontend).await?;
                confirmed = true;
            }
            let begun = self.begin_maintenance(&release, &loaded, acquisition, checked, "prune");
            let Some((applied, guard)) = begun.await? else {
                continue;
            };
            let work = self.prune_steps(applied.prune(), request, &release, frontend);
            let pruned = self.while_renewing(&guard, work).await;
            report.resources.extend(pruned.outcomes);
            let reconciled = applied.reconcile(&pruned.results, self.server_now());
            let unpruned = reconciled.unpruned();
            let (result, reason) = match (pruned.stopped, unpruned) {
                (Some(Stopped::Interrupted), _) => (LogResult::Interrupted, None),
                (Some(Stopped::LockUncertain), _) | (None, true) => (
                    LogResult::Failed,
                    Some("not everything was deleted".to_owned()),
                ),
                (None, false) => (LogResult::Succeeded, None),
            };
            let record = reconciled.release(&self.ended(result, reason, &report.resources));
            return self.pruned(record, &guard, report, pruned.stopped).await;
        }
        Err(Failure::overtaken(&release.name))
    }

    async fn pruned(
        &self,
        record: Record,
        guard: &LockGuard,
        mut report: Report,
        stopped: Option<Stopped>,
    ) -> Result<Report, Failure> {
        report.pending = pending(&record);
        report.kept = kept(&record);
        if let Err(error) = self.write_and_sweep(guard, record).await {
            return Err(unwritten(error, report));
        }
        report.warnings.extend(guard.take_notes().await);
        report.warnings.extend(self.cluster.take_warnings());
        if stopped == Some(Stopped::Interrupted) {
            let message = "interrupted; what was not deleted is not forgotten";
            return Err(Failure::new(FailureKind::Interrupted, message).after(report));
        }
        let message = |count| format!("{count} objects could not be deleted; they stay pending");
        unless_failed(report, FailureKind::Incomplete, message)
    }

    fn named(&self, request: &PruneRequest, record: &Record) -> Result<Vec<Identity>, Failure> {
        let kept: Vec<&Identity> = record
            .kept
            .objects
            .iter()
            .map(|kept| &kept.entry.identity)
            .collect();
        let named: Vec<Identity> = match &request.objects {
            ObjectSelection::All => kept.iter().map(|identity| (*identity).clone()).collect(),
            ObjectSelection::Named(selectors) => {
                unmatched(selectors, &kept)
                    .map_err(|names| nothing_named("kept object", &names))?;
                let matches = |identity: &&&Identity| selectors.iter().any(|s| s.matches(identity));
                kept.iter().filter(matches).map(|i| (*i).clone()).collect()
            }
        };
        Ok(named)
    }

    async fn prune_steps(
        &self,
        steps: &[PruneStep],
        request: &PruneRequest,
        release: &Release,
        frontend: Frontend<'_>,
    ) -> Pruned {
        let mut pruned = Pruned::default();
        let removing = RemovalOptions {
            release: &release.id,
            concurrency: request.concurrency,
            dry_run: request.dry_run,
        };
        for group in groups(steps) {
            if pruned.stopped.is_some() {
                break;
            }
            let tell = |step: &PruneStep, removed: &RemovalOutcome| {
                note(step, removed, &mut pruned, frontend)
            };
            self.remove_group(group, removing, tell).await;
        }
        pruned
    }
}

fn note(step: &PruneStep, removed: &RemovalOutcome, pruned: &mut Pruned, frontend: Frontend<'_>) {
    match removed.told(step, Action::Pruned) {
        Ok((outcome, result)) => {
            frontend.events.emit(outcome.event());
            pruned.results.insert(outcome.identity.clone(), result);
            pruned.outcomes.push(outcome);
        }
        Err(stopped) => pruned.stopped = Some(stopped),
    }
}

async fn confirm(objects: &[Identity], frontend: Frontend<'_>) -> Result<(), Failure> {
    let question = Question::PruneKept {
        objects: objects.to_vec(),
    };
    match frontend.prompt.ask(&question).await {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::new(
            FailureKind::Refused,
            "declined: nothing was deleted",
        )),
        Answer::CannotAsk => Err(Failure::new(
            FailureKind::Refused,
            "deleting all kept objects has to be confirmed",
        )
        .hint("--yes confirms it")),
    }
}
