#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail loudly, and read better with values"
)]

use proptest::prelude::*;

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields})
}

/// An object with these entries, and everything in it that `content` says.
fn live(content: Value, entries: &[Value]) -> Map<String, Value> {
    let mut content = object(content);
    let metadata = content.entry("metadata").or_insert_with(|| json!({}));
    metadata["uid"] = json!("u");
    metadata["resourceVersion"] = json!("7");
    metadata["managedFields"] = json!(entries);
    content
}

fn moved(kind: &GroupKind, object: &Map<String, Value>, replicas_stay: bool) -> MovedFields {
    let retired = RetiredManagers::default();
    let takeover = Takeover {
        kind,
        manager: "opm",
        retired: &retired,
        replicas_stay,
    };
    moved_fields(object, &takeover).unwrap()
}

/// What a retired manager's fields come to beside those that `opm` has applied.
fn added(group: &str, kind: &str, content: Value, own: Value, theirs: Value) -> Vec<String> {
    let entries = [entry("opm", "Apply", &own), entry("helm", "Apply", &theirs)];
    let moved = moved(
        &GroupKind::new(group, kind),
        &live(content, &entries),
        false,
    );
    moved.added.paths()
}

#[test]
fn what_a_retired_tool_set_and_the_module_does_not_render_moves() {
    let port = |number: u16| json!({"port": number, "protocol": "TCP"});
    let ports = json!({"spec": {"ports": [port(80), port(81)], "clusterIP": "10.0.0.1"},
        "metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x/y"]}});
    let item = |number: u16| format!("k:{{\"port\":{number},\"protocol\":\"TCP\"}}");
    let fields = json!({".": {}, "f:port": {}, "f:nodePort": {}});
    let both = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}, "f:finalizers": {".": {}, "v:\"x/y\"": {}}},
        "f:spec": {"f:clusterIP": {}, "f:ports": {".": {}, item(80): fields, item(81): fields}}
    });
    let one = json!({"f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:ports": {item(80): {".": {}, "f:port": {}}}}});
    assert_eq!(
        added("", "Service", ports, one, both),
        ["metadata.labels.b", "spec.ports[port=81,protocol=\"TCP\"]"]
    );
}

#[test]
fn what_the_server_allocates_or_cannot_change_never_moves() {
    let spec = |spec: Value| json!({ "spec": spec });
    let cases = [
        (
            "",
            "PersistentVolumeClaim",
            spec(json!({"volumeName": "v", "storageClassName": "s", "dataSource": {"name": "d"}})),
        ),
        (
            "",
            "PersistentVolume",
            spec(json!({"claimRef": {"name": "c"}, "nfs": {"path": "p"}})),
        ),
        (
            "",
            "Service",
            spec(json!({"clusterIP": "1", "clusterIPs": ["1"], "healthCheckNodePort": 3})),
        ),
        ("", "Namespace", spec(json!({"finalizers": ["kubernetes"]}))),
        ("", "Pod", spec(json!({"nodeName": "n"}))),
        (
            "",
            "ServiceAccount",
            json!({"secrets": [{"name": "token"}]}),
        ),
        (
            "",
            "ConfigMap",
            json!({"immutable": true, "data": {"a": "b"}}),
        ),
        (
            "batch",
            "Job",
            spec(json!({"template": {"x": "y"}, "completions": 3})),
        ),
        (
            "apps",
            "Deployment",
            spec(json!({"selector": {"matchLabels": {"a": "b"}}})),
        ),
        ("x.io", "Widget", json!({"status": {"ready": true}})),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            json!({"webhook": {"clientConfig": {"caBundle": "abc"}}}),
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            spec(json!({"caBundle": "abc"})),
        ),
        (
            "rbac.authorization.k8s.io",
            "ClusterRole",
            json!({"aggregationRule": {}, "rules": [{"verbs": ["get"]}]}),
        ),
        (
            "x.io",
            "Widget",
            json!({"metadata": {"ownerReferences": [{"uid": "o"}],
            "annotations": {"deployment.kubernetes.io/revision": "3"}}}),
        ),
    ];
    for (group, kind, content) in cases {
        let theirs = tree_of(&content);
        let found = added(group, kind, content.clone(), json!({"f:x": {}}), theirs);
        let expected: &[&str] = match kind {
            "ClusterRole" => &["aggregationRule"],
            _ => &[],
        };
        assert_eq!(found, expected, "{kind}: {content}");
    }
}

