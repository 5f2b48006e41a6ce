//! `plan`: what should happen, from what is rendered and what is recorded.

use std::collections::BTreeSet;

use opm_core::history::{dropped_values, republished_charts};
use opm_core::plan::{Plan, PlanOptions, plan};
use opm_core::protocol::is_settled;
use opm_core::record::Record;

use super::Apply;
use super::early::EarlyLook;
use crate::failure::{Failure, Remedy};
use crate::ports::StoredSecret;
use crate::record::LoadedRecord;
use crate::report::Release;

/// A plan, and the record that it stands on.
pub(super) struct PlannedApply {
    pub(super) plan: Plan,
    /// The stored record, or a new one.
    pub(super) record: Record,
    pub(super) stored: Option<StoredSecret>,
    /// The places of the ring that the stored record names, or has given up.
    pub(super) places: BTreeSet<u8>,
    /// Whether nothing of an earlier run can still land: what is seen stays as it is.
    pub(super) settled: bool,
    pub(super) warnings: Vec<String>,
    /// What to do about them.
    pub(super) remedies: Vec<Remedy>,
}

impl PlannedApply {
    /// The change that is current now.
    pub(super) fn current(&self) -> Option<String> {
        self.record.current().map(|change| change.id.clone())
    }
}

impl Apply<'_> {
    /// Plans. Without a record, other releases of the name and objects that carry this release's
    /// labels are looked for.
    pub(super) async fn plan(
        &self,
        loaded: Option<LoadedRecord>,
        mut warnings: Vec<String>,
        early: Option<&EarlyLook>,
    ) -> Result<PlannedApply, Failure> {
        let unrecorded = loaded.is_none();
        let settled = loaded.as_ref();
        let settled = settled.is_some_and(|one| is_settled(&one.record, one.stored.server_time));
        let places = loaded.as_ref().map(|one| one.places.clone());
        let (mut record, stored) = match loaded {
            Some(loaded) => {
                warnings.extend(loaded.warnings);
                (loaded.record, Some(loaded.stored))
            }
            None => {
                warnings.extend(match early {
                    Some(early) => early.namesakes.clone(),
                    None => self.run.namesakes(&self.release()).await,
                });
                (Release::new_record(&self.candidate.owner), None)
            }
        };
        let before = match early {
            Some(early) => early.was_there_before,
            None => unrecorded && self.was_there_before().await,
        };
        let orphans = self.add_orphans(&mut record, before, &mut warnings);
        let left_behind = orphans.await.map_err(|failure| self.refusal(failure))?;
        let options = PlanOptions {
            no_prune: self.request.options.no_prune,
            allow_empty: self.request.options.allow_empty,
            // Going back to a change of the history is never another module.
            replace_all: self.request.options.replace_all || self.mode.reapply.is_some(),
            guards: self.request.options.guards,
        };
        let plan = plan(&self.candidate.desired(), Some(&record), options)
            .map_err(|error| self.refusal(Failure::refused(error.to_string()).because(error)))?
            .of_module(&self.candidate.module, &record)
            .with_hooks(
                &self.candidate.hooks,
                self.hook_flow(&record),
                Some(&record),
            );
        warnings.extend(self.hooks_to_come(&plan));
        warnings.extend(self.candidate.warnings.iter().map(ToString::to_string));
        let mut remedies: Vec<Remedy> = left_behind.then_some(Remedy::Repair).into_iter().collect();
        if let Some(dropped) = self.dropped_values(&record) {
            warnings.push(dropped);
            remedies.push(Remedy::ReuseValues);
        }
        warnings.extend(self.republished(&record));
        Ok(PlannedApply {
            plan,
            record,
            stored,
            places: places.unwrap_or_default(),
            settled,
            warnings,
            remedies,
        })
    }

    /// Charts that were published again under the version that was applied before. Going back to a
    /// change means its archives.
    fn republished(&self, record: &Record) -> Vec<String> {
        let compared = !record.is_deleted() && self.mode.reapply.is_none();
        let Some(current) = record.current().filter(|_| compared) else {
            return Vec::new();
        };
        let charts = republished_charts(&current.module.charts, &self.candidate.module.charts);
        let charts = charts.into_iter().map(|(component, chart)| {
            format!(
                "component {component}: the chart {chart} is another archive than the one that \
                 was applied before, under the same version"
            )
        });
        charts.collect()
    }

    /// Which values go back to the module's own; going back to a change means all of its values.
    fn dropped_values(&self, record: &Record) -> Option<String> {
        let current = record.current().filter(|_| self.mode.reapply.is_none())?;
        let dropped = dropped_values(current, &self.candidate);
        (!dropped.is_empty()).then(|| {
            format!(
                "values that an earlier apply set are not given now, and change: {}",
                dropped.join(", ")
            )
        })
    }
}
