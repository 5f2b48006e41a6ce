//! Differences between two objects, as a reader would see them.

use opm_core::diff::{ChangeKind, FieldChange, diff, stated};
use opm_core::identity::GroupKind;
use serde_json::{Value, json};

pub(crate) fn changes(group: &str, kind: &str, old: &Value, new: &Value) -> Vec<FieldChange> {
    diff(
        &GroupKind::new(group, kind),
        old.as_object().unwrap(),
        new.as_object().unwrap(),
    )
}

/// One line per change: `+ path new`, `- path old`, `~ path old -> new`.
fn lines(group: &str, kind: &str, old: &Value, new: &Value) -> Vec<String> {
    changes(group, kind, old, new)
        .into_iter()
        .map(
            |FieldChange {
                 path,
                 kind,
                 old,
                 new,
             }| match (kind, old, new) {
                (ChangeKind::Added, None, Some(new)) => format!("+ {path} {new}"),
                (ChangeKind::Removed, Some(old), None) => format!("- {path} {old}"),
                (ChangeKind::Changed, Some(old), Some(new)) => format!("~ {path} {old} -> {new}"),
                impossible => panic!("{impossible:?}"),
            },
        )
        .collect()
}

fn deployment(old: &Value, new: &Value) -> Vec<String> {
    let of = |spec: &Value| json!({"spec": {"template": {"spec": spec}}});
    lines("apps", "Deployment", &of(old), &of(new))
        .into_iter()
        .map(|line| line.replace("spec.template.spec.", ""))
        .collect()
}

#[test]
fn fields_are_named_by_their_path() {
    let old = json!({
        "metadata": {"labels": {"app.kubernetes.io/name": "a", "gone": "x"}},
        "spec": {"replicas": 1, "paused": true, "deep": {"a": {"b": 1}}},
    });
    let new = json!({
        "metadata": {"labels": {"app.kubernetes.io/name": "b"}, "annotations": {"a": "1", "b/c": "2"}},
        "spec": {"replicas": 2, "strategy": {"type": "Recreate"}, "deep": {"a": 7}},
    });
    assert_eq!(
        lines("apps", "Deployment", &old, &new),
        [
            "+ metadata.annotations.a \"1\"",
            "+ metadata.annotations[\"b/c\"] \"2\"",
            "~ metadata.labels[\"app.kubernetes.io/name\"] \"a\" -> \"b\"",
            "- metadata.labels.gone \"x\"",
            "~ spec.deep.a {\"b\":1} -> 7",
            "- spec.paused true",
            "~ spec.replicas 1 -> 2",
            "+ spec.strategy {\"type\":\"Recreate\"}",
        ]
    );
}

#[test]
fn what_the_server_makes_is_left_out() {
    let old = json!({
        "metadata": {
            "uid": "1", "resourceVersion": "1", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
            "selfLink": "/x", "managedFields": [{"manager": "opm"}],
        },
        "spec": {"template": {"metadata": {"creationTimestamp": null}}},
        "status": {"replicas": 1},
    });
    let new = json!({
        "metadata": {"resourceVersion": "2", "generation": 2},
        "spec": {"template": {"metadata": {}}},
    });
    assert_eq!(lines("apps", "Deployment", &old, &new), [""; 0]);
    // Only at the top: a field of that name elsewhere is a field like any other.
    let (old, new) = (
        json!({"spec": {"status": 1, "uid": 1}}),
        json!({"spec": {"status": 2, "uid": 2}}),
    );
    assert_eq!(
        lines("a.b", "Foo", &old, &new),
        ["~ spec.status 1 -> 2", "~ spec.uid 1 -> 2"]
    );
}

#[test]
fn items_are_matched_by_their_merge_keys() {
    let old = json!({"containers": [
        {"name": "a", "image": "a:1", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
         "env": [{"name": "X", "value": "1"}], "volumeMounts": [{"mountPath": "/x", "name": "v"}]},
        {"name": "b", "image": "b:1"},
    ]});
    let new = json!({"containers": [
        {"name": "new", "image": "n:1"},
        {"name": "a", "image": "a:2", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 53, "protocol": "TCP"}],
         "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "9"}], "volumeMounts": [{"mountPath": "/x", "name": "w"}]},
    ]});
    assert_eq!(
        deployment(&old, &new),
        [
            "~ containers[name=\"a\"].env[name=\"X\"].value \"1\" -> \"9\"",
            "+ containers[name=\"a\"].env[name=\"Y\"] {\"name\":\"Y\",\"value\":\"2\"}",
            "~ containers[name=\"a\"].image \"a:1\" -> \"a:2\"",
            "+ containers[name=\"a\"].ports[containerPort=80,protocol=\"TCP\"].name \"http\"",
            "+ containers[name=\"a\"].ports[containerPort=80,protocol=\"TCP\"].protocol \"TCP\"",
            "- containers[name=\"a\"].ports[containerPort=53,protocol=\"UDP\"] {\"containerPort\":53,\"protocol\":\"UDP\"}",
            "+ containers[name=\"a\"].ports[containerPort=53,protocol=\"TCP\"] {\"containerPort\":53,\"protocol\":\"TCP\"}",
            "~ containers[name=\"a\"].volumeMounts[mountPath=\"/x\"].name \"v\" -> \"w\"",
            "- containers[name=\"b\"] {\"image\":\"b:1\",\"name\":\"b\"}",
            "+ containers[name=\"new\"] {\"image\":\"n:1\",\"name\":\"new\"}",
        ]
    );
}

