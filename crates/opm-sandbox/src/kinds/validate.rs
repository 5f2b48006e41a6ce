//! The checks of built-in objects that a release manager runs into. Not the whole validation of
//! the real server: what is missing is listed in `docs/sandbox.md`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Resource, pod_rules};
use crate::apply::value::quoted;
use crate::status::{Cause, CauseKind};

const MAX_SECRET: usize = 1024 * 1024;

/// What is wrong with an object that is about to be stored.
pub(crate) fn check(resource: &Resource, object: &Value) -> Vec<Cause> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => workload(object, pod_rules::check),
        // The server does not look at the volumes of its pods: claims add to them.
        ("apps", "StatefulSet") => workload(object, pod_rules::containers),
        ("batch", "Job") => job(object),
        ("", "PodTemplate") => pod_template(&object["template"], "template"),
        ("", "ReplicationController") => pod_template(&object["spec"]["template"], "spec.template"),
        ("", "Pod") => pod_rules::check(&object["spec"], "spec"),
        ("", "Secret") => secret(object),
        ("", "ConfigMap") => config_map(object),
        ("", "Service") => service(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => role_ref(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => api_service(object),
        _ => Vec::new(),
    }
}

fn workload(object: &Value, of_pod: fn(&Value, &str) -> Vec<Cause>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &object["spec"];
    let replicas = spec["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        causes.push(Cause::invalid(
            "spec.replicas",
            replicas.to_string(),
            detail,
        ));
    }
    let selector = &spec["selector"];
    let empty = |key: &str| selector[key].as_object().is_none_or(|m| m.is_empty());
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
    } else if empty("matchLabels")
        && selector["matchExpressions"]
            .as_array()
            .is_none_or(Vec::is_empty)
    {
        let detail = "empty selector is invalid for deployment";
        causes.push(Cause::invalid(
            "spec.selector",
            selector.to_string(),
            detail,
        ));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let wanted = selector["matchLabels"].as_object();
    let missed = wanted.into_iter().flatten().any(|(k, v)| labels[k] != *v);
    if selector.is_null() || missed {
        let shown = if labels.is_null() {
            "null".to_string()
        } else {
            labels.to_string()
        };
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(
            "spec.template.metadata.labels",
            shown,
            detail,
        ));
    }
    causes.extend(of_pod(&spec["template"]["spec"], "spec.template.spec"));
    causes
}

fn job(object: &Value) -> Vec<Cause> {
    let template = &object["spec"]["template"];
    let mut causes = pod_template(template, "spec.template");
    if !matches!(
        template["spec"]["restartPolicy"].as_str(),
        Some("OnFailure" | "Never")
    ) {
        let detail = "valid values: \"OnFailure\", \"Never\"";
        causes.push(Cause::required("spec.template.spec.restartPolicy", detail));
    }
    causes
}

fn pod_template(template: &Value, path: &str) -> Vec<Cause> {
    pod_rules::check(&template["spec"], &format!("{path}.spec"))
}

fn secret(object: &Value) -> Vec<Cause> {
    let mut causes = keys("data", &object["data"]);
    let size: usize = object["data"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, v)| v.as_str())
        .map(decoded_length)
        .sum();
    if size > MAX_SECRET {
        causes.push(too_long("data"));
    }
    causes
}

fn decoded_length(text: &str) -> usize {
    text.len() / 4 * 3 - text.bytes().rev().take_while(|b| *b == b'=').count().min(2)
}

fn config_map(object: &Value) -> Vec<Cause> {
    let mut causes = keys("data", &object["data"]);
    causes.extend(keys("binaryData", &object["binaryData"]));
    for (key, _) in object["data"].as_object().into_iter().flatten() {
        if object["binaryData"].get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(&format!("data[{key}]"), quoted(key), detail));
        }
    }
    let texts = object["data"].as_object().into_iter().flatten();
    let size: usize = texts.filter_map(|(_, v)| v.as_str()).map(str::len).sum();
    let binary = object["binaryData"].as_object().into_iter().flatten();
    let size = size
        + binary
            .filter_map(|(_, v)| v.as_str())
            .map(decoded_length)
            .sum::<usize>();
    if size > MAX_SECRET {
        causes.push(too_long(""));
    }
    causes
}

fn too_long(field: &str) -> Cause {
    Cause {
        kind: CauseKind::TooLong,
        field: field.to_string(),
        value: None,
        detail: format!("may not be more than {MAX_SECRET} bytes"),
    }
}

