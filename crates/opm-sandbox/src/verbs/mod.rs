//! What each request does. One file per verb; `write` is what all changes have in common.

pub(crate) mod apply;
mod create;
pub(crate) mod decode;
mod delete;
mod delete_options;
mod json_patch;
mod list;
mod options;
mod patch;
mod scale;
mod select;
mod strategic;
mod update;
mod view;
mod watch;
pub(crate) mod write;

#[cfg(test)]
pub(crate) use strategic::merge as strategic_merge;

use http::Method;
use jiff::Timestamp;
use serde_json::json;

use crate::discovery;
use crate::life;
use crate::sandbox::{Sandbox, Served};
use crate::status::ApiError;
use crate::store::Tx;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::{Route, Target, route};

/// What a verb works with: one transaction, and what is served as of it.
pub(crate) struct Scope<'a> {
    pub(crate) tx: &'a Tx<'a>,
    pub(crate) served: Served<'a>,
    pub(crate) now: Timestamp,
}

/// Answers one request.
pub(crate) fn handle(sandbox: &Sandbox, call: &Call) -> Result<Reply, ApiError> {
    let inner = &sandbox.inner;
    let now = inner.store.chance().now();
    life::catch_up(inner, now)?;
    let segments = call.segments();
    let routed = inner.store.read(|tx| {
        let served = inner.served(tx);
        match route(&segments, &served)? {
            Route::Objects(target) => Ok(Routed::Objects(target)),
            route if call.method == Method::GET => {
                discovery::answer(&served, &route, call).map(Routed::Answered)
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    })?;
    match routed {
        Routed::Answered(reply) => Ok(reply),
        Routed::Objects(target) => objects(sandbox, call, &target, now),
    }
}

/// Discovery is answered at once; everything else is about objects.
enum Routed {
    Answered(Reply),
    Objects(Target),
}

fn objects(
    sandbox: &Sandbox,
    call: &Call,
    target: &Target,
    now: Timestamp,
) -> Result<Reply, ApiError> {
    let store = &sandbox.inner.store;
    let verb = verb(call, target)?;
    let changes = !matches!(verb, Verb::Get | Verb::List | Verb::Watch);
    let dry_run = changes && options::is_dry_run(call)?;
    let work = |tx: &Tx<'_>| {
        let scope = Scope {
            tx,
            served: sandbox.inner.served(tx),
            now,
        };
        match verb {
            Verb::Get => view::get(&scope, call, target),
            Verb::List => list::list(&scope, call, target),
            Verb::Watch => watch::watch(sandbox, &scope, call, target),
            Verb::Create => create::create(&scope, call, target, dry_run),
            Verb::Update => update::update(&scope, call, target, dry_run),
            Verb::Patch => patch::patch(&scope, call, target, dry_run),
            Verb::Delete => delete::delete(&scope, call, target),
            Verb::DeleteCollection => delete::delete_collection(&scope, call, target),
        }
    };
    // A dry run goes the same way and takes no lock: `write` stops short of storing.
    if changes && !dry_run {
        store.write(work)
    } else {
        store.read(work)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

fn verb(call: &Call, target: &Target) -> Result<Verb, ApiError> {
    let verb = match (&call.method, target.name.is_some()) {
        (&Method::GET, true) => Verb::Get,
        (&Method::GET, false) if call.query.flag("watch") => Verb::Watch,
        (&Method::GET, false) => Verb::List,
        (&Method::POST, false) => Verb::Create,
        (&Method::PUT, true) => Verb::Update,
        (&Method::PATCH, true) => Verb::Patch,
        (&Method::DELETE, true) if target.subresource.is_empty() => Verb::Delete,
        (&Method::DELETE, false) => Verb::DeleteCollection,
        _ => return Err(ApiError::method_not_allowed()),
    };
    let across = target.resource.namespaced && target.namespace.is_empty();
    if across && matches!(verb, Verb::Create) {
        return Err(ApiError::bad_request(
            "an empty namespace may not be set during creation",
        ));
    }
    if across && verb == Verb::DeleteCollection {
        return Err(ApiError::method_not_allowed());
    }
    Ok(verb)
}

/// The empty object of a resource.
pub(crate) fn decode_empty(resource: &crate::kinds::Resource) -> serde_json::Value {
    decode::empty(resource)
}

/// Now, as objects carry it.
pub(crate) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A Status that says yes.
pub(crate) fn success(target: &Target, name: &str, uid: &str) -> serde_json::Value {
    let mut details = json!({"name": name, "kind": target.resource.plural, "uid": uid});
    if !target.resource.group.is_empty() {
        details["group"] = json!(target.resource.group);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details
    })
}
