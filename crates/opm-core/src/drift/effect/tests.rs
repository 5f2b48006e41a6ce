use serde_json::json;

use super::*;
use crate::labels::FIELD_MANAGER;

const SCHEMA: &str = "A1";

fn id() -> ReleaseId {
    "0b5a0c1e-1111-5222-8333-444455556666".parse().unwrap()
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn desired() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "n", "labels": {"a": "b"}},
    "spec": {
        "paused": false,
        "template": {"spec": {"containers": [
            {"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1000m"}},
                "ports": [{"containerPort": 80}], "securityContext": {}},
            {"name": "side", "image": "side:1", "args": ["a", "b"]},
        ]}}}})
}

/// What the server makes of it: defaults, other words, and a container that a webhook of somebody
/// else put in between.
fn live() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n", "labels": {"a": "b", "other": "x"},
            "uid": "u1", "resourceVersion": "7", "generation": 1,
            "managedFields": [
                {"manager": "opm", "operation": "Apply", "apiVersion": "apps/v1", "time": "t",
                    "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:a": {}}},
                    "f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {
                        "k:{\"name\":\"side\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {}},
                        "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {},
                            "f:securityContext": {},
                            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":
                                {".": {}, "f:containerPort": {}}},
                            "f:resources": {"f:limits": {"f:cpu": {}}}}}}}}}},
                {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
                    "apiVersion": "apps/v1", "fieldsV1": {"f:status": {"f:replicas": {}}}},
            ]},
        "spec": {"replicas": 1, "template": {"spec": {"restartPolicy": "Always", "containers": [
            {"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1"}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}], "securityContext": {}},
            {"name": "injected", "image": "x"},
            {"name": "side", "image": "side:1", "args": ["a", "b"]},
        ]}}},
        "status": {"replicas": 1}})
}

fn with_note<T>(
    desired: &Value,
    note: Option<&AppliedNote>,
    schema: Option<&str>,
    ask: impl FnOnce(ObjectToApply<'_>) -> T,
) -> T {
    let desired = map(desired);
    let (sent, release) = (ObjectHash::of(&desired), id());
    ask(ObjectToApply {
        desired: &desired,
        sent: &sent,
        manager: FIELD_MANAGER,
        schema,
        note,
        release: &release,
    })
}

fn effect(desired: &Value, live: &Value, note: Option<&AppliedNote>) -> ApplyEffect {
    with_note(desired, note, Some(SCHEMA), |to_apply| {
        to_apply.effect(&map(live), true)
    })
}

fn noted() -> AppliedNote {
    let note = with_note(&desired(), None, Some(SCHEMA), |to_apply| {
        to_apply.note(&map(&live()))
    });
    note.expect("the same again changes nothing")
}

fn at<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    value.pointer_mut(path).expect(path)
}

#[test]
fn the_note_alone_tells_as_long_as_nothing_happened() {
    let metadata = map(&json!({"metadata": live()["metadata"]}));
    let note = noted();
    let ask = |desired: &Value, schema, live: &Map<String, Value>| {
        with_note(desired, Some(&note), schema, |one| one.effect(live, false))
    };
    assert_eq!(
        ask(&desired(), Some(SCHEMA), &metadata),
        ApplyEffect::Unchanged
    );
    let doubt = |effect| matches!(effect, ApplyEffect::Doubt(_));
    assert!(
        doubt(ask(&desired(), Some("B2"), &metadata)),
        "another schema"
    );
    assert!(doubt(ask(&desired(), None, &metadata)), "no schema");
    let mut other = desired();
    *at(&mut other, "/spec/paused") = json!(true);
    assert!(
        doubt(ask(&other, Some(SCHEMA), &metadata)),
        "something else"
    );
    for (key, value) in [
        ("uid", "u2"),
        ("resourceVersion", "8"),
        ("deletionTimestamp", "t"),
    ] {
        let mut moved = metadata.clone();
        moved["metadata"][key] = json!(value);
        assert!(doubt(ask(&desired(), Some(SCHEMA), &moved)), "{key}");
    }
}

#[test]
fn without_a_note_the_servers_own_words_are_doubtful() {
    let ApplyEffect::Doubt(why) = effect(&desired(), &live(), None) else {
        panic!("it must be doubtful");
    };
    for place in ["resources.limits.cpu", "securityContext", "spec.paused"] {
        assert!(why.contains(place), "{place}: {why}");
    }
    let mut moved = live();
    *at(&mut moved, "/metadata/resourceVersion") = json!("9");
    *at(&mut moved, "/status/replicas") = json!(0);
    assert_eq!(
        effect(&desired(), &moved, Some(&noted())),
        ApplyEffect::Unchanged
    );
}

