//! A recorded change becomes again exactly what was applied.

use std::collections::BTreeMap;

use opm_core::candidate::{Candidate, Selection};
use opm_core::history::{ObjectChangeKind, RestoreError, between, masked, restore};
use opm_core::identity::GroupKind;
use opm_core::labels;
use opm_core::manifest::Manifest;
use opm_core::name::ComponentName;
use opm_core::record::{Body, Change, Extra, Inventory, ModuleRef, Values};
use opm_core::rendered::Component;
use opm_core::scope::{Scope, Scopes};
use serde_json::json;

use crate::candidate::{component, try_candidate};
use crate::{bare, manifest};

/// What a change records of a candidate.
fn recorded(candidate: &Candidate) -> Change {
    Change {
        id: candidate.change.to_string(),
        module: ModuleRef {
            path: candidate.module.path.to_string(),
            version: candidate.module.version.clone(),
            origin: None,
            name: candidate.module.name.to_string(),
            charts: Default::default(),
            extra: Extra::default(),
        },
        values: Body::Here(Values(candidate.values.clone())),
        manifest_digest: candidate.digest.to_string(),
        timestamp: String::new(),
        inventory: Body::Here(Inventory {
            entries: candidate.entries().into_iter().map(Into::into).collect(),
            extra: Extra::default(),
        }),
        components: Some(candidate.selected.iter().map(ToString::to_string).collect()),
        features: None,
        order: candidate.order(),
        hooks: candidate.hook_events(),
        set: candidate.set.clone(),
        parent: None,
        record: None,
        extra: Extra::default(),
    }
}

/// The manifests as they are read back.
fn read_back(candidate: &Candidate) -> Vec<Manifest> {
    let bytes = candidate.canonical_manifests();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty());
    lines
        .map(|line| manifest(serde_json::from_slice(line).unwrap()))
        .collect()
}

fn after(name: &str, others: &[&str], manifests: Vec<Manifest>) -> Component {
    let others = others.iter().map(|n| ComponentName::new(*n).unwrap());
    Component {
        after: others.collect(),
        ..component(name, manifests)
    }
}

fn sample() -> (Candidate, Scopes) {
    let widget = GroupKind::new("example.com", "Widget");
    let discovered = BTreeMap::from([(widget, Scope::Cluster)]);
    let scopes = Scopes::new(discovered);
    let secret = manifest(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "key", "labels": {"mine": "yes"}}, "stringData": {"a": "<&>\u{2028}"}}));
    let shared = manifest(
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "reader", "annotations": {"opmodel.dev/shared": "true"}}, "rules": []}),
    );
    let numbers = manifest(json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {"big": 1e21, "small": 1e-7, "whole": 9_007_199_254_740_993_i64}}));
    let mut extra = component("extra", vec![bare("v1", "ConfigMap", "", "extra")]);
    extra.optional = true;
    let mut unused = component("unused", vec![bare("v1", "ConfigMap", "", "unused")]);
    unused.optional = true;
    let components = vec![
        after("db", &["unused"], vec![secret, shared]),
        after(
            "app",
            &["db"],
            vec![bare("v1", "ConfigMap", "other", "a"), numbers],
        ),
        extra,
        unused,
    ];
    let selection = Selection::Given(vec!["extra".to_owned()]);
    (
        try_candidate(components, &selection, scopes.clone()).unwrap(),
        scopes,
    )
}

/// Applies a recorded change again, as a rollback does.
fn again(change: &Change, manifests: Vec<Manifest>, scopes: Scopes) -> Candidate {
    let scopes = scopes.with_applied(&manifests);
    let rendered = restore(change, "{}", manifests).unwrap();
    let selection = Selection::Given(change.components.clone().unwrap_or_default());
    let owner = "mc".parse().unwrap();
    Candidate::new(
        rendered,
        owner,
        "games".parse().unwrap(),
        &selection,
        scopes,
    )
    .unwrap()
}

#[test]
fn equal_input_equal_change() {
    let (first, scopes) = sample();
    let change = recorded(&first);
    // Also on a cluster that no longer serves the kind.
    for scopes in [scopes, Scopes::default()] {
        let second = again(&change, read_back(&first), scopes);
        assert_eq!(second.change, first.change);
        assert_eq!(second.canonical_manifests(), first.canonical_manifests());
        assert_eq!(second.entries(), first.entries());
        assert_eq!(second.selected, first.selected);
        assert_eq!(second.order(), first.order());
        assert_eq!(second.warnings, first.warnings);
    }
}

#[test]
fn an_object_that_nobody_places_is_refused() {
    let (first, _) = sample();
    let change = Change {
        inventory: Body::InRecord,
        ..recorded(&first)
    };
    let refused = restore(&change, "", read_back(&first)).unwrap_err();
    // All others say it by their label.
    assert!(
        matches!(&refused, RestoreError::NoComponent(identity) if identity.name == "reader"),
        "{refused}"
    );
    let mut nameless = recorded(&first);
    nameless.module.name = "Not A Name".to_owned();
    let refused = restore(&nameless, "", Vec::new()).unwrap_err();
    assert!(matches!(refused, RestoreError::Name(_)), "{refused}");
}

#[test]
fn two_sets_differ_in_what_came_went_and_changed() {
    let old = [
        bare("v1", "ConfigMap", "games", "same"),
        bare("v1", "ConfigMap", "games", "gone"),
        manifest(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "namespace": "games"}, "data": {"a": "b2xk", "b": "eA=="}})),
        bare("policy/v1beta1", "PodDisruptionBudget", "games", "moved"),
    ];
    let new = [
        bare("v1", "ConfigMap", "games", "same"),
        bare("v1", "ConfigMap", "games", "new"),
        manifest(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "namespace": "games"}, "data": {"a": "bmV3", "b": "eA=="}})),
        bare("policy/v1", "PodDisruptionBudget", "games", "moved"),
    ];
    let changes = between(&old, &new);
    let told: Vec<(&str, &str)> = changes
        .iter()
        .map(|one| (one.identity.name.as_str(), one.happened.word()))
        .collect();
    let expected = [
        ("gone", "removed"),
        ("new", "added"),
        ("key", "changed"),
        ("moved", "changed"),
    ];
    assert_eq!(told, expected);
    for one in &changes {
        let ObjectChangeKind::Changed(fields) = &one.happened else {
            continue;
        };
        assert_eq!(fields.len(), 1, "{fields:?}");
        let masked = fields[0].new.as_ref().is_some_and(|new| new.is_masked());
        assert_eq!(masked, one.identity.name == "key");
    }
    assert!(between(&old, &old).is_empty());
}

#[test]
fn what_a_secret_holds_is_masked() {
    let secret = manifest(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "key", "annotations":
            {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "note": "plain"}},
        "data": {"a": "hunter2"}, "stringData": "hunter2"}));
    let shown = serde_json::to_string(&masked(&secret)).unwrap();
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(
        shown.contains(r#""a":"(masked)""#) && shown.contains("plain"),
        "{shown}"
    );
    let plain = manifest(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c"}, "data": {"a": "b"}}));
    assert_eq!(masked(&plain), *plain.object());
}

#[test]
fn the_label_of_the_component_is_what_restoring_reads() {
    let (first, _) = sample();
    let shared = |m: &&Manifest| m.label(labels::COMPONENT_NAME).is_none();
    assert_eq!(read_back(&first).iter().filter(shared).count(), 1);
}
