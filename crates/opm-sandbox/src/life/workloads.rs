//! Workloads and claims that become ready, stay pending, fail or crash, as they are told.

use serde_json::{Value, json};

use super::{CONTROLLER, OBSERVED_AFTER, READY_AFTER, Simulate, Subject, schedule, simulated};
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::store::Key;
use crate::verbs::{Scope, stamp};

fn lives(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        (
            "apps",
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        ) | ("batch", "Job")
            | (
                "",
                "PersistentVolumeClaim" | "Pod" | "ReplicationController" | "Service"
            )
            | ("policy", "PodDisruptionBudget")
            | ("autoscaling", "HorizontalPodAutoscaler")
    )
}

/// A new or changed workload is observed at once and ready a little later.
pub(super) fn noticed(
    scope: &Scope<'_>,
    resource: &Resource,
    key: &Key,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    if !lives(resource) {
        return Ok(());
    }
    if resource.is("", "Service") && object["spec"]["type"] != "LoadBalancer" {
        return Ok(());
    }
    let told = |o: &Value| simulated(o);
    if old.is_some_and(|o| o["spec"] == object["spec"] && told(o) == told(object)) {
        return Ok(());
    }
    schedule(scope, key, "observe", OBSERVED_AFTER)?;
    schedule(scope, key, "ready", READY_AFTER)
}

pub(super) fn observe(subject: &Subject<'_>) -> Result<(), ApiError> {
    if subject.is_terminating() {
        return Ok(());
    }
    let mut object = subject.object.clone();
    if subject.resource.is("apps", "Deployment") {
        note_revision(&subject.object, &mut object);
    }
    let status = status(subject, Simulate::Pending);
    match status {
        Some(status) => subject.set_status(object, status, CONTROLLER),
        None => Ok(()),
    }
}

pub(super) fn ready(subject: &Subject<'_>) -> Result<(), ApiError> {
    if subject.is_terminating() {
        return Ok(());
    }
    let fate = simulated(&subject.object);
    if subject.resource.is("", "PersistentVolumeClaim") && fate == Simulate::Nothing {
        return bind(subject);
    }
    let Some(status) = status(subject, fate) else {
        return Ok(());
    };
    subject.set_status(subject.object.clone(), status, CONTROLLER)?;
    let ttl = subject.object["spec"]["ttlSecondsAfterFinished"].as_i64();
    match (subject.resource.is("batch", "Job"), ttl, fate) {
        (true, Some(ttl), Simulate::Nothing | Simulate::Fail) => {
            schedule(subject.scope, subject.key, "expire", ttl * 1000)
        }
        _ => Ok(()),
    }
}

const REVISION: &str = "deployment.kubernetes.io/revision";

/// The deployment controller counts pod templates.
fn note_revision(old: &Value, new: &mut Value) {
    let annotations = &mut new["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    let current: i64 = old["metadata"]["annotations"][REVISION]
        .as_str()
        .and_then(|r| r.parse().ok())
        .unwrap_or(0);
    if current == 0 {
        annotations[REVISION] = json!("1");
    }
}

/// The status of a workload that is pending, ready, failing or crashing; `None` leaves it alone.
fn status(subject: &Subject<'_>, fate: Simulate) -> Option<Value> {
    let object = &subject.object;
    let spec = &object["spec"];
    let now = stamp(subject.scope.now);
    let generation = object["metadata"]["generation"].clone();
    let replicas = spec["replicas"].as_i64().unwrap_or(1);
    let good = fate == Simulate::Nothing;
    match (
        subject.resource.group.as_str(),
        subject.resource.kind.as_str(),
    ) {
        ("apps", "Deployment") => Some(deployment(&generation, replicas, fate, &now)),
        ("apps", "StatefulSet") => {
            let revision = format!(
                "{}-1",
                object["metadata"]["name"].as_str().unwrap_or_default()
            );
            let mut status = json!({
                "observedGeneration": generation, "replicas": replicas,
                "currentReplicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": if good { replicas } else { 0 },
                "currentRevision": revision, "updateRevision": revision, "collisionCount": 0
            });
            if good {
                status["readyReplicas"] = json!(replicas);
            }
            Some(status)
        }
        ("apps", "DaemonSet") => {
            let ready = i64::from(good);
            Some(json!({
                "observedGeneration": generation, "desiredNumberScheduled": 1,
                "currentNumberScheduled": 1, "updatedNumberScheduled": 1, "numberMisscheduled": 0,
                "numberReady": ready, "numberAvailable": ready, "numberUnavailable": 1 - ready
            }))
        }
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            let ready = if good { replicas } else { 0 };
            Some(json!({
                "observedGeneration": generation, "replicas": replicas,
                "readyReplicas": ready, "availableReplicas": ready, "fullyLabeledReplicas": replicas
            }))
        }
        ("batch", "Job") => Some(job(spec, &object["status"], fate, &now)),
        ("", "Pod") => Some(pod(fate, &now)),
        ("", "Service") if good => {
            Some(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}))
        }
        ("policy", "PodDisruptionBudget") if good => Some(json!({
            "observedGeneration": generation, "currentHealthy": 0, "desiredHealthy": 0,
            "disruptionsAllowed": 0, "expectedPods": 0
        })),
        ("autoscaling", "HorizontalPodAutoscaler") if fate != Simulate::Pending => {
            Some(autoscaler(spec, good, &now))
        }
        _ => None,
    }
}

