//! The objects that scenarios are told with, as small as the server allows.

use serde_json::{Value, json};

/// A ConfigMap with one key.
pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}})
}

/// A Secret with one key, and a canary beside it: a value that no run may ever show.
pub fn secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"password": value, "canary": format!("a canary sings in {name}")}})
}

/// A headless Service.
pub fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [{"name": "game", "port": 25565}]}})
}

/// A claim of one gibibyte.
pub fn volume_claim(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

/// A StatefulSet of one replica.
pub fn stateful_set(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {"serviceName": name, "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": pod_template(name)}})
}

/// A Deployment of one replica.
pub fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": pod_template(name)}})
}

/// A Job that runs once.
pub fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {"metadata": {"labels": {"app": name}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/job:1"}]}}}})
}

fn pod_template(name: &str) -> Value {
    json!({"metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}})
}

/// A Namespace.
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A ClusterRole that allows nothing much.
pub fn cluster_role(name: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]})
}

/// The definition of a namespaced kind `kind` in `group`.
pub fn custom_kind(group: &str, kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": {"type": "object", "properties":
                    {"size": {"type": "integer"}}}}}}}]}})
}

/// An object of such a kind.
pub fn custom(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}, "spec": {"size": 1}})
}

/// The same workload, whose pods never get a node: it never becomes ready.
pub fn never_ready(mut workload: Value) -> Value {
    workload["spec"]["template"]["spec"]["nodeSelector"] =
        json!({"example.com/no-such-node": "true"});
    workload["metadata"]["annotations"]["sandbox.opmodel.dev/simulate"] = json!("pending");
    workload
}

/// The same object, shared between all releases that apply it.
pub fn shared(object: Value) -> Value {
    annotated(object, "opmodel.dev/shared", "true")
}

/// The same Job, whose pods fail.
pub fn failing(mut job: Value) -> Value {
    job["spec"]["backoffLimit"] = json!(0);
    job["spec"]["template"]["metadata"]["annotations"]["testkit.opmodel.dev/fate"] = json!("fail");
    annotated(job, "sandbox.opmodel.dev/simulate", "fail")
}

/// The same workload, whose pods crash again and again.
pub fn crashing(mut workload: Value) -> Value {
    workload["spec"]["template"]["metadata"]["annotations"]["testkit.opmodel.dev/fate"] =
        json!("crash");
    workload
}

/// The same workload, whose pods mount a claim.
pub fn mounting(mut workload: Value, claim: &str) -> Value {
    workload["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    workload
}

/// An autoscaler of a Deployment that never gets to see a metric.
pub fn autoscaler(name: &str, deployment: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}]}})
}

/// The same object in another namespace than the release's.
pub fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// The same object with an annotation.
pub fn annotated(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["annotations"][key] = json!(value);
    object
}

/// The same object with a field that its kind does not have: every server refuses to apply it,
/// whatever else it checks.
pub fn unacceptable(mut object: Value) -> Value {
    object["spec"]["noSuchField"] = json!(true);
    object
}

/// Puts the object back into a shape that is accepted.
pub fn mended(mut object: Value) -> Value {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("noSuchField");
    }
    object
}
