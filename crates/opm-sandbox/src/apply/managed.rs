//! `metadata.managedFields`: reading it, writing it in the server's order, and naming managers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::fieldset::FieldSet;
use super::value::quoted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Apply,
    Update,
}

/// Who manages fields, by which operation, through which endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manager {
    pub(crate) name: String,
    /// Declared in this order: of one name the applier comes first, as in the server's errors.
    operation: Operation,
    /// Part of an updater's identity only: an applier has one entry whatever version it used.
    version: String,
    pub(crate) subresource: String,
}

impl Manager {
    pub(crate) fn applier(name: &str, subresource: &str) -> Self {
        let (name, version) = (name.to_string(), String::new());
        Manager {
            name,
            operation: Operation::Apply,
            version,
            subresource: subresource.into(),
        }
    }

    pub(crate) fn updater(name: &str, api_version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        Manager {
            name: name.to_string(),
            operation: Operation::Update,
            version: api_version.to_string(),
            subresource: subresource.to_string(),
        }
    }

    pub(crate) fn applied(&self) -> bool {
        self.operation == Operation::Apply
    }

    /// As conflicts name it.
    pub(crate) fn describe(&self) -> String {
        let mut text = quoted(&self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {}", quoted(&self.subresource)));
        }
        if !self.applied() {
            text.push_str(&format!(" using {}", self.version));
        }
        text
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Managed {
    pub(crate) set: FieldSet,
    pub(crate) api_version: String,
    pub(crate) time: Option<String>,
}

pub(crate) type Managers = BTreeMap<Manager, Managed>;

/// Reads `managedFields`; `None` when an entry is malformed.
pub(crate) fn decode(entries: &Value) -> Option<Managers> {
    let mut managers = Managers::new();
    for entry in entries.as_array().into_iter().flatten() {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        let api_version = text("apiVersion");
        if text("fieldsType") != "FieldsV1" || api_version.is_empty() {
            return None;
        }
        let (name, subresource) = (text("manager"), text("subresource"));
        let manager = match text("operation") {
            "Apply" => Manager::applier(name, subresource),
            "Update" => Manager {
                name: name.into(),
                ..Manager::updater("", api_version, subresource)
            },
            _ => return None,
        };
        let managed = Managed {
            set: FieldSet::from_fields_v1(&entry["fieldsV1"]),
            api_version: api_version.to_string(),
            time: entry["time"].as_str().map(str::to_string),
        };
        managers.insert(manager, managed);
    }
    Some(managers)
}

/// Appliers first, then by time, name, version and subresource.
pub(crate) fn encode(managers: &Managers) -> Value {
    let mut entries: Vec<_> = managers.iter().collect();
    entries.sort_by_key(|(manager, managed)| {
        let time = managed.time.clone().unwrap_or_default();
        let key = (
            manager.name.clone(),
            managed.api_version.clone(),
            manager.subresource.clone(),
        );
        (!manager.applied(), time, key)
    });
    let entries = entries.into_iter().map(|(manager, managed)| {
        let mut entry = Map::new();
        entry.insert("manager".into(), json!(manager.name));
        let operation = if manager.applied() { "Apply" } else { "Update" };
        entry.insert("operation".into(), json!(operation));
        entry.insert("apiVersion".into(), json!(managed.api_version));
        if let Some(time) = &managed.time {
            entry.insert("time".into(), json!(time));
        }
        entry.insert("fieldsType".into(), json!("FieldsV1"));
        entry.insert("fieldsV1".into(), managed.set.to_fields_v1());
        if !manager.subresource.is_empty() {
            entry.insert("subresource".into(), json!(manager.subresource));
        }
        Value::Object(entry)
    });
    Value::Array(entries.collect())
}

/// Fields that nobody manages, whoever sets them.
pub(crate) fn unmanaged() -> FieldSet {
    FieldSet::of(&[
        "apiVersion",
        "kind",
        "metadata",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.clusterName",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
    ])
}
