//! What is told of an attempt: the resource's status, an event when that changed, and a line of
//! the log. Nothing is written that is there already.

use k8s_openapi::api::core::v1::{Event, EventSource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource as _;
use kube::api::{Api, Patch, PatchParams, PostParams};

use crate::context::Context;
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
    let ready = |status: &ModuleReleaseStatus| {
        let ready = status.condition("Ready").cloned();
        ready.map(|one| (one.status, one.reason, one.message))
    };
    let news = ready(&before) != ready(&status);
    if news {
        let failed =
            verdict.readiness == Readiness::NotReady || verdict.progress == Progress::Stalled;
        log(resource, failed, verdict.reason, &verdict.message, context);
    }
    if context.dry_run {
        return Ok(false);
    }
    let changed = write_status(resource, &before, &status, context).await?;
    if news && changed {
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

/// The status as it was seen last: an attempt may have written it meanwhile.
fn latest(resource: &ModuleRelease, context: &Context) -> ModuleReleaseStatus {
    let key = ReleaseKey::of(resource);
    let told = context.told(&key, resource.metadata.uid.as_deref());
    told.or_else(|| resource.status.clone()).unwrap_or_default()
}

async fn write_status(
    resource: &ModuleRelease,
    before: &ModuleReleaseStatus,
    status: &ModuleReleaseStatus,
    context: &Context,
) -> Result<bool, kube::Error> {
    let Some(patch) = patch(before, status) else {
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
        Ok(_) => {
            context.tell(&key, resource.metadata.uid.as_deref(), status);
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
    if context.is_news(&ReleaseKey::of(resource), objects) {
        event(resource, false, reason, objects, context).await;
    }
}

/// Writes an event. One that cannot be written is only missing.
pub(crate) async fn event(
    resource: &ModuleRelease,
    warning: bool,
    reason: Reason,
    message: &str,
    context: &Context,
) {
    let key = ReleaseKey::of(resource);
    let moment = jiff::Timestamp::now();
    let event = Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", key.name, moment.as_nanosecond())),
            namespace: Some(key.namespace.clone()),
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
    };
    let api: Api<Event> = Api::namespaced(context.kube.clone(), &key.namespace);
    let parameters = PostParams::default();
    if let Err(error) = context.own(api.create(&parameters, &event)).await {
        context.notices.failed("an event cannot be written", &error);
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
