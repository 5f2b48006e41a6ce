//! Strategic merge patches, as far as kubectl's label, annotate, scale and set commands need them:
//! maps merge, null removes, lists with merge keys merge by key, `$patch: delete` and `replace`
//! are understood. `$setElementOrder`, `$retainKeys` and `$deleteFromPrimitiveList` are accepted
//! and only the last has an effect.

use serde_json::{Map, Value};

use crate::apply::schema::{ListKind, Schema, TypeId};
use crate::apply::value::equal;
use crate::kinds::Resource;
use crate::status::ApiError;

pub(crate) fn merge(
    resource: &Resource,
    current: &Value,
    patch: &Value,
) -> Result<Value, ApiError> {
    if !patch.is_object() {
        return Err(ApiError::bad_request("invalid strategic merge patch"));
    }
    let mut result = current.clone();
    merge_value(&resource.schema, Some(resource.ty), &mut result, patch);
    Ok(result)
}

fn merge_value(schema: &Schema, ty: Option<TypeId>, target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if changes.get("$patch").is_some_and(|p| p == "replace") {
        let mut whole = changes.clone();
        whole.remove("$patch");
        *target = Value::Object(whole);
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let map_type = ty.and_then(|t| schema.atom(t).map.as_ref());
    for (key, change) in changes.iter().filter(|(k, _)| !k.starts_with('$')) {
        let below = map_type.and_then(|m| m.fields.get(key).map(|f| f.ty).or(m.element));
        let Value::Object(map) = &mut *target else {
            return;
        };
        if change.is_null() || change["$patch"] == "delete" {
            map.remove(key);
            continue;
        }
        let slot = map.entry(key.clone()).or_insert(Value::Null);
        match change {
            Value::Array(items) => merge_list(schema, below, slot, items),
            _ => merge_value(schema, below, slot, change),
        }
    }
    for (key, gone) in changes {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let unwanted = gone.as_array().cloned().unwrap_or_default();
            if let Some(Value::Array(items)) = target.get_mut(field) {
                items.retain(|i| !unwanted.iter().any(|u| equal(i, u)));
            }
        }
    }
}

fn merge_list(schema: &Schema, ty: Option<TypeId>, slot: &mut Value, changes: &[Value]) {
    let list = ty.and_then(|t| schema.atom(t).list.as_ref());
    let current = slot.as_array().cloned().unwrap_or_default();
    let merged = match list.map(|l| (&l.kind, l.element)) {
        Some((ListKind::Map(keys), element)) => {
            // Strategic merge knows one key per list: the first.
            let key = keys.first().cloned().unwrap_or_default();
            merge_by_key(schema, element, &key, current, changes)
        }
        Some((ListKind::Set, _)) => {
            let mut all = current;
            for change in changes {
                if !all.iter().any(|i| equal(i, change)) {
                    all.push(change.clone());
                }
            }
            all
        }
        _ => changes.to_vec(),
    };
    *slot = Value::Array(merged);
}

fn merge_by_key(
    schema: &Schema,
    element: TypeId,
    key: &str,
    mut items: Vec<Value>,
    changes: &[Value],
) -> Vec<Value> {
    if changes.iter().any(|c| c["$patch"] == "replace") {
        return changes
            .iter()
            .filter(|c| c["$patch"] != "replace")
            .cloned()
            .collect();
    }
    for change in changes {
        let at = items.iter().position(|i| equal(&i[key], &change[key]));
        match (at, change["$patch"] == "delete") {
            (Some(at), true) => {
                items.remove(at);
            }
            (None, true) => {}
            (Some(at), false) => merge_value(schema, Some(element), &mut items[at], change),
            (None, false) => items.push(change.clone()),
        }
    }
    items
}
