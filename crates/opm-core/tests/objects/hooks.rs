//! Hooks of charts: they count for digest and change, are no part of the release, and are planned
//! and tracked without being forgotten.

use std::collections::HashMap;

use opm_core::candidate::{Candidate, CandidateError, CandidateHook, Selection};
use opm_core::check::{Adopt, CheckContext, HookMethod, Observed, check};
use opm_core::hook::HookFlow;
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};
use opm_core::observation::Observation;
use opm_core::plan::{PlanOptions, plan};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::scope::Scopes;
use serde_json::{Value, json};

use crate::manifest;

fn job(name: &str, annotations: &Value) -> Manifest {
    manifest(json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "annotations": annotations}}))
}

fn hook(name: &str, events: &str, weight: &str) -> Manifest {
    let annotations = json!({"helm.sh/hook": events, "helm.sh/hook-weight": weight,
        "opmodel.dev/hook": "helm"});
    job(name, &annotations)
}

fn config(name: &str) -> Manifest {
    manifest(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
}

fn rendered(manifests: Vec<Manifest>) -> Rendered {
    let name = ModuleName::new("shop").unwrap();
    Rendered::new(
        Module::local(name),
        vec![Component::new(
            ComponentName::new("app").unwrap(),
            manifests,
        )],
    )
}

fn candidate(manifests: Vec<Manifest>) -> Result<Candidate, CandidateError> {
    Candidate::new(
        rendered(manifests),
        ReleaseName::new("shop").unwrap(),
        NamespaceName::new("default").unwrap(),
        &Selection::default(),
        Scopes::default(),
    )
}

#[test]
fn hooks_count_for_the_change_and_are_no_objects_of_it() {
    let plain = candidate(vec![config("web")]).unwrap();
    let hooked = candidate(vec![config("web"), hook("a", "pre-install,test", "0")]).unwrap();
    assert_eq!(hooked.entries(), plain.entries());
    assert_ne!(hooked.digest, plain.digest);
    assert_ne!(hooked.change, plain.change);
    assert_eq!(hooked.hook_events(), ["pre-install", "test"]);
    assert!(hooked.warnings.is_empty(), "{:?}", hooked.warnings);
    // What is kept of it comes to the same.
    let lines = hooked.canonical_manifests();
    let lines = lines.split(|byte| *byte == b'\n');
    let read = lines.map(|line| Manifest::parse(serde_json::from_slice(line).unwrap()).unwrap());
    let read: Vec<Manifest> = read.collect();
    assert_eq!(
        CandidateHook::restored(&rendered(read.clone())),
        hooked.hooks
    );
    assert_eq!(candidate(read).unwrap().change, hooked.change);
}

#[test]
fn plain_manifests_that_say_so_are_no_hooks() {
    let said = job("a", &json!({"helm.sh/hook": "pre-install"}));
    let plain = candidate(vec![said]).unwrap();
    assert!(plain.hooks.is_empty());
    assert_eq!(plain.objects.len(), 1);
    assert_eq!(plain.warnings.len(), 1, "{:?}", plain.warnings);
}

#[test]
fn an_object_is_not_also_a_hook_but_two_hooks_may_be_one() {
    let ordinary = job("a", &json!({}));
    let both = candidate(vec![ordinary, hook("a", "test", "0")]);
    assert!(matches!(both, Err(CandidateError::Duplicates(_))));
    let twice = [hook("a", "pre-install", "0"), hook("a", "pre-upgrade", "0")];
    assert_eq!(candidate(twice.to_vec()).unwrap().hooks.len(), 2);
}

#[test]
fn due_hooks_are_planned_in_order_and_written_down_before_they_are_made() {
    let made = candidate(vec![
        config("web"),
        hook("late", "pre-install", "10"),
        hook("early", "pre-install", "-1"),
        hook("after", "post-install", "-5"),
        hook("other", "pre-upgrade", "0"),
    ]);
    let made = made.unwrap();
    let plan = plan(&made.desired(), None, PlanOptions::default()).unwrap();
    let plan = plan.with_hooks(&made.hooks, Some(HookFlow::Install), None);
    let names = |plan: &opm_core::plan::Plan| -> Vec<String> {
        let hooks = plan.hooks.iter();
        hooks.map(|one| one.entry.identity.name.clone()).collect()
    };
    assert_eq!(names(&plan), ["early", "late", "after"]);
    let observed: Observed = plan
        .to_observe()
        .map(|entry| (entry.identity.clone(), Observation::Absent))
        .collect();
    let context = CheckContext {
        release: made.owner.id,
        adopt: Adopt::None,
        take_ownership: false,
        occupants: &HashMap::new(),
    };
    let checked = check(plan, &observed, &context).unwrap();
    assert!(
        checked
            .hooks
            .iter()
            .all(|one| one.method == HookMethod::Create)
    );
    assert_eq!(checked.intents.len(), 4, "the object and three hooks");
    assert_eq!(checked.applies().count(), 1);
}
