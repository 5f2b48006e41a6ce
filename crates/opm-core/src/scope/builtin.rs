//! The scopes of the kinds that Kubernetes itself brings along (1.25 to 1.37), by group and kind.

use super::Scope;

pub(super) fn scope(group: &str, kind: &str) -> Option<Scope> {
    if cluster(group).contains(&kind) {
        Some(Scope::Cluster)
    } else if namespaced(group).contains(&kind) {
        Some(Scope::Namespaced)
    } else {
        None
    }
}

fn cluster(group: &str) -> &'static [&'static str] {
    match group {
        "" => &["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
        "admissionregistration.k8s.io" => &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        "apiextensions.k8s.io" => &["CustomResourceDefinition"],
        "apiregistration.k8s.io" => &["APIService"],
        "authentication.k8s.io" => &["SelfSubjectReview", "TokenReview"],
        "authorization.k8s.io" => &[
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
        "certificates.k8s.io" => &["CertificateSigningRequest", "ClusterTrustBundle"],
        "flowcontrol.apiserver.k8s.io" => &["FlowSchema", "PriorityLevelConfiguration"],
        "internal.apiserver.k8s.io" => &["StorageVersion"],
        "networking.k8s.io" => &["IPAddress", "IngressClass", "ServiceCIDR"],
        "node.k8s.io" => &["RuntimeClass"],
        "policy" => &["PodSecurityPolicy"],
        "rbac.authorization.k8s.io" => &["ClusterRole", "ClusterRoleBinding"],
        "resource.k8s.io" => &[
            "DeviceClass",
            "DeviceTaintRule",
            "ResourcePoolStatusRequest",
            "ResourceSlice",
        ],
        "scheduling.k8s.io" => &["PriorityClass"],
        "storage.k8s.io" => &[
            "CSIDriver",
            "CSINode",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
        "storagemigration.k8s.io" => &["StorageVersionMigration"],
        _ => &[],
    }
}

fn namespaced(group: &str) -> &'static [&'static str] {
    match group {
        "" => &[
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
        "apps" => &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
        "authorization.k8s.io" => &["LocalSubjectAccessReview"],
        "autoscaling" => &["HorizontalPodAutoscaler"],
        "batch" => &["CronJob", "Job"],
        "certificates.k8s.io" => &["PodCertificateRequest"],
        "coordination.k8s.io" => &["Lease", "LeaseCandidate"],
        "discovery.k8s.io" => &["EndpointSlice"],
        "events.k8s.io" => &["Event"],
        "extensions" => &[
            "DaemonSet",
            "Deployment",
            "Ingress",
            "NetworkPolicy",
            "ReplicaSet",
        ],
        "lifecycle.k8s.io" => &["Eviction", "EvictionRequest"],
        "networking.k8s.io" => &["Ingress", "NetworkPolicy"],
        "policy" => &["PodDisruptionBudget"],
        "rbac.authorization.k8s.io" => &["Role", "RoleBinding"],
        "resource.k8s.io" => &["ResourceClaim", "ResourceClaimTemplate"],
        "scheduling.k8s.io" => &["CompositePodGroup", "PodGroup", "Workload"],
        "storage.k8s.io" => &["CSIStorageCapacity"],
        _ => &[],
    }
}
