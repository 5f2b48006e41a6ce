//! One reconcile: from a resource to what the engine is asked to do, and back to its status.
//!
//! ```text
//! suspended?  ─▶ finalizer ─▶ dependencies ─▶ module, rendered ─▶ the same release? ─▶ apply ─▶ ready?
//! ```
//! Whatever stops it on the way becomes a verdict; what a verdict means is `verdict`'s business.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::controller::Action as Next;
use kube::runtime::reflector::ObjectRef;
use opm_core::canonical::object_bytes;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::rendered::Rendered;
use opm_core::words::count;
use opm_engine::Failure;
use opm_engine::ports::Backend as _;
use opm_engine::report::Report;

use crate::apply::ResourceApply;
use crate::backoff;
use crate::context::Context;
use crate::depends::waits_for;
use crate::finalize;
use crate::reason::Reason;
use crate::report;
use crate::request::{ReleaseKey, Times, act_as, apply_request, other_release};
use crate::resource::ModuleRelease;
use crate::source;
use crate::status::{Findings, is_there};
use crate::verdict::{NextAttempt, Readiness, Verdict};

/// How soon something that has to be waited for is looked at again, at first and at most.
const SOON: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How soon a reconcile that found no room in its namespace is tried again.
const NO_ROOM: Duration = Duration::from_millis(300);

/// What an attempt came to, and what it found out.
pub(crate) struct AttemptResult {
    pub(crate) verdict: Verdict,
    pub(crate) findings: Findings,
}

impl From<Verdict> for AttemptResult {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            findings: Findings::default(),
        }
    }
}

/// Reconciles one resource. An error is one of the controller's own requests.
pub(crate) async fn reconcile(
    resource: Arc<ModuleRelease>,
    context: Arc<Context>,
) -> Result<Next, kube::Error> {
    let key = ReleaseKey::of(&resource);
    if !context.is_own(&resource) {
        // It is another replica's.
        context.watches.forget(&key);
        context.forget(&key);
        return Ok(Next::await_change());
    }
    let Some(_turn) = context.enter(&key) else {
        return Ok(context.later(&key, NO_ROOM));
    };
    let began = Instant::now();
    context.metrics.begun();
    context.begin_run(&key);
    let done = Box::pin(one(&resource, &key, &context)).await;
    let result = match &done {
        Ok((reason, _)) => reason.word(),
        Err(_) => "Error",
    };
    context.metrics.ended(result, began.elapsed());
    done.map(|(_, next)| next)
}

async fn one(
    resource: &ModuleRelease,
    key: &ReleaseKey,
    context: &Arc<Context>,
) -> Result<(Reason, Next), kube::Error> {
    if resource.metadata.deletion_timestamp.is_some() {
        return finalize::finalize(resource, key, context).await;
    }
    if resource.spec.suspend {
        context.watches.forget(key);
        let verdict = Verdict {
            readiness: Readiness::AsBefore,
            again: NextAttempt::OnChange,
            ..Verdict::ready(Reason::Suspended, "nothing is done until it is resumed")
        };
        report::write(resource, &verdict.into(), context).await?;
        return Ok((Reason::Suspended, Next::await_change()));
    }
    let resource = &finalize::hold(resource, context).await?;
    let attempted = attempt(resource, key, context).await?;
    let changed = report::write(resource, &attempted, context).await?;
    let verdict = &attempted.verdict;
    if changed && verdict.readiness == Readiness::Ready {
        context.tell_dependents(key);
    }
    let times = Times::of(&resource.spec);
    let reason = verdict.reason;
    Ok((reason, next(verdict, times.ok(), key, context)))
}

/// When a resource is looked at again.
pub(crate) fn next(
    verdict: &Verdict,
    times: Option<Times>,
    key: &ReleaseKey,
    context: &Context,
) -> Next {
    // A field that is no time is changed by somebody.
    let Some(times) = times else {
        return Next::await_change();
    };
    let chance = chance(key);
    match verdict.again {
        NextAttempt::OnChange => Next::await_change(),
        NextAttempt::AtInterval => {
            context.succeeded(key);
            context.later(key, backoff::regular(times.interval, chance))
        }
        NextAttempt::AfterFailure => {
            let failures = context.failed(key);
            let wait = backoff::after_failures(failures, times.retry_interval, chance);
            context.later(key, wait)
        }
        NextAttempt::Soon => {
            let looks = context.looked(key);
            let wait = backoff::after_failures(looks.div_ceil(3), SOON.1, chance);
            context.later(key, wait.max(SOON.0))
        }
    }
}

/// A number that nobody has to guess.
pub(crate) fn chance(key: &ReleaseKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    jiff::Timestamp::now().as_nanosecond().hash(&mut hasher);
    hasher.finish()
}

