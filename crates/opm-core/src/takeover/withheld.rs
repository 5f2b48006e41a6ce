//! What never moves with the managed fields of a retired tool: what the server or a controller
//! has put there, whoever is said to own it, and what cannot be removed.

use serde_json::{Map, Value};

use crate::identity::GroupKind;
use crate::immutable::is_immutable;

/// Annotations that controllers of the cluster write.
const CONTROLLERS_ANNOTATIONS: [&str; 6] = [
    "batch.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "deployment.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
];

/// What decides which fields of an object stay as they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Withheld<'a> {
    pub(super) kind: &'a GroupKind,
    pub(super) object: &'a Map<String, Value>,
    /// Whether an autoscaler has the number of replicas.
    pub(super) replicas: bool,
}

impl Withheld<'_> {
    /// Whether the place to which these keys lead stays as it is. Of what is not rendered at all,
    /// such as an item of a list that goes as a whole, nothing is held back further down.
    pub(super) fn holds(&self, keys: &[&str]) -> bool {
        match keys {
            ["f:metadata"] => false,
            ["f:metadata", "f:annotations", annotation] => {
                let name = annotation.strip_prefix("f:").unwrap_or(annotation);
                let mut controllers = CONTROLLERS_ANNOTATIONS.iter();
                controllers.any(|prefix| name.starts_with(prefix))
            }
            ["f:metadata", "f:annotations" | "f:labels", ..] => false,
            // Finalizers, owner references, and what else the server keeps there.
            ["f:metadata", ..] => true,
            ["f:status"] => true,
            ["f:spec", "f:replicas"] => self.replicas,
            _ => self.is_allocated(keys) || self.is_frozen(keys),
        }
    }

    /// What the server or a controller allocates.
    fn is_allocated(&self, keys: &[&str]) -> bool {
        let kind = |group: &str, kind: &str| self.kind.is(group, kind);
        match keys {
            [.., "f:caBundle"] => true,
            ["f:spec", "f:finalizers"] => kind("", "Namespace"),
            [
                "f:spec",
                "f:clusterIP"
                | "f:clusterIPs"
                | "f:healthCheckNodePort"
                | "f:ipFamilies"
                | "f:ipFamilyPolicy",
            ]
            | ["f:spec", "f:ports", _, "f:nodePort"] => kind("", "Service"),
            // Of a claim only what it asks for can be changed, of a volume hardly more.
            ["f:spec", "f:resources" | "f:volumeAttributesClassName"] => false,
            [
                "f:spec",
                "f:accessModes" | "f:capacity" | "f:persistentVolumeReclaimPolicy",
            ] => kind("", "PersistentVolumeClaim"),
            ["f:spec", _] if kind("", "PersistentVolumeClaim") => true,
            ["f:spec", _] => kind("", "PersistentVolume"),
            ["f:secrets"] => kind("", "ServiceAccount"),
            ["f:spec"] => kind("", "Pod"),
            ["f:rules"] => {
                kind("rbac.authorization.k8s.io", "ClusterRole")
                    && self.object.contains_key("aggregationRule")
            }
            _ => false,
        }
    }

    /// What cannot be changed in place.
    fn is_frozen(&self, keys: &[&str]) -> bool {
        let sealed = matches!(keys, ["f:data" | "f:binaryData" | "f:immutable"])
            && self.object.get("immutable") == Some(&Value::Bool(true));
        let names: Option<Vec<&str>> = keys.iter().map(|key| key.strip_prefix("f:")).collect();
        sealed || names.is_some_and(|names| is_immutable(self.kind, &names.join(".")))
    }
}
