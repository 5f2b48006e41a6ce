//! The small life: what controllers do in a real cluster, as steps that fall due.
//!
//! There is no thread. Every request, and every look of a watch, first carries out the steps that
//! are due, in one transaction: whichever process comes first does it, once. Pods do not run.

mod api_services;
mod definitions;
mod garbage;
mod namespaces;
mod volumes;
mod workloads;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::sandbox::SandboxState;
use crate::status::ApiError;
use crate::store::{Due, Key, Store, StoreError};
use crate::verbs::Scope;
use crate::verbs::write::Writing;

pub(crate) use api_services::local as local_api_service;
pub(crate) use definitions::{
    FINALIZER as DEFINITION_FINALIZER, key as definition_key, refuse_new as definition_terminating,
};

/// How long things take, in milliseconds.
const OBSERVED_AFTER: i64 = 15;
const READY_AFTER: i64 = 150;
const SOON: i64 = 15;
const LOOK_AGAIN: i64 = 200;

const CONTROLLER: &str = "kube-controller-manager";

/// How an object asks for trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Simulate {
    Nothing,
    Pending,
    Fail,
    Crash,
}

/// On the object or on its pod template.
const SIMULATE: &str = "sandbox.opmodel.dev/simulate";

fn simulated(object: &Value) -> Simulate {
    let annotated = |meta: &Value| meta["annotations"][SIMULATE].as_str().map(str::to_string);
    let wish = annotated(&object["metadata"])
        .or_else(|| annotated(&object["spec"]["template"]["metadata"]));
    match wish.as_deref() {
        Some("pending") => Simulate::Pending,
        Some("fail") => Simulate::Fail,
        Some("crash") => Simulate::Crash,
        _ => Simulate::Nothing,
    }
}

/// How far a file is furnished: 1 has the namespaces that every cluster has, 2 also the index of
/// definitions and the server's own APIServices.
const STARTED: i64 = 2;

/// Makes what every cluster has, also in a file from before there was all of it.
pub(crate) fn bootstrap(store: &Store) -> Result<(), StoreError> {
    if store.read(|tx| tx.meta("started"))? >= STARTED {
        return Ok(());
    }
    store.write(|tx| {
        let started = tx.meta("started")?;
        if started < 1 {
            namespaces::bootstrap(tx, store.chance().now())?;
        }
        if started < 2 {
            definitions::index_all(tx)?;
            api_services::bootstrap(tx, store.chance().now())?;
        }
        tx.set_meta("started", STARTED)
    })
}

