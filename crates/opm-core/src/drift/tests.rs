#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail loudly, and read better with values"
)]

use serde_json::{Map, Value, json};

use super::{FieldDrift, fields, first_unlike, is_untouched, written_since};
use crate::ids::ReleaseId;

fn id() -> ReleaseId {
    "ba7ef080-f6d7-5049-9ee5-a5e34cd652de".parse().unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
    json!({"manager": manager, "operation": operation, "time": time, "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields})
}

const APPLIED: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-02T00:00:00Z";

/// A Deployment as it was applied.
fn desired() -> Map<String, Value> {
    object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "games", "labels": {"a": "b"}},
        "spec": {
            "replicas": 2,
            "paused": false,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}, "creationTimestamp": null},
                "spec": {"containers": [{"name": "main", "image": "example.com/main:1",
                    "args": ["--a", "--b"],
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "1000m"}}}]}}
        },
        "status": {"replicas": 0}
    }))
}

/// What the server makes of it, and what `opm` owns of that.
fn live(change: impl FnOnce(&mut Value, &mut Value)) -> Map<String, Value> {
    let mut live = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "games", "labels": {"a": "b"}, "uid": "1"},
        "spec": {
            "replicas": 2, "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"dnsPolicy": "ClusterFirst", "containers": [{"name": "main",
                    "image": "example.com/main:1", "args": ["--a", "--b"],
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"cpu": "1"}}}]}}
        },
        "status": {"replicas": 2}
    });
    let mut own = json!({
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {
            "f:replicas": {}, "f:paused": {}, "f:selector": {},
            "f:template": {"f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"main\"}": {".": {}, "f:name": {},
                    "f:image": {}, "f:args": {},
                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                    "f:resources": {"f:limits": {"f:cpu": {}}}}}}}
        }
    });
    let mut others = json!([]);
    change(&mut live, &mut others);
    // Whoever owns something now has taken it from `opm`.
    for other in others.as_array().unwrap() {
        take(&mut own, &other["fieldsV1"]);
    }
    let mut managers = vec![entry("opm", "Apply", APPLIED, own)];
    managers.extend(others.as_array().unwrap().clone());
    live["metadata"]["managedFields"] = json!(managers);
    object(live)
}

fn take(own: &mut Value, taken: &Value) {
    let Value::Object(own) = own else { return };
    for (key, below) in taken.as_object().unwrap() {
        if below.as_object().is_some_and(Map::is_empty) {
            own.remove(key);
        } else if let Some(part) = own.get_mut(key) {
            take(part, below);
            // The server keeps no place at which nothing is owned.
            if part.as_object().is_some_and(Map::is_empty) {
                own.remove(key);
            }
        }
    }
}

fn pod_spec(fields: Value) -> Value {
    json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"main\"}": fields}}}}})
}

fn drift(field: &str, by: Option<&str>) -> FieldDrift {
    FieldDrift {
        field: field.to_owned(),
        by: by.map(str::to_owned),
        at: by.map(|_| LATER.to_owned()),
    }
}

const MAIN: &str = r#"spec.template.spec.containers[name="main"]"#;

#[test]
fn what_the_server_rewords_is_no_drift() {
    let live = live(|_, _| {});
    assert!(is_untouched(&desired(), &live, &id()));
    assert_eq!(fields(&desired(), &live, &id()), []);
    assert_eq!(written_since(&live, &id()), []);
}

