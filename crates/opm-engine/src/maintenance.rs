//! `prune`, `forget` and `unlock`: runs that change what the record says of single objects, or
//! nothing but its lock, and make no new change.

mod forget;
mod prune;
mod unlock;

use std::collections::HashMap;

use opm_core::check::{Adopt, CheckContext, CheckedPlan, check};
use opm_core::identity::{Identity, ObjectSelector};
use opm_core::plan::{PlanOptions, plan_prune_kept};
use opm_core::protocol::{Applied, LockAcquisition, begin};
use opm_core::record::Record;
use opm_core::record::size::Records;

use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, Detail, Frontend, SecretStore};
use crate::record::{LoadedRecord, LockGuard, WritableRecord, WriteError};
use crate::report::{Release, Report};
use crate::request::ReleaseRef;

/// How often everything starts over because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// The release that a command names. It must have a record.
    pub(crate) async fn existing(
        &self,
        reference: &ReleaseRef,
        namespace: &opm_core::name::NamespaceName,
    ) -> Result<Release, Failure> {
        let found = self.find(reference, namespace).await?;
        found.ok_or_else(|| no_release(&reference.to_string(), namespace.as_str()))
    }

    /// A plan that removes the kept objects that `named` names, and leaves all else alone.
    pub(crate) async fn plan_maintenance(
        &self,
        release: &Release,
        record: &Record,
        named: impl Fn(&Identity) -> bool,
    ) -> Result<CheckedPlan, Failure> {
        let plan = plan_prune_kept(record, named, PlanOptions::default())
            .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))?;
        let (observed, _) = self.observe(&plan, &release.id, Detail::Metadata).await;
        let occupants = match plan.to_look_into().next() {
            Some(_) => self.look_into(&plan, &self.discover().await?).await,
            None => HashMap::new(),
        };
        let checking = CheckContext {
            release: release.id,
            adopt: Adopt::None,
            take_ownership: false,
            occupants: &occupants,
        };
        check(plan, &observed, &checking).map_err(|refusals| Failure::refused(&refusals))
    }

    /// Takes the lock for such a plan. None if somebody else was faster.
    async fn begin_maintenance(
        &self,
        release: &Release,
        loaded: &LoadedRecord,
        acquisition: LockAcquisition,
        checked: CheckedPlan,
        command: &str,
    ) -> Result<Option<(Applied, LockGuard)>, Failure> {
        let run = self.run(command, None, None).await;
        let Ok(locked) = begin(loaded.record.clone(), acquisition, checked, run) else {
            return Ok(None);
        };
        let guard = self
            .take_lock(release, Some(loaded), &locked, Records::Used)
            .await?;
        let applied = locked.finish(&HashMap::new()).ok();
        Ok(applied.zip(guard))
    }

    /// The record, once it is this run's turn.
    async fn turn_of(
        &self,
        release: &Release,
        patience: std::time::Duration,
        frontend: Frontend<'_>,
    ) -> Result<(LoadedRecord, LockAcquisition, Vec<String>), Failure> {
        let WritableRecord {
            loaded,
            acquisition,
            warnings,
        } = self.turn(release, patience, frontend).await?;
        match loaded {
            Some(loaded) => Ok((loaded, acquisition, warnings)),
            None => Err(no_release(
                release.name.as_str(),
                release.namespace.as_str(),
            )),
        }
    }
}

/// There is no such release.
pub(crate) fn no_release(name: &str, namespace: &str) -> Failure {
    let message = format!("there is no release {name} in namespace {namespace}");
    Failure::new(FailureKind::NotFound, message).hint("`opm mod list -A` shows all releases")
}

/// Selectors that name nothing are a mistake, all of them told at once.
fn unmatched<'a>(
    selectors: &'a [ObjectSelector],
    tracked: &[&Identity],
) -> Result<(), Vec<&'a ObjectSelector>> {
    let unmatched: Vec<_> = selectors
        .iter()
        .filter(|selector| !tracked.iter().any(|identity| selector.matches(identity)))
        .collect();
    match unmatched.is_empty() {
        true => Ok(()),
        false => Err(unmatched),
    }
}

fn nothing_named(what: &str, selectors: &[&ObjectSelector]) -> Failure {
    let names: Vec<String> = selectors.iter().map(ToString::to_string).collect();
    let message = format!("the release has no {what} {}", names.join(", "));
    Failure::new(FailureKind::NotFound, message).hint("`opm mod status` shows what it tracks")
}

fn unwritten(error: WriteError, report: Report) -> Failure {
    let failure = match error {
        WriteError::Lost => Failure::new(FailureKind::LockLost, "the release's lock was lost"),
        WriteError::Api(error) => Failure::new(
            FailureKind::Failed,
            format!("the release's record could not be written: {error}"),
        ),
    };
    failure.after(report)
}