/// An autoscaler that is content with the smallest number that it may choose. Nothing is
/// measured, and nothing is scaled.
fn autoscaler(spec: &Value, good: bool, now: &str) -> Value {
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now});
    let able = condition("AbleToScale", "True", "ReadyForNewScale");
    let active = match good {
        true => condition("ScalingActive", "True", "ValidMetricFound"),
        false => condition("ScalingActive", "False", "FailedGetResourceMetric"),
    };
    let replicas = spec["minReplicas"].as_i64().unwrap_or(1);
    json!({
        "currentReplicas": replicas, "desiredReplicas": replicas, "conditions": [able, active]
    })
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now, "lastUpdateTime": now
    })
}

fn deployment(generation: &Value, replicas: i64, fate: Simulate, now: &str) -> Value {
    let good = fate == Simulate::Nothing || replicas == 0;
    let available = match good {
        true => condition(
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
            now,
        ),
        false => condition(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
            now,
        ),
    };
    let progressing = match fate {
        Simulate::Nothing => condition(
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            "ReplicaSet has successfully progressed.",
            now,
        ),
        Simulate::Fail => condition(
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            "ReplicaSet has timed out progressing.",
            now,
        ),
        Simulate::Pending | Simulate::Crash => condition(
            "Progressing",
            "True",
            "ReplicaSetUpdated",
            "ReplicaSet is progressing.",
            now,
        ),
    };
    let mut status = json!({
        "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
        "conditions": [available, progressing]
    });
    if good {
        status["readyReplicas"] = json!(replicas);
        status["availableReplicas"] = json!(replicas);
    } else {
        status["unavailableReplicas"] = json!(replicas);
    }
    status
}

fn job(spec: &Value, before: &Value, fate: Simulate, now: &str) -> Value {
    let start = before
        .get("startTime")
        .cloned()
        .unwrap_or_else(|| json!(now));
    let completions = spec["completions"]
        .as_i64()
        .or(spec["parallelism"].as_i64())
        .unwrap_or(1);
    let flag = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now
        })
    };
    if spec["suspend"] == true {
        let suspended = flag("Suspended", "JobSuspended", "Job suspended");
        return json!({"conditions": [suspended], "ready": 0, "uncountedTerminatedPods": {}});
    }
    match fate {
        Simulate::Nothing => json!({
            "startTime": start, "completionTime": now, "succeeded": completions, "ready": 0,
            "terminating": 0, "uncountedTerminatedPods": {},
            "conditions": [
                flag("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"),
                flag("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
            ]
        }),
        Simulate::Fail | Simulate::Crash => {
            let failed = spec["backoffLimit"].as_i64().unwrap_or(6) + 1;
            let message = "Job has reached the specified backoff limit";
            json!({
                "startTime": start, "failed": failed, "ready": 0, "terminating": 0,
                "uncountedTerminatedPods": {},
                "conditions": [
                    flag("FailureTarget", "BackoffLimitExceeded", message),
                    flag("Failed", "BackoffLimitExceeded", message)
                ]
            })
        }
        Simulate::Pending => json!({
            "startTime": start, "active": spec["parallelism"].as_i64().unwrap_or(1), "ready": 0,
            "terminating": 0, "uncountedTerminatedPods": {}
        }),
    }
}

fn pod(fate: Simulate, now: &str) -> Value {
    let good = fate == Simulate::Nothing;
    let phase = match fate {
        Simulate::Nothing | Simulate::Crash => "Running",
        Simulate::Pending => "Pending",
        Simulate::Fail => "Failed",
    };
    let ready = if good { "True" } else { "False" };
    json!({
        "phase": phase, "startTime": now, "qosClass": "BestEffort",
        "conditions": [{"type": "Ready", "status": ready, "lastProbeTime": null, "lastTransitionTime": now}]
    })
}

/// A claim gets a volume of its own size; the volume itself is not made.
fn bind(subject: &Subject<'_>) -> Result<(), ApiError> {
    let mut new = subject.object.clone();
    let uid = new["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    if new["spec"].get("volumeName").is_none() {
        new["spec"]["volumeName"] = json!(format!("pvc-{uid}"));
        let annotations = &mut new["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations["pv.kubernetes.io/bind-completed"] = json!("yes");
        annotations["pv.kubernetes.io/bound-by-controller"] = json!("yes");
        let writing = subject.writing("");
        writing.update_managers(&subject.object, &mut new, CONTROLLER);
        new = writing.update(&subject.object, new)?;
    }
    let status = json!({
        "phase": "Bound",
        "accessModes": new["spec"]["accessModes"],
        "capacity": {"storage": new["spec"]["resources"]["requests"]["storage"]}
    });
    let bound = Subject {
        object: new.clone(),
        resource: subject.resource.clone(),
        ..*subject
    };
    bound.set_status(new, status, CONTROLLER)
}
