//! What the real server does to objects of certain kinds before it stores them: dependent
//! defaults, generated fields, generations, and what an endpoint may not change.

use serde_json::{Map, Value, json};

use super::Resource;
use crate::apply::fieldset::FieldSet;

/// Defaults that depend on other fields.
pub(crate) fn set_dependent_defaults(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "Deployment") => rolling(
            &mut object["spec"],
            "strategy",
            &json!({"maxUnavailable": "25%", "maxSurge": "25%"}),
        ),
        ("apps", "StatefulSet") => rolling(
            &mut object["spec"],
            "updateStrategy",
            &json!({"partition": 0}),
        ),
        ("apps", "DaemonSet") => {
            rolling(
                &mut object["spec"],
                "updateStrategy",
                &json!({"maxUnavailable": 1, "maxSurge": 0}),
            );
        }
        ("batch", "Job") => job(&mut object["spec"]),
        ("", "Service") => service(&mut object["spec"]),
        ("", "Secret") => merge_string_data(object),
        ("", "Namespace") => namespace(object),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(&mut object["spec"]),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(&mut object["spec"]),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler(&mut object["spec"]),
        _ => {}
    }
}

fn entry(target: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = target {
        map.entry(key).or_insert(value);
    }
}

fn rolling(spec: &mut Value, field: &str, defaults: &Value) {
    let Some(strategy) = spec.get_mut(field).filter(|s| s["type"] == "RollingUpdate") else {
        return;
    };
    entry(strategy, "rollingUpdate", json!({}));
    for (key, value) in defaults.as_object().into_iter().flatten() {
        entry(&mut strategy["rollingUpdate"], key, value.clone());
    }
}

