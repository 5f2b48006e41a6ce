//! Immutable fields: what is known beforehand, and what the server's answers mean.

use opm_core::identity::GroupKind;
use opm_core::immutable::{Cause, Rejection, changed_immutable_fields, immutable_fields};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";

#[test]
fn fields_that_are_known_to_be_immutable() {
    let table = [
        (
            "apps",
            "Deployment",
            "spec.selector",
            json!({"matchLabels": {"a": "b"}}),
            json!({"matchLabels": {"a": "c"}}),
        ),
        (
            "apps",
            "Deployment",
            "spec.selector",
            json!({"matchLabels": {"a": "b", "c": "d"}}),
            json!({"matchLabels": {"a": "b"}}),
        ),
        (
            "apps",
            "DaemonSet",
            "spec.selector",
            json!({"matchLabels": {"a": "b"}}),
            json!({"matchLabels": {"a": "c"}}),
        ),
        (
            "apps",
            "ReplicaSet",
            "spec.selector",
            json!({"matchLabels": {"a": "b"}}),
            json!({"matchLabels": {"a": "c"}}),
        ),
        (
            "apps",
            "StatefulSet",
            "spec.serviceName",
            json!("a"),
            json!("b"),
        ),
        (
            "apps",
            "StatefulSet",
            "spec.podManagementPolicy",
            json!("OrderedReady"),
            json!("Parallel"),
        ),
        (
            "apps",
            "StatefulSet",
            "spec.volumeClaimTemplates",
            json!([{"metadata": {"name": "d"}, "spec": {"volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}}]),
            json!([{"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}]),
        ),
        (
            "batch",
            "Job",
            "spec.template",
            json!({"metadata": {"labels": {"job-name": "x"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}}),
            json!({"spec": {"containers": [{"name": "c", "image": "b"}]}}),
        ),
        ("batch", "Job", "spec.completions", json!(1), json!(2)),
        (
            "",
            "Service",
            "spec.clusterIP",
            json!("10.0.0.1"),
            json!("None"),
        ),
        (
            "",
            "Service",
            "spec.clusterIPs",
            json!(["10.0.0.1"]),
            json!(["10.0.0.2"]),
        ),
        (
            "",
            "Service",
            "spec.ipFamilyPolicy",
            json!("SingleStack"),
            json!("RequireDualStack"),
        ),
        (
            "",
            "Service",
            "spec.ipFamilies",
            json!(["IPv4"]),
            json!(["IPv6"]),
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.storageClassName",
            json!("a"),
            json!("b"),
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.accessModes",
            json!(["ReadWriteOnce"]),
            json!(["ReadWriteMany"]),
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.volumeMode",
            json!("Filesystem"),
            json!("Block"),
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.volumeName",
            json!("pv-1"),
            json!("pv-2"),
        ),
        (
            "",
            "Secret",
            "type",
            json!("Opaque"),
            json!("kubernetes.io/tls"),
        ),
        (
            RBAC,
            "RoleBinding",
            "roleRef",
            json!({"apiGroup": RBAC, "kind": "Role", "name": "a"}),
            json!({"kind": "Role", "name": "b"}),
        ),
        (
            RBAC,
            "ClusterRoleBinding",
            "roleRef",
            json!({"name": "a"}),
            json!({"name": "b"}),
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            "provisioner",
            json!("a"),
            json!("b"),
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            "parameters",
            json!({"a": "b"}),
            json!({}),
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            "reclaimPolicy",
            json!("Delete"),
            json!("Retain"),
        ),
        (
            "scheduling.k8s.io",
            "PriorityClass",
            "value",
            json!(1),
            json!(2),
        ),
        (
            "networking.k8s.io",
            "IngressClass",
            "spec.controller",
            json!("a"),
            json!("b"),
        ),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "spec.scope",
            json!("Cluster"),
            json!("Namespaced"),
        ),
    ];
    for (group, kind, path, live, desired) in table {
        let kind = GroupKind::new(group, kind);
        let (live, desired) = (at(path, &live), at(path, &desired));
        let changed = |live: &Value, desired: &Value| {
            changed_immutable_fields(
                &kind,
                live.as_object().unwrap(),
                desired.as_object().unwrap(),
            )
        };
        assert_eq!(changed(&live, &desired), [path], "{kind}");
        assert_eq!(changed(&live, &live), [""; 0], "{kind}, unchanged");
        assert_eq!(changed(&live, &json!({})), [""; 0], "{kind}, not stated");
        assert_eq!(
            changed(&json!({}), &desired),
            [""; 0],
            "{kind}, not set yet"
        );
    }
}

/// An object that has one value, at a path.
fn at(path: &str, value: &Value) -> Value {
    path.rsplit('.')
        .fold(value.clone(), |inner, segment| json!({segment: inner}))
}

#[test]
fn what_may_change_or_was_defaulted_is_no_change() {
    let table = [
        (
            "",
            "Service",
            "spec.clusterIP",
            json!("10.0.0.1"),
            json!(""),
        ),
        (
            "",
            "Service",
            "spec.ipFamilies",
            json!(["IPv4"]),
            json!(["IPv4", "IPv6"]),
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.resources.requests.storage",
            json!("1Gi"),
            json!("2Gi"),
        ),
        (
            "example.com",
            "Deployment",
            "spec.selector",
            json!({"a": "b"}),
            json!({"a": "c"}),
        ),
        ("apps", "StatefulSet", "spec.replicas", json!(1), json!(2)),
        (
            "apps",
            "StatefulSet",
            "spec.volumeClaimTemplates",
            json!([{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d", "creationTimestamp": null}, "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}]),
            json!([{"metadata": {"name": "d"}, "spec": {}}]),
        ),
        ("", "ConfigMap", "data.a", json!("1"), json!("2")),
    ];
    for (group, kind, path, live, desired) in table {
        let (live, desired) = (at(path, &live), at(path, &desired));
        let changed = changed_immutable_fields(
            &GroupKind::new(group, kind),
            live.as_object().unwrap(),
            desired.as_object().unwrap(),
        );
        assert_eq!(changed, [""; 0], "{kind} {path}");
    }
}

#[test]
fn a_frozen_config_map_or_secret_counts_as_a_whole() {
    for kind in ["ConfigMap", "Secret"] {
        let kind = GroupKind::new("", kind);
        let live = json!({"immutable": true, "data": {"a": "MQ=="}});
        let table = [
            (json!({"immutable": true, "data": {"a": "MQ=="}}), vec![]),
            (
                json!({"immutable": true, "data": {"a": "Mg=="}}),
                vec!["data"],
            ),
            (json!({"immutable": true}), vec!["data"]),
            (json!({"data": {"a": "MQ=="}}), vec!["immutable"]),
            (
                json!({"immutable": true, "data": {"a": "MQ=="}, "binaryData": {"b": "MQ=="}}),
                vec!["binaryData"],
            ),
        ];
        for (desired, expected) in table {
            let changed = changed_immutable_fields(
                &kind,
                live.as_object().unwrap(),
                desired.as_object().unwrap(),
            );
            assert_eq!(changed, expected, "{desired}");
        }
    }
}

const INVALID: &str = "FieldValueInvalid";
const FORBIDDEN: &str = "FieldValueForbidden";

fn verdict(code: u16, reason: &str, causes: &[Cause], desired: &Value) -> Option<Vec<String>> {
    immutable_fields(
        &Rejection {
            code,
            reason,
            causes,
        },
        desired.as_object().unwrap(),
    )
}

#[test]
fn the_servers_ways_to_say_that_a_field_is_immutable() {
    let kilobytes = format!(
        "Invalid value: {{\"spec\":\"{}\"}}: field is immutable",
        "x".repeat(8000)
    );
    let table = [
        (
            INVALID,
            "spec.selector",
            "Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable",
        ),
        (INVALID, "spec.template", kilobytes.as_str()),
        (
            INVALID,
            "spec.completions",
            "Invalid value: 2: field is immutable",
        ),
        (
            INVALID,
            "spec.completionMode",
            "Invalid value: \"Indexed\": field is immutable",
        ),
        (
            INVALID,
            "type",
            "Invalid value: \"kubernetes.io/tls\": field is immutable",
        ),
        (
            INVALID,
            "spec.scope",
            "Invalid value: \"Cluster\": field is immutable",
        ),
        (
            INVALID,
            "spec.names.plural",
            "Invalid value: \"bars\": field is immutable",
        ),
        (
            INVALID,
            "volumeBindingMode",
            "Invalid value: \"Immediate\": field is immutable",
        ),
        (
            INVALID,
            "spec.volumeMode",
            "Invalid value: \"Block\": field is immutable",
        ),
        (
            INVALID,
            "spec.controller",
            "Invalid value: \"b\": field is immutable",
        ),
        (
            FORBIDDEN,
            "data",
            "Forbidden: field is immutable when `immutable` is set",
        ),
        (
            FORBIDDEN,
            "immutable",
            "Forbidden: field is immutable when `immutable` is set",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
        (
            INVALID,
            "spec.clusterIPs[0]",
            "Invalid value: [\"10.0.0.9\"]: may not change once set",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -1,3 +1,3 @@\n",
        ),
        (
            FORBIDDEN,
            "spec.persistentvolumesource",
            "Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -1 +1 @@\n",
        ),
        (
            INVALID,
            "roleRef",
            "Invalid value: {\"name\":\"b\"}: cannot change roleRef",
        ),
        (
            FORBIDDEN,
            "provisioner",
            "Forbidden: updates to provisioner are forbidden.",
        ),
        (
            FORBIDDEN,
            "parameters",
            "Forbidden: updates to parameters are forbidden.",
        ),
        (
            FORBIDDEN,
            "reclaimPolicy",
            "updates to reclaimPolicy are forbidden.",
        ),
        (
            FORBIDDEN,
            "value",
            "Forbidden: may not be changed in an update.",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": failed rule: self == oldSelf",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": Value is immutable",
        ),
    ];
    for (reason, field, message) in table {
        let causes = [Cause {
            reason,
            field,
            message,
        }];
        assert_eq!(
            verdict(422, "Invalid", &causes, &json!({})),
            Some(vec![field.to_owned()]),
            "{message:.200}"
        );
        assert_eq!(verdict(409, "Conflict", &causes, &json!({})), None);
        assert_eq!(verdict(422, "Forbidden", &causes, &json!({})), None);
        assert_eq!(verdict(400, "Invalid", &causes, &json!({})), None);
    }
}

#[test]
fn look_alikes_are_not_taken_for_it() {
    let table = [
        (
            INVALID,
            "metadata.uid",
            "Invalid value: \"x\": field is immutable",
        ),
        (
            INVALID,
            "metadata.creationTimestamp",
            "Invalid value: null: field is immutable",
        ),
        (
            INVALID,
            "metadata.labels",
            "Invalid value: \"field is immutable\": a valid label must be an empty string or consist of alphanumeric characters",
        ),
        (
            INVALID,
            "spec.ports[0].name",
            "Invalid value: \"field is immutable\": must contain only alphanumeric characters (a-z, 0-9) and hyphens (-)",
        ),
        (
            INVALID,
            "spec.replicas",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            INVALID,
            "spec.template.metadata.labels",
            "Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
        ),
        ("FieldValueRequired", "spec.selector", "Required value"),
        (
            "FieldValueRequired",
            "spec.selector",
            "Required value: field is immutable",
        ),
        (
            "FieldValueNotSupported",
            "spec.type",
            "Unsupported value: \"X\": supported values: \"ClusterIP\"",
        ),
        (
            "FieldValueDuplicate",
            "spec.ports[1]",
            "Duplicate value: \"field is immutable\"",
        ),
        (
            "FieldValueTypeInvalid",
            "spec.host",
            "Invalid value: \"field is immutable\": must be of type integer",
        ),
        (
            FORBIDDEN,
            "spec.replicas",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        ),
        (
            FORBIDDEN,
            "spec.resources.requests.storage",
            "Forbidden: field can not be less than status.capacity",
        ),
        (
            FORBIDDEN,
            "spec",
            "Forbidden: exceeded quota, which field is immutable",
        ),
        (
            FORBIDDEN,
            "parameters",
            "Forbidden: updates to provisioner are forbidden.",
        ),
        (
            INVALID,
            "subjects",
            "Invalid value: \"b\": cannot change roleRef",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"b\": must not be the author's text",
        ),
        (
            INVALID,
            "spec.host",
            "Invalid value: \"x\": failed rule: self == oldSelf || self > 1",
        ),
    ];
    for (reason, field, message) in table {
        let causes = [Cause {
            reason,
            field,
            message,
        }];
        assert_eq!(
            verdict(422, "Invalid", &causes, &json!({})),
            None,
            "{reason} {field}: {message}"
        );
    }
    assert_eq!(verdict(422, "Invalid", &[], &json!({})), None);
}

#[test]
fn one_ordinary_cause_makes_the_refusal_ordinary() {
    let immutable = Cause {
        reason: INVALID,
        field: "spec.selector",
        message: "Invalid value: {}: field is immutable",
    };
    let ordinary = Cause {
        reason: INVALID,
        field: "spec.replicas",
        message: "Invalid value: -1: must be greater than or equal to 0",
    };
    assert_eq!(
        verdict(422, "Invalid", &[immutable, ordinary], &json!({})),
        None
    );
}

#[test]
fn a_selector_mismatch_is_harmless_only_if_the_new_object_matches_itself() {
    let causes = [
        Cause {
            reason: INVALID,
            field: "spec.template.metadata.labels",
            message: "Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
        },
        Cause {
            reason: INVALID,
            field: "spec.selector",
            message: "Invalid value: {}: field is immutable",
        },
    ];
    let workload = |selector: Value| json!({"spec": {"selector": selector, "template": {"metadata": {"labels": {"app": "b", "x": "y"}}}}});
    let fits = Some(vec!["spec.selector".to_owned()]);
    let table = [
        (workload(json!({"matchLabels": {"app": "b"}})), fits.clone()),
        (
            workload(json!({"matchLabels": {"app": "b"}, "matchExpressions": []})),
            fits,
        ),
        (workload(json!({"matchLabels": {"app": "a"}})), None),
        (
            workload(
                json!({"matchLabels": {"app": "b"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]}),
            ),
            None,
        ),
        (workload(json!({})), None),
        (json!({}), None),
    ];
    for (desired, expected) in table {
        assert_eq!(
            verdict(422, "Invalid", &causes, &desired),
            expected,
            "{desired}"
        );
    }
    assert_eq!(
        verdict(
            422,
            "Invalid",
            &causes[..1],
            &workload(json!({"matchLabels": {"app": "b"}}))
        ),
        None
    );
}
