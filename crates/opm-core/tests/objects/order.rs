//! Weights, the total order, digests, hashes, and the names and ids that follow from them.

use std::cmp::Ordering;

use opm_core::digest::{ManifestDigest, ObjectHash};
use opm_core::identity::GroupKind;
use opm_core::ids::{ChangeId, ReleaseId};
use opm_core::name::{ModulePath, NamespaceName, ReleaseName};
use opm_core::plan::rank;
use opm_core::weight::{digest_order, weight};
use serde_json::json;

use crate::{bare, manifest};

#[test]
fn weights_go_by_group_and_kind() {
    const RBAC: &str = "rbac.authorization.k8s.io";
    const HOOKS: &str = "admissionregistration.k8s.io";
    let table = [
        (-100, "apiextensions.k8s.io", "CustomResourceDefinition"),
        (0, "", "Namespace"),
        (5, RBAC, "ClusterRole"),
        (5, RBAC, "ClusterRoleBinding"),
        (10, "", "ServiceAccount"),
        (10, RBAC, "Role"),
        (10, RBAC, "RoleBinding"),
        (15, "", "Secret"),
        (15, "", "ConfigMap"),
        (20, "storage.k8s.io", "StorageClass"),
        (20, "", "PersistentVolume"),
        (20, "", "PersistentVolumeClaim"),
        (50, "", "Service"),
        (100, "apps", "Deployment"),
        (100, "apps", "StatefulSet"),
        (100, "apps", "DaemonSet"),
        (100, "apps", "ReplicaSet"),
        (110, "batch", "Job"),
        (110, "batch", "CronJob"),
        (150, "networking.k8s.io", "Ingress"),
        (150, "networking.k8s.io", "NetworkPolicy"),
        (200, "autoscaling", "HorizontalPodAutoscaler"),
        (200, "autoscaling.k8s.io", "VerticalPodAutoscaler"),
        (200, "policy", "PodDisruptionBudget"),
        (500, HOOKS, "ValidatingWebhookConfiguration"),
        (500, HOOKS, "MutatingWebhookConfiguration"),
        (1000, "serving.knative.dev", "Service"),
        (1000, "example.com", "Secret"),
        (1000, "", "Pod"),
        (1000, "apps", "Service"),
        (1000, "autoscaling", "VerticalPodAutoscaler"),
    ];
    for (expected, group, kind) in table {
        assert_eq!(
            weight(&GroupKind::new(group, kind)),
            expected,
            "{kind} of {group:?}"
        );
    }
}

#[test]
fn what_others_need_is_applied_before_them() {
    const HOOKS: &str = "admissionregistration.k8s.io";
    const RBAC: &str = "rbac.authorization.k8s.io";
    const STORAGE: &str = "storage.k8s.io";
    let steps: &[&[(&str, &str)]] = &[
        &[("apiextensions.k8s.io", "CustomResourceDefinition")],
        &[("", "Namespace")],
        &[
            ("scheduling.k8s.io", "PriorityClass"),
            ("node.k8s.io", "RuntimeClass"),
            ("networking.k8s.io", "IngressClass"),
            (STORAGE, "StorageClass"),
            (STORAGE, "VolumeAttributesClass"),
            (STORAGE, "CSIDriver"),
            ("resource.k8s.io", "DeviceClass"),
        ],
        &[("", "ResourceQuota"), ("", "LimitRange")],
        &[("networking.k8s.io", "NetworkPolicy")],
        &[(RBAC, "ClusterRole"), (RBAC, "ClusterRoleBinding")],
        &[
            ("", "ServiceAccount"),
            (RBAC, "Role"),
            (RBAC, "RoleBinding"),
        ],
        &[
            ("", "Secret"),
            ("", "ConfigMap"),
            ("certificates.k8s.io", "ClusterTrustBundle"),
        ],
        &[
            (HOOKS, "ValidatingAdmissionPolicy"),
            (HOOKS, "MutatingAdmissionPolicy"),
        ],
        &[
            (HOOKS, "ValidatingAdmissionPolicyBinding"),
            (HOOKS, "MutatingAdmissionPolicyBinding"),
        ],
        &[
            ("", "PersistentVolume"),
            ("", "PersistentVolumeClaim"),
            ("resource.k8s.io", "ResourceClaim"),
            ("resource.k8s.io", "ResourceClaimTemplate"),
        ],
        &[("", "Service")],
        &[("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")],
        &[
            ("apps", "Deployment"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("apps", "ReplicaSet"),
            ("", "Pod"),
            ("", "ReplicationController"),
        ],
        &[("batch", "Job"), ("batch", "CronJob")],
        &[("networking.k8s.io", "Ingress")],
        &[
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("autoscaling.k8s.io", "VerticalPodAutoscaler"),
            ("policy", "PodDisruptionBudget"),
        ],
        &[("apiregistration.k8s.io", "APIService")],
        &[
            (HOOKS, "ValidatingWebhookConfiguration"),
            (HOOKS, "MutatingWebhookConfiguration"),
        ],
        &[("coordination.k8s.io", "Lease"), ("", "PodTemplate")],
        &[
            ("serving.knative.dev", "Service"),
            ("example.com", "PriorityClass"),
            ("argoproj.io", "Application"),
        ],
    ];
    let ranks = steps.iter().map(|step| {
        let ranks = step
            .iter()
            .map(|(group, kind)| rank(&GroupKind::new(*group, *kind)));
        let ranks: Vec<i32> = ranks.collect();
        assert!(
            ranks.iter().all(|one| *one == ranks[0]),
            "{step:?}: {ranks:?}"
        );
        ranks[0]
    });
    let ranks: Vec<i32> = ranks.collect();
    assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
}

#[test]
fn ties_are_broken_by_group_kind_namespace_and_name() {
    let in_order = [
        bare("v1", "Namespace", "", "z"),
        bare("v1", "ServiceAccount", "a", "a"),
        bare("rbac.authorization.k8s.io/v1", "Role", "a", "a"),
        bare("rbac.authorization.k8s.io/v1", "RoleBinding", "a", "a"),
        bare("v1", "ConfigMap", "a", "b"),
        bare("v1", "ConfigMap", "b", "a"),
        bare("v1", "Secret", "a", "a"),
        bare("example.com/v1", "Foo", "", "x"),
        bare("example.com/v1", "Foo", "a", "x"),
    ];
    for pair in in_order.windows(2) {
        assert_eq!(
            digest_order(pair[0].identity(), pair[1].identity()),
            Ordering::Less
        );
    }
}

#[test]
fn a_digest_changes_with_any_content_and_not_with_order() {
    let a = manifest(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    let b = manifest(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}));
    let both = ManifestDigest::of(&[a.clone(), b.clone()]);
    assert_eq!(both, ManifestDigest::of(&[b, a.clone()]));
    assert_ne!(both, ManifestDigest::of(&[a]));
}