fn job(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    // Completions follow only when neither was given; the table has set parallelism by now.
    if spec.get("completions").is_none()
        && spec["parallelism"] == 1
        && spec["completionMode"] != "Indexed"
    {
        spec["completions"] = json!(1);
    }
    let policy = if spec.get("podFailurePolicy").is_some() {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    entry(spec, "podReplacementPolicy", json!(policy));
}

fn service(spec: &mut Value) {
    let kind = spec["type"].as_str().unwrap_or_default().to_string();
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let number = port["port"].clone();
        let unset = port.get("targetPort").is_none_or(|t| *t == 0 || *t == "");
        if unset {
            port["targetPort"] = number;
        }
    }
    if spec["sessionAffinity"] == "ClientIP" {
        entry(
            spec,
            "sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10800}}),
        );
    }
    if kind == "NodePort" || kind == "LoadBalancer" {
        entry(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        entry(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    if kind != "ExternalName" {
        entry(spec, "internalTrafficPolicy", json!("Cluster"));
    }
}

/// `stringData` is write-only: it ends up in `data`.
fn merge_string_data(object: &mut Value) {
    use base64::Engine;
    let Value::Object(map) = object else { return };
    let Some(Value::Object(given)) = map.remove("stringData") else {
        return;
    };
    if given.is_empty() {
        return;
    }
    let data = map.entry("data").or_insert(Value::Object(Map::new()));
    for (key, value) in given {
        let text = value.as_str().unwrap_or_default();
        data[key] = json!(base64::engine::general_purpose::STANDARD.encode(text));
    }
}

fn namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if name.as_str().is_some_and(|n| !n.is_empty()) {
        entry(&mut object["metadata"], "labels", json!({}));
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    }
}

fn network_policy(spec: &mut Value) {
    if spec.is_object() && spec["policyTypes"].as_array().is_none_or(Vec::is_empty) {
        let egress = spec["egress"].as_array().is_some_and(|e| !e.is_empty());
        let types = if egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        spec["policyTypes"] = types;
    }
}

fn binding(object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if let Some(reference) = object.get_mut("roleRef")
        && reference["apiGroup"].as_str().is_none_or(str::is_empty)
    {
        reference["apiGroup"] = json!(GROUP);
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let people = matches!(subject["kind"].as_str(), Some("User" | "Group"));
        if people && subject["apiGroup"].as_str().is_none_or(str::is_empty) {
            subject["apiGroup"] = json!(GROUP);
        }
    }
}

fn definition(spec: &mut Value) {
    let kind = spec["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    if let Some(names) = spec.get_mut("names") {
        entry(names, "singular", json!(kind.to_lowercase()));
        entry(names, "listKind", json!(format!("{kind}List")));
    }
}

fn autoscaler(spec: &mut Value) {
    if spec.is_object() && spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        spec["metrics"] = json!([{
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
        }]);
    }
}

/// Kinds whose `metadata.generation` counts changes of their desired state.
const GENERATION: &[(&str, &str)] = &[
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("", "ReplicationController"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    ("discovery.k8s.io", "EndpointSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
];

pub(crate) fn has_generation(resource: &Resource) -> bool {
    resource.custom.is_some()
        || GENERATION
            .iter()
            .any(|(group, kind)| resource.is(group, kind))
}

/// Whether desired state differs, so that the generation moves on.
pub(crate) fn desired_changed(resource: &Resource, old: &Value, new: &Value) -> bool {
    let without = |object: &Value| {
        let mut map = object.as_object().cloned().unwrap_or_default();
        map.remove("metadata");
        let status_apart = resource.custom.as_ref().is_none_or(|c| c.has_status);
        if status_apart {
            map.remove("status");
        }
        map
    };
    if resource.is("scheduling.k8s.io", "PriorityClass") {
        return false;
    }
    without(old) != without(new)
}

/// The fields that an endpoint leaves alone whatever is sent, and that its writers never own.
pub(crate) fn reset_fields(resource: &Resource, subresource: &str) -> FieldSet {
    let has_status = resource.subresource("status").is_some();
    match (subresource, resource.custom.is_some()) {
        ("", _) if has_status => FieldSet::of(&["status"]),
        ("status", true) => {
            let mut fields: Vec<&str> = Vec::new();
            let properties = resource.schema.atom(resource.ty).map.as_ref();
            let names = properties.into_iter().flat_map(|m| m.fields.keys());
            fields.extend(
                names
                    .map(String::as_str)
                    .filter(|n| !matches!(*n, "status" | "metadata")),
            );
            FieldSet::of(&fields)
        }
        ("status", false) => match (resource.group.as_str(), resource.kind.as_str()) {
            ("apps", "Deployment") => FieldSet::of(&["spec", "metadata.labels"]),
            _ => FieldSet::of(&["spec"]),
        },
        _ => FieldSet::default(),
    }
}

/// Kinds that a PUT to a missing name creates.
pub(crate) fn created_by_put(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        ("rbac.authorization.k8s.io", _)
            | ("coordination.k8s.io", "Lease")
            | ("", "Endpoints" | "Event" | "LimitRange" | "Service")
            | ("node.k8s.io", "RuntimeClass")
    )
}

/// Kinds whose PUT must name the version it replaces.
pub(crate) fn put_needs_version(resource: &Resource) -> bool {
    resource.custom.is_some()
        || matches!(
            (resource.group.as_str(), resource.kind.as_str()),
            ("apiextensions.k8s.io", _)
                | ("admissionregistration.k8s.io", _)
                | ("policy", "PodDisruptionBudget")
                | ("coordination.k8s.io", "Lease")
                | ("storage.k8s.io", "CSIDriver" | "VolumeAttachment")
        )
}

/// Kinds whose DELETE answers with the object instead of a Status.
pub(crate) fn returns_deleted(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        (
            "",
            "Service"
                | "ServiceAccount"
                | "Pod"
                | "PersistentVolumeClaim"
                | "PersistentVolume"
                | "Namespace"
                | "ResourceQuota"
                | "PodTemplate"
        ) | ("storage.k8s.io", _)
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}
