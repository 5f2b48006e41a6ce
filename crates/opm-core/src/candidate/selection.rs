//! Which components of a module a release has.
//!
//! An optional component is left out unless it is selected; the others always belong. As long as
//! nobody has chosen, those are selected that the module would have by default.

use std::collections::BTreeSet;

use super::{CandidateComponent, CandidateError, CandidateWarning, UnknownName};
use crate::name::ComponentName;
use crate::nearest::nearest;
use crate::rendered::Component;

/// The optional components that a release should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// As the module would have it: nothing is asked for or recorded.
    #[default]
    ByDefault,
    /// As asked for now: a name that the module does not have is a mistake.
    Given(Vec<String>),
    /// As recorded by an earlier change: a name that the module no longer has is worth
    /// a warning, or else no later version of the module could drop a component.
    Recorded(Vec<String>),
}

pub(super) struct SelectedComponents {
    pub(super) selected: Vec<ComponentName>,
    pub(super) components: Vec<CandidateComponent>,
    pub(super) rendered: Vec<Component>,
}

pub(super) fn choose(
    all: Vec<Component>,
    selection: &Selection,
    warnings: &mut Vec<CandidateWarning>,
) -> Result<SelectedComponents, CandidateError> {
    check_names(&all)?;
    let asked: BTreeSet<String> = match selection {
        Selection::Given(names) | Selection::Recorded(names) => names.iter().cloned().collect(),
        Selection::ByDefault => {
            let chosen = all.iter().filter(|c| c.by_default);
            chosen.map(|c| c.name.to_string()).collect()
        }
    };
    let unknown = asked
        .iter()
        .filter(|name| !all.iter().any(|c| c.name.as_str() == name.as_str()));
    match selection {
        Selection::ByDefault => {}
        Selection::Recorded(_) => {
            warnings.extend(unknown.map(|name| CandidateWarning::ComponentGone(name.clone())))
        }
        Selection::Given(_) => {
            let optional = || {
                all.iter()
                    .filter(|c| c.optional)
                    .map(|c| c.name.clone())
                    .collect()
            };
            let names: Vec<UnknownName> = unknown.map(|name| unknown_name(name, &all)).collect();
            if !names.is_empty() {
                return Err(CandidateError::UnknownComponents {
                    names,
                    optional: optional(),
                });
            }
        }
    }
    let included = |c: &Component| !c.optional || asked.contains(c.name.as_str());
    let component = |c: &Component| CandidateComponent {
        name: c.name.clone(),
        after: c.after.clone(),
        included: included(c),
    };
    let components = all.iter().map(component).collect();
    let rendered: Vec<Component> = all.into_iter().filter(included).collect();
    let mut selected: Vec<ComponentName> = rendered
        .iter()
        .filter(|c| c.optional)
        .map(|c| c.name.clone())
        .collect();
    selected.sort();
    Ok(SelectedComponents {
        selected,
        components,
        rendered,
    })
}

fn check_names(all: &[Component]) -> Result<(), CandidateError> {
    let mut seen = BTreeSet::new();
    for component in all {
        if !seen.insert(&component.name) {
            return Err(CandidateError::SameComponent(component.name.clone()));
        }
    }
    for component in all {
        if let Some(after) = component.after.iter().find(|name| !seen.contains(name)) {
            return Err(CandidateError::UnknownAfter {
                component: component.name.clone(),
                after: unknown_name(after.as_str(), all),
            });
        }
    }
    Ok(())
}

/// A name with the component that was probably meant by it.
fn unknown_name(name: &str, all: &[Component]) -> UnknownName {
    let names = all.iter().map(|component| component.name.as_str());
    let similar = nearest(name, names).first().copied();
    let similar = similar.and_then(|name| ComponentName::new(name).ok());
    UnknownName {
        name: name.chars().take(80).collect(),
        similar,
    }
}
