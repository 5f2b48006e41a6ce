//! GET of one object, and the forms in which objects are answered.

use serde_json::{Map, Value, json};

use super::{Scope, options, scale};
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

pub(crate) fn get(scope: &Scope<'_>, call: &Call, target: &Target) -> Result<Reply, ApiError> {
    let resource = &target.resource;
    let name = target.name.as_deref().unwrap_or_default();
    options::version(call).map_err(ApiError::untyped)?;
    let Some(object) = scope.tx.get(&resource.key(&target.namespace, name))? else {
        return Err(ApiError::not_found(&resource.group, &resource.plural, name));
    };
    if target.subresource == "scale" {
        return Ok(Reply::ok(scale::read(resource, &object)?));
    }
    Ok(Reply::ok(project(call, resource, object)))
}

/// How the client wants to see objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    Whole,
    Metadata,
}

/// The first form of the Accept header that is known; tables are answered as plain JSON, which
/// clients that ask for them must cope with.
pub(crate) fn form(call: &Call) -> ResponseForm {
    for part in call.accept.split(',') {
        if !part.trim().starts_with("application/json") {
            continue;
        }
        if part.contains("as=PartialObjectMetadata") {
            return ResponseForm::Metadata;
        }
        if !part.contains("as=") {
            return ResponseForm::Whole;
        }
    }
    ResponseForm::Whole
}

/// An object in the wanted form and in the version of the request.
pub(crate) fn project(call: &Call, resource: &Resource, object: Value) -> Value {
    project_as(form(call), resource, object)
}

pub(crate) fn project_as(form: ResponseForm, resource: &Resource, mut object: Value) -> Value {
    match form {
        ResponseForm::Whole => {
            object["apiVersion"] = json!(resource.api_version());
            object["kind"] = json!(resource.kind);
            object
        }
        ResponseForm::Metadata => {
            let mut out = Map::new();
            out.insert("kind".into(), json!("PartialObjectMetadata"));
            out.insert("apiVersion".into(), json!("meta.k8s.io/v1"));
            out.insert("metadata".into(), object["metadata"].take());
            Value::Object(out)
        }
    }
}

pub(crate) fn plain(object: Value) -> Value {
    object
}
