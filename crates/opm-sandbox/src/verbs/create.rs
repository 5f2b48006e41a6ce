//! POST: a new object, named by the client or with `generateName`.

use serde_json::{Value, json};

use super::Scope;
use super::decode::{self, Decoded};
use super::options;
use super::view;
use super::write::{Writing, text};
use crate::gaps;
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

pub(crate) fn create(
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
    dry_run: bool,
) -> Result<Reply, ApiError> {
    let resource = &target.resource;
    let given = decode::parse_object(call, resource)?;
    options::check_write(call)?;
    decode::check_kind(resource, &given)?;
    let Decoded {
        mut object,
        warnings,
    } = decode::decode(resource, given, options::strictness(call))?;
    place(target, &mut object)?;
    if !text(&object["metadata"]["resourceVersion"]).is_empty() {
        return Err(ApiError::untyped(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let writing = Writing {
        scope,
        resource,
        namespace: &target.namespace,
        subresource: &target.subresource,
        dry_run,
    };
    writing.set_defaults(&mut object)?;
    if let Some(Value::Object(map)) = object.get_mut("metadata") {
        map.remove("managedFields");
    }
    writing.update_managers(&decode::empty(resource), &mut object, &call.manager());
    let stored = writing.create(object)?;
    let mut reply = Reply::json(201, view::project(call, resource, stored));
    reply.warnings = warnings;
    reply.warnings.extend(gaps::warning(resource));
    Ok(reply)
}

/// The namespace of the object must be that of the request; without one it gets it.
pub(crate) fn place(target: &Target, object: &mut Value) -> Result<(), ApiError> {
    let given = text(&object["metadata"]["namespace"]);
    if !given.is_empty() && given != target.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if target.resource.namespaced {
        object["metadata"]["namespace"] = json!(target.namespace);
    }
    Ok(())
}
