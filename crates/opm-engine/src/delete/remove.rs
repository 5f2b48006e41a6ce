//! Removing a release's objects, group by group.
//!
//! Custom resources with finalizers get a bounded time to go before the controllers that would
//! clear them are removed.

use std::collections::BTreeMap;
use std::time::Duration;

use opm_core::check::{CheckedPlan, PruneStep};
use opm_core::event::{Event, Wait};
use opm_core::identity::Identity;
use opm_core::scope::builtin;

use super::Delete;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiErrorKind, Backend, Permit};
use crate::removal::{RemovalOptions, RemovalResults, groups};
use crate::report::{Action, Report};

/// How long custom resources may take to go before what is behind them goes too.
const PATIENCE: Duration = Duration::from_secs(60);

/// What became of the objects.
#[derive(Default)]
pub(super) struct DeletedObjects {
    pub(super) removed: RemovalResults,
    pub(super) warnings: Vec<String>,
}

impl<B: Backend> Delete<'_, B> {
    /// Removes all of these objects, in order.
    pub(super) async fn remove_all(
        &self,
        steps: &[PruneStep],
        dry_run: bool,
        permit: Permit<'_>,
    ) -> DeletedObjects {
        let mut gone = DeletedObjects::default();
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: self.request.concurrency,
            dry_run,
            done: Action::Deleted,
            permit,
        };
        for group in groups(steps) {
            if gone.removed.stopped.is_some() {
                break;
            }
            self.run
                .remove_group(group, options, &mut gone.removed)
                .await;
            if !dry_run {
                self.let_controllers_work(group, permit, &mut gone).await;
            }
        }
        gone
    }

    async fn let_controllers_work(
        &self,
        group: &[PruneStep],
        permit: Permit<'_>,
        gone: &mut DeletedObjects,
    ) {
        let custom: BTreeMap<Identity, String> = group
            .iter()
            .map(|step| &step.entry.identity)
            .filter(|identity| builtin(&identity.group_kind).is_none())
            .filter_map(|identity| gone.removed.lingering.get_key_value(identity))
            .map(|(identity, uid)| (identity.clone(), uid.clone()))
            .collect();
        if custom.is_empty() {
            return;
        }
        let waiting = Wait::Gone(custom.keys().cloned().collect());
        self.run.emit(Event::Waiting(waiting));
        let patience = PATIENCE.min(self.request.timeout);
        match self.run.wait_gone(&custom, patience, permit).await {
            Ok(there) => {
                gone.removed.lingering.retain(|identity, _| {
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
                ApiErrorKind::Stopped(stopped) => gone.removed.stopped = Some(stopped),
                _ => gone.warnings.push(format!(
                    "could not wait for custom resources to go: {error}"
                )),
            },
        }
    }

    /// A dry run: the server only pretends.
    pub(super) async fn rehearse(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
    ) -> Result<Report, Failure> {
        let report = self.unwritten(checked, warnings, true).await?;
        report.unless_failed(FailureKind::Refused, |count| {
            format!("{count} objects would not be deleted")
        })
    }

    /// Removes everything and writes nothing down about it.
    pub(super) async fn unwritten(
        &self,
        checked: &CheckedPlan,
        warnings: Vec<String>,
        dry_run: bool,
    ) -> Result<Report, Failure> {
        let permit = self.run.permit();
        let gone = self.remove_all(&checked.stale.prune, dry_run, permit).await;
        let mut report = Report {
            resources: gone.removed.outcomes,
            warnings: warnings.into_iter().chain(gone.warnings).collect(),
            ..self.report()
        };
        self.take_decided(checked, &mut report);
        report.warnings.extend(self.run.backend.take_warnings());
        match gone.removed.stopped {
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
