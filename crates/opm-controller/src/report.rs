//! What is told of an attempt: the resource's status, an event when that changed, and a line of
//! the log. Nothing is written that is there already.

use std::time::Instant;

use k8s_openapi::api::core::v1::{Event, EventSource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource as _;
use kube::api::{Api, Patch, PatchParams, PostParams};

use crate::context::{Context, WrittenStatus};
use crate::news::Novelty;
use crate::reason::Reason;
use crate::reconcile::AttemptResult;
use crate::request::ReleaseKey;
use crate::resource::{ModuleRelease, ModuleReleaseStatus};
use crate::run::LogLine;
use crate::status::{Findings, next, patch};
use crate::verdict::{Progress, Readiness, Verdict, shortened};

/// Who reports.
const REPORTER: &str = "opm-controller";

/// This moment, as Kubernetes writes it.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// Writes how a resource stands after an attempt, if that is new. Says whether it was.
pub(crate) async fn write(
    resource: &ModuleRelease,
    attempted: &AttemptResult,
    context: &Context,
) -> Result<bool, kube::Error> {
    let before = latest(resource, context);
    let AttemptResult { verdict, findings } = attempted;
    let status = next(
        &before,
        resource.metadata.generation,
        verdict,
        findings,
        &now(),
    );
    let novelty = match status.condition("Ready") {
        None => Novelty::Nothing,
        Some(ready) => {
            let (key, before) = (ReleaseKey::of(resource), before.condition("Ready"));
            context.with_news(&key, |news| news.of_ready(before, ready, Instant::now()))
        }
    };
    if novelty != Novelty::Nothing {
        let failed =
            verdict.readiness == Readiness::NotReady || verdict.progress == Progress::Stalled;
        log(resource, failed, verdict.reason, &verdict.message, context);
    }
    if context.dry_run {
        return Ok(false);
    }
    let changed = write_status(resource, &before, &status, context).await?;
    if novelty == Novelty::New && changed {
        let warning = verdict.readiness == Readiness::NotReady;
        event(resource, warning, verdict.reason, &verdict.message, context).await;
    }
    Ok(changed)
}

/// Writes that an attempt has begun, with what is known of the release.
pub(crate) async fn begin(
    resource: &ModuleRelease,
    findings: &Findings,
    context: &Context,
) -> Result<(), kube::Error> {
    let before = latest(resource, context);
    let verdict = Verdict {
        readiness: Readiness::AsBefore,
        ..Verdict::waiting(Reason::Progressing, "an attempt goes on")
    };
    // The generation counts as observed when the attempt is over.
    let generation = before.observed_generation;
    let status = next(&before, generation, &verdict, findings, &now());
    write_status(resource, &before, &status, context)
        .await
        .map(|_| ())
}

/// The status as it was seen last: what was written may be newer than the resource at hand, and
/// another replica may have written it since.
fn latest(resource: &ModuleRelease, context: &Context) -> ModuleReleaseStatus {
    let told = context.told(&ReleaseKey::of(resource));
    let metadata = &resource.metadata;
    let told = told.filter(|told| {
        told.uid == metadata.uid && !is_newer(&metadata.resource_version, &told.version)
    });
    let told = told.map(|told| told.status);
    told.or_else(|| resource.status.clone()).unwrap_or_default()
}

/// Whether one version of a resource is newer than another; versions are numbers that grow.
fn is_newer(one: &Option<String>, other: &Option<String>) -> bool {
    let number = |version: &Option<String>| version.as_deref()?.parse::<u128>().ok();
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one > other,
        _ => false,
    }
}