#[test]
fn a_changed_order_is_a_change() {
    let old = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let new = json!({"containers": [{"name": "c"}, {"name": "a"}]});
    assert_eq!(
        deployment(&old, &new),
        [
            "~ containers [\"name=\\\"a\\\"\",\"name=\\\"c\\\"\"] -> [\"name=\\\"c\\\"\",\"name=\\\"a\\\"\"]",
            "- containers[name=\"b\"] {\"name\":\"b\"}",
        ]
    );
}

#[test]
fn other_lists_are_told_whole_or_by_position() {
    let table = [
        // Lists of plain values, and atomic ones: as a whole.
        (
            json!({"args": ["a", "b"]}),
            json!({"args": ["b"]}),
            vec!["~ args [\"a\",\"b\"] -> [\"b\"]"],
        ),
        (
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b"}]}),
            vec!["~ tolerations [{\"key\":\"a\"}] -> [{\"key\":\"b\"}]"],
        ),
        // Mappings without a known key: by position.
        (
            json!({"rules": [{"host": "a"}, {"host": "b"}]}),
            json!({"rules": [{"host": "a"}, {"host": "c"}, {"host": "d"}]}),
            vec![
                "~ rules[1].host \"b\" -> \"c\"",
                "+ rules[2] {\"host\":\"d\"}",
            ],
        ),
        // Keys that are missing or shared cannot tell items apart.
        (
            json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
            json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]}),
            vec!["~ env[1].value \"2\" -> \"3\""],
        ),
        (
            json!({"env": [{"value": "1"}]}),
            json!({"env": [{"value": "2"}]}),
            vec!["~ env[0].value \"1\" -> \"2\""],
        ),
        (json!({"args": []}), json!({"args": []}), vec![]),
    ];
    for (old, new, expected) in table {
        assert_eq!(deployment(&old, &new), expected, "{old}");
    }
}

#[test]
fn quantities_are_compared_by_value_where_quantities_stand() {
    let same = [
        ("1000m", "1"),
        ("1Gi", "1024Mi"),
        ("1k", "1000"),
        ("0.5", "500m"),
        ("1e3", "1k"),
        ("1E3", "1000"),
        ("1.5Gi", "1536Mi"),
        ("0", "0m"),
        ("1M", "1000k"),
        ("-1", "-1000m"),
        ("+1", "1"),
        ("1E", "1000P"),
        ("100000000n", "0.1"),
        ("1u", "1000n"),
        ("2Ti", "2048Gi"),
        ("1.", "1"),
        (".5", "0.5"),
    ];
    let different = [
        ("1", "2"),
        ("1G", "1Gi"),
        ("1000m", "1001m"),
        ("x", "y"),
        ("1Q", "1QQ"),
        ("1ee3", "1k"),
        ("", "0"),
        ("1.2.3", "1.23"),
        ("--1", "1"),
    ];
    let limits = |value: Value| json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": value}}}]});
    for (a, b) in same {
        assert_eq!(
            deployment(&limits(a.into()), &limits(b.into())),
            [""; 0],
            "{a} {b}"
        );
    }
    for (a, b) in different {
        assert_eq!(
            deployment(&limits(a.into()), &limits(b.into())).len(),
            1,
            "{a} {b}"
        );
    }
    assert_eq!(
        deployment(&limits(json!(1)), &limits(json!("1000m"))),
        [""; 0]
    );
    assert_eq!(
        deployment(&limits(json!(0.5)), &limits(json!("500m"))),
        [""; 0]
    );
}

#[test]
fn other_places_hold_no_quantities() {
    let env = |value: &str| json!({"containers": [{"name": "a", "env": [{"name": "CPU", "value": value}]}]});
    assert_eq!(deployment(&env("1000m"), &env("1")).len(), 1);
    let data = |value: &str| json!({"data": {"cpu": value}});
    assert_eq!(lines("", "ConfigMap", &data("1000m"), &data("1")).len(), 1);
    // To the server a custom resource's quantities are texts.
    let custom = |value: &str| json!({"spec": {"resources": {"limits": {"cpu": value}}}});
    assert_eq!(
        lines("example.com", "Foo", &custom("1000m"), &custom("1")).len(),
        1
    );

    let table = [
        (
            "",
            "PersistentVolumeClaim",
            json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "",
            "PersistentVolume",
            json!({"spec": {"capacity": {"storage": "1Gi"}}}),
        ),
        (
            "",
            "ResourceQuota",
            json!({"spec": {"hard": {"requests.memory": "1Gi"}}}),
        ),
        (
            "",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}}),
        ),
        (
            "",
            "Pod",
            json!({"spec": {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]}}),
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            json!({"spec": {"metrics": [{"resource": {"target": {"averageValue": "1Gi"}}}]}}),
        ),
    ];
    for (group, kind, old) in table {
        let new: Value = serde_json::from_str(&old.to_string().replace("1Gi", "1024Mi")).unwrap();
        assert_eq!(lines(group, kind, &old, &new), [""; 0], "{kind}");
    }
}

