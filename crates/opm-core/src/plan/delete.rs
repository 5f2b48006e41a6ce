//! Deleting is a plan without phases.

use std::collections::HashMap;

use super::stale::{origin, replaced};
use super::{Plan, PlanError, PlanOptions, Purpose, StaleObject, StaleOrigin, order};
use crate::identity::Identity;
use crate::record::{KeptObject, Record};

/// Plans the removal of a release: inventory, pending and kept alike.
pub fn plan_delete(stored: &Record, options: PlanOptions) -> Result<Plan, PlanError> {
    removal(stored, Purpose::Delete, options, |_| true)
}

/// Plans the removal of one component; the others stay as they are.
pub fn plan_delete_component(
    stored: &Record,
    component: &str,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    let purpose = Purpose::DeleteComponent(component.to_owned());
    let plan = removal(stored, purpose, options, |of| of == component)?;
    match plan.stale.is_empty() || stored.is_deleted() {
        true => Err(PlanError::NoSuchComponent(component.to_owned())),
        false => Ok(plan),
    }
}

fn removal(
    stored: &Record,
    purpose: Purpose,
    options: PlanOptions,
    goes: impl Fn(&str) -> bool,
) -> Result<Plan, PlanError> {
    if stored.needs_bodies() {
        return Err(PlanError::IncompleteRecord);
    }
    let (mut stale, mut remaining) = (Vec::new(), Vec::new());
    let replaced = replaced(stored);
    for recorded in stored.inventory() {
        if goes(&recorded.entry.component) {
            if replaced.contains(&recorded.entry.identity) {
                continue;
            }
            let entry = recorded.entry.clone();
            stale.push(StaleObject {
                entry,
                origin: StaleOrigin::Inventory,
            });
        } else {
            remaining.push(recorded.clone());
        }
    }
    // Pending objects of other components stay pending: nothing is decided about them here.
    let pending = stored.pending.objects().iter();
    let pending = pending.filter(|object| goes(&object.entry.component));
    stale.extend(pending.map(|object| StaleObject {
        entry: object.entry.clone(),
        origin: origin(object),
    }));
    let (gone, carried): (Vec<KeptObject>, Vec<KeptObject>) = stored
        .kept
        .objects
        .iter()
        .cloned()
        .partition(|kept| goes(&kept.entry.component));
    stale.extend(gone.into_iter().map(kept));
    order::sort(&mut stale, Some(stored), &HashMap::new());
    let phases = Vec::new();
    Ok(Plan {
        purpose,
        options,
        phases,
        hooks: Vec::new(),
        stale,
        carried,
        remaining,
        replaced: Vec::new(),
    })
}

/// Plans the removal of kept objects that were named; everything else stays as it is.
pub fn plan_prune_kept(
    stored: &Record,
    named: impl Fn(&Identity) -> bool,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    if stored.needs_bodies() {
        return Err(PlanError::IncompleteRecord);
    }
    let all = stored.kept.objects.iter().cloned();
    let (going, carried): (Vec<_>, Vec<_>) = all.partition(|kept| named(&kept.entry.identity));
    let mut stale: Vec<StaleObject> = going.into_iter().map(kept).collect();
    order::sort(&mut stale, Some(stored), &HashMap::new());
    Ok(Plan {
        purpose: Purpose::PruneKept,
        options,
        phases: Vec::new(),
        hooks: Vec::new(),
        stale,
        carried,
        remaining: stored.inventory().to_vec(),
        replaced: Vec::new(),
    })
}

fn kept(kept: KeptObject) -> StaleObject {
    StaleObject {
        entry: kept.entry,
        origin: StaleOrigin::Kept(kept.why),
    }
}
