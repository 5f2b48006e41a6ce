//! DELETE: preconditions, propagation, finalizers, and what is answered.

use serde_json::{Value, json};

use super::delete_options::{DeleteOptions, Propagation};
use super::select::Selector;
use super::write::{Writing, text};
use super::{Scope, list, options, stamp, success, view};
use crate::kinds::{Resource, strategy};
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

pub(crate) fn delete(scope: &Scope<'_>, call: &Call, target: &Target) -> Result<Reply, ApiError> {
    let wanted = DeleteOptions::read(call)?;
    let dry_run = wanted.dry_run;
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
    let dry_run = wanted.dry_run;
    options::check_list(call, false)?;
    let resource = &target.resource;
    let selector = Selector::read(call, resource)?;
    let all = list::matching(scope, resource, &target.namespace, &selector)?;
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
        check_preconditions(resource, &name, &object, &wanted)?;
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