/// A set with every field of a value in it; lists are leaves.
fn tree_of(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| (format!("f:{key}"), tree_of(value)))
        .collect()
}

#[test]
fn replicas_of_an_autoscaled_object_stay() {
    let kind = GroupKind::new("apps", "Deployment");
    let fields = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
    let entries = [
        entry("opm", "Apply", &json!({"f:metadata": {}})),
        entry("helm", "Update", &fields),
    ];
    let object = live(json!({"spec": {"replicas": 3, "paused": true}}), &entries);
    let goes = moved(&kind, &object, false);
    assert!(goes.removes_replicas());
    assert_eq!(goes.added.paths(), ["spec.paused", "spec.replicas"]);
    let stays = moved(&kind, &object, true);
    assert!(!stays.removes_replicas());
    assert_eq!(stays.added.paths(), ["spec.paused"]);
}

#[test]
fn an_item_in_which_somebody_else_has_a_part_stays() {
    let web = "k:{\"name\":\"web\"}";
    let helm = json!({"f:spec": {"f:containers": {web: {".": {}, "f:name": {}, "f:args": {}}}}});
    let content = json!({"spec": {"containers": [{"name": "web", "image": "a", "args": []}]}});
    let kind = GroupKind::new("x.io", "Widget");
    for (theirs, expected) in [
        (json!({"f:image": {}}), vec![]),
        // Whoever owns the item keeps it by itself.
        (
            json!({".": {}, "f:image": {}}),
            vec!["spec.containers[name=\"web\"]"],
        ),
    ] {
        let other = json!({"f:spec": {"f:containers": {web: theirs}}});
        let entries = [
            entry("opm", "Apply", &json!({"f:x": {}})),
            entry("helm", "Apply", &helm),
            entry("keel", "Update", &other),
        ];
        let object = live(content.clone(), &entries);
        let found = moved(&kind, &object, false);
        assert_eq!(found.added.paths(), expected, "{other}");
        assert_eq!(found.managed_fields.len(), 2);
        let after = found.without_removed(&object);
        assert_eq!(after["spec"]["containers"][0]["image"], "a");
    }
}

#[test]
fn what_is_gone_is_gone_from_the_object_too() {
    let kind = GroupKind::new("x.io", "Widget");
    let entries = [
        entry("opm", "Apply", &json!({"f:spec": {"f:a": {}}})),
        entry(
            "kubectl-create",
            "Update",
            &json!({"f:spec": {"f:a": {}, "f:b": {".": {}, "f:c": {}}, "f:set": {"v:\"x\"": {}, "v:\"y\"": {}}}}),
        ),
        entry(
            "other",
            "Update",
            &json!({"f:spec": {"f:set": {"v:\"y\"": {}}}}),
        ),
    ];
    let object = live(
        json!({"spec": {"a": 1, "b": {"c": 2}, "set": ["x", "y"], "unowned": 3}}),
        &entries,
    );
    let moved = moved(&kind, &object, false);
    let after = moved.without_removed(&object);
    assert_eq!(after["spec"], json!({"a": 1, "set": ["y"], "unowned": 3}));
    let patch = merge_patch(&object, &after);
    assert_eq!(json!(patch), json!({"spec": {"b": null, "set": ["y"]}}));
}

