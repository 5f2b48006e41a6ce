//! Fields that cannot change once an object exists, with the real server's words for each.

use serde_json::Value;

use super::Resource;
use crate::apply::value::quoted;
use crate::status::Cause;

const IMMUTABLE: &str = "field is immutable";

/// Group, kind, field: a plain "field is immutable".
const PLAIN: &[(&str, &str, &str)] = &[
    ("apps", "Deployment", "spec.selector"),
    ("apps", "DaemonSet", "spec.selector"),
    ("apps", "ReplicaSet", "spec.selector"),
    ("batch", "Job", "spec.completions"),
    ("batch", "Job", "spec.selector"),
    ("batch", "Job", "spec.template"),
    ("batch", "Job", "spec.completionMode"),
    ("", "Secret", "type"),
    ("networking.k8s.io", "IngressClass", "spec.controller"),
    ("storage.k8s.io", "StorageClass", "volumeBindingMode"),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "spec.group",
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "spec.names.plural",
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "spec.scope",
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "spec.names.kind",
    ),
];

/// Group, kind, field, message: forbidden outright.
const FORBIDDEN: &[(&str, &str, &str, &str)] = &[
    (
        "storage.k8s.io",
        "StorageClass",
        "parameters",
        "updates to parameters are forbidden.",
    ),
    (
        "storage.k8s.io",
        "StorageClass",
        "provisioner",
        "updates to provisioner are forbidden.",
    ),
    (
        "storage.k8s.io",
        "StorageClass",
        "reclaimPolicy",
        "updates to reclaimPolicy are forbidden.",
    ),
    (
        "scheduling.k8s.io",
        "PriorityClass",
        "value",
        "may not be changed in an update.",
    ),
    (
        "scheduling.k8s.io",
        "PriorityClass",
        "preemptionPolicy",
        "may not be changed in an update.",
    ),
];

const STATEFUL_SET: &str = "updates to statefulset spec for fields other than 'replicas', \
'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

const MUTABLE_IN_STATEFUL_SET: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |v, step| &v[step])
}

/// What an update changed although it may not.
pub(crate) fn check(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (group, kind, field) in PLAIN.iter().filter(|(g, k, _)| resource.is(g, k)) {
        let (before, after) = (at(old, field), at(new, field));
        if before != after && !exempt(group, kind, field, old, new) {
            causes.push(Cause::invalid(field, shown(after), IMMUTABLE));
        }
    }
    for (_, _, field, message) in FORBIDDEN.iter().filter(|(g, k, ..)| resource.is(g, k)) {
        if at(old, field) != at(new, field) {
            causes.push(Cause::forbidden(field, message));
        }
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "StatefulSet") => causes.extend(stateful_set(old, new)),
        ("", "Service") => causes.extend(service(old, new)),
        ("", "PersistentVolumeClaim") => causes.extend(claim(old, new)),
        ("", "PersistentVolume") => {
            causes.extend(volume(old, new));
            if old["spec"]["volumeMode"] != new["spec"]["volumeMode"] {
                let after = shown(&new["spec"]["volumeMode"]);
                causes.push(Cause::invalid("volumeMode", after, IMMUTABLE));
            }
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding")
            if old["roleRef"] != new["roleRef"] =>
        {
            let shown = role_ref(&new["roleRef"]);
            causes.push(Cause::invalid("roleRef", shown, "cannot change roleRef"));
        }
        ("", "ConfigMap") => causes.extend(frozen(old, new, &["data", "binaryData"])),
        ("", "Secret") => causes.extend(frozen(old, new, &["data"])),
        _ => {}
    }
    causes
}

/// Where the rule has a condition of its own.
fn exempt(group: &str, kind: &str, field: &str, old: &Value, _new: &Value) -> bool {
    let definition = group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition";
    if definition && matches!(field, "spec.scope" | "spec.names.kind") {
        let conditions = old["status"]["conditions"].as_array();
        let established = |c: &Value| c["type"] == "Established" && c["status"] == "True";
        return !conditions.into_iter().flatten().any(established);
    }
    false
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => quoted(s),
        Value::Null => "null".into(),
        Value::Object(_) | Value::Array(_) => value.to_string(),
        other => other.to_string(),
    }
}

/// A RoleRef under its Go field names.
fn role_ref(reference: &Value) -> String {
    let text = |key: &str| quoted(reference[key].as_str().unwrap_or_default());
    format!(
        "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
        text("apiGroup"),
        text("kind"),
        text("name")
    )
}

fn stateful_set(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|key, _| !MUTABLE_IN_STATEFUL_SET.contains(&key.as_str()));
        spec
    };
    (fixed(old) != fixed(new)).then(|| Cause::forbidden("spec", STATEFUL_SET))
}

fn service(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let kind = |o: &Value| o["spec"]["type"].as_str().unwrap_or_default().to_string();
    if kind(old) == "ExternalName" || kind(new) == "ExternalName" {
        return causes;
    }
    let addresses = |o: &Value| {
        o["spec"]["clusterIPs"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let (before, after) = (addresses(old), addresses(new));
    if let (Some(a), Some(b)) = (before.first(), after.first())
        && a != b
    {
        let value = format!(
            "[{}]",
            after.iter().map(shown).collect::<Vec<_>>().join(",")
        );
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            value,
            "may not change once set",
        ));
    }
    causes
}

const CLAIM: &str = "spec is immutable after creation except resources.requests and \
volumeAttributesClassName for bound claims";

fn claim(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.remove("volumeAttributesClassName");
        if let Some(Value::Object(resources)) = spec.get_mut("resources") {
            resources.remove("requests");
        }
        spec
    };
    let (before, after) = (fixed(old), fixed(new));
    // The binder fills in the volume's name.
    let named = |mut spec: serde_json::Map<String, Value>| {
        spec.remove("volumeName");
        spec
    };
    let binding = !before.contains_key("volumeName");
    let equal = if binding {
        named(before) == named(after)
    } else {
        before == after
    };
    (!equal).then(|| Cause::forbidden("spec", CLAIM))
}

/// The fields of a volume's spec that are not its source.
const VOLUME_FIELDS: &[&str] = &[
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

fn volume(old: &Value, new: &Value) -> Option<Cause> {
    let source = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|key, _| !VOLUME_FIELDS.contains(&key.as_str()));
        spec
    };
    (source(old) != source(new)).then(|| {
        let message = "spec.persistentvolumesource is immutable after creation";
        Cause::forbidden("spec.persistentvolumesource", message)
    })
}

fn frozen(old: &Value, new: &Value, data: &[&str]) -> Vec<Cause> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let message = "field is immutable when `immutable` is set";
    let mut causes = Vec::new();
    if new["immutable"] != true {
        causes.push(Cause::forbidden("immutable", message));
    }
    let changed = data.iter().filter(|key| old[**key] != new[**key]);
    causes.extend(changed.map(|key| Cause::forbidden(key, message)));
    causes
}
