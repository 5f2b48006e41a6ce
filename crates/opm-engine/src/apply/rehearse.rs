//! `--dry-run`: the same plan and the same requests, which the server only pretends to carry
//! out. No lock is taken and nothing is written.

use opm_core::check::PruneStep;

use super::Apply;
use super::prepare::Prepared;
use super::tell::{standing, transferred};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Cluster, SecretStore};
use crate::removal::{Removed, Removing, groups};
use crate::report::{Action, Outcome, Report};
use crate::run::failed;

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// What an apply would do.
    pub(super) async fn rehearse(&self, prepared: Prepared) -> Result<Report, Failure> {
        let Prepared { checked, scene, .. } = prepared;
        let sent = self.apply_all(&checked, &scene).await;
        let mut report = Report {
            first_apply: scene.first_apply,
            resources: sent.outcomes,
            warnings: scene.warnings.clone(),
            ..self.report()
        };
        if sent.stopped.is_none() && failed(&report.resources).next().is_none() {
            self.rehearse_prune(&checked.stale.prune, &mut report).await;
        }
        report.resources.extend(standing(&checked.stale));
        report.warnings.extend(transferred(&checked.stale));
        report.warnings.extend(self.engine.cluster.take_warnings());
        if let Some(stopped) = sent.stopped {
            let what = "the dry run was cut short";
            return Err(Failure::before_writing(what, &ApiError::stopped(stopped)).after(report));
        }
        let objects: Vec<Outcome> = failed(&report.resources).cloned().collect();
        if objects.is_empty() {
            return Ok(report);
        }
        let message = format!("{} objects would not be applied or pruned", objects.len());
        let mut failure = Failure::new(FailureKind::Refused, message);
        for object in objects {
            failure = failure.object(object.identity, object.reason.unwrap_or_default());
        }
        Err(failure.after(report))
    }

    async fn rehearse_prune(&self, steps: &[PruneStep], report: &mut Report) {
        let removing = Removing {
            release: &self.candidate.owner.id,
            concurrency: self.request.concurrency,
            dry_run: true,
        };
        for group in groups(steps) {
            let resources = &mut report.resources;
            let tell = |step: &PruneStep, removed: &Removed| {
                if let Ok((outcome, _)) = removed.told(step, Action::Pruned) {
                    self.tell_object(&outcome);
                    resources.push(outcome);
                }
            };
            self.engine.remove_group(group, removing, tell).await;
        }
    }
}
