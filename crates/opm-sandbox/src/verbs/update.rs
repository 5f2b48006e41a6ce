//! PUT: the whole object, by resourceVersion where one is given.

use serde_json::{Value, json};

use super::decode::{self, Decoded};
use super::write::{Writing, text};
use super::{Scope, create, options, scale, view};
use crate::apply::value::quoted;
use crate::gaps;
use crate::kinds::strategy;
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

pub(crate) fn update(
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
    dry_run: bool,
) -> Result<Reply, ApiError> {
    let resource = &target.resource;
    let given = decode::parse_object(call, resource)?;
    options::check_write(call)?;
    let writing = Writing {
        scope,
        resource,
        namespace: &target.namespace,
        subresource: &target.subresource,
        dry_run,
    };
    let name = target.name.as_deref().unwrap_or_default();
    let old = scope.tx.get(&writing.key(name))?;
    if target.subresource == "scale" {
        let old =
            old.ok_or_else(|| ApiError::not_found(&resource.group, &resource.plural, name))?;
        return scale::put(&writing, &old, &given, &call.manager());
    }
    decode::check_kind(resource, &given)?;
    let Decoded {
        mut object,
        warnings,
    } = decode::decode(resource, given, options::strictness(call))?;
    create::place(target, &mut object)?;
    check_name(name, &object)?;
    writing.set_defaults(&mut object)?;
    let Some(old) = old else {
        return create_missing(&writing, call, name, object, warnings);
    };
    check_versions(&writing, name, &old, &object)?;
    writing.update_managers(&old, &mut object, &call.manager());
    let stored = writing.update(&old, object)?;
    let mut reply = Reply::ok(view::project(call, resource, stored));
    reply.warnings = warnings;
    Ok(reply)
}

pub(crate) fn check_name(name: &str, object: &Value) -> Result<(), ApiError> {
    let given = text(&object["metadata"]["name"]);
    if given.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}

fn create_missing(
    writing: &Writing<'_>,
    call: &Call,
    name: &str,
    mut object: Value,
    warnings: Vec<String>,
) -> Result<Reply, ApiError> {
    let resource = writing.resource;
    if !strategy::created_by_put(resource) || !writing.subresource.is_empty() {
        return Err(ApiError::not_found(&resource.group, &resource.plural, name));
    }
    if !text(&object["metadata"]["uid"]).is_empty() {
        return Err(ApiError::conflict(
            &resource.group,
            &resource.plural,
            name,
            &format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: ",
                text(&object["metadata"]["uid"])
            ),
        ));
    }
    writing.update_managers(&decode::empty(resource), &mut object, &call.manager());
    let stored = writing.create(object)?;
    let mut reply = Reply::json(201, view::project(call, resource, stored));
    reply.warnings = warnings;
    reply.warnings.extend(gaps::warning(resource));
    Ok(reply)
}

fn check_versions(
    writing: &Writing<'_>,
    name: &str,
    old: &Value,
    new: &Value,
) -> Result<(), ApiError> {
    let resource = writing.resource;
    let (uid, actual) = (text(&new["metadata"]["uid"]), text(&old["metadata"]["uid"]));
    if !uid.is_empty() && uid != actual {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object \
             meta: {actual}",
            storage_key(writing, name)
        );
        return Err(ApiError::conflict(
            &resource.group,
            &resource.plural,
            name,
            &why,
        ));
    }
    let version = text(&new["metadata"]["resourceVersion"]);
    if version.is_empty() && strategy::put_needs_version(resource) {
        let cause = Cause::invalid(
            "metadata.resourceVersion",
            json!(0).to_string(),
            "must be specified for an update",
        );
        return Err(ApiError::invalid(
            &resource.group,
            &resource.plural,
            name,
            &[cause],
        ));
    }
    if !version.is_empty() && version.parse::<u64>().is_err() {
        let message = format!(
            "strconv.ParseUint: parsing {}: invalid syntax",
            quoted(&version)
        );
        return Err(ApiError::untyped(message));
    }
    Ok(())
}

/// Where the real server keeps the object, as its errors show.
fn storage_key(writing: &Writing<'_>, name: &str) -> String {
    let resource = writing.resource;
    let place = match (&resource.custom, resource.plural.as_str()) {
        (Some(_), plural) => format!("{}/{plural}", resource.group),
        (None, "services") => "services/specs".to_string(),
        (None, plural) => plural.to_string(),
    };
    match writing.namespace {
        "" => format!("/registry/{place}/{name}"),
        namespace => format!("/registry/{place}/{namespace}/{name}"),
    }
}
