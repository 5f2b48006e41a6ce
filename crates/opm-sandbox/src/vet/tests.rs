use serde_json::{Value, json};

use super::{ApiTypes, KubernetesVersion};

fn found_in(types: &ApiTypes, object: &Value) -> Vec<String> {
    let check = types.check(object);
    let told = |finding: &super::TypeFinding| {
        let taken = if finding.is_taken { " (taken)" } else { "" };
        format!("{}: {}{taken}", finding.field(), finding.message)
    };
    check.findings.iter().map(told).collect()
}

fn found(object: &Value) -> Vec<String> {
    found_in(&ApiTypes::of_version(KubernetesVersion::OF_TYPES), object)
}

fn deployment(container: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container]}}}})
}

fn config(metadata: &Value, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

#[test]
fn what_is_right_has_no_findings() {
    let container = json!({"name": "web", "image": "web:1",
        "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}],
        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
        "livenessProbe": {"httpGet": {"port": "http"}}});
    assert_eq!(found(&deployment(&container)), [""; 0]);
    assert_eq!(
        found(&config(&json!({"name": "a.b"}), &json!({"A.b": "1"}))),
        [""; 0]
    );
}

#[test]
fn containers_are_looked_at_field_by_field() {
    let of = |container: Value| found(&deployment(&container));
    let at = "spec.template.spec.containers[0]";
    for (container, expected) in [
        (
            json!({"name": "a", "image": "b", "port": 1}),
            "port: there is no such field",
        ),
        (json!({"name": "a"}), "image: required value"),
        (json!({"image": "b"}), "name: it is required"),
        (
            json!({"name": "a", "image": "b", "ports": [{"containerPort": "80"}]}),
            "ports[0].containerPort: it must be a whole number, and is a text",
        ),
        (
            json!({"name": "a", "image": "b", "ports": [{"containerPort": 70000}]}),
            "ports[0].containerPort: invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            json!({"name": "a", "image": "b", "resources": {"limits": {"cpu": "much"}}}),
            "resources.limits.cpu: it must be a quantity such as 500m or 2Gi",
        ),
        (
            json!({"name": "a", "image": "b", "env": [{"name": "X", "value": 1}]}),
            "env[0].value: it must be a text, and is a number; put it in quotes",
        ),
        (
            json!({"name": "a", "image": "b", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
            "volumeMounts[0].name: not found: \"v\"",
        ),
    ] {
        assert_eq!(of(container), [format!("{at}.{expected}")]);
    }
    let twice = json!({"name": "a", "image": "b", "env": [{"name": "X"}, {"name": "X"}]});
    assert_eq!(of(twice).len(), 1, "a name that stands twice");
}

#[test]
fn kinds_and_versions_are_told() {
    let object = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}});
    let first = |version: &str, kind: &str| found(&object(version, kind)).into_iter().next();
    for (version, kind, expected) in [
        ("v1", "Configmap", Some("kind: v1 has no kind Configmap")),
        (
            "v1",
            "Deployment",
            Some("kind: Deployment is in apps/v1, not in v1"),
        ),
        (
            "app/v1",
            "Deployment",
            Some("apiVersion: no cluster serves app/v1"),
        ),
        (
            "apps/v2",
            "Deployment",
            Some("apiVersion: no cluster serves apps/v2"),
        ),
        (
            "policy/v1beta1",
            "PodDisruptionBudget",
            Some(
                "apiVersion: policy/v1beta1 PodDisruptionBudget was removed in Kubernetes 1.25; use policy/v1",
            ),
        ),
        ("example.com/v1", "Thing", None),
        ("storage.k8s.io/v1alpha9", "Thing", None),
    ] {
        assert_eq!(
            first(version, kind).as_deref(),
            expected,
            "{version} {kind}"
        );
    }
    let old = ApiTypes::of_version("1.24".parse().unwrap());
    assert_eq!(
        found_in(&old, &object("policy/v1beta1", "PodDisruptionBudget")),
        [
            "apiVersion: policy/v1beta1 PodDisruptionBudget is gone as of Kubernetes 1.25; \
          use policy/v1 (taken)"
        ]
    );
    let older = ApiTypes::of_version("v1.20.3".parse().unwrap());
    assert_eq!(
        found_in(&older, &object("policy/v1", "PodDisruptionBudget")),
        [
            "apiVersion: policy/v1 PodDisruptionBudget exists since Kubernetes 1.21, and this is for 1.20"
        ]
    );
    let newer = ApiTypes::of_version("1.40".parse().unwrap());
    let mut new_field = config(&json!({"name": "a"}), &json!({}));
    new_field["new"] = json!(1);
    assert_eq!(
        found_in(&newer, &new_field),
        ["new: there is no such field (taken)"]
    );
    for wrong in ["", "1", "2.3", "1.x", "latest"] {
        assert!(wrong.parse::<KubernetesVersion>().is_err(), "{wrong:?}");
    }
}

