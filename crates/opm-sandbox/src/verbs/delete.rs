//! DELETE: preconditions, propagation, finalizers, and what is answered.

use serde_json::{Value, json};

use super::select::Selector;
use super::write::{Writing, text};
use super::{Scope, list, options, stamp, success, view};
use crate::kinds::{Resource, strategy};
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a DELETE asks for: in its body, or, without one, in the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    uid: Option<String>,
    version: Option<String>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: Vec<String>,
}

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

impl DeleteOptions {
    pub(crate) fn read(call: &Call) -> Result<DeleteOptions, ApiError> {
        let query = |name: &str| call.query.get(name).map(str::to_string);
        if call.body.is_empty() {
            return Ok(DeleteOptions {
                uid: None,
                version: None,
                propagation: propagation(query("propagationPolicy").as_deref())?,
                dry_run: call
                    .query
                    .all("dryRun")
                    .into_iter()
                    .map(str::to_string)
                    .collect(),
            });
        }
        let body = super::decode::parse(call)?;
        let kind = text(&body["kind"]);
        if !kind.is_empty() && kind != "DeleteOptions" {
            return Err(ApiError::bad_request(format!(
                "decoded object cannot be converted to DeleteOptions: {kind}"
            )));
        }
        let orphan = body["orphanDependents"].as_bool();
        let given = body["propagationPolicy"].as_str();
        let policy = match orphan {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => propagation(given)?,
        };
        let strings = body["dryRun"].as_array().into_iter().flatten();
        Ok(DeleteOptions {
            uid: body["preconditions"]["uid"].as_str().map(str::to_string),
            version: body["preconditions"]["resourceVersion"]
                .as_str()
                .map(str::to_string),
            propagation: policy,
            dry_run: strings
                .filter_map(|v| v.as_str().map(str::to_string))
                .collect(),
        })
    }
}

fn propagation(given: Option<&str>) -> Result<Option<Propagation>, ApiError> {
    match given {
        None | Some("") => Ok(None),
        Some("Background") => Ok(Some(Propagation::Background)),
        Some("Foreground") => Ok(Some(Propagation::Foreground)),
        Some("Orphan") => Ok(Some(Propagation::Orphan)),
        Some(other) => {
            let all = ["Foreground", "Background", "Orphan", "nil"];
            let cause = Cause::unsupported("propagationPolicy", other, &all);
            Err(ApiError::invalid(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                &[cause],
            ))
        }
    }
}

pub(crate) fn delete(scope: &Scope<'_>, call: &Call, target: &Target) -> Result<Reply, ApiError> {
    let wanted = DeleteOptions::read(call)?;
    let dry_run = options::is_dry_run(call, target)?;
    let resource = &target.resource;
    let name = target.name.as_deref().unwrap_or_default();
    let writing = Writing {
        scope,
        resource,
        namespace: &target.namespace,
        subresource: "",
        dry_run,
    };
    if resource.is("", "Namespace") && PROTECTED.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(ApiError::forbidden("", "namespaces", name, why));
    }
    let Some(object) = scope.tx.get(&writing.key(name))? else {
        return Err(ApiError::not_found(&resource.group, &resource.plural, name));
    };
    check_preconditions(resource, name, &object, &wanted)?;
    let uid = text(&object["metadata"]["uid"]);
    let (deleted, last) = remove(&writing, name, object, wanted.propagation)?;
    if deleted && !strategy::returns_deleted(resource) {
        return Ok(Reply::ok(success(target, name, &uid)));
    }
    Ok(Reply::ok(view::project(call, resource, last)))
}

const PROTECTED: &[&str] = &["default", "kube-system", "kube-public"];

fn check_preconditions(
    resource: &Resource,
    name: &str,
    object: &Value,
    wanted: &DeleteOptions,
) -> Result<(), ApiError> {
    let meta = &object["metadata"];
    let conflict = |why: String| {
        Err(ApiError::conflict(
            &resource.group,
            &resource.kind,
            name,
            &why,
        ))
    };
    if let Some(uid) = wanted.uid.as_ref().filter(|u| meta["uid"] != json!(u)) {
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object \
             might have been deleted and then recreated",
            text(&meta["uid"])
        ));
    }
    if let Some(version) = wanted
        .version
        .as_ref()
        .filter(|v| meta["resourceVersion"] != json!(v))
    {
        return conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the \
             ResourceVersion in record ({}). The object might have been modified",
            text(&meta["resourceVersion"])
        ));
    }
    Ok(())
}