async fn write_status(
    resource: &ModuleRelease,
    before: &ModuleReleaseStatus,
    status: &ModuleReleaseStatus,
    context: &Context,
) -> Result<bool, kube::Error> {
    let Some(patch) = patch(before, status).filter(|_| context.is_own(resource)) else {
        return Ok(false);
    };
    let key = ReleaseKey::of(resource);
    let api: Api<ModuleRelease> = Api::namespaced(context.kube.clone(), &key.namespace);
    let parameters = PatchParams {
        field_manager: Some(REPORTER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(patch);
    let written = api.patch_status(&key.name, &parameters, &patch);
    match context.own(written).await {
        Ok(written) => {
            let told = WrittenStatus {
                status: status.clone(),
                uid: resource.metadata.uid.clone(),
                version: written.metadata.resource_version,
            };
            context.tell(&key, told);
            Ok(true)
        }
        // It is gone: there is nobody left to tell.
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tells that drift was corrected. The same objects over and over are told of once in a while.
pub(crate) async fn corrected(resource: &ModuleRelease, objects: &str, context: &Context) {
    let reason = Reason::DriftCorrected;
    log(resource, false, reason, objects, context);
    let now = Instant::now();
    if context.with_news(&ReleaseKey::of(resource), |news| {
        news.of_drift(objects, now)
    }) {
        event(resource, false, reason, objects, context).await;
    }
}

/// Tells the last that is heard of a resource.
pub(crate) async fn last_words(
    resource: &ModuleRelease,
    reason: Reason,
    message: &str,
    context: &Context,
) {
    log(resource, false, reason, message, context);
    event(resource, false, reason, message, context).await;
}

/// Tells what a resource leaves behind whose namespace goes. Nothing can be created there any more,
/// events included.
pub(crate) fn abandoned(resource: &ModuleRelease, why: &str, context: &Context) {
    let message = format!(
        "its namespace is being deleted, and its account may not delete any more: what it has \
         elsewhere stays ({why})"
    );
    log(resource, true, Reason::DeleteFailed, &message, context);
}

/// Writes an event. One that cannot be written is only missing.
async fn event(
    resource: &ModuleRelease,
    warning: bool,
    reason: Reason,
    message: &str,
    context: &Context,
) {
    let event = event_of(resource, warning, reason, message);
    let parameters = PostParams::default();
    match create(&event, &parameters, context).await {
        Ok(()) => {}
        Err(error) if is_of_namespace_that_goes(&error) => {}
        Err(error) => context.notices.failed("an event cannot be written", &error),
    }
}

/// Whether the namespace of a resource is being deleted: who may write events there is told so when
/// he tries. Nothing is written.
pub(crate) async fn does_namespace_go(resource: &ModuleRelease, context: &Context) -> bool {
    let event = event_of(resource, true, Reason::DeleteFailed, "the namespace goes");
    let parameters = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let created = create(&event, &parameters, context).await;
    created.is_err_and(|error| is_of_namespace_that_goes(&error))
}

fn is_of_namespace_that_goes(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}

async fn create(
    event: &Event,
    parameters: &PostParams,
    context: &Context,
) -> Result<(), kube::Error> {
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<Event> = Api::namespaced(context.kube.clone(), namespace);
    context.own(api.create(parameters, event)).await.map(drop)
}

fn event_of(resource: &ModuleRelease, warning: bool, reason: Reason, message: &str) -> Event {
    let key = ReleaseKey::of(resource);
    let moment = jiff::Timestamp::now();
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", key.name, moment.as_nanosecond())),
            namespace: Some(key.namespace),
            ..ObjectMeta::default()
        },
        involved_object: resource.object_ref(&()),
        type_: Some(if warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(reason.word().to_owned()),
        message: Some(shortened(message).chars().take(1000).collect()),
        action: Some("Reconcile".to_owned()),
        count: Some(1),
        first_timestamp: Some(Time(moment)),
        last_timestamp: Some(Time(moment)),
        source: Some(EventSource {
            component: Some(REPORTER.to_owned()),
            host: None,
        }),
        reporting_component: Some(REPORTER.to_owned()),
        reporting_instance: Some(REPORTER.to_owned()),
        ..Event::default()
    }
}

/// Writes a line of the log.
fn log(resource: &ModuleRelease, failed: bool, reason: Reason, message: &str, context: &Context) {
    let key = ReleaseKey::of(resource);
    context.log.write(&LogLine {
        time: now(),
        level: if failed { "error" } else { "info" },
        message: shortened(message),
        reason: Some(reason.word()),
        run: context.run_of(&key),
        namespace: Some(key.namespace),
        release: Some(key.name),
        generation: resource.metadata.generation,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow() {
        for (one, other, expected) in [
            (Some("10"), Some("9"), true),
            (Some("9"), Some("10"), false),
            (Some("9"), Some("9"), false),
            (None, Some("9"), false),
            (Some("9"), None, false),
            (Some("b"), Some("a"), false),
        ] {
            let owned = |version: Option<&str>| version.map(str::to_owned);
            let found = is_newer(&owned(one), &owned(other));
            assert_eq!(found, expected, "{one:?} {other:?}");
        }
    }
}