#[test]
fn names_labels_and_sizes_are_looked_at() {
    for (object, expected) in [
        (
            config(&json!({"name": "größe"}), &json!({})),
            "metadata.name: invalid value",
        ),
        (
            config(&json!({"name": "My_Config"}), &json!({})),
            "metadata.name: invalid value",
        ),
        (
            config(
                &json!({"name": "a", "labels": {"example.com/b": "not this"}}),
                &json!({}),
            ),
            "metadata.labels[example.com/b]: invalid value",
        ),
        (
            config(
                &json!({"name": "a", "annotations": {"b": "x".repeat(300_000)}}),
                &json!({}),
            ),
            "metadata.annotations.b: the annotations take 300001 bytes",
        ),
        (
            config(
                &json!({"name": "a"}),
                &json!({"text": "x".repeat(1_500_000)}),
            ),
            ": too long: may not be more than 1048576 bytes",
        ),
        (
            config(&json!({"name": "a"}), &json!({"n": 1})),
            "data.n: it must be a text",
        ),
    ] {
        let found = found(&object);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"password": "hunter2!"}});
    assert_eq!(
        found(&secret),
        ["data.password: it is not valid base64, from byte 7 on"]
    );
    let mut other = deployment(&json!({"name": "a", "image": "b"}));
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    assert_eq!(
        found(&other),
        [
            "spec.template.metadata.labels: invalid value: {\"app\":\"other\"}: \
          `selector` does not match template `labels`"
        ]
    );
}

#[test]
fn custom_resources_are_judged_by_their_definition() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "required": ["size", "mode"],
                    "properties": {"size": {"type": "integer", "maximum": 9},
                        "mode": {"type": "string", "default": "fast"}}}}}}}]}});
    let mut types = ApiTypes::of_version(KubernetesVersion::OF_TYPES);
    let thing = |kind: &str, spec: Value| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec});
    assert!(types.check(&thing("Thing", json!({}))).is_unknown_kind);
    types.define(&definition);
    assert_eq!(found_in(&types, &definition), [""; 0]);
    for (object, expected) in [
        (thing("Thing", json!({"size": 3})), &[][..]),
        (thing("Thing", json!({})), &["spec.size: required value"]),
        (
            thing("Thing", json!({"size": 3, "colour": "red"})),
            &["spec.colour: there is no such field"],
        ),
        (
            thing("Thing", json!({"size": 30})),
            &["spec.size: invalid value: 30: spec.size in body should be less than or equal to 9"],
        ),
        (
            thing("Thing", json!({"size": "3"})),
            &["spec.size: it must be a whole number, and is a text"],
        ),
        (
            thing("Thingy", json!({})),
            &["kind: example.com/v1 has no kind Thingy"],
        ),
    ] {
        assert_eq!(found_in(&types, &object), expected);
    }
}
