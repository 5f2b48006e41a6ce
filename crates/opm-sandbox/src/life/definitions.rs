//! CustomResourceDefinitions: established a moment after they appear, cleaned up before they go.

use serde_json::{Value, json};

use super::{LOOK_AGAIN, SOON, Subject, schedule};
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::store::{Key, Tx};
use crate::verbs::write::{Writing, delete_in_background};
use crate::verbs::{Scope, stamp};

pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) fn noticed(
    scope: &Scope<'_>,
    key: &Key,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    scope.tx.set_meta("definitions", scope.tx.revision()?)?;
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
    if let Some(resource) = scope.registry.of_key(&probe) {
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
                resource,
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
    let key = Key {
        group: "apiextensions.k8s.io".into(),
        resource: "customresourcedefinitions".into(),
        namespace: String::new(),
        name: crate::status::qualified(&resource.group, &resource.plural),
    };
    let definition = tx.get(&key)?.unwrap_or_default();
    let terminating = definition["metadata"].get("deletionTimestamp").is_some();
    Ok(terminating.then(|| {
        let why = "create not allowed while custom resource definition is terminating";
        ApiError::forbidden(&resource.group, &resource.plural, name, why)
    }))
}