#[test]
fn only_objects_that_a_retired_tool_has_a_part_in_are_touched() {
    let kind = GroupKind::new("", "ConfigMap");
    let own = entry("opm", "Apply", &json!({"f:data": {"f:a": {}}}));
    let mut status = entry("kubectl", "Update", &json!({"f:status": {}}));
    status["subresource"] = json!("status");
    let retired = RetiredManagers::default();
    let takeover = Takeover {
        kind: &kind,
        manager: "opm",
        retired: &retired,
        replicas_stay: false,
    };
    let helm = entry("helm", "Apply", &json!({"f:data": {"f:a": {}}}));
    let theirs = entry("somebody", "Update", &json!({"f:data": {"f:b": {}}}));
    for (entries, touched) in [
        (vec![own.clone()], false),
        (vec![own.clone(), status], false),
        (vec![own.clone(), theirs], false),
        (vec![helm.clone()], false),
        (vec![own, helm], true),
    ] {
        let object = live(json!({"data": {"a": "1", "b": "2"}}), &entries);
        let found = moved_fields(&object, &takeover);
        assert_eq!(found.is_some(), touched, "{entries:?}");
        assert!(found.is_none_or(|found| !found.removes()));
    }
}

#[test]
fn leftovers_are_named_with_who_owns_them() {
    let last_applied = format!("f:{LAST_APPLIED}");
    let entries = [
        entry("opm", "Apply", &json!({"f:data": {"f:a": {}}})),
        entry("helm", "Apply", &json!({"f:data": {"f:a": {}, "f:b": {}}})),
        entry(
            "kubectl-client-side-apply",
            "Update",
            &json!({"f:metadata": {"f:annotations": {".": {}, last_applied: {}}}, "f:data": {"f:c": {}}}),
        ),
        entry("somebody", "Update", &json!({"f:data": {"f:d": {}}})),
    ];
    let object = live(json!({"data": {}}), &entries);
    let release = "5b1c0f0a-8f0e-5b0e-9e0e-000000000001".parse().unwrap();
    let kind = GroupKind::new("", "ConfigMap");
    let found = leftovers(&kind, &object, &release, &RetiredManagers::default());
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|one| (one.field.as_str(), one.by.as_str()))
        .collect();
    assert_eq!(
        found,
        [("data.b", "helm"), ("data.c", "kubectl-client-side-apply")]
    );
    let nobody = RetiredManagers::new::<String>([]);
    assert!(leftovers(&kind, &object, &release, &nobody).is_empty());
}

#[test]
fn what_the_server_fills_in_is_no_leftover() {
    let content = json!({"spec": {"type": "ClusterIP", "sessionAffinity": "ClientIP",
        "strategy": {"rollingUpdate": {"maxSurge": "25%"}, "type": "RollingUpdate"}}});
    let mut helm = tree_of(&content);
    helm["f:spec"]["f:strategy"]["f:rollingUpdate"]["."] = json!({});
    let entries = [
        entry("opm", "Apply", &json!({"f:x": {}})),
        entry("helm", "Update", &helm),
    ];
    let release = "5b1c0f0a-8f0e-5b0e-9e0e-000000000001".parse().unwrap();
    let kind = GroupKind::new("", "Service");
    let found = leftovers(
        &kind,
        &live(content, &entries),
        &release,
        &RetiredManagers::default(),
    );
    let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(fields, ["spec.sessionAffinity"]);
}

#[test]
fn a_conflict_is_another_value_and_not_another_wording() {
    let fields = json!({"f:spec": {"f:cpu": {}, "f:image": {}}});
    let before = live(
        json!({"spec": {"cpu": "1", "image": "a"}}),
        &[entry("kubectl", "Update", &fields)],
    );
    let after = |image: &str| {
        live(
            json!({"spec": {"cpu": "1", "image": image}}),
            &[entry("opm", "Apply", &fields)],
        )
    };
    let changed =
        |after: Map<String, Value>| changed_fields_of_others(&before, &after, "opm").unwrap();
    assert!(changed(after("a")).is_empty());
    assert_eq!(changed(after("b")), ["spec.image"]);
    let mut other_version = entry("kubectl", "Update", &fields);
    other_version["apiVersion"] = json!("v1beta1");
    let before = live(json!({"spec": {}}), &[other_version]);
    assert_eq!(changed_fields_of_others(&before, &after("a"), "opm"), None);
}

