//! Immutable fields that are known before an apply.

use opm_core::identity::GroupKind;
use opm_core::immutable::changed_immutable_fields;
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
            "spec.ipFamilyPolicy",
            json!("SingleStack"),
            json!("PreferDualStack"),
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
