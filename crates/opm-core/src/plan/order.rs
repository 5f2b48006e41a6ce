//! The order in which stale objects go: exactly the reverse of the order in which they were
//! applied, except that Namespaces come last of all.
//!
//! The inventory of a change that we wrote stands in apply order, so the stages of its
//! components can be read off it: wherever the order by weight starts over, a stage begins. A
//! record that knows only RFC-0001 promises no order and counts as one stage.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Guard, StaleObject, StaleOrigin};
use crate::identity::Identity;
use crate::record::{Change, Record};
use crate::weight::apply_order;

/// Sorts stale objects into the order in which they go.
pub(super) fn sort(
    stale: &mut [StaleObject],
    stored: Option<&Record>,
    rendered: &HashMap<String, usize>,
) {
    let recorded = stored
        .and_then(Record::current)
        .map(recorded_stages)
        .unwrap_or_default();
    let newest = recorded.values().max().copied().unwrap_or_default();
    let stage = |stale: &StaleObject| {
        let component = stale.entry.component.as_str();
        let known = recorded.get(component).or_else(|| match stale.origin {
            StaleOrigin::Inventory => None,
            // It was never recorded, so the only order it was applied in is one like the
            // rendered one.
            StaleOrigin::Pending { .. } | StaleOrigin::Kept(_) => rendered.get(component),
        });
        known.copied().unwrap_or(newest)
    };
    stale.sort_by(|a, b| {
        let (x, y) = (&a.entry.identity, &b.entry.identity);
        is_namespace(x)
            .cmp(&is_namespace(y))
            .then_with(|| stage(b).cmp(&stage(a)))
            .then_with(|| apply_order(y, x))
    });
}

fn is_namespace(identity: &Identity) -> bool {
    Guard::of(&identity.group_kind) == Some(Guard::Namespace)
}

/// The stage of every component of a recorded change.
fn recorded_stages(change: &Change) -> HashMap<&str, usize> {
    if !change.in_apply_order() {
        return HashMap::new();
    }
    let mut stages = HashMap::new();
    let mut stage = 0;
    let entries: Vec<_> = change
        .entries()
        .iter()
        .map(|recorded| &recorded.entry)
        .collect();
    for (at, entry) in entries.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &entries[before].identity);
        if before.is_some_and(|before| apply_order(before, &entry.identity) == Ordering::Greater) {
            stage += 1;
        }
        stages.insert(entry.component.as_str(), stage);
    }
    stages
}