#[test]
fn an_object_hash_is_the_beginning_of_its_sha256() {
    // printf '{"a":"<"}' with the escape written out, through sha256sum.
    let object = json!({"a": "<"});
    let hash = ObjectHash::of(object.as_object().unwrap());
    assert_eq!(hash, ObjectHash::of_bytes(br#"{"a":"\u003c"}"#));
    assert_eq!(hash.as_str().parse::<ObjectHash>().unwrap(), hash);
    assert_eq!(ObjectHash::of_bytes(b"").as_str(), "e3b0c44298fc1c14");
    assert!("E3B0C44298FC1C14".parse::<ObjectHash>().is_err());
    assert!("e3b0".parse::<ObjectHash>().is_err());
}

#[test]
fn secrets_are_named_after_release_and_id() {
    let name = ReleaseName::new("r".repeat(63)).unwrap();
    let path = ModulePath::new("opmodel.dev/modules/minecraft@v0").unwrap();
    let id = ReleaseId::of(&path, &name, &NamespaceName::new("default").unwrap());
    let inventory = id.inventory_secret(&name);
    assert_eq!(inventory, format!("opm.{name}.{id}"));
    let ring: Vec<String> = id.record_secrets(&name).collect();
    assert_eq!(ring.len(), 64);
    assert_eq!(
        (&ring[0], &ring[63]),
        (&format!("{inventory}.00"), &format!("{inventory}.63"))
    );
    assert_eq!(id.record_secret(&name, 7).as_ref(), Some(&ring[7]));
    assert_eq!(id.record_secret(&name, 64), None);
    assert!(ring.iter().all(|name| name.len() <= 253));
    assert!(ReleaseId::is_record_name(&inventory));
    assert!(ring.iter().all(|name| ReleaseId::is_record_name(name)));
    for other in [
        "opm",
        "opm.web",
        "opm.web.00",
        &format!("opm.{id}"),
        &format!("{inventory}.7"),
        &format!("{inventory}.00.00"),
        &format!("x{inventory}"),
    ] {
        assert!(!ReleaseId::is_record_name(other), "{other}");
    }
}

#[test]
fn ids_read_back_in_their_one_spelling() {
    let text = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";
    assert_eq!(text.parse::<ReleaseId>().unwrap().to_string(), text);
    for wrong in [
        "",
        "x",
        &text.to_uppercase(),
        &text.replace('-', ""),
        &format!("{{{text}}}"),
    ] {
        assert!(wrong.parse::<ReleaseId>().is_err(), "{wrong}");
    }
    let text = "change-sha1-41fcb8b1";
    assert_eq!(text.parse::<ChangeId>().unwrap().as_str(), text);
    for wrong in [
        "",
        "change-sha1-",
        "change-sha1-41FCB8B1",
        "change-sha1-41fcb8b",
        "41fcb8b1",
    ] {
        assert!(wrong.parse::<ChangeId>().is_err(), "{wrong}");
    }
}
