//! Fields that the real control plane generates while an object is created or changed: cluster
//! addresses, finalizers that protect volumes, the selector of a Job.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Resource;
use crate::life;
use crate::status::ApiError;
use crate::store::Tx;

/// What the server puts into a new object.
pub(crate) fn fill_in_new(
    tx: &Tx<'_>,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), ApiError> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Service") => service_address(tx, &mut object["spec"])?,
        ("", "Namespace") => {
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            object["status"] = json!({"phase": "Active"});
        }
        ("", "PersistentVolumeClaim") => {
            add_finalizer(object, "kubernetes.io/pvc-protection");
            object["status"] = json!({"phase": "Pending"});
        }
        ("", "PersistentVolume") => {
            add_finalizer(object, "kubernetes.io/pv-protection");
            object["status"] = json!({"phase": "Pending"});
        }
        ("", "Pod") => object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("batch", "Job") => job_selector(object),
        ("apiregistration.k8s.io", "APIService") if object["spec"]["service"].is_null() => {
            let now = object["metadata"]["creationTimestamp"].clone();
            object["status"] = life::local_api_service(now.as_str().unwrap_or_default());
        }
        ("apps", "DaemonSet") => template_generation(object, 1),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let storage = object["spec"]["versions"].as_array().into_iter().flatten();
            let stored = storage
                .filter(|v| v["storage"] == true)
                .map(|v| v["name"].clone());
            object["status"] = json!({
                "storedVersions": stored.collect::<Vec<_>>(),
                "acceptedNames": {"plural": "", "kind": ""},
                "conditions": null
            });
        }
        _ => {}
    }
    Ok(())
}

/// What the server carries from the old object to the new.
pub(crate) fn fill_in_changed(
    tx: &Tx<'_>,
    resource: &Resource,
    old: &Value,
    new: &mut Value,
) -> Result<(), ApiError> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Service") => {
            keep_address(&old["spec"], &mut new["spec"]);
            if matches!(
                new["spec"]["type"].as_str(),
                Some("NodePort" | "LoadBalancer")
            ) {
                node_ports(tx, &mut new["spec"])?;
            }
        }
        ("", "Namespace") => {
            new["spec"]["finalizers"] = match old["spec"].get("finalizers") {
                Some(finalizers) => finalizers.clone(),
                None => Value::Null,
            };
        }
        ("batch", "Job") => keep_job_selector(old, new),
        ("apps", "DaemonSet") => {
            let current = "deprecated.daemonset.template.generation";
            let text = old["metadata"]["annotations"][current]
                .as_str()
                .unwrap_or("1");
            let number: i64 = text.parse().unwrap_or(1);
            let changed = old["spec"]["template"] != new["spec"]["template"];
            template_generation(new, if changed { number + 1 } else { number });
        }
        ("", "PersistentVolumeClaim") => {
            for key in ["volumeName", "storageClassName"] {
                let given = new["spec"].get(key).is_some_and(|v| !v.is_null());
                if let Some(value) = old["spec"].get(key).filter(|_| !given) {
                    new["spec"][key] = value.clone();
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn add_finalizer(object: &mut Value, name: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Value::Array(list) = finalizers
        && !list.contains(&json!(name))
    {
        list.push(json!(name));
    }
}

/// Addresses are handed out in order from 10.96.0.0/12.
fn service_address(tx: &Tx<'_>, spec: &mut Value) -> Result<(), ApiError> {
    if spec["type"] == "ExternalName" {
        return Ok(());
    }
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        let next = tx.meta("addresses")? + 2;
        tx.set_meta("addresses", next - 1)?;
        let address = format!(
            "10.{}.{}.{}",
            96 + (next >> 16) % 16,
            (next >> 8) & 255,
            next & 255
        );
        spec["clusterIP"] = json!(address);
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    if spec.get("ipFamilies").is_none() {
        spec["ipFamilies"] = json!(["IPv4"]);
    }
    if spec.get("ipFamilyPolicy").is_none() {
        spec["ipFamilyPolicy"] = json!("SingleStack");
    }
    if matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer")) {
        node_ports(tx, spec)?;
    }
    Ok(())
}

fn node_ports(tx: &Tx<'_>, spec: &mut Value) -> Result<(), ApiError> {
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if port["nodePort"].as_i64().unwrap_or(0) == 0 {
            let next = tx.meta("node-ports")?;
            tx.set_meta("node-ports", next + 1)?;
            port["nodePort"] = json!(30_000 + next % 2_768);
        }
    }
    Ok(())
}

fn keep_address(old: &Value, new: &mut Value) {
    if new["type"] == "ExternalName" {
        return;
    }
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let unset = match &new[key] {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if let Some(value) = old.get(key).filter(|_| unset) {
            new[key] = value.clone();
        }
    }
    // One address given alone stands for the list as well.
    let single = new["clusterIP"].clone();
    if single != old["clusterIP"] && new["clusterIPs"] == old["clusterIPs"] && single.is_string() {
        new["clusterIPs"] = json!([single]);
    }
    // The first of several that have the same number and protocol counts.
    let same = |port: &Value| (port["port"].as_i64(), port["protocol"].to_string());
    let ports = old["ports"].as_array().into_iter().flatten().rev();
    let ports: HashMap<_, _> = ports.map(|port| (same(port), port)).collect();
    for port in new
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let before = ports
            .get(&same(port))
            .and_then(|o| o.get("nodePort"))
            .cloned();
        if let (Some(number), true) = (before, port.get("nodePort").is_none()) {
            port["nodePort"] = number;
        }
    }
}

const JOB_LABELS: &[&str] = &[
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];

fn job_selector(object: &mut Value) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (
        object["metadata"]["uid"].clone(),
        object["metadata"]["name"].clone(),
    );
    let labels = &mut object["spec"]["template"]["metadata"]["labels"];
    if !labels.is_object() {
        *labels = json!({});
    }
    for label in JOB_LABELS {
        labels[*label] = if label.ends_with("uid") {
            uid.clone()
        } else {
            name.clone()
        };
    }
    object["spec"]["selector"] =
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    if object["metadata"]["labels"]
        .as_object()
        .is_none_or(Map::is_empty)
    {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
}

/// The generated selector and labels belong to the object, not to what a client sends.
fn keep_job_selector(old: &Value, new: &mut Value) {
    if new["spec"].get("selector").is_none_or(Value::is_null) {
        new["spec"]["selector"] = old["spec"]["selector"].clone();
    }
    let before = &old["spec"]["template"]["metadata"]["labels"];
    for label in JOB_LABELS {
        if let Some(value) = before.get(*label) {
            let labels = &mut new["spec"]["template"]["metadata"]["labels"];
            if !labels.is_object() {
                *labels = json!({});
            }
            labels[*label] = value.clone();
        }
    }
}

fn template_generation(object: &mut Value, number: i64) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations["deprecated.daemonset.template.generation"] = json!(number.to_string());
}
