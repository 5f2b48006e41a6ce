//! Namespaces: what comes with a new one, and how a terminating one empties.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{LOOK_AGAIN, Subject, schedule};
use crate::kinds::{Resource, find_builtin};
use crate::status::ApiError;
use crate::store::{Due, Key, StoreError, Tx};
use crate::verbs::write::{Writing, delete_in_background};
use crate::verbs::{decode_empty, stamp};

/// The namespaces that every cluster has.
fn bootstrap_names() -> [&'static str; 4] {
    ["default", "kube-node-lease", "kube-public", "kube-system"]
}

pub(super) fn bootstrap(tx: &Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    for name in bootstrap_names() {
        let key = Key {
            group: String::new(),
            resource: "namespaces".into(),
            namespace: String::new(),
            name: name.to_string(),
        };
        let revision = tx.next_revision()?;
        let object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": tx.chance().uuid().to_string(),
                "resourceVersion": revision.to_string(),
                "creationTimestamp": stamp(now),
                "labels": {"kubernetes.io/metadata.name": name},
                "managedFields": [{
                    "manager": "kube-apiserver", "operation": "Update", "apiVersion": "v1",
                    "time": stamp(now), "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}
                }]
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"}
        });
        tx.put(&key, revision, &object, None)?;
        tx.schedule(&Due {
            at: now.as_millisecond(),
            key,
            step: "furnish".into(),
        })?;
    }
    Ok(())
}

/// The service account and the certificate bundle that controllers put into every namespace.
pub(super) fn furnish(subject: &Subject<'_>) -> Result<(), ApiError> {
    if subject.is_terminating() {
        return Ok(());
    }
    let bundle = json!({
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {"kubernetes.io/description":
                "Contains a CA bundle that can be used to verify the kube-apiserver when using \
                 internal endpoints such as the internal service IP or \
                 kubernetes.default.svc. No other usage is guaranteed across distributions of \
                 Kubernetes clusters."}
        },
        "data": {"ca.crt": ""}
    });
    let account = json!({"metadata": {"name": "default"}});
    for (plural, object) in [("configmaps", bundle), ("serviceaccounts", account)] {
        if let Some(resource) = find_builtin("", None, plural) {
            put_if_missing(subject, resource, object)?;
        }
    }
    Ok(())
}

fn put_if_missing(
    subject: &Subject<'_>,
    resource: &Resource,
    mut object: Value,
) -> Result<(), ApiError> {
    let writing = Writing {
        scope: subject.scope,
        resource,
        namespace: &subject.key.name,
        subresource: "",
        dry_run: false,
    };
    object["apiVersion"] = json!(resource.api_version());
    object["kind"] = json!(resource.kind);
    object["metadata"]["namespace"] = json!(subject.key.name);
    writing.update_managers(&decode_empty(resource), &mut object, super::CONTROLLER);
    match writing.create(object) {
        Err(error) if error.code == 409 => Ok(()),
        other => other.map(drop),
    }
}

/// Deletes everything in a terminating namespace; when nothing is left, the namespace goes.
pub(super) fn empty(subject: &Subject<'_>) -> Result<(), ApiError> {
    let (scope, name) = (subject.scope, &subject.key.name);
    if !subject.is_terminating() {
        return Ok(());
    }
    for key in scope.tx.keys_in_namespace(name)? {
        let Some(resource) = scope.served.of_key(&key)? else {
            continue;
        };
        let Some(object) = scope.tx.get(&key)? else {
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
            delete_in_background(&writing, &key.name, object)?;
        }
    }
    let left = scope.tx.keys_in_namespace(name)?;
    if left.is_empty() {
        let mut new = subject.object.clone();
        new["spec"] = json!({});
        let writing = subject.writing("finalize");
        return writing.finish_deletion(name, new).map(drop);
    }
    report(subject, &left)?;
    schedule(scope, subject.key, "empty", LOOK_AGAIN)
}

/// Says in the status what keeps the namespace.
fn report(subject: &Subject<'_>, left: &[Key]) -> Result<(), ApiError> {
    let now = stamp(subject.scope.now);
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "lastTransitionTime": now,
            "reason": reason, "message": message
        })
    };
    let mut kinds: Vec<String> = left
        .iter()
        .map(|k| crate::status::qualified(&k.group, &k.resource))
        .collect();
    kinds.sort();
    kinds.dedup();
    let content = format!("Some resources are remaining: {}", kinds.join(", "));
    let mut status = subject.object["status"].clone();
    if status["conditions"].is_array() {
        return Ok(());
    }
    status["conditions"] = json!([
        condition(
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed"
        ),
        condition(
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization"
        ),
        condition(
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            &content
        ),
        condition(
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining"
        )
    ]);
    subject.set_status(subject.object.clone(), status, super::CONTROLLER)
}
