//! APIServices: those of the server itself, and whether the Service that another names is there.
//! Nothing behind them is ever called.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{SOON, Subject, schedule};
use crate::kinds::find_builtin;
use crate::status::ApiError;
use crate::store::{Key, StoreError, Tx};
use crate::verbs::{Scope, stamp};

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
/// Set once an APIService that names a Service was stored: only then is there anything to look at
/// when a Service comes or goes.
const IN_USE: &str = "api-services";

/// Version, group, and both priorities, as the real server has them.
const OWN: &[(&str, &str, i64, i64)] = &[
    ("v1", "", 18000, 1),
    ("v1", "admissionregistration.k8s.io", 16700, 15),
    ("v1", "apiextensions.k8s.io", 16700, 15),
    ("v1", "apps", 17800, 15),
    ("v2", "autoscaling", 17500, 30),
    ("v1", "batch", 17400, 15),
    ("v1", "certificates.k8s.io", 17300, 15),
    ("v1", "coordination.k8s.io", 16500, 15),
    ("v1", "discovery.k8s.io", 16200, 15),
    ("v1", "events.k8s.io", 17750, 15),
    ("v1", "networking.k8s.io", 17200, 15),
    ("v1", "node.k8s.io", 16300, 15),
    ("v1", "policy", 17100, 15),
    ("v1", "rbac.authorization.k8s.io", 17000, 15),
    ("v1", "scheduling.k8s.io", 16600, 15),
    ("v1", "storage.k8s.io", 16800, 15),
];

fn key(name: &str) -> Key {
    Key {
        group: GROUP.into(),
        resource: PLURAL.into(),
        namespace: String::new(),
        name: name.into(),
    }
}

/// The server's own, which are part of it and so always available.
pub(super) fn bootstrap(tx: &Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let label = "kube-aggregator.kubernetes.io/automanaged";
    for (version, group, group_priority, version_priority) in OWN {
        let key = key(&format!("{version}.{group}"));
        if tx.get(&key)?.is_some() {
            continue;
        }
        let revision = tx.next_revision()?;
        let mut object = json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {
                "name": key.name,
                "uid": tx.chance().uuid().to_string(),
                "resourceVersion": revision.to_string(),
                "creationTimestamp": stamp(now),
                "labels": {label: "onstart"},
                "managedFields": [{
                    "manager": "kube-apiserver", "operation": "Update",
                    "apiVersion": "apiregistration.k8s.io/v1", "time": stamp(now),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {"f:labels": {".": {}, format!("f:{label}"): {}}},
                        "f:spec": {
                            "f:group": {}, "f:groupPriorityMinimum": {}, "f:version": {},
                            "f:versionPriority": {}
                        }
                    }
                }]
            },
            "spec": {
                "version": version, "groupPriorityMinimum": group_priority,
                "versionPriority": version_priority
            },
            "status": local(&stamp(now))
        });
        if !group.is_empty() {
            object["spec"]["group"] = json!(group);
        }
        tx.put(&key, revision, &object, None)?;
    }
    Ok(())
}

/// The status of one that names no Service.
pub(crate) fn local(now: &str) -> Value {
    json!({"conditions": [{
        "type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local",
        "message": "Local APIServices are always available"
    }]})
}

pub(super) fn noticed(
    scope: &Scope<'_>,
    key: &Key,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    if old.is_some_and(|o| o["spec"] == object["spec"]) {
        return Ok(());
    }
    if object["spec"]["service"].is_object() {
        scope.tx.set_meta(IN_USE, 1)?;
    }
    schedule(scope, key, "available", SOON)
}

/// A Service came, went or changed: those that name it are looked at again.
pub(super) fn service_changed(scope: &Scope<'_>, service: &Key) -> Result<(), ApiError> {
    if scope.tx.meta(IN_USE)? == 0 {
        return Ok(());
    }
    let all = scope
        .tx
        .list(GROUP, PLURAL, Some(""), ("", ""), usize::MAX)?;
    for object in all {
        let named = &object["spec"]["service"];
        if named["name"] == service.name.as_str()
            && named["namespace"] == service.namespace.as_str()
        {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            schedule(scope, &key(name), "available", SOON)?;
        }
    }
    Ok(())
}

/// Writes into its status whether the Service is there, in the aggregator's words.
pub(super) fn available(subject: &Subject<'_>) -> Result<(), ApiError> {
    let now = stamp(subject.scope.now);
    let status = match &subject.object["spec"]["service"] {
        Value::Object(_) => {
            let (holds, reason, message) = judge(subject)?;
            json!({"conditions": [{
                "type": "Available", "status": if holds { "True" } else { "False" },
                "lastTransitionTime": now, "reason": reason, "message": message
            }]})
        }
        _ => local(&now),
    };
    let same = |status: &Value| {
        let condition = &status["conditions"][0];
        (condition["status"].clone(), condition["message"].clone())
    };
    if same(&subject.object["status"]) == same(&status) {
        return Ok(());
    }
    subject.set_status(subject.object.clone(), status, "kube-apiserver")
}

fn judge(subject: &Subject<'_>) -> Result<(bool, &'static str, String), ApiError> {
    let named = &subject.object["spec"]["service"];
    let text = |key: &str| named[key].as_str().unwrap_or_default();
    let (name, namespace) = (text("name"), text("namespace"));
    let service = match find_builtin("", None, "services") {
        Some(services) => subject.scope.tx.get(&services.key(namespace, name))?,
        None => None,
    };
    let Some(service) = service else {
        let message = format!("service/{name} in {namespace:?} is not present");
        return Ok((false, "ServiceNotFound", message));
    };
    let port = named["port"].as_i64().unwrap_or(443);
    let mut ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let external = service["spec"]["type"] == "ExternalName";
    if !external && !ports.any(|p| p["port"] == port) {
        let message = format!("service/{name} in {namespace:?} is not listening on port {port}");
        return Ok((false, "ServicePortError", message));
    }
    Ok((true, "Passed", "all checks passed".to_string()))
}