/// Deletes an object, or marks it when something holds it. True if it is gone.
pub(crate) fn remove(
    writing: &Writing<'_>,
    name: &str,
    object: Value,
    wanted: Option<Propagation>,
) -> Result<(bool, Value), ApiError> {
    let resource = writing.resource;
    let mut marked = object.clone();
    set_finalizers(resource, &mut marked, wanted);
    let held = |v: &Value| v.as_array().is_some_and(|f| !f.is_empty());
    let waits = held(&marked["metadata"]["finalizers"])
        || (resource.is("", "Namespace") && held(&marked["spec"]["finalizers"]));
    if !waits {
        return Ok((true, writing.finish_deletion(name, object)?));
    }
    if marked["metadata"].get("deletionTimestamp").is_none() {
        let now = stamp(writing.scope.now);
        marked["metadata"]["deletionTimestamp"] = json!(now);
        let own_way = resource.is("", "Namespace")
            || resource.is("apiextensions.k8s.io", "CustomResourceDefinition");
        if !own_way {
            marked["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        }
        if let Some(generation) = marked["metadata"]["generation"].as_i64() {
            marked["metadata"]["generation"] = json!(generation + 1);
        }
        crate::life::marked_for_deletion(resource, &mut marked, &now);
    }
    if marked == object || writing.dry_run {
        return Ok((false, marked));
    }
    Ok((false, writing.store_marked(name, marked, &object)?))
}

/// Finalizers of the garbage collector follow the propagation policy.
fn set_finalizers(resource: &Resource, object: &mut Value, wanted: Option<Propagation>) {
    let current = object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let has = |name: &str| current.iter().any(|f| f == name);
    let by_default = match () {
        () if has(ORPHAN) => Propagation::Orphan,
        () if has(FOREGROUND) => Propagation::Foreground,
        () if resource.is("batch", "Job") || resource.is("", "ReplicationController") => {
            Propagation::Orphan
        }
        () => Propagation::Background,
    };
    let mut finalizers: Vec<_> = current
        .iter()
        .filter(|f| **f != ORPHAN && **f != FOREGROUND)
        .cloned()
        .collect();
    match wanted.unwrap_or(by_default) {
        Propagation::Orphan => finalizers.push(json!(ORPHAN)),
        Propagation::Foreground => finalizers.push(json!(FOREGROUND)),
        Propagation::Background => {}
    }
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        let cleanup = json!(crate::life::DEFINITION_FINALIZER);
        if !finalizers.contains(&cleanup) && object["metadata"].get("deletionTimestamp").is_none() {
            finalizers.push(cleanup);
        }
    }
    if let Value::Object(meta) = &mut object["metadata"] {
        match finalizers.is_empty() {
            true => meta.remove("finalizers"),
            false => meta.insert("finalizers".into(), Value::Array(finalizers)),
        };
    }
}

pub(crate) fn delete_collection(
    scope: &Scope<'_>,
    call: &Call,
    target: &Target,
) -> Result<Reply, ApiError> {
    let wanted = DeleteOptions::read(call)?;
    let dry_run = options::is_dry_run(call, target)?;
    let resource = &target.resource;
    let selector = Selector::read(call, resource)?;
    let all = list::matching(scope, resource, &target.namespace, ("", ""), &selector)?;
    let mut items = Vec::new();
    for object in all {
        let name = text(&object["metadata"]["name"]);
        let writing = Writing {
            scope,
            resource,
            namespace: &target.namespace,
            subresource: "",
            dry_run,
        };
        let (_, last) = remove(&writing, &name, object, wanted.propagation)?;
        items.push(last);
    }
    let revision = scope.tx.revision()?.to_string();
    Ok(Reply::ok(json!({
        "kind": format!("{}List", resource.kind),
        "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": revision},
        "items": items
    })))
}
