//! Removing a release's objects, group by group.
//!
//! Custom resources with finalizers get a bounded time to go before the controllers that would
//! clear them are removed.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use opm_core::check::{CheckedPlan, PruneStep};
use opm_core::event::{Event, Wait};
use opm_core::identity::Identity;
use opm_core::protocol::PruneOutcome;
use opm_core::scope::builtin;

use super::Delete;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Cluster, ErrorKind, SecretStore, Stopped};
use crate::removal::{RemovalOptions, RemovalOutcome, groups};
use crate::report::{Action, ObjectOutcome, Report};
use crate::run::unless_failed;

/// How long custom resources may take to go before what is behind them goes too.
const PATIENCE: Duration = Duration::from_secs(60);

/// What became of the objects.
#[derive(Default)]
pub(super) struct RemovalResults {
    pub(super) outcomes: Vec<ObjectOutcome>,
    pub(super) results: HashMap<Identity, PruneOutcome>,
    /// Objects whose deletion the server has accepted, and that are still there.
    pub(super) lingering: BTreeMap<Identity, String>,
    pub(super) warnings: Vec<String>,
    pub(super) stopped: Option<Stopped>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// Removes all of these objects, in order.
    pub(super) async fn remove_all(&self, steps: &[PruneStep], dry_run: bool) -> RemovalResults {
        let mut gone = RemovalResults::default();
        let removing = RemovalOptions {
            release: &self.release.id,
            concurrency: self.request.concurrency,
            dry_run,
        };
        for group in groups(steps) {
            if gone.stopped.is_some() {
                break;
            }
            let tell =
                |step: &PruneStep, removed: &RemovalOutcome| self.note(step, removed, &mut gone);
            self.engine.remove_group(group, removing, tell).await;
            if !dry_run {
                self.let_controllers_work(group, &mut gone).await;
            }
        }
        gone
    }

    pub(super) fn note(
        &self,
        step: &PruneStep,
        removed: &RemovalOutcome,
        gone: &mut RemovalResults,
    ) {
        if let RemovalOutcome::Gone { lingering: true } = removed {
            let identity = step.entry.identity.clone();
            gone.lingering.insert(identity, step.uid.clone());
        }
        match removed.told(step, Action::Deleted) {
            Ok((outcome, result)) => {
                self.frontend.events.emit(outcome.event());
                gone.results.insert(outcome.identity.clone(), result);
                gone.outcomes.push(outcome);
            }
            Err(stopped) => gone.stopped = Some(stopped),
        }
    }

    async fn let_controllers_work(&self, group: &[PruneStep], gone: &mut RemovalResults) {
        let custom: BTreeMap<Identity, String> = group
            .iter()
            .map(|step| &step.entry.identity)
            .filter(|identity| builtin(&identity.group_kind).is_none())
            .filter_map(|identity| gone.lingering.get_key_value(identity))
            .map(|(identity, uid)| (identity.clone(), uid.clone()))
            .collect();
        if custom.is_empty() {
            return;
        }
        let waiting = Wait::Gone(custom.keys().cloned().collect());
        self.frontend.events.emit(Event::Waiting(waiting));
        let patience = PATIENCE.min(self.request.timeout);
        match self.engine.wait_gone(&custom, patience).await {
            Ok(there) => {
                gone.lingering.retain(|identity, _| {
                    !custom.contains_key(identity)
                        || there.iter().any(|(still, _)| still == identity)
                });
                gone.warnings.extend(
                    there
                        .iter()
                        .map(|(identity, why)| format!("{identity} is not gone yet: {why}")),
                );
            }
            Err(error) => match error.kind {
                ErrorKind::Stopped(stopped) => gone.stopped = Some(stopped),
                _ => gone.warnings.push(format!(
                    "could not wait for custom resources to go: {error}"
                )),
            },
        }
    }

    /// `--dry-run`: the server only pretends.
    pub(super) async fn rehearse(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
    ) -> Result<Report, Failure> {
        let report = self.unwritten(checked, warnings, true).await?;
        let message = |count| format!("{count} objects would not be deleted");
        unless_failed(report, FailureKind::Refused, message)
    }

    /// Removes everything and writes nothing down about it.
    pub(super) async fn unwritten(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
        dry_run: bool,
    ) -> Result<Report, Failure> {
        let gone = self.remove_all(&checked.stale.prune, dry_run).await;
        let mut report = Report {
            resources: gone.outcomes,
            warnings: warnings.into_iter().chain(gone.warnings).collect(),
            ..self.report()
        };
        self.decided(checked, &mut report);
        report.warnings.extend(self.engine.cluster.take_warnings());
        match gone.stopped {
            None => Ok(report),
            Some(stopped) => {
                let what = match dry_run {
                    true => "the dry run was cut short",
                    false => "the delete was cut short",
                };
                Err(Failure::before_writing(what, &ApiError::stopped(stopped)).after(report))
            }
        }
    }
}
