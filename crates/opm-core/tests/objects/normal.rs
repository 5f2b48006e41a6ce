//! Objects as they are sent, where that differs from how they were rendered.

use opm_core::candidate::Selection;
use opm_core::manifest::Manifest;
use opm_core::scope::Scopes;
use serde_json::{Value, json};

use crate::candidate::{candidate, component, try_candidate, warnings};
use crate::manifest;

fn secret(extra: &Value) -> Manifest {
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    object
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    manifest(object)
}

#[test]
fn string_data_becomes_data() {
    let table = [
        (json!({"stringData": {"a": "x"}}), json!({"a": "eA=="})),
        (
            json!({"stringData": {"a": "x"}, "data": {"a": "eQ==", "b": "eg=="}}),
            json!({"a": "eA==", "b": "eg=="}),
        ),
        (
            json!({"stringData": {"a": ""}, "data": null}),
            json!({"a": ""}),
        ),
        (json!({"stringData": {"a": "ü\n"}}), json!({"a": "w7wK"})),
        (json!({"stringData": {}}), json!({})),
    ];
    for (given, expected) in table {
        let made = candidate(vec![component("app", vec![secret(&given)])]);
        let sent = made.objects[0].manifest.object();
        assert_eq!(
            (&sent["data"], sent.get("stringData")),
            (&expected, None),
            "{given}"
        );
    }
    let made = candidate(vec![component(
        "app",
        vec![secret(&json!({"stringData": null}))],
    )]);
    assert_eq!(made.objects[0].manifest.object().get("data"), None);
}

#[test]
fn a_secret_that_cannot_be_sent_is_refused_without_its_values() {
    let table = [
        (
            json!({"stringData": {"pin": 4711}}),
            "`stringData[\"pin\"]` must be a string, not a number",
        ),
        (
            json!({"stringData": "geheim"}),
            "`stringData` must be a mapping, not a string",
        ),
        (
            json!({"stringData": {"a": "b"}, "data": "geheim"}),
            "`data` must be a mapping, not a string",
        ),
    ];
    for (given, expected) in table {
        let components = vec![component("app", vec![secret(&given)])];
        let error =
            try_candidate(components, &Selection::default(), Scopes::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("Secret/s in namespace games: {expected}")
        );
        assert!(!format!("{error:?}").contains("geheim") && !format!("{error:?}").contains("4711"));
    }
}

#[test]
fn string_data_of_other_kinds_is_left_alone() {
    let custom = manifest(json!({
        "apiVersion": "a.b/v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"},
    }));
    let made = candidate(vec![component("app", vec![custom])]);
    assert_eq!(
        made.objects[0].manifest.object()["stringData"],
        json!({"a": "b"})
    );
}

#[test]
fn what_the_server_writes_is_left_out_and_said() {
    let copied = manifest(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "uid": "1", "resourceVersion": "2", "generation": null, "creationTimestamp": null},
        "data": {"x": "y"},
    }));
    let made = candidate(vec![component("app", vec![copied])]);
    let object = made.objects[0].manifest.object();
    let metadata = object["metadata"].as_object().unwrap();
    let kept: Vec<&String> = metadata.keys().collect();
    assert_eq!(kept, ["creationTimestamp", "labels", "name", "namespace"]);
    assert_eq!(warnings(&made).len(), 2);
    assert_eq!(
        warnings(&made)[1],
        "ConfigMap/a in namespace games: `metadata.uid` is written by the server alone; it is left out"
    );
}

#[test]
fn whole_floats_are_sent_as_the_digest_has_them() {
    let given = manifest(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"replicas": 3.0, "list": [1.0, 1.5, -2.0, 1e300]},
    }));
    let made = candidate(vec![component("app", vec![given])]);
    let spec = made.objects[0].manifest.object()["spec"].to_string();
    assert_eq!(spec, r#"{"list":[1,1.5,-2,1e+300],"replicas":3}"#);
}

#[test]
fn what_is_sent_is_normal_already() {
    let first = candidate(vec![component(
        "app",
        vec![secret(
            &json!({"stringData": {"a": "x"}, "data": {"b": "eQ=="}}),
        )],
    )]);
    let again = candidate(vec![component(
        "app",
        vec![first.objects[0].manifest.clone()],
    )]);
    assert_eq!((again.digest, again.change), (first.digest, first.change));
}

#[test]
fn debug_output_says_which_object_and_nothing_of_its_data() {
    let hidden = secret(&json!({"data": {"a": "Z2VoZWlt"}, "stringData": {"b": "geheim"}}));
    assert_eq!(format!("{hidden:?}"), "Manifest(v1 Secret/s)");
    let mut made = candidate(vec![component("app", vec![hidden])]);
    made.values = "geheim".to_owned();
    let shown = format!("{made:?}");
    assert!(
        !shown.contains("geheim") && !shown.contains("Z2VoZWlt"),
        "{shown}"
    );
}