#[test]
fn a_secrets_values_are_masked_and_its_keys_named() {
    let old = json!({"data": {"same": "c2FtZQ==", "password": "b2xkLXNlY3JldA==", "gone": "Z29uZS1zZWNyZXQ="}, "type": "Opaque"});
    let new = json!({"data": {"same": "c2FtZQ==", "password": "bmV3LXNlY3JldA==", "a/b": "bmV3"}, "stringData": {"pin": "4711"}, "type": "x"});
    let made = lines("", "Secret", &old, &new);
    assert_eq!(
        made,
        [
            "+ data[\"a/b\"] (masked)",
            "- data.gone (masked)",
            "~ data.password (masked) -> (masked)",
            "+ stringData.pin (masked)",
            "~ type \"Opaque\" -> \"x\"",
        ]
    );
    let debug = format!("{:?}", changes("", "Secret", &old, &new));
    for hidden in ["b2xk", "bmV3", "Z29u", "4711"] {
        assert!(!debug.contains(hidden), "{debug}");
    }
}

#[test]
fn a_malformed_secret_is_masked_too() {
    let table = [
        (
            json!({"data": "geheim"}),
            json!({"data": {"a": "geheim"}}),
            vec!["~ data (masked) -> (masked)"],
        ),
        (
            json!({"data": ["geheim"]}),
            json!({}),
            vec!["- data (masked)"],
        ),
        (
            json!({"data": {"a": {"b": "geheim"}}}),
            json!({"data": {"a": ["geheim"]}}),
            vec!["~ data.a (masked) -> (masked)"],
        ),
    ];
    for (old, new, expected) in table {
        assert_eq!(lines("", "Secret", &old, &new), expected);
        assert!(!format!("{:?}", changes("", "Secret", &old, &new)).contains("geheim"));
    }
}

#[test]
fn copies_of_whole_objects_are_masked_wherever_they_stand() {
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    let with = |text: &str| json!({"metadata": {"annotations": {key: text}}});
    let expected = format!("~ metadata.annotations[{key:?}] (masked) -> (masked)");
    assert_eq!(
        lines("", "Secret", &with("geheim 1"), &with("geheim 2")),
        [expected.as_str()]
    );
    assert_eq!(
        lines("", "ConfigMap", &with("geheim 1"), &with("geheim 2")),
        [expected]
    );
    let added = changes("", "Secret", &json!({}), &with("geheim"));
    assert!(added.len() == 1 && added[0].new.as_ref().unwrap().is_masked());
    let nested = json!({"spec": {"template": {"metadata": {"annotations": {key: "geheim"}}}}});
    assert!(
        !format!("{:?}", changes("apps", "Deployment", &json!({}), &nested)).contains("geheim")
    );
}

#[test]
fn whole_floats_and_integers_are_one_number() {
    let (old, new) = (
        json!({"spec": {"a": 3, "b": 1}}),
        json!({"spec": {"a": 3.0, "b": 1.5}}),
    );
    assert_eq!(lines("a.b", "Foo", &old, &new), ["~ spec.b 1 -> 1.5"]);
}

/// What of a live object a rendered one states: defaults are left out, items are matched by key.
#[test]
fn only_what_is_stated_counts() {
    let table = [
        // live, rendered, the part of the live one
        (
            json!({"spec": {"replicas": 1, "strategy": {"type": "RollingUpdate"}}, "status": {}}),
            json!({"spec": {"replicas": 3}}),
            json!({"spec": {"replicas": 1}}),
        ),
        (
            json!({"containers": [{"name": "b", "image": "1", "tty": false}, {"name": "a", "image": "1"}]}),
            json!({"containers": [{"name": "a", "image": "2"}, {"name": "c", "image": "2"}]}),
            json!({"containers": [{"name": "b", "image": "1", "tty": false}, {"name": "a", "image": "1"}]}),
        ),
        (
            json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}),
            json!({"ports": [{"port": 80, "name": "web"}]}),
            json!({"ports": [{"port": 80}]}),
        ),
        (
            json!({"rules": [{"host": "a", "weight": 1}, {"host": "b"}]}),
            json!({"rules": [{"host": "c"}]}),
            json!({"rules": [{"host": "a"}, {"host": "b"}]}),
        ),
        (
            json!({"args": ["x", "y"], "data": {"k": "v"}}),
            json!({"args": ["x"], "data": "a text"}),
            json!({"args": ["x", "y"], "data": {"k": "v"}}),
        ),
    ];
    for (live, rendered, part) in table {
        let of = |value: &Value| value.as_object().cloned().unwrap_or_default();
        assert_eq!(Value::Object(stated(&of(&live), &of(&rendered))), part);
    }
}
