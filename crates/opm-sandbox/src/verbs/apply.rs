//! PATCH with an apply configuration: server-side apply.

use serde_json::{Value, json};

use super::options::{Strictness, strictness};
use super::write::{Writing, set_managers, text, without_managers};
use super::{Scope, create, decode, options, stamp, update, view};
use crate::apply::encode::{Problem, ValueForm};
use crate::apply::managed::{self, Managers};
use crate::apply::typed::describe;
use crate::apply::updater::{Applied, Conflict};
use crate::apply::validate::validate;
use crate::gaps;
use crate::kinds::{Resource, strategy};
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

pub(crate) fn apply(
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
    dry_run: bool,
) -> Result<Reply, ApiError> {
    options::check_patch(call, true)?;
    let resource = &target.resource;
    let name = target.name.as_deref().unwrap_or_default();
    let writing = Writing {
        scope,
        resource,
        namespace: &target.namespace,
        subresource: &target.subresource,
        dry_run,
    };
    let live = scope.tx.get(&writing.key(name))?;
    let config = read_config(call, resource)?;
    let manager = call.query.get("fieldManager").unwrap_or_default();
    let force = call.query.flag("force");
    if live.is_none() && !target.subresource.is_empty() {
        return Err(ApiError::not_found(&resource.group, &resource.plural, name));
    }
    let mut object = merged(&writing, live.as_ref(), &config, manager, force)?;
    if strictness(call) == Strictness::Strict
        && let Some(problem) = decode::duplicate_key(&call.body)
    {
        return Err(ApiError::bad_request(format!(
            "error strict decoding YAML: {problem}"
        )));
    }
    let Some(live) = live else {
        let uid = text(&object["metadata"]["uid"]);
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object \
                 was found"
            );
            return Err(ApiError::conflict(
                &resource.group,
                &resource.plural,
                name,
                &why,
            ));
        }
        create::place(target, &mut object)?;
        update::check_name(name, &object)?;
        let stored = writing.create(object)?;
        let mut reply = Reply::json(201, view::project(call, resource, stored));
        reply.warnings.extend(gaps::warning(resource));
        return Ok(reply);
    };
    create::place(target, &mut object)?;
    update::check_name(name, &object)?;
    let stored = writing.update(&live, object)?;
    Ok(Reply::ok(view::project(call, resource, stored)))
}

fn read_config(call: &Call, resource: &Resource) -> Result<Value, ApiError> {
    let config = decode::parse_yaml(&call.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding YAML: {e}")))?;
    let text = |key: &str| config[key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version != resource.api_version() || kind != resource.kind {
        let slash = if version.contains('/') { "" } else { "/" };
        return Err(ApiError::bad_request(format!(
            "invalid object type: {slash}{version}, Kind={kind}"
        )));
    }
    Ok(config)
}

/// The object as it would be, with its managers.
fn merged(
    writing: &Writing<'_>,
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, ApiError> {
    let resource = writing.resource;
    if config["metadata"]
        .get("managedFields")
        .is_some_and(|m| !m.is_null())
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let misfits = validate(&resource.schema, resource.ty, config);
    if !misfits.is_empty() {
        return Err(ApiError::untyped(format!(
            "failed to create typed patch object ({}): {}",
            identity(resource, config),
            describe(&misfits)
        )));
    }
    let empty = decode::empty(resource);
    let base = live.unwrap_or(&empty);
    let managers = managed::decode(&base["metadata"]["managedFields"])
        .ok_or_else(|| ApiError::untyped("failed to decode managed fields"))?;
    let mut bare = without_managers(base);
    bare["apiVersion"] = json!(resource.api_version());
    let managers = before_first_apply(writing, live, &empty, &bare, managers);
    let reset = strategy::reset_fields(resource, writing.subresource);
    let (version, now) = (resource.api_version(), stamp(writing.scope.now));
    let write = writing.write(&version, &reset, &now);
    let Applied { object, managers } = write
        .apply(&bare, config, managers, manager, writing.subresource, force)
        .map_err(|conflicts| conflict_error(&conflicts))?;
    let mut object = match object {
        Some(merged) => {
            let mut typed =
                decode::encode(resource, &merged, ValueForm::Given).map_err(|fault| {
                    ApiError::untyped(format!(
                        "failed to convert new object ({}) to proper version: unable to convert \
                     unstructured object to {}: {}{}",
                        identity(resource, config),
                        resource.gvk(),
                        if matches!(fault.problem, Problem::Base64 { .. }) {
                            "error decoding from json: "
                        } else {
                            ""
                        },
                        decode::explain(resource, &fault)
                    ))
                })?;
            writing.set_defaults(&mut typed)?;
            typed
        }
        None => bare,
    };
    set_managers(&mut object, &managers);
    Ok(object)
}

/// An object that nobody tracked so far belongs to `before-first-apply`.
fn before_first_apply(
    writing: &Writing<'_>,
    live: Option<&Value>,
    empty: &Value,
    bare: &Value,
    managers: Managers,
) -> Managers {
    if !managers.is_empty() || live.is_none() {
        return managers;
    }
    let reset = strategy::reset_fields(writing.resource, writing.subresource);
    let (version, now) = (writing.resource.api_version(), stamp(writing.scope.now));
    let write = writing.write(&version, &reset, &now);
    write.update(
        empty,
        bare,
        managers,
        "before-first-apply",
        writing.subresource,
    )
}

/// `namespace/name; group/version, Kind=Kind`, as the server names an object in errors.
fn identity(resource: &Resource, config: &Value) -> String {
    let meta = &config["metadata"];
    format!(
        "{}/{}; {}",
        text(&meta["namespace"]),
        text(&meta["name"]),
        resource.gvk()
    )
}

fn conflict_error(conflicts: &[Conflict]) -> ApiError {
    let causes: Vec<_> = conflicts
        .iter()
        .map(|c| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", c.manager.describe()),
                "field": c.path
            })
        })
        .collect();
    let message = match conflicts {
        [only] => format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.manager.describe(),
            only.path
        ),
        many => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in many {
                if last != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager.describe()));
                    last = Some(&conflict.manager);
                }
                lines.push(format!("- {}", conflict.path));
            }
            format!(
                "Apply failed with {} conflicts: {}",
                many.len(),
                lines.join("\n")
            )
        }
    };
    ApiError::apply_conflict(message, &causes)
}