async fn attempt(
    resource: &ModuleRelease,
    key: &ReleaseKey,
    context: &Arc<Context>,
) -> Result<AttemptResult, kube::Error> {
    let store = &context.store;
    let known = |key: &ReleaseKey| store.get(&ObjectRef::new(&key.name).within(&key.namespace));
    if let Some(verdict) = waits_for(resource, context.cross_namespace, known) {
        return Ok(verdict.into());
    }
    if let Err(error) = Times::of(&resource.spec) {
        return Ok(Verdict::stalled(Reason::InvalidSpec, error.to_string()).into());
    }
    context
        .watches
        .refer(key, source::references(resource))
        .await;
    let act_as = act_as(
        &resource.spec,
        &key.namespace,
        context.default_account.as_deref(),
    );
    // Reads end with the shard, as those of the engine do.
    let shard = resource.metadata.uid.as_deref();
    let shard = shard.and_then(|uid| context.shards.of(uid));
    let client = context.cluster.for_run(act_as.as_deref());
    let client = client.with_reads_until(shard);
    let loaded = match source::load(resource, &*client, context).await {
        Ok(loaded) => loaded,
        Err(verdict) => return Ok(verdict.into()),
    };
    let rendered = loaded.rendered;
    let (module, fingerprint) = (rendered.module.clone(), fingerprint_of(&rendered));
    let kinds = kinds_of(&rendered);
    let request = match apply_request(resource, rendered) {
        Ok(request) => request,
        Err(error) => return Ok(Verdict::stalled(Reason::InvalidSpec, error.to_string()).into()),
    };
    let release = ReleaseId::of(&module.path, &request.name, &request.namespace);
    let recorded = resource
        .status
        .as_ref()
        .and_then(|status| status.release_id.as_deref());
    if let Some(why) = other_release(recorded, &release) {
        return Ok(Verdict::stalled(Reason::ReleaseIdChanged, why).into());
    }
    let mut findings = Findings {
        release: Some(release),
        module: Some(module),
        ..Findings::default()
    };
    let interval = Times::of(&resource.spec).map(|times| times.interval);
    if context
        .rests(key, fingerprint, interval.unwrap_or_default())
        .is_some()
    {
        let before = resource
            .status
            .as_ref()
            .and_then(|status| status.condition("Ready"));
        let message = before
            .map(|ready| ready.message.clone())
            .unwrap_or_default();
        let verdict = Verdict {
            again: NextAttempt::AtInterval,
            ..Verdict::stalled(Reason::RolledBack, message)
        };
        return Ok(AttemptResult { verdict, findings });
    }
    if recorded.is_none() && !context.dry_run {
        // Whoever deletes the resource from now on knows what belongs to it.
        report::begin(resource, &findings, context).await?;
    }
    context.watches.begin(key, kinds).await;
    let applying = ResourceApply {
        resource,
        context,
        act_as,
        request,
    };
    let applied = applying.apply_telling(&findings).await;
    let objects: Option<HashSet<Identity>> = match &applied {
        Ok(applied) => Some(objects_there(&applied.report).cloned().collect()),
        Err(_) => None,
    };
    context.watches.end(key, objects);
    let applied = match applied {
        Ok(applied) => applied,
        Err(failure) => {
            let verdict = verdict_of(&failure);
            if verdict.reason == Reason::RolledBack {
                context.rolled_back(key, fingerprint);
            }
            findings.failed = Some(*failure.report);
            return Ok(AttemptResult { verdict, findings });
        }
    };
    let mut verdict = Verdict::ready(Reason::Applied, applied_words(&applied.report));
    if resource.spec.wait && !context.dry_run {
        verdict = applying.readiness(&applied, verdict).await;
    }
    verdict.drift = applied.drift;
    findings.applied = Some(applied.report);
    Ok(AttemptResult { verdict, findings })
}

/// A failure of the engine, as a verdict.
pub(crate) fn verdict_of(failure: &Failure) -> Verdict {
    let mut message = failure.message.clone();
    let untold = failure.objects.iter().filter(|one| !one.told);
    for object in untold.take(5) {
        message.push_str(&format!("; {}: {}", object.identity, object.reason));
    }
    Verdict::of_failure(failure.kind, &message, failure.went_back)
}

fn applied_words(report: &Report) -> String {
    let objects = count(objects_there(report).count(), "object");
    match report.kept.len() {
        0 => format!("{objects} applied"),
        kept => format!("{objects} applied, {kept} kept"),
    }
}

/// The objects that are there after an apply.
pub(crate) fn objects_there(report: &Report) -> impl Iterator<Item = &Identity> {
    let there = report.resources.iter().filter(|one| is_there(one.action));
    there.map(|one| &one.identity)
}

fn kinds_of(rendered: &Rendered) -> HashSet<GroupKind> {
    let manifests = rendered.components.iter().flat_map(|one| &one.manifests);
    manifests
        .map(|one| one.identity().group_kind.clone())
        .collect()
}

/// Tells one rendering from another.
fn fingerprint_of(rendered: &Rendered) -> u64 {
    let mut hasher = DefaultHasher::new();
    rendered.values.hash(&mut hasher);
    rendered.module.version.hash(&mut hasher);
    for manifest in rendered.components.iter().flat_map(|one| &one.manifests) {
        manifest.identity().hash(&mut hasher);
        object_bytes(&manifest.object()).hash(&mut hasher);
    }
    hasher.finish()
}
