//! Which rule judges which kind: one table, by group and kind.

use super::fields::ObjectFields;
use super::{Health, conditions, pod, scaling, storage, traffic, workload};
use crate::identity::GroupKind;
use crate::scope;

type Judge = fn(&ObjectFields<'_>) -> Health;

/// The built-in kinds that are worth waiting for: the cluster brings them to readiness by itself.
const AWAITED: &[(&str, &str, Judge)] = &[
    ("", "Namespace", storage::namespace),
    ("", "PersistentVolumeClaim", storage::claim),
    ("", "Pod", pod::pod),
    ("", "Service", traffic::service),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        conditions::definition,
    ),
    (
        "apiregistration.k8s.io",
        "APIService",
        conditions::api_service,
    ),
    ("apps", "DaemonSet", workload::daemon_set),
    ("apps", "Deployment", workload::deployment),
    ("apps", "ReplicaSet", workload::replica_set),
    ("apps", "StatefulSet", workload::stateful_set),
    ("batch", "Job", workload::job),
];

/// The built-in kinds that report their state but need no waiting.
const OBSERVED: &[(&str, &str, Judge)] = &[
    ("", "PersistentVolume", storage::volume),
    ("", "ReplicationController", workload::replica_set),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        scaling::autoscaler,
    ),
    ("batch", "CronJob", workload::cron_job),
    ("networking.k8s.io", "Ingress", traffic::ingress),
    ("policy", "PodDisruptionBudget", scaling::disruption_budget),
];

fn find(rules: &[(&str, &str, Judge)], kind: &GroupKind) -> Option<Judge> {
    let mut rules = rules.iter();
    rules.find_map(|(group, name, judge)| kind.is(group, name).then_some(*judge))
}

/// What the rule of its kind says of an object; conditions decide where there is none.
pub(super) fn judge(fields: &ObjectFields<'_>) -> Health {
    let kind = GroupKind::of(fields.api_version(), fields.kind());
    let rule = find(AWAITED, &kind).or_else(|| find(OBSERVED, &kind));
    rule.unwrap_or(conditions::generic)(fields)
}

/// Whether objects of a kind can take time to become ready. Most built-in kinds are ready as
/// soon as they exist.
pub fn takes_time(kind: &GroupKind) -> bool {
    find(AWAITED, kind).is_some() || scope::builtin(kind).is_none()
}

/// Whether objects of a kind say nothing about how they are, so that their metadata tells all
/// there is to know.
pub fn says_nothing(kind: &GroupKind) -> bool {
    let known = find(AWAITED, kind).or_else(|| find(OBSERVED, kind));
    known.is_none() && scope::builtin(kind).is_some()
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
