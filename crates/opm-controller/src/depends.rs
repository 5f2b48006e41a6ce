//! Which releases come before others. Nothing here asks or writes anything.

use std::collections::HashSet;

use crate::reason::Reason;
use crate::request::{ReleaseKey, reference_namespace};
use crate::resource::ModuleRelease;
use crate::verdict::Verdict;

/// How many resources are looked at to find a circle. A larger one only waits for itself.
const MOST_FOLLOWED: usize = 1000;

/// What a resource waits for; none if it waits for nothing. `known` finds another resource.
pub(crate) fn waits_for<R: AsRef<ModuleRelease>>(
    resource: &ModuleRelease,
    cross_namespace: bool,
    known: impl Fn(&ReleaseKey) -> Option<R>,
) -> Option<Verdict> {
    let own = ReleaseKey::of(resource);
    let mut unready = Vec::new();
    let mut been = HashSet::new();
    for dependency in &resource.spec.depends_on {
        let given = dependency.namespace.as_deref();
        let namespace = match reference_namespace(given, &own.namespace, cross_namespace) {
            Ok(namespace) => namespace.to_owned(),
            Err(why) => {
                let why = format!("spec.dependsOn: {why}");
                return Some(Verdict::stalled(Reason::CrossNamespaceReference, why));
            }
        };
        let key = ReleaseKey {
            namespace,
            name: dependency.name.clone(),
        };
        if leads_to(&key, &own, &known, &mut been) {
            let why = format!("it depends on itself, by way of ModuleRelease/{}", key.name);
            return Some(Verdict::stalled(Reason::DependencyCycle, why));
        }
        let state = match known(&key) {
            None => "does not exist",
            Some(other) if is_ready(other.as_ref()) => continue,
            Some(_) => "is not ready",
        };
        unready.push(format!("ModuleRelease/{} {state}", key.name));
    }
    (!unready.is_empty()).then(|| Verdict::waiting(Reason::DependencyNotReady, unready.join(", ")))
}

/// Whether one resource comes after another, directly or not. Where it has `been` leads nowhere:
/// however many lead there, each resource is looked at once.
fn leads_to<R: AsRef<ModuleRelease>>(
    from: &ReleaseKey,
    to: &ReleaseKey,
    known: &impl Fn(&ReleaseKey) -> Option<R>,
    been: &mut HashSet<ReleaseKey>,
) -> bool {
    let mut waiting = vec![from.clone()];
    while let Some(key) = waiting.pop() {
        if key == *to {
            return true;
        }
        if been.len() >= MOST_FOLLOWED || !been.insert(key.clone()) {
            continue;
        }
        let Some(resource) = known(&key) else {
            continue;
        };
        for next in &resource.as_ref().spec.depends_on {
            let namespace = next.namespace.as_ref().unwrap_or(&key.namespace);
            waiting.push(ReleaseKey {
                namespace: namespace.clone(),
                name: next.name.clone(),
            });
        }
    }
    false
}

/// Whether a resource is ready as it is now.
fn is_ready(resource: &ModuleRelease) -> bool {
    let Some(status) = &resource.status else {
        return false;
    };
    status.observed_generation == resource.metadata.generation
        && status
            .condition("Ready")
            .is_some_and(|ready| ready.status == "True")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    /// `name`, what it depends on, whether it is ready at which generation.
    fn resource(name: &str, depends: &[&str], ready: Option<i64>) -> Arc<ModuleRelease> {
        let depends: Vec<_> = depends.iter().map(|name| json!({"name": name})).collect();
        let condition = json!({"type": "Ready", "status": "True", "reason": "Applied",
            "lastTransitionTime": "t"});
        let status = ready.map(|at| json!({"observedGeneration": at, "conditions": [condition]}));
        Arc::new(
            serde_json::from_value(json!({
                "apiVersion": "core.opmodel.dev/v1alpha1", "kind": "ModuleRelease",
                "metadata": {"name": name, "namespace": "games", "generation": 2},
                "spec": {"module": {"configMap": {"name": "m"}}, "dependsOn": depends},
                "status": status,
            }))
            .unwrap(),
        )
    }

    fn waits(all: &[Arc<ModuleRelease>]) -> Option<(&'static str, String)> {
        let find = |key: &ReleaseKey| all.iter().find(|one| ReleaseKey::of(one) == *key).cloned();
        let verdict = waits_for(&all[0], false, find)?;
        Some((verdict.reason.word(), verdict.message))
    }

    #[test]
    fn dependencies_have_to_be_ready_as_they_are_now() {
        let web = resource("web", &["db"], None);
        assert_eq!(waits(&[resource("web", &[], None)]), None);
        assert_eq!(waits(&[web.clone(), resource("db", &[], Some(2))]), None);
        for (db, expected) in [
            (
                resource("db", &[], Some(1)),
                "ModuleRelease/db is not ready",
            ),
            (resource("db", &[], None), "ModuleRelease/db is not ready"),
            (
                resource("other", &[], None),
                "ModuleRelease/db does not exist",
            ),
        ] {
            let expected = Some(("DependencyNotReady", expected.to_owned()));
            assert_eq!(waits(&[web.clone(), db]), expected);
        }
    }

    #[test]
    fn a_circle_is_told() {
        let web = resource("web", &["db"], None);
        let told = waits(&[
            web.clone(),
            resource("db", &["cache"], None),
            resource("cache", &["web"], None),
        ]);
        assert_eq!(told.map(|told| told.0), Some("DependencyCycle"));
        let beside = waits(&[
            web,
            resource("db", &["a"], Some(2)),
            resource("a", &["b"], None),
            resource("b", &["a"], None),
        ]);
        assert_eq!(beside, None, "a circle of others is theirs");
        assert_eq!(
            waits(&[resource("web", &["web"], None)]).map(|told| told.0),
            Some("DependencyCycle")
        );
    }

    #[test]
    fn a_long_chain_is_followed_as_far_as_that_is_cheap() {
        let chain = |length: usize| {
            let names: Vec<String> = (0..length).map(|number| format!("r{number}")).collect();
            let next = names.iter().cycle().skip(1);
            let all = names.iter().zip(next);
            let all: HashMap<&String, Arc<ModuleRelease>> = all
                .map(|(name, next)| (name, resource(name, &[next], None)))
                .collect();
            let first = &all[&names[0]];
            let verdict = waits_for(first, false, |key| all.get(&key.name).cloned());
            verdict.map(|verdict| verdict.reason.word())
        };
        assert_eq!(chain(MOST_FOLLOWED), Some("DependencyCycle"));
        assert_eq!(chain(50_000), Some("DependencyNotReady"));
    }

    #[test]
    fn what_many_depend_on_is_looked_at_once() {
        // Each of 300 depends on all that come after it.
        let names: Vec<String> = (0..300).map(|number| format!("r{number}")).collect();
        let after = |at: usize| {
            names[at + 1..]
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
        };
        let all = names.iter().enumerate();
        let all: HashMap<&String, Arc<ModuleRelease>> = all
            .map(|(at, name)| (name, resource(name, &after(at), None)))
            .collect();
        let looks = Cell::new(0);
        let find = |key: &ReleaseKey| {
            looks.set(looks.get() + 1);
            all.get(&key.name).cloned()
        };
        let verdict = waits_for(&all[&names[0]], false, find).unwrap();
        assert_eq!(verdict.reason.word(), "DependencyNotReady");
        // Once to follow it, and once to see whether it is ready.
        assert!(looks.get() <= 2 * names.len(), "{}", looks.get());
    }
}
