//! The garbage collector: dependents follow their owners, or are orphaned, by policy.

use serde_json::Value;

use super::{CONTROLLER, LOOK_AGAIN, SOON, Subject, schedule};
use crate::status::ApiError;
use crate::store::Key;
use crate::verbs::Scope;
use crate::verbs::write::Writing;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

fn has_finalizer(object: &Value, name: &str) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|f| f.iter().any(|x| x == name))
}

/// An object has just been marked: the collector's own finalizers want work.
pub(super) fn marked(scope: &Scope<'_>, key: &Key, object: &Value) -> Result<(), ApiError> {
    if has_finalizer(object, ORPHAN) {
        schedule(scope, key, "orphan", SOON)?;
    }
    if has_finalizer(object, FOREGROUND) {
        schedule(scope, key, "foreground", SOON)?;
    }
    Ok(())
}

/// An owner that does not exist takes its dependent along.
pub(super) fn check_owners(
    scope: &Scope<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let owners = &object["metadata"]["ownerReferences"];
    if owners.is_null() || old.is_some_and(|o| o["metadata"]["ownerReferences"] == *owners) {
        return Ok(());
    }
    for owner in owners.as_array().into_iter().flatten() {
        let uid = owner["uid"].as_str().unwrap_or_default();
        if !scope.tx.uid_exists(uid)? {
            let nowhere = Key {
                group: String::new(),
                resource: String::new(),
                namespace: String::new(),
                name: uid.to_string(),
            };
            schedule(scope, &nowhere, &format!("collect {uid}"), SOON)?;
        }
    }
    Ok(())
}

/// Deletes what only gone owners held; drops references to gone owners from the rest.
pub(super) fn collect(scope: &Scope<'_>, uid: &str) -> Result<(), ApiError> {
    for key in scope.tx.owned_by(uid)? {
        let Some(object) = scope.tx.get(&key)? else {
            continue;
        };
        let Some(resource) = scope.served.of_key(&key)? else {
            continue;
        };
        let writing = Writing {
            scope,
            resource: &resource,
            namespace: &key.namespace,
            subresource: "",
            dry_run: false,
        };
        let owners = object["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut living = Vec::new();
        for owner in owners {
            if scope
                .tx
                .uid_exists(owner["uid"].as_str().unwrap_or_default())?
            {
                living.push(owner);
            }
        }
        if living.is_empty() {
            crate::verbs::write::delete_in_background(&writing, &key.name, object)?;
        } else {
            let mut new = object.clone();
            new["metadata"]["ownerReferences"] = Value::Array(living);
            writing.update_managers(&object, &mut new, CONTROLLER);
            writing.update(&object, new)?;
        }
    }
    Ok(())
}

fn uid<'s>(subject: &'s Subject<'_>) -> &'s str {
    subject.object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
}

/// Cuts the ties to the dependents, then lets the owner go.
pub(super) fn orphan(subject: &Subject<'_>) -> Result<(), ApiError> {
    let scope = subject.scope;
    for key in scope.tx.owned_by(uid(subject))? {
        let Some(object) = scope.tx.get(&key)? else {
            continue;
        };
        let Some(resource) = scope.served.of_key(&key)? else {
            continue;
        };
        let mut new = object.clone();
        if let Some(Value::Array(owners)) = new["metadata"].get_mut("ownerReferences") {
            owners.retain(|o| o["uid"] != uid(subject));
        }
        if new["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(Vec::is_empty)
            && let Some(Value::Object(meta)) = new.get_mut("metadata")
        {
            meta.remove("ownerReferences");
        }
        let writing = Writing {
            scope,
            resource: &resource,
            namespace: &key.namespace,
            subresource: "",
            dry_run: false,
        };
        writing.update_managers(&object, &mut new, CONTROLLER);
        writing.update(&object, new)?;
    }
    subject.without_finalizer(ORPHAN)
}

/// Dependents first, then the owner.
pub(super) fn foreground(subject: &Subject<'_>) -> Result<(), ApiError> {
    let scope = subject.scope;
    for key in scope.tx.owned_by(uid(subject))? {
        let Some(object) = scope.tx.get(&key)? else {
            continue;
        };
        let Some(resource) = scope.served.of_key(&key)? else {
            continue;
        };
        if object["metadata"].get("deletionTimestamp").is_none() {
            let writing = Writing {
                scope,
                resource: &resource,
                namespace: &key.namespace,
                subresource: "",
                dry_run: false,
            };
            crate::verbs::write::delete_in_background(&writing, &key.name, object)?;
        }
    }
    let mut blocked = false;
    for key in scope.tx.owned_by(uid(subject))? {
        let object = scope.tx.get(&key)?.unwrap_or_default();
        let owners = object["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        blocked |= owners
            .iter()
            .any(|o| o["uid"] == uid(subject) && o["blockOwnerDeletion"] == true);
    }
    if blocked {
        return schedule(scope, subject.key, "foreground", LOOK_AGAIN);
    }
    subject.without_finalizer(FOREGROUND)
}

/// A finished Job whose time to live is over.
pub(super) fn expire(subject: &Subject<'_>) -> Result<(), ApiError> {
    let writing = subject.writing("");
    crate::verbs::write::delete_in_background(&writing, &subject.key.name, subject.object.clone())
}