const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or \
'.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
'[-._a-zA-Z0-9]+')";

fn keys(field: &str, map: &Value) -> Vec<Cause> {
    let names = map.as_object().into_iter().flatten().map(|(k, _)| k);
    let fits = |k: &String| {
        !k.is_empty()
            && k.chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let bad = names.filter(|k| !fits(k));
    bad.map(|k| Cause::invalid(&format!("{field}[{k}]"), quoted(k), CONFIG_KEY))
        .collect()
}

fn service(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    let ports = spec["ports"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let headless = spec["clusterIP"] == "None";
    if ports.is_empty() && !headless && spec["type"] != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut names = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}]");
        let name = port["name"].as_str().unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            causes.push(pod_rules::duplicate(&format!("{at}.name"), name));
        }
        if ports.len() > 1 && name.is_empty() {
            causes.push(Cause::required(&format!("{at}.name"), ""));
        }
        let number = port["port"].as_i64().unwrap_or(0);
        if !(1..=65535).contains(&number) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(
                &format!("{at}.port"),
                number.to_string(),
                detail,
            ));
        }
        let target = port["targetPort"].as_i64();
        if let Some(target) = target.filter(|t| !(1..=65535).contains(t)) {
            let detail = "must be between 1 and 65535, inclusive";
            let field = format!("{at}.targetPort");
            causes.push(Cause::invalid(&field, target.to_string(), detail));
        }
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let kind = spec["type"].as_str().unwrap_or_default();
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported("spec.type", kind, &kinds));
    }
    causes
}

fn role_ref(object: &Value) -> Vec<Cause> {
    let reference = &object["roleRef"];
    let mut causes = Vec::new();
    let kind = reference["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "Role" | "ClusterRole") {
        causes.push(Cause::unsupported(
            "roleRef.kind",
            kind,
            &["ClusterRole", "Role"],
        ));
    }
    if reference["name"].as_str().is_none_or(str::is_empty) {
        causes.push(Cause::required("roleRef.name", ""));
    }
    causes
}

fn definition(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let expected = format!(
        "{}.{}",
        text(&spec["names"]["plural"]),
        text(&spec["group"])
    );
    let name = text(&object["metadata"]["name"]);
    if name != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group".to_string();
        causes.push(Cause::invalid("metadata.name", quoted(&name), &detail));
    }
    let versions = spec["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let stored = versions.iter().filter(|v| v["storage"] == true).count();
    if stored != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid(
            "spec.versions",
            json!(spec["versions"]).to_string(),
            detail,
        ));
    }
    for (index, version) in versions.iter().enumerate() {
        if version["schema"]["openAPIV3Schema"].is_null() {
            let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(&at, "schemas are required"));
        }
    }
    causes
}

fn api_service(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let expected = format!("{}.{}", text(&spec["version"]), text(&spec["group"]));
    let name = text(&object["metadata"]["name"]);
    if name != expected {
        let detail = format!(
            "must be `spec.version+\".\"+spec.group`: {}",
            quoted(&expected)
        );
        causes.push(Cause::invalid("metadata.name", quoted(&name), &detail));
    }
    for (key, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let number = spec[key].as_i64().unwrap_or(0);
        if !(1..=most).contains(&number) {
            let detail = format!("must be positive and less than {most}");
            let field = format!("spec.{key}");
            causes.push(Cause::invalid(&field, number.to_string(), &detail));
        }
    }
    let bundle = spec["caBundle"].as_str().is_some_and(|b| !b.is_empty());
    let insecure = spec["insecureSkipTLSVerify"] == true;
    let field = "spec.insecureSkipTLSVerify";
    if !spec["service"].is_object() {
        if bundle {
            let detail = "local APIServices may not have a caBundle";
            let value = spec["caBundle"].to_string();
            causes.push(Cause::invalid("spec.caBundle", value, detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            causes.push(Cause::invalid(field, "true", detail));
        }
        return causes;
    }
    if insecure && bundle {
        let detail = "may not be true if caBundle is present";
        causes.push(Cause::invalid(field, "true", detail));
    }
    for key in ["namespace", "name"] {
        if text(&spec["service"][key]).is_empty() {
            causes.push(Cause::required(&format!("spec.service.{key}"), ""));
        }
    }
    causes
}
