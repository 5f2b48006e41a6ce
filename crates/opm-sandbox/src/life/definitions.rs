//! CustomResourceDefinitions: established a moment after they appear, cleaned up before they go.

use serde_json::{Value, json};

use super::{LOOK_AGAIN, SOON, Subject, schedule};
use crate::kinds::Resource;
use crate::kinds::custom::DefinitionSummary;
use crate::status::{ApiError, qualified};
use crate::store::{Key, StoreError, Tx};
use crate::verbs::write::{Writing, delete_in_background};
use crate::verbs::{Scope, stamp};

pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Where a definition is kept.
pub(crate) fn key(name: &str) -> Key {
    Key {
        group: "apiextensions.k8s.io".into(),
        resource: "customresourcedefinitions".into(),
        namespace: String::new(),
        name: name.into(),
    }
}

/// Writes beside a definition what is served of it.
pub(super) fn index(tx: &Tx<'_>, object: &Value) -> Result<(), StoreError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match DefinitionSummary::of(object) {
        Some(summary) => tx.set_definition(name, &summary)?,
        None => tx.remove_definition(name)?,
    }
    tx.set_meta("definitions", tx.revision()?)
}

pub(super) fn forget(tx: &Tx<'_>, name: &str) -> Result<(), StoreError> {
    tx.remove_definition(name)?;
    tx.set_meta("definitions", tx.revision()?)
}

/// Definitions of a file from before there was an index.
pub(super) fn index_all(tx: &Tx<'_>) -> Result<(), StoreError> {
    let Key {
        group, resource, ..
    } = key("");
    let all = tx.list(&group, &resource, Some(""), ("", ""), usize::MAX)?;
    all.iter().try_for_each(|object| index(tx, object))
}

pub(super) fn noticed(
    scope: &Scope<'_>,
    key: &Key,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    index(scope.tx, object)?;
    let terminating = object["metadata"].get("deletionTimestamp").is_some();
    let was = old.is_some_and(|o| o["metadata"].get("deletionTimestamp").is_some());
    if terminating && !was {
        return schedule(scope, key, "clean-up", SOON);
    }
    let changed = old.is_none_or(|o| o["spec"] != object["spec"]);
    if changed && !terminating {
        schedule(scope, key, "establish", SOON)
    } else {
        Ok(())
    }
}

pub(super) fn set_condition(
    object: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let condition = json!({
        "type": kind, "status": status, "lastTransitionTime": now,
        "reason": reason, "message": message
    });
    let conditions = &mut object["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Value::Array(list) = conditions {
        let same = |c: &&mut Value| c["type"] == kind;
        match list.iter_mut().find(same) {
            Some(found) if found["status"] == status => {}
            Some(found) => *found = condition,
            None => list.push(condition),
        }
    }
}

pub(super) fn establish(subject: &Subject<'_>) -> Result<(), ApiError> {
    if subject.is_terminating() {
        return Ok(());
    }
    let now = stamp(subject.scope.now);
    let mut new = subject.object.clone();
    new["status"]["acceptedNames"] = new["spec"]["names"].clone();
    set_condition(
        &mut new,
        "NamesAccepted",
        "True",
        "NoConflicts",
        "no conflicts found",
        &now,
    );
    let message = "the initial names have been accepted";
    set_condition(
        &mut new,
        "Established",
        "True",
        "InitialNamesAccepted",
        message,
        &now,
    );
    let versions = new["spec"]["versions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for version in versions.iter().filter(|v| v["storage"] == true) {
        if let Some(Value::Array(stored)) = new["status"].get_mut("storedVersions")
            && !stored.contains(&version["name"])
        {
            stored.push(version["name"].clone());
        }
    }
    let status = new["status"].clone();
    subject.set_status(subject.object.clone(), status, "kube-apiserver")
}

/// Deletes all instances, then lets the definition go.
pub(super) fn clean_up(subject: &Subject<'_>) -> Result<(), ApiError> {
    let scope = subject.scope;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let spec = &subject.object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let all = |tx: &Tx<'_>| tx.list(&group, &plural, None, ("", ""), usize::MAX);
    let probe = Key {
        group: group.clone(),
        resource: plural.clone(),
        namespace: String::new(),
        name: String::new(),
    };
    if let Some(resource) = scope.served.of_key(&probe)? {
        for object in all(scope.tx)? {
            if object["metadata"].get("deletionTimestamp").is_some() {
                continue;
            }
            let (namespace, name) = (
                text(&object["metadata"]["namespace"]),
                text(&object["metadata"]["name"]),
            );
            let writing = Writing {
                scope,
                resource: &resource,
                namespace: &namespace,
                subresource: "",
                dry_run: false,
            };
            delete_in_background(&writing, &name, object)?;
        }
        if !all(scope.tx)?.is_empty() {
            return schedule(scope, subject.key, "clean-up", LOOK_AGAIN);
        }
    }
    subject.without_finalizer(FINALIZER)
}

/// No new instances of a definition that is on its way out.
pub(crate) fn refuse_new(
    tx: &Tx<'_>,
    resource: &Resource,
    name: &str,
) -> Result<Option<ApiError>, ApiError> {
    if resource.custom.is_none() {
        return Ok(None);
    }
    let name_of_definition = qualified(&resource.group, &resource.plural);
    let definition = tx.get(&key(&name_of_definition))?.unwrap_or_default();
    let terminating = definition["metadata"].get("deletionTimestamp").is_some();
    Ok(terminating.then(|| {
        let why = "create not allowed while custom resource definition is terminating";
        ApiError::forbidden(&resource.group, &resource.plural, name, why)
    }))
}
