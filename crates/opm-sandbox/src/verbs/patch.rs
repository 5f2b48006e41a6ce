//! PATCH: which kind of patch, and the two plain ones (JSON merge patch and JSON patch).

use serde_json::{Map, Value};

use super::decode::{self, Decoded};
use super::write::{Writing, text};
use super::{Scope, apply, create, options, scale, strategic, update, view};
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

pub(crate) fn patch(
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
    dry_run: bool,
) -> Result<Reply, ApiError> {
    let resource = &target.resource;
    let accepted: &[&str] = match resource.custom {
        Some(_) => &[JSON_PATCH, MERGE_PATCH, APPLY],
        None => &[JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY],
    };
    if !accepted.contains(&call.content_type.as_str()) {
        return Err(match resource.custom {
            Some(_) => ApiError::unsupported_media_type(accepted),
            None => ApiError::unsupported_patch_type(),
        });
    }
    if call.content_type == APPLY && target.subresource != "scale" {
        return apply::apply(scope, call, target, dry_run);
    }
    options::check_patch(call, call.content_type == APPLY)?;
    let writing = Writing {
        scope,
        resource,
        namespace: &target.namespace,
        subresource: &target.subresource,
        dry_run,
    };
    let name = target.name.as_deref().unwrap_or_default();
    let Some(old) = scope.tx.get(&writing.key(name))? else {
        return Err(ApiError::not_found(&resource.group, &resource.plural, name));
    };
    if target.subresource == "scale" {
        let current = scale::read(resource, &old)?;
        let given = patched(call, resource, &current)?;
        return scale::put(&writing, &old, &given, &call.manager());
    }
    let given = patched(call, resource, &old)?;
    let Decoded {
        mut object,
        warnings,
    } = decode::decode(resource, given.clone(), options::strictness(call))
        .map_err(|e| invalid(&given, &e))?;
    create::place(target, &mut object)?;
    if text(&object["metadata"]["name"]) != name {
        let given = text(&object["metadata"]["name"]);
        let message =
            format!("the name of the object ({given}) does not match the name on the URL ({name})");
        return Err(ApiError::bad_request(message));
    }
    update::check_name(name, &object)?;
    writing.set_defaults(&mut object);
    writing.update_managers(&old, &mut object, &call.manager());
    let stored = writing.update(&old, object)?;
    let mut reply = Reply::ok(view::project(call, resource, stored));
    reply.warnings = warnings;
    Ok(reply)
}

/// A patch whose result cannot be decoded is an invalid patch.
fn invalid(result: &Value, error: &ApiError) -> ApiError {
    let detail = match &error.body {
        crate::status::ErrorBody::Status(status) => text(&status["message"]),
        crate::status::ErrorBody::Text(text) => text.clone(),
    };
    let detail = detail
        .split_once(": ")
        .map_or(detail.clone(), |(_, rest)| rest.to_string());
    let shown = crate::apply::value::quoted(&result.to_string());
    ApiError::invalid("", "", "", &[Cause::invalid("patch", shown, &detail)])
}

fn patched(
    call: &Call,
    resource: &crate::kinds::Resource,
    current: &Value,
) -> Result<Value, ApiError> {
    let patch: Value = serde_json::from_slice(&call.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding patch: {e}")))?;
    match call.content_type.as_str() {
        JSON_PATCH => json_patch(current.clone(), &patch),
        STRATEGIC => strategic::merge(resource, current, &patch),
        _ if !patch.is_object() => Err(ApiError::bad_request("Invalid JSON Patch")),
        _ => {
            let mut result = current.clone();
            merge_patch(&mut result, &patch);
            Ok(result)
        }
    }
}

/// RFC 7386.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            merge_patch(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// RFC 6902.
fn json_patch(mut document: Value, patch: &Value) -> Result<Value, ApiError> {
    let Some(operations) = patch.as_array() else {
        return Err(ApiError::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type \
             []handlers.jsonPatchOp",
        ));
    };
    for operation in operations {
        apply_operation(&mut document, operation).ok_or_else(ApiError::unprocessable)?;
    }
    Ok(document)
}

fn apply_operation(document: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str()?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match operation["op"].as_str()? {
        "add" => insert(document, path, value()),
        "remove" => take(document, path).map(drop),
        "replace" => {
            let slot = document.pointer_mut(path)?;
            *slot = value();
            Some(())
        }
        "move" => {
            let moved = take(document, operation["from"].as_str()?)?;
            insert(document, path, moved)
        }
        "copy" => {
            let copied = document.pointer(operation["from"].as_str()?)?.clone();
            insert(document, path, copied)
        }
        "test" => {
            let actual = document.pointer(path).cloned().unwrap_or(Value::Null);
            crate::apply::value::equal(&actual, &value()).then_some(())
        }
        _ => None,
    }
}

fn parent<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (above, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Some((document.pointer_mut(above)?, last))
}

fn insert(document: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        *document = value;
        return Some(());
    }
    let (container, key) = parent(document, path)?;
    match container {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at: usize = key.parse().ok()?;
            if at > items.len() {
                return None;
            }
            items.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(document: &mut Value, path: &str) -> Option<Value> {
    let (container, key) = parent(document, path)?;
    match container {
        Value::Object(map) => map.remove(&key),
        Value::Array(items) => {
            let at: usize = key.parse().ok()?;
            (at < items.len()).then(|| items.remove(at))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_patches() {
        let document = json!({"a": {"b": [1, 2]}, "c": 3});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/a/b/1", "value": 9}]),
                Some(json!({"a": {"b": [1, 9, 2]}, "c": 3})),
            ),
            (
                json!([{"op": "remove", "path": "/c"}]),
                Some(json!({"a": {"b": [1, 2]}})),
            ),
            (
                json!([{"op": "move", "from": "/c", "path": "/a/d"}]),
                Some(json!({"a": {"b": [1, 2], "d": 3}})),
            ),
            (json!([{"op": "test", "path": "/c", "value": 4}]), None),
            (json!([{"op": "replace", "path": "/x", "value": 4}]), None),
        ] {
            assert_eq!(
                json_patch(document.clone(), &patch).ok(),
                expected,
                "{patch}"
            );
        }
    }
}
