//! Whether the components of a module fit together, whatever format they come from.

use std::collections::BTreeMap;

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
    let names = components.iter().enumerate();
    let places: BTreeMap<&ComponentName, usize> = names.map(|(at, c)| (&c.name, at)).collect();
    for component in components {
        if let Some(after) = component.after.iter().find(|a| !places.contains_key(a)) {
            let names = components.iter().map(|c| c.name.as_str());
            let meant = nearest(after.as_str(), names);
            return Err(ComponentsError::Unknown {
                component: component.name.clone(),
                after: after.clone(),
                meant: meant.first().map(|&name| name.to_owned()),
            });
        }
    }
    let mut walk = Walk {
        components,
        places: &places,
        states: vec![Visit::New; components.len()],
        steps: 0,
    };
    (0..components.len()).try_for_each(|start| walk.from(start))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the way from the component where the walk began.
    OnTheWay,
    /// All that it waits for is known to come to an end.
    Settled,
}

/// Walks what components wait for, each component and each `after` once; meeting one that is
/// already on the way is a cycle. Without recursion: a chain may be as long as a module.
struct Walk<'a> {
    components: &'a [Component],
    places: &'a BTreeMap<&'a ComponentName, usize>,
    states: Vec<Visit>,
    /// How many components and `after`s were looked at.
    steps: usize,
}

impl Walk<'_> {
    fn from(&mut self, start: usize) -> Result<(), ComponentsError> {
        if self.states[start] != Visit::New {
            return Ok(());
        }
        // Where the walk is: components, and how many of their `after`s are done.
        let mut way = vec![(start, 0)];
        self.states[start] = Visit::OnTheWay;
        while let Some((at, done)) = way.last_mut() {
            self.steps += 1;
            let (current, next) = (*at, *done);
            *done += 1;
            let after = self.components[current].after.get(next);
            let Some(after) = after.and_then(|name| self.places.get(name)).copied() else {
                self.states[current] = Visit::Settled;
                way.pop();
                continue;
            };
            match self.states[after] {
                Visit::Settled => {}
                Visit::New => {
                    self.states[after] = Visit::OnTheWay;
                    way.push((after, 0));
                }
                Visit::OnTheWay => return Err(self.cycle(&way, after)),
            }
        }
        Ok(())
    }

    fn cycle(&self, way: &[(usize, usize)], meets: usize) -> ComponentsError {
        let steps = way.iter().map(|(at, _)| *at);
        let steps = steps.skip_while(|at| *at != meets).chain([meets]);
        let names: Vec<&str> = steps.map(|at| self.components[at].name.as_str()).collect();
        ComponentsError::Cycle(names.join(" → "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(given: &[(&str, &[&str])]) -> Vec<Component> {
        let name = |n: &&str| ComponentName::new(*n).unwrap();
        let one = |(n, after): &(&str, &[&str])| Component {
            after: after.iter().map(name).collect(),
            ..Component::new(name(n), Vec::new())
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

    /// Ten times the components are ten times the work, whether they stand in a chain or fan out.
    #[test]
    fn work_grows_with_the_module_and_no_faster() {
        let name = |n: usize| ComponentName::new(format!("c{n}")).unwrap();
        let component = |n: usize, after: Vec<usize>| Component {
            after: after.into_iter().map(name).collect(),
            ..Component::new(name(n), Vec::new())
        };
        for size in [100, 1_000, 10_000] {
            let chain = (0..size)
                .map(|n| component(n, (n + 1 < size).then_some(n + 1).into_iter().collect()));
            let fan =
                (0..size).map(|n| component(n, if n == 0 { (1..size).collect() } else { vec![] }));
            for components in [chain.collect::<Vec<_>>(), fan.collect()] {
                assert_eq!(check(&components), Ok(()));
                let places = components
                    .iter()
                    .enumerate()
                    .map(|(at, c)| (&c.name, at))
                    .collect();
                let mut walk = Walk {
                    components: &components,
                    places: &places,
                    states: vec![Visit::New; size],
                    steps: 0,
                };
                (0..size).try_for_each(|start| walk.from(start)).unwrap();
                assert!(walk.steps <= 2 * size, "{} steps for {size}", walk.steps);
            }
        }
    }
}
