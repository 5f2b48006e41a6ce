//! Whether the components of a module fit together, whatever format they come from.

use opm_core::name::ComponentName;
use opm_core::nearest::{did_you_mean, nearest};
use opm_core::rendered::Component;
use thiserror::Error;

/// Why components do not fit together.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ComponentsError {
    /// `after` names what is not there.
    #[error(
        "component `{component}` has `{after}` under `after`, but the module has no such component"
    )]
    Unknown {
        /// The component.
        component: ComponentName,
        /// What it names.
        after: ComponentName,
        /// The nearest component's name.
        meant: Option<String>,
    },
    /// Components wait for each other.
    #[error("components wait for each other through `after`: {0}")]
    Cycle(String),
}

impl ComponentsError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown {
                meant: Some(meant), ..
            } => did_you_mean(&[meant]),
            _ => None,
        }
    }
}

/// Checks that every `after` names a component and that none waits for itself.
pub(crate) fn check(components: &[Component]) -> Result<(), ComponentsError> {
    for component in components {
        for after in &component.after {
            if find(components, after).is_none() {
                let names = components.iter().map(|c| c.name.as_str());
                return Err(ComponentsError::Unknown {
                    component: component.name.clone(),
                    after: after.clone(),
                    meant: nearest(after.as_str(), names)
                        .first()
                        .map(|&name| name.to_owned()),
                });
            }
        }
    }
    let mut settled = Vec::new();
    for component in components {
        settle(components, component, &mut Vec::new(), &mut settled)?;
    }
    Ok(())
}

fn find<'a>(components: &'a [Component], name: &ComponentName) -> Option<&'a Component> {
    components.iter().find(|c| &c.name == name)
}

/// Walks what a component waits for; meeting one that is already on the way is a cycle.
fn settle<'a>(
    components: &'a [Component],
    component: &'a Component,
    way: &mut Vec<&'a str>,
    settled: &mut Vec<&'a str>,
) -> Result<(), ComponentsError> {
    let name = component.name.as_str();
    if settled.contains(&name) {
        return Ok(());
    }
    let begin = way.iter().position(|step| *step == name);
    way.push(name);
    if let Some(begin) = begin {
        return Err(ComponentsError::Cycle(way[begin..].join(" → ")));
    }
    for after in component
        .after
        .iter()
        .filter_map(|after| find(components, after))
    {
        settle(components, after, way, settled)?;
    }
    way.pop();
    settled.push(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(given: &[(&str, &[&str])]) -> Vec<Component> {
        let name = |n: &&str| ComponentName::new(*n).unwrap();
        let one = |(n, after): &(&str, &[&str])| Component {
            name: name(n),
            after: after.iter().map(name).collect(),
            optional: false,
            manifests: Vec::new(),
        };
        given.iter().map(one).collect()
    }

    #[test]
    fn orders_that_can_and_cannot_be() {
        for (given, expected) in [
            (&[("a", &["b", "c"][..]), ("b", &["c"]), ("c", &[])][..], ""),
            (
                &[("a", &["a"])],
                "components wait for each other through `after`: a → a",
            ),
            (
                &[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])],
                "components wait for each other through `after`: a → b → c → a",
            ),
            (
                &[("app", &["data"]), ("date", &[])],
                "component `app` has `data` under `after`, but the module has no such component",
            ),
        ] {
            let error = check(&components(given)).err().map(|e| e.to_string());
            assert_eq!(error.unwrap_or_default(), expected);
        }
    }
}
