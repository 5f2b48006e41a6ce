//! Which API versions Kubernetes serves no more, or not yet.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::TypeFinding;

/// A minor version of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesVersion {
    minor: u32,
}

/// A text that names no version of Kubernetes.
#[derive(Debug, Error)]
#[error("not a version of Kubernetes; write it as 1.34")]
pub struct KubernetesVersionError;

impl KubernetesVersion {
    /// The version that the types are from.
    pub const OF_TYPES: Self = Self { minor: 34 };
}

impl Default for KubernetesVersion {
    fn default() -> Self {
        Self::OF_TYPES
    }
}

impl FromStr for KubernetesVersion {
    type Err = KubernetesVersionError;

    /// `1.34`, also with a `v` and with what follows the minor version.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text
            .strip_prefix('v')
            .unwrap_or(text)
            .split(['.', '+', '-']);
        let minor = parts.next().filter(|major| *major == "1").and(parts.next());
        let minor = minor.and_then(|minor| minor.parse().ok());
        minor
            .map(|minor| Self { minor })
            .ok_or(KubernetesVersionError)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// API version, kind (any if empty), the first minor version without it, and what takes its place.
type Removed = (&'static str, &'static str, u32, &'static str);

const APPS: &str = "apps/v1";
const NETWORKING: &str = "networking.k8s.io/v1";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io/v1";

const REMOVED: &[Removed] = &[
    (
        "admissionregistration.k8s.io/v1beta1",
        "MutatingWebhookConfiguration",
        22,
        "admissionregistration.k8s.io/v1",
    ),
    (
        "admissionregistration.k8s.io/v1beta1",
        "ValidatingWebhookConfiguration",
        22,
        "admissionregistration.k8s.io/v1",
    ),
    (
        "apiextensions.k8s.io/v1beta1",
        "",
        22,
        "apiextensions.k8s.io/v1",
    ),
    (
        "apiregistration.k8s.io/v1beta1",
        "",
        22,
        "apiregistration.k8s.io/v1",
    ),
    ("apps/v1beta1", "", 16, APPS),
    ("apps/v1beta2", "", 16, APPS),
    (
        "authentication.k8s.io/v1beta1",
        "TokenReview",
        22,
        "authentication.k8s.io/v1",
    ),
    (
        "authorization.k8s.io/v1beta1",
        "",
        22,
        "authorization.k8s.io/v1",
    ),
    ("autoscaling/v2beta1", "", 25, "autoscaling/v2"),
    ("autoscaling/v2beta2", "", 26, "autoscaling/v2"),
    ("batch/v1beta1", "", 25, "batch/v1"),
    ("batch/v2alpha1", "", 21, "batch/v1"),
    (
        "certificates.k8s.io/v1beta1",
        "CertificateSigningRequest",
        22,
        "certificates.k8s.io/v1",
    ),
    (
        "coordination.k8s.io/v1beta1",
        "Lease",
        22,
        "coordination.k8s.io/v1",
    ),
    ("discovery.k8s.io/v1beta1", "", 25, "discovery.k8s.io/v1"),
    ("events.k8s.io/v1beta1", "", 25, "events.k8s.io/v1"),
    ("extensions/v1beta1", "Ingress", 22, NETWORKING),
    ("extensions/v1beta1", "NetworkPolicy", 16, NETWORKING),
    ("extensions/v1beta1", "PodSecurityPolicy", 16, ""),
    ("extensions/v1beta1", "", 16, APPS),
    (
        "flowcontrol.apiserver.k8s.io/v1alpha1",
        "",
        21,
        FLOW_CONTROL,
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "", 26, FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "", 29, FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "", 32, FLOW_CONTROL),
    ("networking.k8s.io/v1beta1", "Ingress", 22, NETWORKING),
    ("networking.k8s.io/v1beta1", "IngressClass", 22, NETWORKING),
    ("node.k8s.io/v1beta1", "", 25, "node.k8s.io/v1"),
    ("policy/v1beta1", "PodSecurityPolicy", 25, ""),
    ("policy/v1beta1", "", 25, "policy/v1"),
    (
        "rbac.authorization.k8s.io/v1alpha1",
        "",
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    (
        "rbac.authorization.k8s.io/v1beta1",
        "",
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    (
        "scheduling.k8s.io/v1alpha1",
        "PriorityClass",
        22,
        "scheduling.k8s.io/v1",
    ),
    (
        "scheduling.k8s.io/v1beta1",
        "PriorityClass",
        22,
        "scheduling.k8s.io/v1",
    ),
    ("settings.k8s.io/v1alpha1", "", 20, ""),
    (
        "storage.k8s.io/v1beta1",
        "CSIDriver",
        22,
        "storage.k8s.io/v1",
    ),
    ("storage.k8s.io/v1beta1", "CSINode", 22, "storage.k8s.io/v1"),
    (
        "storage.k8s.io/v1beta1",
        "CSIStorageCapacity",
        27,
        "storage.k8s.io/v1",
    ),
    (
        "storage.k8s.io/v1beta1",
        "StorageClass",
        22,
        "storage.k8s.io/v1",
    ),
    (
        "storage.k8s.io/v1beta1",
        "VolumeAttachment",
        22,
        "storage.k8s.io/v1",
    ),
];

/// API version, kind (any if empty), and the first minor version that serves it.
const SINCE: &[(&str, &str, u32)] = &[
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        30,
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        30,
    ),
    ("admissionregistration.k8s.io/v1", "", 16),
    ("apiextensions.k8s.io/v1", "", 16),
    ("autoscaling/v2", "", 23),
    ("batch/v1", "CronJob", 21),
    ("discovery.k8s.io/v1", "", 21),
    ("events.k8s.io/v1", "", 19),
    ("flowcontrol.apiserver.k8s.io/v1", "", 29),
    ("networking.k8s.io/v1", "Ingress", 19),
    ("networking.k8s.io/v1", "IngressClass", 19),
    ("networking.k8s.io/v1", "IPAddress", 33),
    ("networking.k8s.io/v1", "ServiceCIDR", 33),
    ("node.k8s.io/v1", "", 20),
    ("policy/v1", "PodDisruptionBudget", 21),
    ("resource.k8s.io/v1", "", 34),
    ("storage.k8s.io/v1", "CSIStorageCapacity", 24),
    ("storage.k8s.io/v1", "VolumeAttributesClass", 34),
];

/// What is to be said of an API version and a kind.
pub(super) fn check(version: KubernetesVersion, api_version: &str, kind: &str) -> Vec<TypeFinding> {
    let path = ["apiVersion".to_string()];
    let is = |of: &str, one: &str| of == api_version && (one.is_empty() || one == kind);
    if let Some((_, _, removed, successor)) = REMOVED.iter().find(|r| is(r.0, r.1)) {
        let is_taken = version.minor < *removed;
        let when = match is_taken {
            true => "is gone as of",
            false => "was removed in",
        };
        let instead = match *successor {
            "" => "nothing takes its place".to_string(),
            successor => format!("use {successor}"),
        };
        let message = format!("{api_version} {kind} {when} Kubernetes 1.{removed}; {instead}");
        return vec![TypeFinding {
            is_taken,
            ..TypeFinding::new(&path, message)
        }];
    }
    match SINCE.iter().find(|since| is(since.0, since.1)) {
        Some((_, _, since)) if version.minor < *since => {
            let message = format!(
                "{api_version} {kind} exists since Kubernetes 1.{since}, and this is for {version}"
            );
            vec![TypeFinding::new(&path, message)]
        }
        _ => Vec::new(),
    }
}

/// Whether a version is a stable one: its list does not change without a new Kubernetes.
pub(super) fn is_stable(version: &str) -> bool {
    let digits = version.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}