#[test]
fn plain_values_need_no_note() {
    let desired = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c",
        "labels": {"a": "b"}}, "data": {"k": "v"}});
    let mut live = desired.clone();
    live["metadata"]["managedFields"] = json!([{"manager": "opm", "operation": "Apply",
        "apiVersion": "v1", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}},
            "f:data": {"f:k": {}}}}]);
    live["data"]["foreign"] = json!("x");
    assert_eq!(effect(&desired, &live, None), ApplyEffect::Unchanged);
    let changed = |desired: &Value, live: &Value| match effect(desired, live, None) {
        ApplyEffect::Changed(field) => field,
        other => panic!("{other:?}"),
    };
    let mut other = desired.clone();
    other["data"]["k"] = json!("w");
    assert_eq!(changed(&other, &live), "data.k");
    let mut more = desired.clone();
    more["data"]["foreign"] = json!("x");
    assert_eq!(changed(&more, &live), "data.foreign", "it is not owned yet");
    let mut less = desired.clone();
    less["data"] = json!({});
    assert_eq!(changed(&less, &live), "data.k");
    live["data"] = json!({"foreign": "x"});
    assert_eq!(changed(&desired, &live), "data.k", "somebody removed it");
}

/// Whatever is done to what is sent or to what is live, it is sent.
#[test]
fn any_difference_and_any_doubt_is_sent() {
    type Edit = fn(&mut Value, &mut Value);
    let cases: &[(&str, Edit)] = &[
        ("an image", |d, _| {
            *at(d, "/spec/template/spec/containers/0/image") = json!("web:2")
        }),
        ("the same quantity otherwise", |d, _| {
            *at(d, "/spec/template/spec/containers/0/resources/limits/cpu") = json!("1");
        }),
        ("the order of items", |d, _| {
            at(d, "/spec/template/spec/containers")
                .as_array_mut()
                .unwrap()
                .reverse();
        }),
        ("the order of live items", |_, l| {
            at(l, "/spec/template/spec/containers")
                .as_array_mut()
                .unwrap()
                .reverse();
        }),
        ("an item less", |d, _| {
            at(d, "/spec/template/spec/containers")
                .as_array_mut()
                .unwrap()
                .pop();
        }),
        ("an item twice", |d, _| {
            let items = at(d, "/spec/template/spec/containers")
                .as_array_mut()
                .unwrap();
            let first = items[0].clone();
            items[1] = first;
        }),
        ("a port by another key", |d, _| {
            *at(d, "/spec/template/spec/containers/0/ports/0") =
                json!({"containerPort": 80, "protocol": "UDP"});
        }),
        ("a key said aloud", |d, _| {
            *at(d, "/spec/template/spec/containers/0/ports/0") =
                json!({"containerPort": 80, "protocol": "TCP"});
        }),
        ("a null", |d, _| *at(d, "/spec/paused") = Value::Null),
        ("an owned list edited", |_, l| {
            *at(l, "/spec/template/spec/containers/2/args") = json!(["b", "a"]);
        }),
        ("an owned value edited in place", |_, l| {
            *at(l, "/spec/template/spec/containers/0/resources/limits/cpu") = json!("2");
        }),
        ("an empty mapping filled by others", |_, l| {
            *at(l, "/spec/template/spec/containers/0/securityContext") = json!({"runAsUser": 1});
        }),
        ("somebody else owns a rewritten field too", |_, l| {
            let entries = at(l, "/metadata/managedFields").as_array_mut().unwrap();
            entries.push(
                json!({"manager": "edit", "operation": "Update", "apiVersion": "apps/v1",
                "fieldsV1": {"f:spec": {"f:paused": {}}}}),
            );
        }),
        ("a field was taken over", |_, l| {
            let owned = at(l, "/metadata/managedFields/0/fieldsV1/f:spec");
            owned.as_object_mut().unwrap().remove("f:paused");
        }),
        ("applied in another version", |_, l| {
            *at(l, "/metadata/managedFields/0/apiVersion") = json!("apps/v1beta1");
        }),
        ("read in another version", |_, l| {
            *at(l, "/apiVersion") = json!("apps/v1beta1")
        }),
        ("another of the release's managers", |_, l| {
            let name = crate::labels::shared_field_manager(&id());
            *at(l, "/metadata/managedFields/0/manager") = json!(name);
        }),
        ("both of them", |_, l| {
            let entries = at(l, "/metadata/managedFields").as_array_mut().unwrap();
            let mut second = entries[0].clone();
            second["manager"] = json!(crate::labels::shared_field_manager(&id()));
            entries.push(second);
        }),
        ("no managed fields", |_, l| {
            *at(l, "/metadata/managedFields") = json!([])
        }),
        ("places in a list", |_, l| {
            *at(l, "/metadata/managedFields/0/fieldsV1/f:spec/f:paused") = json!({"i:0": {}});
        }),
        ("several kinds of keys", |_, l| {
            *at(l, "/metadata/managedFields/0/fieldsV1/f:spec/f:paused") =
                json!({"f:a": {}, "v:1": {}});
        }),
        ("a live item twice", |_, l| {
            let items = at(l, "/spec/template/spec/containers")
                .as_array_mut()
                .unwrap();
            let first = items[0].clone();
            items.push(first);
        }),
        ("being deleted", |_, l| {
            at(l, "/metadata")
                .as_object_mut()
                .unwrap()
                .insert("deletionTimestamp".into(), json!("t"));
        }),
        ("another object", |_, l| {
            *at(l, "/metadata/uid") = json!("u2")
        }),
    ];
    let note = noted();
    for (what, edit) in cases {
        let (mut desired, mut live) = (desired(), live());
        *at(&mut live, "/metadata/resourceVersion") = json!("8");
        edit(&mut desired, &mut live);
        let found = effect(&desired, &live, Some(&note));
        assert_ne!(found, ApplyEffect::Unchanged, "{what}");
    }
}

