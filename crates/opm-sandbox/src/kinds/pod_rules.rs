//! The rules of pods and their containers that people break: names, images, ports, and mounts of
//! volumes that are not there.

use std::collections::HashSet;

use serde_json::Value;

use super::metadata::label_causes;
use crate::apply::value::quoted;
use crate::status::{Cause, CauseKind};

/// What is wrong with a pod's specification at a path.
pub(crate) fn check(spec: &Value, path: &str) -> Vec<Cause> {
    let mut causes = containers(spec, path);
    let names = items(&spec["volumes"])
        .iter()
        .filter_map(|v| v["name"].as_str());
    let volumes: HashSet<&str> = names.collect();
    for list in ["containers", "initContainers"] {
        for (index, container) in items(&spec[list]).iter().enumerate() {
            let at = format!("{path}.{list}[{index}]");
            let name = container["name"].as_str().unwrap_or_default();
            if !name.is_empty() {
                causes.extend(label_causes(&format!("{at}.name"), name));
            }
            causes.extend(ports(container, &at));
            causes.extend(mounts(container, &volumes, &at));
        }
    }
    causes
}

/// What every pod needs: containers, each with a name and an image.
pub(crate) fn containers(spec: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let containers = items(&spec["containers"]);
    if containers.is_empty() {
        causes.push(Cause::required(&format!("{path}.containers"), ""));
    }
    for (index, container) in containers.iter().enumerate() {
        let at = format!("{path}.containers[{index}]");
        for key in ["name", "image"] {
            if container[key].as_str().is_none_or(str::is_empty) {
                causes.push(Cause::required(&format!("{at}.{key}"), ""));
            }
        }
    }
    causes
}

fn ports(container: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut names = HashSet::new();
    for (index, port) in items(&container["ports"]).iter().enumerate() {
        let at = format!("{at}.ports[{index}]");
        if let Some(name) = port["name"].as_str().filter(|name| !name.is_empty()) {
            let field = format!("{at}.name");
            let wrong = port_name(name);
            if wrong.is_empty() && !names.insert(name) {
                causes.push(duplicate(&field, name));
            }
            let invalid = |detail: &&str| Cause::invalid(&field, quoted(name), detail);
            causes.extend(wrong.iter().map(invalid));
        }
        let field = format!("{at}.containerPort");
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => causes.push(Cause::required(&field, "")),
            number if !(1..=65535).contains(&number) => {
                let detail = "must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(&field, number.to_string(), detail));
            }
            _ => {}
        }
    }
    causes
}

/// The rules of a port's name that one breaks.
fn port_name(name: &str) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(fits) {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.contains(|c: char| c.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
}

fn mounts(container: &Value, volumes: &HashSet<&str>, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, mount) in items(&container["volumeMounts"]).iter().enumerate() {
        let name = mount["name"].as_str().unwrap_or_default();
        if !name.is_empty() && !volumes.contains(name) {
            causes.push(Cause {
                kind: CauseKind::NotFound,
                field: format!("{at}.volumeMounts[{index}].name"),
                value: Some(quoted(name)),
                detail: String::new(),
            });
        }
    }
    causes
}

/// A value that has to be the only one of its kind.
pub(crate) fn duplicate(field: &str, value: &str) -> Cause {
    Cause {
        kind: CauseKind::Duplicate,
        field: field.to_string(),
        value: Some(quoted(value)),
        detail: String::new(),
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}