#[test]
fn a_hand_edit_is_told_with_field_manager_and_time() {
    type Edit = fn(&mut Value, &mut Value);
    let edits: Vec<(&str, Edit, Vec<FieldDrift>)> = vec![
        (
            "another value",
            |live, others| {
                live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil:2");
                *others = json!([entry(
                    "kubectl-edit",
                    "Update",
                    LATER,
                    pod_spec(json!({"f:image": {}}))
                )]);
            },
            vec![drift(&format!("{MAIN}.image"), Some("kubectl-edit"))],
        ),
        (
            "replicas by hand, through the subresource too",
            |live, others| {
                live["spec"]["replicas"] = json!(7);
                let mut scaled = entry(
                    "kubectl",
                    "Update",
                    LATER,
                    json!({"f:spec": {"f:replicas": {}}}),
                );
                scaled["subresource"] = json!("scale");
                *others = json!([scaled]);
            },
            vec![drift("spec.replicas", Some("kubectl"))],
        ),
        (
            "replicas by the autoscaler",
            |live, others| {
                live["spec"]["replicas"] = json!(7);
                let mut scaled = entry(
                    "kube-controller-manager",
                    "Update",
                    LATER,
                    json!({"f:spec": {"f:replicas": {}}}),
                );
                scaled["subresource"] = json!("scale");
                *others = json!([scaled]);
            },
            vec![],
        ),
        (
            "changed, and changed back",
            |_, others| {
                *others = json!([entry(
                    "kubectl-edit",
                    "Update",
                    LATER,
                    pod_spec(json!({"f:image": {}}))
                )]);
            },
            vec![],
        ),
        (
            "the same quantity in other words",
            |live, others| {
                live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] =
                    json!("1");
                let cpu = json!({"f:resources": {"f:limits": {"f:cpu": {}}}});
                *others = json!([entry("vpa", "Update", LATER, pod_spec(cpu))]);
            },
            vec![],
        ),
        (
            "another quantity",
            |live, others| {
                live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] =
                    json!("2");
                let cpu = json!({"f:resources": {"f:limits": {"f:cpu": {}}}});
                *others = json!([entry("vpa", "Update", LATER, pod_spec(cpu))]);
            },
            vec![drift(&format!("{MAIN}.resources.limits.cpu"), Some("vpa"))],
        ),
        (
            "a list that belongs to nobody in parts",
            |live, others| {
                live["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--a"]);
                *others = json!([entry(
                    "kubectl-edit",
                    "Update",
                    LATER,
                    pod_spec(json!({"f:args": {}}))
                )]);
            },
            vec![drift(&format!("{MAIN}.args"), Some("kubectl-edit"))],
        ),
        (
            "false became true",
            |live, others| {
                live["spec"]["paused"] = json!(true);
                *others = json!([entry(
                    "kubectl",
                    "Update",
                    LATER,
                    json!({"f:spec": {"f:paused": {}}})
                )]);
            },
            vec![drift("spec.paused", Some("kubectl"))],
        ),
        (
            "somebody else's addition",
            |live, others| {
                live["spec"]["template"]["metadata"]["annotations"] = json!({"restarted": "now"});
                *others = json!([entry(
                    "kubectl-rollout",
                    "Update",
                    LATER,
                    json!({"f:spec": {"f:template": {"f:metadata": {"f:annotations": {".": {}, "f:restarted": {}}}}}})
                )]);
            },
            vec![],
        ),
    ];
    for (what, edit, expected) in edits {
        let live = live(edit);
        assert_eq!(fields(&desired(), &live, &id()), expected, "{what}");
        if !expected.is_empty() {
            assert!(!is_untouched(&desired(), &live, &id()), "{what}");
        }
    }
}