/// A default in the place of null, null as it is, and nothing: as long as it stays so.
#[test]
fn what_the_server_made_of_null_is_trusted_by_the_note_alone() {
    let live = |made: &[(&str, Value)]| {
        let mut live = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "c", "uid": "u", "resourceVersion": "1",
                "labels": {"a": "b"}, "managedFields": [
                {"manager": "opm", "operation": "Apply", "apiVersion": "apps/v1",
                 "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}},
                     "f:spec": {"f:replicas": {}, "f:list": {}}}}]},
            "spec": {}});
        for (key, value) in made {
            live["spec"][*key] = value.clone();
        }
        live
    };
    let desired = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "c", "labels": {"a": "b"}},
        "spec": {"replicas": null, "list": [{"a": null, "b": "x"}]}});
    let list = ("list", json!([{"b": "x"}]));
    for made in [
        vec![("replicas", json!(1)), list.clone()],
        vec![("replicas", json!(null)), list.clone()],
        vec![list.clone()],
    ] {
        let note = with_note(&desired, None, Some(SCHEMA), |one| {
            one.note(&map(&live(&made)))
        });
        let note = note.expect("the same again changes nothing");
        let mut now = live(&made);
        now["metadata"]["resourceVersion"] = json!("2");
        let doubt = |effect| matches!(effect, ApplyEffect::Doubt(_));
        assert!(doubt(effect(&desired, &now, None)), "no note: {made:?}");
        assert_eq!(
            effect(&desired, &now, Some(&note)),
            ApplyEffect::Unchanged,
            "{made:?}"
        );
        now["spec"]["replicas"] = json!(5);
        assert!(
            doubt(effect(&desired, &now, Some(&note))),
            "scaled: {made:?}"
        );
    }
}

#[test]
fn sets_are_compared_in_order_and_empty_lists_are_never_trusted() {
    let desired = json!({"apiVersion": "v1", "kind": "Thing",
        "metadata": {"name": "c", "labels": {"a": "b"}}, "spec": {"set": ["b", "a"]}});
    let mut live = desired.clone();
    live["spec"]["set"] = json!(["b", "x", "a"]);
    live["metadata"]["uid"] = json!("u");
    live["metadata"]["resourceVersion"] = json!("1");
    live["metadata"]["managedFields"] = json!([{"manager": "opm", "operation": "Apply",
        "apiVersion": "v1", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:set": {"v:\"a\"": {}, "v:\"b\"": {}}}}}]);
    assert_eq!(effect(&desired, &live, None), ApplyEffect::Unchanged);
    live["spec"]["set"] = json!(["a", "x", "b"]);
    assert_eq!(
        effect(&desired, &live, None),
        ApplyEffect::Changed("spec.set".to_owned())
    );

    let mut empty = desired;
    empty["spec"]["set"] = json!([]);
    live["spec"] = json!({});
    live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"] = json!({"f:set": {}});
    let note = with_note(&empty, None, Some(SCHEMA), |one| one.note(&map(&live)));
    assert_eq!(note, None, "some servers write it each time");
    assert!(matches!(effect(&empty, &live, None), ApplyEffect::Doubt(_)));
}

/// Drift and "unchanged" are one decision: what needs no apply has not drifted.
#[test]
fn what_is_unchanged_has_not_drifted() {
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
        "data": {"k": "v"}});
    let mut live = plain.clone();
    live["metadata"]["managedFields"] = json!([{"manager": "opm", "operation": "Apply",
        "apiVersion": "v1", "fieldsV1": {"f:data": {"f:k": {}}}}]);
    let mut labelled = plain.clone();
    labelled["metadata"] = json!({"name": "c", "labels": {}});
    for desired in [&plain, &labelled, &desired()] {
        let unchanged = is_as_applied(&map(desired), &map(&live), &id());
        let drift = crate::drift::fields(&map(desired), &map(&live), &id());
        assert!(!unchanged || drift.is_empty(), "{drift:?}");
    }
}