/// Objects of two levels with a list of items, and who owns what of them.
fn owned_by(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let place = prop_oneof![
        (0..4u8).prop_map(|n| json!({"f:spec": {format!("f:f{n}"): {}}})),
        (0..3u8).prop_map(|n| json!({"f:metadata": {"f:labels": {format!("f:l{n}"): {}}}})),
        (0..3u8).prop_map(|n| {
            let item = format!("k:{{\"name\":\"i{n}\"}}");
            json!({"f:spec": {"f:items": {item: {".": {}, "f:name": {}, "f:x": {}}}}})
        }),
        Just(json!({"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}}})),
        Just(json!({"f:spec": {"f:clusterIP": {}}})),
    ];
    let set = proptest::collection::vec(place, 0..8).prop_map(|places| {
        let mut set = FieldSet::default();
        for place in &places {
            set.add(&FieldSet::read(place.as_object().unwrap()));
        }
        Value::Object(set.write())
    });
    (
        proptest::sample::select(names),
        prop_oneof!["Apply", "Update"],
        set,
    )
        .prop_map(|(name, operation, fields)| entry(name, &operation, &fields))
}

fn everything() -> Value {
    let items = (0..3).map(|n| json!({"name": format!("i{n}"), "x": n}));
    let mut spec = json!({"items": items.collect::<Vec<_>>(), "clusterIP": "10.0.0.1"});
    for n in 0..4 {
        spec[format!("f{n}")] = json!(n);
    }
    json!({"spec": spec, "metadata": {"labels": {"l0": "", "l1": "", "l2": ""},
        "finalizers": ["a/b"]}})
}

proptest! {
    #[test]
    fn nobody_else_loses_anything(
        own in owned_by(&["opm"]),
        others in proptest::collection::vec(owned_by(&["keel", "linkerd"]), 0..3),
        retired in proptest::collection::vec(owned_by(&["helm", "kubectl-edit"]), 1..3),
    ) {
        let own = entry("opm", "Apply", &own["fieldsV1"]);
        let entries: Vec<Value> = [own.clone()].into_iter().chain(others.clone()).chain(retired.clone()).collect();
        let object = live(everything(), &entries);
        let kind = GroupKind::new("", "Service");
        let found = moved(&kind, &object, false);
        // Third parties' entries are as they were, and no retired one is left.
        prop_assert_eq!(&found.managed_fields[1..], &others[..]);
        prop_assert_eq!(&found.managed_fields[0]["manager"], "opm");
        // What is held back is not taken over, unless it was rendered.
        let before = FieldSet::read(own["fieldsV1"].as_object().unwrap());
        let after = FieldSet::read(found.managed_fields[0]["fieldsV1"].as_object().unwrap());
        for place in [["f:metadata", "f:finalizers"], ["f:spec", "f:clusterIP"]] {
            let at = |set: &FieldSet| set.at(place[0]).and_then(|set| set.at(place[1])).cloned();
            prop_assert_eq!(at(&before), at(&after));
        }
        // What is rendered, and what third parties own, stays in the object.
        let left = Value::Object(found.without_removed(&object));
        for entry in others.iter().chain([&own]) {
            let fields = FieldSet::read(entry["fieldsV1"].as_object().unwrap());
            prop_assert_eq!(fields.found_in(&left), fields);
        }
        // Everything else that a retired tool set is gone.
        for entry in &retired {
            let set = FieldSet::read(entry["fieldsV1"].as_object().unwrap());
            let labels = set.at("f:metadata").and_then(|set| set.at("f:labels"));
            for label in labels.into_iter().flat_map(|set| set.below.keys()) {
                let owned = others.iter().chain([&own]);
                let owned = owned.filter(|entry| entry["fieldsV1"]["f:metadata"]["f:labels"].get(label).is_some());
                let there = left["metadata"]["labels"].get(&label[2..]).is_some();
                prop_assert_eq!(there, owned.count() > 0, "{}", label);
            }
        }
        // Once is enough.
        let mut again = object;
        again["metadata"]["managedFields"] = json!(found.managed_fields);
        let retired = RetiredManagers::default();
        let takeover = Takeover { kind: &kind, manager: "opm", retired: &retired, replicas_stay: false };
        prop_assert_eq!(moved_fields(&again, &takeover), None);
    }
}
