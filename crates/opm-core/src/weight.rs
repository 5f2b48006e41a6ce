//! RFC-0001's order, by which objects are digested and stored: by weight, then by identity. The
//! order in which they are applied stands on top of it, in [`plan`](crate::plan).
//!
//! Weights go by group *and* kind: a custom resource whose kind is called Service is no Service.

use std::cmp::Ordering;

use crate::identity::{GroupKind, Identity};

/// The weight of every kind that has none of its own.
pub(crate) const DEFAULT_WEIGHT: i32 = 1000;

/// The weight of a kind: lower comes earlier.
pub fn weight(group_kind: &GroupKind) -> i32 {
    match (group_kind.group.as_str(), group_kind.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => -100,
        ("", "Namespace") => 0,
        ("rbac.authorization.k8s.io", "ClusterRole" | "ClusterRoleBinding") => 5,
        ("", "ServiceAccount") | ("rbac.authorization.k8s.io", "Role" | "RoleBinding") => 10,
        ("", "Secret" | "ConfigMap") => 15,
        ("storage.k8s.io", "StorageClass") | ("", "PersistentVolume" | "PersistentVolumeClaim") => {
            20
        }
        ("", "Service") => 50,
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => 100,
        ("batch", "Job" | "CronJob") => 110,
        ("networking.k8s.io", "Ingress" | "NetworkPolicy") => 150,
        ("autoscaling", "HorizontalPodAutoscaler")
        | ("autoscaling.k8s.io", "VerticalPodAutoscaler")
        | ("policy", "PodDisruptionBudget") => 200,
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => 500,
        _ => DEFAULT_WEIGHT,
    }
}

/// The total order of objects: weight, group, kind, namespace, name.
pub fn digest_order(a: &Identity, b: &Identity) -> Ordering {
    weight(&a.group_kind)
        .cmp(&weight(&b.group_kind))
        .then_with(|| a.cmp(b))
}
