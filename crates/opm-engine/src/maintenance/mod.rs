//! `prune`, `forget`, `test` and `unlock`: runs that change what the record says of single objects, or
//! nothing but its lock, and make no new change.

mod forget;
mod prune;
mod test;
mod unlock;

use std::collections::HashMap;

use opm_core::check::{Adopt, CheckContext, CheckedPlan, check};
use opm_core::failure::Remedy;
use opm_core::identity::{Identity, ObjectSelector};
use opm_core::plan::{PlanOptions, plan_prune_kept};
use opm_core::protocol::{Applied, LockAcquisition, Released};
use opm_core::record::Record;
use opm_core::record::size::Records;

use crate::failure::{Failure, FailureKind};
use crate::ports::Detail;
use crate::record::{Beginning, LoadedRecord, LockGuard, LockedRun};
use crate::report::{Release, Report};
use crate::request::ObjectSelection;
use crate::run::Run;

impl Run<'_> {
    /// Which of the tracked objects are meant. The cluster is asked for its own names of kinds only
    /// where the usual ones name nothing.
    async fn selected(
        &self,
        what: &str,
        objects: &ObjectSelection,
        tracked: &[&Identity],
    ) -> Result<ObjectSelection, Failure> {
        let ObjectSelection::Named(selectors) = objects else {
            return Ok(ObjectSelection::All);
        };
        if check_named(what, selectors, tracked).is_ok() {
            return Ok(objects.clone());
        }
        let served = self.discover_all().await?;
        let known = selectors.iter();
        let known = known.map(|selector| selector.known_as(|word| served.called(word)));
        let known: Vec<ObjectSelector> = known.collect();
        check_named(what, &known, tracked)?;
        Ok(ObjectSelection::Named(known))
    }

    /// A plan that removes the kept objects that `named` names, and leaves all else alone.
    pub(crate) async fn plan_maintenance(
        &self,
        release: &Release,
        record: &Record,
        named: impl Fn(&Identity) -> bool,
    ) -> Result<CheckedPlan, Failure> {
        let plan = plan_prune_kept(record, named, PlanOptions::default())
            .map_err(|error| Failure::refused(error.to_string()).because(error))?;
        let (observed, _) = self.observe(&plan, &release.id, |_| Detail::Metadata).await;
        let occupants = match plan.to_look_into().next() {
            Some(_) => self.look_into(&plan, None).await,
            None => HashMap::new(),
        };
        let context = CheckContext {
            release: release.id,
            adopt: Adopt::None,
            take_ownership: false,
            occupants: &occupants,
        };
        check(plan, &observed, &context).map_err(Failure::of_refusals)
    }

    /// Takes the lock for such a plan. None if somebody else was faster.
    async fn begin_maintenance(
        &self,
        release: &Release,
        loaded: LoadedRecord,
        acquisition: LockAcquisition,
        checked: CheckedPlan,
        command: &str,
    ) -> Result<Option<(Applied, LockGuard)>, Failure> {
        let beginning = Beginning {
            record: loaded.record,
            stored: Some(loaded.stored),
            acquisition,
            checked,
            start: self.start(command, None, None, None).await,
            records: Records::Used,
        };
        let Some(LockedRun { locked, guard }) = self.begin(release, beginning).await? else {
            return Ok(None);
        };
        Ok(locked.finish(&HashMap::new()).ok().zip(Some(guard)))
    }

    /// Writes what maintenance leaves of the record, and lets go of the lock. The record of a
    /// deleted release goes with the last object that it kept.
    async fn end_maintenance(
        &self,
        guard: &LockGuard,
        released: Released,
        mut report: Report,
    ) -> Result<Report, Failure> {
        let (written, what) = match released {
            Released::Stays(record) => {
                report.take_tracked(&record);
                let written = self.write_and_sweep(guard, *record).await;
                (written, "the release's record could not be written")
            }
            Released::Remove(record) => {
                report.take_tracked(&record);
                let removed = self.remove_record(guard).await;
                (removed, "the release's record could not be removed")
            }
        };
        if let Err(error) = written {
            return Err(Failure::unwritten(error, what).after(report));
        }
        report.warnings.extend(guard.take_notes().await);
        report.warnings.extend(self.backend.take_warnings());
        Ok(report)
    }
}

/// Selectors that name nothing are a mistake, all of them told at once.
fn check_named(
    what: &str,
    selectors: &[ObjectSelector],
    tracked: &[&Identity],
) -> Result<(), Failure> {
    let unmatched = selectors
        .iter()
        .filter(|selector| !tracked.iter().any(|identity| selector.matches(identity)));
    let names: Vec<String> = unmatched.map(ToString::to_string).collect();
    match names.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("the release has no {what} {}", names.join(", "));
            Err(Failure::new(FailureKind::NotFound, message).remedy(Remedy::ShowStatus))
        }
    }
}
