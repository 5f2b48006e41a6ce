//! The finalizer: set before the first write, taken off when the release is deleted, or left to
//! itself.

use std::sync::Arc;

use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action as Next;
use opm_core::ids::ReleaseId;
use opm_engine::Failure;
use opm_engine::ports::Unattended;
use opm_engine::report::{Release, Report};
use serde_json::json;

use crate::apply::caller;
use crate::context::Context;
use crate::reason::Reason;
use crate::reconcile::{AttemptResult, next, verdict_of};
use crate::report;
use crate::request::{InvalidSpec, ReleaseKey, Times, act_as, delete_request};
use crate::resource::{DeletionPolicy, ModuleRelease};
use crate::status::Findings;
use crate::verdict::Verdict;

/// The finalizer's name.
pub(crate) const FINALIZER: &str = "core.opmodel.dev/release";

/// How many kept objects an event names.
const NAMED: usize = 10;

fn api(key: &ReleaseKey, context: &Context) -> Api<ModuleRelease> {
    Api::namespaced(context.kube.clone(), &key.namespace)
}

fn is_held(resource: &ModuleRelease) -> bool {
    let held = resource.metadata.finalizers.iter().flatten();
    held.into_iter().any(|one| one == FINALIZER)
}

/// The resource with its finalizer.
pub(crate) async fn hold(
    resource: &ModuleRelease,
    context: &Context,
) -> Result<ModuleRelease, kube::Error> {
    if is_held(resource) || context.dry_run {
        return Ok(resource.clone());
    }
    let mut finalizers = resource.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(FINALIZER.to_owned());
    write(resource, &finalizers, context).await
}

async fn write(
    resource: &ModuleRelease,
    finalizers: &[String],
    context: &Context,
) -> Result<ModuleRelease, kube::Error> {
    let key = ReleaseKey::of(resource);
    let patch = json!({"metadata": {
        "finalizers": finalizers,
        "uid": resource.metadata.uid,
        "resourceVersion": resource.metadata.resource_version,
    }});
    let parameters = PatchParams::apply("opm-controller");
    let parameters = PatchParams {
        force: false,
        ..parameters
    };
    let (api, patch) = (api(&key, context), Patch::Merge(patch));
    context.own(api.patch(&key.name, &parameters, &patch)).await
}

/// Deletes the release of a resource that goes, or leaves it to itself, and lets the resource go.
pub(crate) async fn finalize(
    resource: &ModuleRelease,
    key: &ReleaseKey,
    context: &Arc<Context>,
) -> Result<(Reason, Next), kube::Error> {
    if !is_held(resource) {
        context.watches.forget(key);
        context.forget(key);
        return Ok((Reason::Deleted, Next::await_change()));
    }
    if context.dry_run {
        return Ok((Reason::Deleted, Next::await_change()));
    }
    context.watches.forget(key);
    let (reason, done) = match resource.spec.deletion_policy {
        DeletionPolicy::Delete => (Reason::Deleted, delete(resource, key, context).await),
        DeletionPolicy::Orphan => (Reason::Orphaned, orphan(resource, key, context).await),
    };
    let left = match done {
        Ok(report) => Some(report),
        // With the namespace go the account's rights and the record; waiting would hold it up for
        // ever.
        Err(verdict)
            if verdict.reason == Reason::NotPermitted
                && report::does_namespace_go(resource, context).await =>
        {
            report::abandoned(resource, &verdict.message, context);
            None
        }
        Err(verdict) => {
            let reason = verdict.reason;
            let attempted = AttemptResult {
                verdict,
                findings: Findings::default(),
            };
            report::write(resource, &attempted, context).await?;
            let times = Times::of(&resource.spec).ok();
            return Ok((reason, next(&attempted.verdict, times, key, context)));
        }
    };
    if let Some(left) = left {
        report::last_words(resource, reason, &last_words(reason, &left), context).await;
    }
    let finalizers = resource.metadata.finalizers.iter().flatten();
    let finalizers: Vec<String> = finalizers
        .filter(|one| *one != FINALIZER)
        .cloned()
        .collect();
    match write(resource, &finalizers, context).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error),
    }
    context.forget(key);
    context.tell_dependents(key);
    Ok((reason, Next::await_change()))
}

async fn delete(
    resource: &ModuleRelease,
    key: &ReleaseKey,
    context: &Context,
) -> Result<Report, Verdict> {
    let request = match delete_request(resource) {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(Report::default()),
        Err(error) => return Err(unusable(&error)),
    };
    let act_as = act_as(
        &resource.spec,
        &key.namespace,
        context.default_account.as_deref(),
    );
    let caller = caller(resource, act_as, &Unattended, context);
    let deleted = context.engine.delete(&request, &caller).await;
    deleted.map_err(|failure| not_deleted(&failure))
}

async fn orphan(
    resource: &ModuleRelease,
    key: &ReleaseKey,
    context: &Context,
) -> Result<Report, Verdict> {
    let status = resource.status.as_ref();
    let id = status.and_then(|status| status.release_id.as_deref());
    let Some(id) = id.and_then(|id| id.parse::<ReleaseId>().ok()) else {
        return Ok(Report::default());
    };
    let (name, namespace) = key.names().map_err(|error| unusable(&error))?;
    let release = Release {
        name,
        namespace,
        id,
    };
    let act_as = act_as(
        &resource.spec,
        &key.namespace,
        context.default_account.as_deref(),
    );
    let caller = caller(resource, act_as, &Unattended, context);
    let left = context.engine.end_management(&release, &caller).await;
    left.map_err(|failure| not_deleted(&failure))
}

fn unusable(error: &InvalidSpec) -> Verdict {
    Verdict::stalled(Reason::InvalidSpec, error.to_string())
}

/// A lock is waited for; anything else says that it is the delete that failed.
fn not_deleted(failure: &Failure) -> Verdict {
    let verdict = verdict_of(failure);
    match verdict.reason {
        Reason::Locked | Reason::Unreachable | Reason::Interrupted | Reason::NotPermitted => {
            verdict
        }
        _ => Verdict {
            reason: Reason::DeleteFailed,
            ..verdict
        },
    }
}

fn last_words(reason: Reason, report: &Report) -> String {
    if reason == Reason::Orphaned {
        return "the release was left as it is, managed by nobody".to_owned();
    }
    let kept: Vec<String> = report
        .kept
        .iter()
        .map(|one| one.identity.to_string())
        .collect();
    match kept.len() {
        0 => "the release was deleted".to_owned(),
        all => {
            let named = kept
                .iter()
                .take(NAMED)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            let more = match all.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("the release was deleted; kept: {named}{more}")
        }
    }
}
