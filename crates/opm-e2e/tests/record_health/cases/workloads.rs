//! Deployments, StatefulSets, DaemonSets and ReplicaSets.

use opm_testkit::workload::{DELAY_ANNOTATION, FATE_ANNOTATION, Fate, deployment, stateful_set};
use serde_json::{Value, json};

use super::{condition, idles, waits};
use crate::stage::{Case, Stage, Step};

const NOT_SEEN: &str = "its controller has not seen it yet";
const IDLE: &str = "its containers have not started yet on node …";
const CRASHING: &str = "container main waits: CrashLoopBackOff: back-off 40s restarting failed container; it ended with code 1 (Error)";

pub(crate) fn cases(stage: &Stage) -> Vec<Case> {
    let apps = |ns: &str, plural: &str| format!("/apis/apps/v1/namespaces/{ns}/{plural}");
    let home = |plural: &str| apps(&stage.ns, plural);
    [
        deployments(&home("deployments"), &apps(&stage.full, "deployments")),
        stateful_sets(&home("statefulsets")),
        daemon_sets(&home("daemonsets")),
        replica_sets(&home("replicasets"), &apps(&stage.full, "replicasets")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A message with a placeholder filled in. Cases are few and live for the whole recording.
fn said(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn spec(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

fn delayed(mut object: Value) -> Value {
    object["spec"]["template"]["metadata"]["annotations"] = json!({DELAY_ANNOTATION: "10m"});
    object
}

fn nowhere(mut object: Value) -> Value {
    object["spec"]["template"]["spec"]["nodeSelector"] = json!({"example.com/none": "true"});
    object
}

fn of_kind(kind: &str, mut object: Value) -> Value {
    object["kind"] = json!(kind);
    if kind == "DaemonSet" {
        object["spec"].as_object_mut().unwrap().remove("replicas");
    }
    object
}

fn deployments(at: &str, full: &str) -> Vec<Case> {
    let (made, ready) = (deployment, |n: &'static str, c| {
        deployment(n, c, Fate::Ready)
    });
    let path = |name: &str| format!("{at}/{name}");
    let template = |annotation: Value| json!({"spec": {"template": {"metadata": {"annotations": annotation}}}});
    vec![
        Case::created("deployment-created", at, ready("d-created", 1)).is("Progressing", NOT_SEEN),
        Case::of("deployment-ready", at, ready("d-ready", 3))
            .until(|d| d["status"]["availableReplicas"] == 3),
        Case::of("deployment-starting", at, delayed(ready("d-starting", 2)))
            .until(|d| d["status"]["unavailableReplicas"] == 2)
            .pods("d-starting", idles)
            .is("Progressing", said(&format!("0 of 2 pods are available (pod {{pod}}: {IDLE}; pod …: {IDLE})"))),
        Case::of("deployment-crashing", at, made("d-crashing", 1, Fate::Crash))
            .until(|d| d["status"]["unavailableReplicas"] == 1)
            .pods("d-crashing", |pod| waits(pod, "CrashLoopBackOff"))
            .is("Degraded", said(&format!("0 of 1 pods are available (pod {{pod}}: {CRASHING})"))),
        Case::of("deployment-bad-image", at, made("d-image", 1, Fate::BadImage))
            .until(|d| d["status"]["unavailableReplicas"] == 1)
            .pods("d-image", |pod| waits(pod, "ImagePullBackOff"))
            .is("Degraded", "0 of 1 pods are available (pod {pod}: container main waits: ImagePullBackOff: Back-off pulling image \"registry.invalid/app:1\")"),
        Case::of("deployment-pending", at, made("d-pending", 1, Fate::Pending))
            .until(|d| d["status"]["unavailableReplicas"] == 1)
            .pods("d-pending", idles)
            .is("Progressing", said(&format!("0 of 1 pods are available (pod {{pod}}: {IDLE})"))),
        Case::of("deployment-unschedulable", at, nowhere(ready("d-nowhere", 1)))
            .until(|d| d["status"]["unavailableReplicas"] == 1)
            .pods("d-nowhere", |pod| condition(pod, "PodScheduled")["reason"] == "Unschedulable")
            .is("Progressing", "0 of 1 pods are available (pod {pod}: Unschedulable: 0/… nodes are available: …)"),
        Case::of("deployment-paused", at, spec(ready("d-paused", 1), "paused", json!(true)))
            .until(|d| d["status"]["observedGeneration"] == 1)
            .is("Progressing", "its rollout is paused"),
        Case::of("deployment-scaled-to-zero", at, ready("d-zero", 0))
            .until(|d| condition(d, "Progressing")["reason"] == "NewReplicaSetAvailable"),
        Case::of("deployment-rolling-out", at, ready("d-rolling", 1))
            .then(Step::Await(path("d-rolling"), |d| d["status"]["availableReplicas"] == 1))
            .then(Step::Merge(path("d-rolling"), template(json!({FATE_ANNOTATION: "pending"}))))
            .until(|d| d["status"]["replicas"] == 2 && d["status"]["updatedReplicas"] == 1)
            .pods("d-rolling", |pod| pod["spec"]["nodeName"].is_string())
            .is("Progressing", said(&format!("1 old pod is still there (pod …: {IDLE})"))),
        Case::of("deployment-deadline-exceeded", at,
            spec(made("d-late", 1, Fate::Pending), "progressDeadlineSeconds", json!(1)))
            .until(|d| condition(d, "Progressing")["reason"] == "ProgressDeadlineExceeded")
            .pods("d-late", idles)
            .is("Failed", said(&format!("ProgressDeadlineExceeded: ReplicaSet \"…\" has timed out progressing. (pod {{pod}}: {IDLE})"))),
        Case::of("deployment-over-quota", full, ready("d-quota", 1))
            .until(|d| condition(d, "ReplicaFailure")["status"] == "True")
            .is("Degraded", "FailedCreate: pods \"…\" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"),
        Case::of("deployment-degraded", at, ready("d-degraded", 2))
            .then(Step::Await(path("d-degraded"), |d| {
                d["status"]["availableReplicas"] == 2
                    && condition(d, "Progressing")["reason"] == "NewReplicaSetAvailable"
            }))
            .then(Step::Unready("d-degraded"))
            .until(|d| d["status"]["availableReplicas"] == 1)
            .pods("d-degraded", |_| true)
            .is("Degraded", "1 of 2 pods are available (pod …: ContainersNotReady: containers with unready status: [main])"),
        Case::created("deployment-changed", at, ready("d-changed", 1))
            .then(Step::Await(path("d-changed"), |d| d["status"]["availableReplicas"] == 1))
            .then(Step::Merge(path("d-changed"), json!({"spec": {"replicas": 2}})))
            .is("Progressing", "its controller has not seen the latest change yet"),
    ]
}

fn stateful_sets(at: &str) -> Vec<Case> {
    let path = |name: &str| format!("{at}/{name}");
    let ready = |name, count| stateful_set(name, count, Fate::Ready);
    let touched = json!({"spec": {"template": {"metadata": {"annotations": {"touched": "yes"}}}}});
    let partitioned = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    vec![
        Case::created("statefulset-created", at, ready("s-created", 1)).is("Progressing", NOT_SEEN),
        Case::of("statefulset-ready", at, ready("s-ready", 2))
            .until(|s| s["status"]["readyReplicas"] == 2),
        Case::of("statefulset-starting", at, delayed(ready("s-starting", 3)))
            .until(|s| s["status"]["replicas"] == 1)
            .pods("s-starting", idles)
            .is(
                "Progressing",
                said(&format!("0 of 3 pods are ready (pod s-starting-0: {IDLE})")),
            ),
        Case::of(
            "statefulset-crashing",
            at,
            stateful_set("s-crashing", 2, Fate::Crash),
        )
        .until(|s| s["status"]["replicas"] == 1)
        .pods("s-crashing", |pod| waits(pod, "CrashLoopBackOff"))
        .is(
            "Degraded",
            said(&format!(
                "0 of 2 pods are ready (pod s-crashing-0: {CRASHING})"
            )),
        ),
        Case::of(
            "statefulset-partitioned",
            at,
            spec(ready("s-part", 2), "updateStrategy", partitioned),
        )
        .then(Step::Await(path("s-part"), |s| {
            s["status"]["readyReplicas"] == 2
        }))
        .then(Step::Merge(path("s-part"), touched.clone()))
        .until(|s| {
            s["status"]["updatedReplicas"] == 1
                && s["status"]["readyReplicas"] == 2
                && s["status"]["currentRevision"] != s["status"]["updateRevision"]
        }),
        Case::of(
            "statefulset-on-delete",
            at,
            spec(
                ready("s-delete", 1),
                "updateStrategy",
                json!({"type": "OnDelete"}),
            ),
        )
        .then(Step::Await(path("s-delete"), |s| {
            s["status"]["readyReplicas"] == 1
        }))
        .then(Step::Merge(path("s-delete"), touched))
        .until(|s| {
            s["status"]["observedGeneration"] == 2
                && s["status"]["currentRevision"] != s["status"]["updateRevision"]
        }),
        Case::of("statefulset-scaled-to-zero", at, ready("s-zero", 0))
            .until(|s| s["status"]["observedGeneration"] == 1),
    ]
}

fn daemon_sets(at: &str) -> Vec<Case> {
    let made = |name, fate| of_kind("DaemonSet", deployment(name, 1, fate));
    vec![
        Case::created("daemonset-created", at, made("ds-created", Fate::Ready))
            .is("Progressing", NOT_SEEN),
        Case::of("daemonset-ready", at, made("ds-ready", Fate::Ready)).until(|d| {
            d["status"]["numberAvailable"].as_i64() > Some(0)
                && d["status"]["numberAvailable"] == d["status"]["desiredNumberScheduled"]
        }),
        Case::of("daemonset-crashing", at, made("ds-crashing", Fate::Crash))
            .until(|d| d["status"]["numberUnavailable"].as_i64() > Some(0))
            .pods("ds-crashing", |pod| waits(pod, "CrashLoopBackOff"))
            .is(
                "Degraded",
                "0 of … pods are available (pod …: container main waits: CrashLoopBackOff: …)",
            ),
        Case::of(
            "daemonset-without-nodes",
            at,
            nowhere(made("ds-nowhere", Fate::Ready)),
        )
        .until(|d| d["status"]["observedGeneration"] == 1),
    ]
}

fn replica_sets(at: &str, full: &str) -> Vec<Case> {
    let made = |name, count, fate| of_kind("ReplicaSet", deployment(name, count, fate));
    vec![
        Case::created("replicaset-created", at, made("rs-created", 1, Fate::Ready))
            .is("Progressing", NOT_SEEN),
        Case::of("replicaset-ready", at, made("rs-ready", 2, Fate::Ready))
            .until(|r| r["status"]["availableReplicas"] == 2),
        Case::of(
            "replicaset-pending",
            at,
            made("rs-pending", 2, Fate::Pending),
        )
        .until(|r| r["status"]["replicas"] == 2)
        .pods("rs-pending", idles)
        .is(
            "Progressing",
            said(&format!(
                "0 of 2 pods are available (pod …: {IDLE}; pod …: {IDLE})"
            )),
        ),
        Case::of(
            "replicaset-over-quota",
            full,
            made("rs-quota", 1, Fate::Ready),
        )
        .until(|r| condition(r, "ReplicaFailure")["status"] == "True")
        .is(
            "Degraded",
            "FailedCreate: pods \"…\" is forbidden: exceeded quota: none, …",
        ),
    ]
}
