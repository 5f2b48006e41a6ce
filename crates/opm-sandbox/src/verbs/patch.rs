//! PATCH: which kind of patch, and the plainest (JSON merge patch). What comes of a patch is at most
//! as large as the object and the patch together, but for the copies of a JSON patch.

use serde_json::{Map, Value};

use super::decode::{self, Decoded};
use super::write::{Writing, text};
use super::{Scope, apply, create, json_patch, options, scale, strategic, update, view};
use crate::apply::value::json_type;
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
    writing.set_defaults(&mut object)?;
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
    let kind = call.content_type.as_str();
    let decoding = if kind == STRATEGIC {
        ""
    } else {
        "error decoding patch: "
    };
    let patch: Value = serde_json::from_slice(&call.body)
        .map_err(|e| ApiError::bad_request(format!("{decoding}{e}")))?;
    if kind == JSON_PATCH {
        return json_patch::apply(current.clone(), &patch);
    }
    if !patch.is_object() {
        let found = json_type(&patch);
        return Err(ApiError::bad_request(format!(
            "{decoding}json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    if kind == STRATEGIC {
        return Ok(strategic::merge(resource, current, &patch));
    }
    let mut result = current.clone();
    merge_patch(&mut result, &patch);
    Ok(result)
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
