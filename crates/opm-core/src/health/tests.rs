use serde_json::{Value, json};

use super::{Health, HealthState, of, why_not_ready};

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn deployment(status: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
           "metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status})
}

#[test]
fn each_kind_says_how_it_is() {
    let stateful = |status: Value, strategy: Value| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 1},
               "spec": {"replicas": 3, "updateStrategy": strategy}, "status": status})
    };
    let kind = |api: &str, kind: &str, rest: Value| {
        let mut all = json!({"apiVersion": api, "kind": kind});
        if let (Value::Object(all), Value::Object(rest)) = (&mut all, rest) {
            all.extend(rest);
        }
        all
    };
    let condition = |t: &str, s: &str| json!({"status": {"conditions": [{"type": t, "status": s, "reason": "Why", "message": "so"}]}});
    let progressing = Health::progressing;
    for (live, expected) in [
        (
            deployment(&json!({})),
            progressing("its controller has not seen it yet"),
        ),
        (
            deployment(
                &json!({"observedGeneration": 1, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}),
            ),
            progressing("its controller has not seen the latest change yet"),
        ),
        (
            deployment(
                &json!({"observedGeneration": 2, "updatedReplicas": 1, "replicas": 3, "availableReplicas": 2}),
            ),
            progressing("1 of 2 pods are up to date"),
        ),
        (
            deployment(
                &json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 3, "availableReplicas": 2}),
            ),
            progressing("1 old pod is still there"),
        ),
        (
            deployment(
                &json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}),
            ),
            progressing("1 of 2 pods are available"),
        ),
        (
            deployment(
                &json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}),
            ),
            Health::ready(),
        ),
        (
            deployment(&json!({"observedGeneration": 2, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}]})),
            Health::failed("ProgressDeadlineExceeded: too slow"),
        ),
        (
            stateful(
                json!({"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1,
                         "currentRevision": "a", "updateRevision": "b"}),
                json!({}),
            ),
            progressing("1 of 3 pods are up to date"),
        ),
        (
            stateful(
                json!({"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1,
                         "currentRevision": "a", "updateRevision": "b"}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            ),
            Health::ready(),
        ),
        (
            stateful(
                json!({"observedGeneration": 1, "readyReplicas": 3}),
                json!({"type": "OnDelete"}),
            ),
            Health::ready(),
        ),
        (
            kind(
                "apps/v1",
                "DaemonSet",
                json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1,
            "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}}),
            ),
            progressing("1 of 2 pods are available"),
        ),
        (
            kind("batch/v1", "Job", condition("Complete", "True")),
            Health::ready(),
        ),
        (
            kind("batch/v1", "Job", condition("Failed", "True")),
            Health::failed("Why: so"),
        ),
        (
            kind("batch/v1", "Job", json!({"status": {"active": 1}})),
            progressing("0 of 1 completions"),
        ),
        (
            kind(
                "v1",
                "PersistentVolumeClaim",
                json!({"status": {"phase": "Bound"}}),
            ),
            Health::ready(),
        ),
        (
            kind("v1", "PersistentVolumeClaim", json!({})),
            progressing("it is not bound to a volume yet"),
        ),
        (
            kind("v1", "Service", json!({"spec": {"type": "LoadBalancer"}})),
            progressing("its load balancer has no address yet"),
        ),
        (kind("v1", "Service", json!({"spec": {}})), Health::ready()),
        (
            kind(
                "example.com/v1",
                "Service",
                json!({"spec": {"type": "LoadBalancer"}}),
            ),
            Health::ready(),
        ),
        (
            kind("v1", "Namespace", json!({"status": {"phase": "Active"}})),
            Health::ready(),
        ),
        (kind("v1", "ConfigMap", json!({})), Health::ready()),
        (
            kind(
                "v1",
                "ConfigMap",
                json!({"metadata": {"deletionTimestamp": "x"}}),
            ),
            progressing("it is being deleted"),
        ),
        (
            kind(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                condition("Established", "True"),
            ),
            Health::ready(),
        ),
        (
            kind(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                condition("NamesAccepted", "False"),
            ),
            Health::failed("Why: so"),
        ),
        (
            kind("example.com/v1", "Foo", condition("Ready", "False")),
            progressing("Why: so"),
        ),
        (
            kind("example.com/v1", "Foo", condition("Stalled", "True")),
            Health::failed("Why: so"),
        ),
        (
            kind("example.com/v1", "Foo", condition("Ready", "True")),
            Health::ready(),
        ),
    ] {
        assert_eq!(of(&object(live.clone())), expected, "{live}");
    }
}

#[test]
fn pods_say_why_a_workload_is_not_ready() {
    let pod = |name: &str, status: Value| {
        object(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": status}),
        )
    };
    let pulling = pod(
        "a",
        json!({"phase": "Pending", "containerStatuses": [
        {"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}),
    );
    let unschedulable = pod(
        "b",
        json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}),
    );
    let fine = pod(
        "c",
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
    );
    let silent = pod(
        "d",
        json!({"containerStatuses": [{"name": "web", "state": {"waiting": {"message": "why"}}}]}),
    );
    assert_eq!(of(&silent).message, "container web waits: why");
    assert_eq!(of(&pulling).state, HealthState::Degraded);
    assert_eq!(of(&unschedulable).state, HealthState::Progressing);
    assert_eq!(why_not_ready(std::slice::from_ref(&fine)), None);
    assert_eq!(
        why_not_ready(&[pulling, unschedulable, fine]).as_deref(),
        Some(
            "pod a: container web waits: ImagePullBackOff: no such image; pod b: Unschedulable: 0/1 nodes"
        )
    );
}
