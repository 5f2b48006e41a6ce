//! The order of components: those that come after others wait for them.

use std::collections::{HashMap, HashSet};

use super::PlanError;

/// A component and what it comes after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentOrder {
    /// Its name.
    pub name: String,
    /// The components whose objects must be ready before its own are applied.
    pub after: Vec<String>,
}

impl ComponentOrder {
    /// A component that comes after nothing.
    pub fn first(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            after: Vec::new(),
        }
    }
}

/// The stage of every component: one more than the highest of those it comes after.
pub fn stages(components: &[ComponentOrder]) -> Result<HashMap<String, usize>, PlanError> {
    let mut after = HashMap::new();
    for component in components {
        if after
            .insert(component.name.as_str(), component.after.as_slice())
            .is_some()
        {
            return Err(PlanError::DuplicateComponent(component.name.clone()));
        }
    }
    for component in components {
        if let Some(unknown) = component
            .after
            .iter()
            .find(|a| !after.contains_key(a.as_str()))
        {
            return Err(PlanError::UnknownComponent {
                component: component.name.clone(),
                after: unknown.clone(),
            });
        }
    }
    reconcile(components, &after)
}

/// Round after round, the components whose predecessors all have a stage get theirs.
fn reconcile(
    components: &[ComponentOrder],
    after: &HashMap<&str, &[String]>,
) -> Result<HashMap<String, usize>, PlanError> {
    let mut stages: HashMap<String, usize> = HashMap::with_capacity(components.len());
    for _ in components {
        let before = stages.len();
        for component in components
            .iter()
            .filter(|c| !after[c.name.as_str()].is_empty())
        {
            if !stages.contains_key(&component.name) {
                let highest = component
                    .after
                    .iter()
                    .map(|name| stage(name, &stages, after));
                if let Some(highest) = highest.collect::<Option<Vec<_>>>() {
                    let highest = highest.into_iter().max().unwrap_or_default();
                    stages.insert(component.name.clone(), highest + 1);
                }
            }
        }
        if stages.len() == before {
            break;
        }
    }
    for component in components {
        match stage(&component.name, &stages, after) {
            Some(stage) => _ = stages.insert(component.name.clone(), stage),
            None => {
                return Err(PlanError::Cycle {
                    path: cycle(&component.name, after),
                });
            }
        }
    }
    Ok(stages)
}

fn stage(
    name: &str,
    stages: &HashMap<String, usize>,
    after: &HashMap<&str, &[String]>,
) -> Option<usize> {
    match after.get(name) {
        Some([]) => Some(0),
        _ => stages.get(name).copied(),
    }
}

/// Walks back along `after` until a name comes up again. Only called when one must: a component
/// has no stage only if some predecessor has none.
fn cycle(start: &str, after: &HashMap<&str, &[String]>) -> Vec<String> {
    let mut path: Vec<&str> = vec![start];
    let mut seen: HashSet<&str> = HashSet::from([start]);
    let mut done: HashSet<&str> = HashSet::new();
    while let Some(&name) = path.last() {
        let onward = after.get(name).into_iter().flat_map(|names| names.iter());
        let next = onward.map(String::as_str).find(|next| !done.contains(next));
        match next {
            Some(next) if seen.contains(next) => {
                let from = path
                    .iter()
                    .position(|name| *name == next)
                    .unwrap_or_default();
                return path[from..]
                    .iter()
                    .chain([&next])
                    .map(|name| (*name).to_owned())
                    .collect();
            }
            Some(next) => {
                seen.insert(next);
                path.push(next);
            }
            None => {
                done.insert(name);
                seen.remove(name);
                path.pop();
            }
        }
    }
    Vec::new()
}
