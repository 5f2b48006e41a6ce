//! Pruning what became stale, once everything is applied.

use std::collections::HashMap;

use opm_core::check::PruneStep;
use opm_core::identity::Identity;
use opm_core::protocol::{Applied, PruneOutcome};

use super::Apply;
use crate::ports::{Clock, Cluster, SecretStore, Stopped};
use crate::removal::{RemovalOptions, RemovalOutcome, groups};
use crate::report::{Action, ObjectOutcome};

/// What pruning came to.
pub(super) struct Pruned {
    pub(super) outcomes: Vec<ObjectOutcome>,
    pub(super) results: HashMap<Identity, PruneOutcome>,
    /// Set when it was cut short: then nothing is recorded.
    pub(super) stopped: Option<Stopped>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Removes every stale object that may go, in order.
    pub(super) async fn prune(&self, applied: &Applied) -> Pruned {
        let mut pruned = Pruned {
            outcomes: Vec::new(),
            results: HashMap::new(),
            stopped: None,
        };
        if let Some(reason) = self.not_before_ready(applied, &mut pruned).await {
            for step in applied.prune() {
                self.note(step, &RemovalOutcome::Failed(reason.clone()), &mut pruned);
            }
            return pruned;
        }
        let removing = RemovalOptions {
            release: &self.candidate.owner.id,
            concurrency: self.request.options.concurrency,
            dry_run: self.request.options.dry_run,
        };
        for group in groups(applied.prune()) {
            if pruned.stopped.is_some() {
                break;
            }
            let tell =
                |step: &PruneStep, removed: &RemovalOutcome| self.note(step, removed, &mut pruned);
            self.engine.remove_group(group, removing, tell).await;
        }
        pruned
    }

    fn note(&self, step: &PruneStep, removed: &RemovalOutcome, pruned: &mut Pruned) {
        match removed.told(step, Action::Pruned) {
            Ok((outcome, result)) => {
                self.tell_object(&outcome);
                pruned.results.insert(outcome.identity.clone(), result);
                pruned.outcomes.push(outcome);
            }
            Err(stopped) => pruned.stopped = Some(stopped),
        }
    }

    /// With `--prune-after-ready`, why the stale objects have to stay for now.
    async fn not_before_ready(&self, applied: &Applied, pruned: &mut Pruned) -> Option<String> {
        if !self.request.options.prune_after_ready || applied.prune().is_empty() {
            return None;
        }
        let wanted = self.awaited(applied.plan().applies());
        self.tell_awaited(&wanted);
        match self
            .engine
            .wait_ready(&wanted, self.request.options.timeout)
            .await
        {
            Ok(not_ready) => not_ready
                .first()
                .map(|first| format!("{} is not ready yet: {}", first.identity, first.reason)),
            Err(error) => match error.kind {
                crate::ports::ErrorKind::Stopped(stopped) => {
                    pruned.stopped = Some(stopped);
                    None
                }
                _ => Some(format!(
                    "whether the new objects are ready is unknown: {error}"
                )),
            },
        }
    }
}
