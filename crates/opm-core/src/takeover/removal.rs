//! An object without the fields that go, and the patch that makes it so.

use serde_json::{Map, Value};

use super::field_set::{FieldSet, position, value_at};

/// The object without these fields, but for those that somebody still owns.
pub(super) fn without(
    object: &Map<String, Value>,
    gone: &FieldSet,
    owned: &FieldSet,
) -> Map<String, Value> {
    let mut value = Value::Object(object.clone());
    remove(&mut value, gone, Some(owned));
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn remove(value: &mut Value, gone: &FieldSet, owned: Option<&FieldSet>) {
    for (key, gone) in &gone.below {
        let owned = owned
            .and_then(|owned| owned.at(key))
            .filter(|set| !set.is_empty());
        if gone.member && owned.is_none() {
            take_out(value, key);
            continue;
        }
        let Some(below) = value_mut(value, key) else {
            continue;
        };
        remove(below, gone, owned);
        // What held nothing else goes with it.
        if owned.is_none() && is_empty(below) {
            take_out(value, key);
        }
    }
}

fn value_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    value_at(value, key)?;
    match value {
        Value::Object(fields) => fields.get_mut(key.get(2..)?),
        Value::Array(items) => {
            let at = position(items, key)?;
            items.get_mut(at)
        }
        _ => None,
    }
}

fn take_out(value: &mut Value, key: &str) {
    match value {
        Value::Object(fields) => {
            fields.remove(key.get(2..).unwrap_or_default());
        }
        Value::Array(items) => {
            if let Some(at) = position(items, key) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The merge patch that turns one object into the other, as far as users write objects: without
/// status, and of the metadata labels and annotations only.
pub fn merge_patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let written = |object: &Map<String, Value>| {
        let mut object = object.clone();
        for field in ["apiVersion", "kind", "status"] {
            object.remove(field);
        }
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.retain(|field, _| ["annotations", "labels"].contains(&field.as_str()));
        }
        object
    };
    patch(&written(old), &written(new))
}

fn patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut changes = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match (old.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                changes.insert(key.clone(), Value::Object(patch(old, new)));
            }
            _ => {
                changes.insert(key.clone(), value.clone());
            }
        }
    }
    changes
}