#[test]
fn a_removal_belongs_to_nobody() {
    let mut live = live(|live, _| {
        live["metadata"]["labels"] = json!({});
        live["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({});
    });
    // A removal takes the field from every manager.
    let own = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    own["f:metadata"] = json!({});
    let main = &mut own["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"main\"}"];
    main.as_object_mut().unwrap().remove("f:resources");
    own.as_object_mut().unwrap().remove("f:metadata");
    assert!(!is_untouched(&desired(), &live, &id()));
    let limits = format!("{MAIN}.resources.limits");
    let expected = [drift("metadata.labels.a", None), drift(&limits, None)];
    assert_eq!(fields(&desired(), &live, &id()), expected);
}

#[test]
fn an_item_that_was_taken_out_of_a_list_is_told() {
    let mut live = live(|live, _| {
        live["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([]);
    });
    let own = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    let main = &mut own["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"main\"}"];
    main.as_object_mut().unwrap().remove("f:ports");
    let expected = [drift(&format!("{MAIN}.ports"), None)];
    assert_eq!(fields(&desired(), &live, &id()), expected);
}

#[test]
fn wiped_managed_fields_leave_the_values_to_compare() {
    let wiped = |edit: fn(&mut Value)| {
        let mut live = live(|live, _| edit(live));
        live["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        live
    };
    assert_eq!(fields(&desired(), &wiped(|_| {}), &id()), []);
    let edited = wiped(|live| live["spec"]["replicas"] = json!(3));
    assert_eq!(
        fields(&desired(), &edited, &id()),
        [drift("spec.replicas", None)]
    );
    assert!(!is_untouched(&desired(), &edited, &id()));
}

#[test]
fn another_api_version_is_not_compared() {
    let mut live = live(|live, others| {
        live["spec"]["replicas"] = json!(3);
        *others = json!([entry(
            "kubectl",
            "Update",
            LATER,
            json!({"f:spec": {"f:replicas": {}}})
        )]);
    });
    live["apiVersion"] = json!("apps/v2");
    // Who took the field is still told by the version that was applied.
    let told = fields(&desired(), &live, &id());
    assert_eq!(told, [drift("spec.replicas", Some("kubectl"))]);
    live["metadata"]["managedFields"][0]["apiVersion"] = json!("apps/v2");
    assert_eq!(fields(&desired(), &live, &id()), []);
}

#[test]
fn without_manifests_later_writers_are_told() {
    let live = live(|_, others| {
        let early = "2025-01-01T00:00:00Z";
        *others = json!([
            entry(
                "kubectl-edit",
                "Update",
                LATER,
                pod_spec(json!({"f:image": {}}))
            ),
            entry(
                "kubectl-label",
                "Update",
                LATER,
                json!({"f:metadata": {"f:labels": {"f:x": {}}}})
            ),
            entry(
                "before",
                "Update",
                early,
                json!({"f:spec": {"f:paused": {}}})
            ),
            entry(
                "kube-controller-manager",
                "Update",
                LATER,
                json!({"f:spec": {"f:volumeName": {}}})
            ),
        ]);
    });
    let expected = [drift(&format!("{MAIN}.image"), Some("kubectl-edit"))];
    assert_eq!(written_since(&live, &id()), expected);
}

#[test]
fn a_shared_object_has_a_manager_of_its_own() {
    let mut live = live(|_, _| {});
    live["metadata"]["managedFields"][0]["manager"] = json!(format!("opm-{}", id()));
    assert!(is_untouched(&desired(), &live, &id()));
    live["metadata"]["managedFields"][0]["manager"] = json!("opm-another");
    assert!(!is_untouched(&desired(), &live, &id()));
}

/// Manifests that may not be those that were applied last.
#[test]
fn other_manifests_are_told_from_what_is_live() {
    let live = |data: Value, owned: Value| {
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "managedFields": [{"manager": "opm", "operation": "Apply",
                "apiVersion": "v1", "fieldsV1": {"f:data": owned}}]},
            "data": data});
        live.as_object().unwrap().clone()
    };
    let desired = |data: Value| {
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a"}, "data": data});
        desired.as_object().unwrap().clone()
    };
    let table = [
        // applied, live, owned, where it differs
        (
            json!({"x": "1"}),
            json!({"x": "1"}),
            json!({"f:x": {}}),
            None,
        ),
        // What others added beside it does not count.
        (
            json!({"x": "1"}),
            json!({"x": "1", "y": "2"}),
            json!({"f:x": {}}),
            None,
        ),
        // The field is owned, and was applied with another value.
        (
            json!({"x": "1"}),
            json!({"x": "2"}),
            json!({"f:x": {}}),
            Some("data.x"),
        ),
        (json!({"x": "1"}), json!({}), json!({}), Some("data.x")),
        // Something was applied that these manifests do not have.
        (
            json!({"x": "1"}),
            json!({"x": "1", "y": "2"}),
            json!({"f:x": {}, "f:y": {}}),
            Some("data.y"),
        ),
    ];
    for (applied, data, owned, expected) in table {
        let found = first_unlike(&desired(applied.clone()), &live(data.clone(), owned), &id());
        assert_eq!(found.as_deref(), expected, "{applied} {data}");
    }
    let mut older = desired(json!({"x": "1"}));
    older["apiVersion"] = json!("v0");
    let live = live(json!({"x": "1"}), json!({"f:x": {}}));
    assert_eq!(
        first_unlike(&older, &live, &id()).as_deref(),
        Some("apiVersion")
    );
}

/// What the server puts in other words, or fills in, is no difference.
#[test]
fn what_was_applied_last_is_recognised() {
    let live = live(|_, _| {});
    assert_eq!(first_unlike(&desired(), &live, &id()), None);
}
