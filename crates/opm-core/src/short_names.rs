//! What else people call a kind: in another case, in the plural, or in short, as `kubectl` does.

use crate::identity::GroupKind;

/// Short names of built-in kinds.
const SHORT: [(&str, &str, &str); 24] = [
    ("cm", "", "ConfigMap"),
    ("crd", "apiextensions.k8s.io", "CustomResourceDefinition"),
    ("crds", "apiextensions.k8s.io", "CustomResourceDefinition"),
    ("cj", "batch", "CronJob"),
    ("deploy", "apps", "Deployment"),
    ("ds", "apps", "DaemonSet"),
    ("ep", "", "Endpoints"),
    ("hpa", "autoscaling", "HorizontalPodAutoscaler"),
    ("ing", "networking.k8s.io", "Ingress"),
    ("limits", "", "LimitRange"),
    ("netpol", "networking.k8s.io", "NetworkPolicy"),
    ("no", "", "Node"),
    ("ns", "", "Namespace"),
    ("pc", "scheduling.k8s.io", "PriorityClass"),
    ("pdb", "policy", "PodDisruptionBudget"),
    ("po", "", "Pod"),
    ("pv", "", "PersistentVolume"),
    ("pvc", "", "PersistentVolumeClaim"),
    ("quota", "", "ResourceQuota"),
    ("rc", "", "ReplicationController"),
    ("rs", "apps", "ReplicaSet"),
    ("sa", "", "ServiceAccount"),
    ("sc", "storage.k8s.io", "StorageClass"),
    ("sts", "apps", "StatefulSet"),
];

/// Whether a kind is called so.
pub(crate) fn is_called(kind: &GroupKind, word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let singular = kind.kind.to_ascii_lowercase();
    let plural = match singular.as_bytes() {
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => format!("{singular}es"),
        [start @ .., b'y'] if !start.ends_with(b"a") && !start.ends_with(b"e") => {
            format!("{}ies", &singular[..singular.len() - 1])
        }
        _ => format!("{singular}s"),
    };
    word == singular
        || word == plural
        || (word == "svc" && kind.is("", "Service"))
        || SHORT
            .iter()
            .any(|(short, group, name)| word == *short && kind.is(group, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_many_names() {
        for (word, group, kind, expected) in [
            ("ConfigMap", "", "ConfigMap", true),
            ("configmap", "", "ConfigMap", true),
            ("configmaps", "", "ConfigMap", true),
            ("cm", "", "ConfigMap", true),
            ("CM", "", "ConfigMap", true),
            ("cm", "example.com", "ConfigMap", false),
            ("svc", "", "Service", true),
            ("svc", "serving.knative.dev", "Service", false),
            ("services", "serving.knative.dev", "Service", true),
            ("ingresses", "networking.k8s.io", "Ingress", true),
            (
                "networkpolicies",
                "networking.k8s.io",
                "NetworkPolicy",
                true,
            ),
            ("gateways", "gateway.networking.k8s.io", "Gateway", true),
            ("storageclasses", "storage.k8s.io", "StorageClass", true),
            ("deploy", "apps", "Deployment", true),
            ("deplo", "apps", "Deployment", false),
            ("", "", "ConfigMap", false),
        ] {
            let kind = GroupKind::new(group, kind);
            assert_eq!(is_called(&kind, word), expected, "{word} for {kind}");
        }
    }

    #[test]
    fn clusters_have_names_of_their_own() {
        let called = |word: &str| match word {
            "wdg" => vec![GroupKind::new("example.com", "Widget")],
            _ => Vec::new(),
        };
        let widget = |group: &str| {
            let kind = GroupKind::new(group, "Widget");
            crate::identity::Identity::new(kind, Some("n"), "gear")
        };
        for (given, group, expected) in [
            ("wdg/gear", "example.com", true),
            ("WDG/gear", "example.com", true),
            ("Widget/gear", "example.com", true),
            ("wdg/wheel", "example.com", false),
            ("wdg/gear", "example.org", false),
            ("wdg.example.org/gear", "example.com", false),
        ] {
            let selector: crate::identity::ObjectSelector = given.parse().unwrap();
            assert_eq!(
                selector.known_as(called).matches(&widget(group)),
                expected,
                "{given}"
            );
        }
    }
}
