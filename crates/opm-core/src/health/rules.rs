//! Which rule judges which kind: one table, by group and kind.

use super::fields::ObjectFields;
use super::{Health, conditions, pod, scaling, storage, traffic, workload};
use crate::identity::GroupKind;
use crate::scope;

/// How the objects of one kind are judged.
struct HealthRule {
    group: &'static str,
    kind: &'static str,
    /// Whether it is worth waiting for: the cluster brings it to readiness by itself.
    takes_time: bool,
    judge: fn(&ObjectFields<'_>) -> Health,
}

const fn awaited(
    group: &'static str,
    kind: &'static str,
    judge: fn(&ObjectFields<'_>) -> Health,
) -> HealthRule {
    HealthRule {
        group,
        kind,
        takes_time: true,
        judge,
    }
}

const fn observed(
    group: &'static str,
    kind: &'static str,
    judge: fn(&ObjectFields<'_>) -> Health,
) -> HealthRule {
    HealthRule {
        group,
        kind,
        takes_time: false,
        judge,
    }
}

/// The kinds that Kubernetes itself brings along and that say how they are.
const RULES: &[HealthRule] = &[
    awaited("", "Namespace", storage::namespace),
    awaited("", "PersistentVolumeClaim", storage::claim),
    awaited("", "Pod", pod::pod),
    awaited("", "Service", traffic::service),
    awaited(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        conditions::definition,
    ),
    awaited(
        "apiregistration.k8s.io",
        "APIService",
        conditions::api_service,
    ),
    awaited("apps", "DaemonSet", workload::daemon_set),
    awaited("apps", "Deployment", workload::deployment),
    awaited("apps", "ReplicaSet", workload::replica_set),
    awaited("apps", "StatefulSet", workload::stateful_set),
    awaited("batch", "Job", workload::job),
    observed("", "PersistentVolume", storage::volume),
    observed("", "ReplicationController", workload::replica_set),
    observed(
        "autoscaling",
        "HorizontalPodAutoscaler",
        scaling::autoscaler,
    ),
    observed("batch", "CronJob", workload::cron_job),
    observed("networking.k8s.io", "Ingress", traffic::ingress),
    observed("policy", "PodDisruptionBudget", scaling::disruption_budget),
];

fn rule(group: &str, kind: &str) -> Option<&'static HealthRule> {
    RULES
        .iter()
        .find(|rule| rule.group == group && rule.kind == kind)
}

/// What the rule of its kind says of an object; conditions decide where there is none.
pub(super) fn judge(fields: &ObjectFields<'_>) -> Health {
    match rule(fields.group(), fields.kind()) {
        Some(rule) => (rule.judge)(fields),
        None => conditions::generic(fields),
    }
}

/// Whether objects of a kind can take time to become ready. Most built-in kinds are ready as
/// soon as they exist.
pub fn takes_time(kind: &GroupKind) -> bool {
    match rule(&kind.group, &kind.kind) {
        Some(rule) => rule.takes_time,
        None => scope::builtin(kind).is_none(),
    }
}

/// Whether objects of a kind say nothing about how they are, so that their metadata tells all
/// there is to know.
pub fn says_nothing(kind: &GroupKind) -> bool {
    rule(&kind.group, &kind.kind).is_none() && scope::builtin(kind).is_some()
}

/// Whether objects of a kind make pods, which can say why they are not ready.
pub fn has_pods(kind: &GroupKind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        (
            "apps",
            "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet"
        ) | ("batch", "Job")
            | ("", "ReplicationController")
    )
}