/// Carries out everything that is due.
pub(crate) fn catch_up(inner: &SandboxState, now: Timestamp) -> Result<(), ApiError> {
    let at = now.as_millisecond();
    // A step may make others due; what they make due lies in the future, so this ends.
    for _ in 0..100 {
        let next = inner.store.read_once(|tx| tx.next_due())?;
        if next.is_none_or(|due| due > at) {
            return Ok(());
        }
        inner.store.write(|tx| {
            for due in tx.take_due(at)? {
                let scope = Scope {
                    tx,
                    served: inner.served(tx),
                    now,
                };
                match step(&scope, &due) {
                    Err(error) if error.code >= 500 => return Err(error),
                    // The object went on without us: nothing left to do for this step.
                    _ => {}
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// What kinds of steps there are.
enum Step<'a> {
    Observe,
    Ready,
    Establish,
    Available,
    CleanUp,
    Furnish,
    Empty,
    Release,
    Expire,
    Orphan,
    Foreground,
    Collect(&'a str),
}

impl Step<'_> {
    fn parse(text: &str) -> Option<Step<'_>> {
        Some(match text.split_once(' ').unwrap_or((text, "")) {
            ("observe", _) => Step::Observe,
            ("ready", _) => Step::Ready,
            ("establish", _) => Step::Establish,
            ("available", _) => Step::Available,
            ("clean-up", _) => Step::CleanUp,
            ("furnish", _) => Step::Furnish,
            ("empty", _) => Step::Empty,
            ("release", _) => Step::Release,
            ("expire", _) => Step::Expire,
            ("orphan", _) => Step::Orphan,
            ("foreground", _) => Step::Foreground,
            ("collect", uid) => Step::Collect(uid),
            _ => return None,
        })
    }
}

fn step(scope: &Scope<'_>, due: &Due) -> Result<(), ApiError> {
    let Some(step) = Step::parse(&due.step) else {
        return Ok(());
    };
    if let Step::Collect(uid) = step {
        return garbage::collect(scope, uid);
    }
    let Some(object) = scope.tx.get(&due.key)? else {
        return Ok(());
    };
    let Some(resource) = scope.served.of_key(&due.key)? else {
        return Ok(());
    };
    let subject = Subject {
        scope,
        resource,
        key: &due.key,
        object,
    };
    match step {
        Step::Observe => workloads::observe(&subject),
        Step::Ready => workloads::ready(&subject),
        Step::Establish => definitions::establish(&subject),
        Step::Available => api_services::available(&subject),
        Step::CleanUp => definitions::clean_up(&subject),
        Step::Furnish => namespaces::furnish(&subject),
        Step::Empty => namespaces::empty(&subject),
        Step::Release => volumes::release(&subject),
        Step::Expire => garbage::expire(&subject),
        Step::Orphan => garbage::orphan(&subject),
        Step::Foreground => garbage::foreground(&subject),
        Step::Collect(_) => Ok(()),
    }
}

/// The object that a step is about.
struct Subject<'a> {
    scope: &'a Scope<'a>,
    resource: Arc<Resource>,
    key: &'a Key,
    object: Value,
}

impl Subject<'_> {
    fn writing<'w>(&'w self, subresource: &'w str) -> Writing<'w> {
        Writing {
            scope: self.scope,
            resource: &self.resource,
            namespace: &self.key.namespace,
            subresource,
            dry_run: false,
        }
    }

    /// Writes the object's status as a controller does.
    fn set_status(&self, mut new: Value, status: Value, manager: &str) -> Result<(), ApiError> {
        new["status"] = status;
        let writing = self.writing("status");
        writing.update_managers(&self.object, &mut new, manager);
        writing.update(&self.object, new).map(drop)
    }

    fn is_terminating(&self) -> bool {
        self.object["metadata"].get("deletionTimestamp").is_some()
    }

    fn without_finalizer(&self, name: &str) -> Result<(), ApiError> {
        let mut new = self.object.clone();
        if let Some(Value::Array(list)) = new["metadata"].get_mut("finalizers") {
            list.retain(|f| f != name);
        }
        self.writing("").update(&self.object, new).map(drop)
    }
}

fn schedule(scope: &Scope<'_>, key: &Key, step: &str, after: i64) -> Result<(), ApiError> {
    let at = scope.now.as_millisecond() + after;
    scope.tx.schedule(&Due {
        at,
        key: key.clone(),
        step: step.to_string(),
    })?;
    Ok(())
}

/// Decides what is to happen to an object that was stored.
pub(crate) fn noticed(
    scope: &Scope<'_>,
    resource: &Resource,
    key: &Key,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let terminating = object["metadata"].get("deletionTimestamp").is_some();
    let was = old.is_some_and(|o| o["metadata"].get("deletionTimestamp").is_some());
    if terminating && !was {
        garbage::marked(scope, key, object)?;
    }
    garbage::check_owners(scope, object, old)?;
    if resource.is("", "Service") {
        api_services::service_changed(scope, key)?;
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") if old.is_none() => schedule(scope, key, "furnish", SOON),
        ("", "Namespace") if terminating && !was => schedule(scope, key, "empty", SOON),
        ("", "PersistentVolume") if terminating && !was => schedule(scope, key, "release", SOON),
        ("", "PersistentVolumeClaim") if terminating && !was => {
            schedule(scope, key, "release", SOON)
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            definitions::noticed(scope, key, object, old)
        }
        ("apiregistration.k8s.io", "APIService") => api_services::noticed(scope, key, object, old),
        _ if !terminating => workloads::noticed(scope, resource, key, object, old),
        _ => Ok(()),
    }
}

/// An object is gone; what it owned is to follow.
pub(crate) fn gone(
    scope: &Scope<'_>,
    resource: &Resource,
    key: &Key,
    last: &Value,
) -> Result<(), ApiError> {
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        definitions::forget(scope.tx, &key.name)?;
    }
    if resource.is("", "Service") {
        api_services::service_changed(scope, key)?;
    }
    let uid = last["metadata"]["uid"].as_str().unwrap_or_default();
    if !scope.tx.owned_by(uid)?.is_empty() {
        schedule(scope, key, &format!("collect {uid}"), SOON)?;
    }
    Ok(())
}

/// What a DELETE writes into an object beside the deletion time.
pub(crate) fn marked_for_deletion(resource: &Resource, object: &mut Value, now: &str) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => object["status"]["phase"] = json!("Terminating"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            definitions::set_condition(
                object,
                "Terminating",
                "True",
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin \
                 soon",
                now,
            );
        }
        _ => {}
    }
}
