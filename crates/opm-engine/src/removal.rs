//! Removing objects: what apply prunes, what delete deletes.
//!
//! Every delete names the uid and the version that were looked at. An accepted delete counts as gone: nobody
//! waits for finalizers here, except that a caller may ask to hear of what lingers, and say later
//! what became of it. What could not be removed is reported, and stays known.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;

use futures::StreamExt as _;
use opm_core::check::{
    LiveObject, PruneMethod, PruneStep, RemovalDecision, decide_removal, disown, prune_groups,
};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::protocol::PruneOutcome;
use serde_json::{Map, Value, json};

use crate::concurrently::concurrently;
use crate::ports::{
    ApiError, ApiErrorKind, DeleteObject, DeleteOutcome, Detail, DisownObject, Observation, Permit,
    Propagation, Stopped, WantedObject,
};
use crate::report::{Action, ObjectOutcome};
use crate::request::Concurrency;
use crate::run::Run;

/// How often an object that moved on is looked at again.
pub(crate) const LOOKS: usize = 5;

/// What became of one object that was to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemovalOutcome {
    /// It is gone, or the server has accepted that it goes.
    Gone {
        /// Whether finalizers or a grace period still hold it.
        lingering: bool,
    },
    /// Other releases share it: it stands, and this release has let go of it.
    Left,
    /// It is another object by now, or another release has joined it: it was left alone.
    NotMine(String),
    /// It could not be removed.
    Failed(String),
    /// It was not tried: the run was stopped.
    Stopped(Stopped),
}

impl From<ApiError> for RemovalOutcome {
    fn from(error: ApiError) -> Self {
        match error.kind {
            ApiErrorKind::Stopped(stopped) => Self::Stopped(stopped),
            ApiErrorKind::NotFound
            | ApiErrorKind::NamespaceMissing
            | ApiErrorKind::KindNotServed => Self::Gone { lingering: false },
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl RemovalOutcome {
    /// What the report and the protocol are told about a step; `done` is what success is called.
    pub(crate) fn told(
        &self,
        step: &PruneStep,
        done: Action,
    ) -> Result<(ObjectOutcome, PruneOutcome), Stopped> {
        let (action, reason, result) = match self {
            Self::Left => {
                let reason = "other releases share it; this one has let go of it";
                (Action::Kept, Some(reason.to_owned()), PruneOutcome::Done)
            }
            Self::Gone { .. } => (done, None, PruneOutcome::Done),
            Self::NotMine(reason) => {
                let result = PruneOutcome::NotMine(reason.clone());
                (Action::Kept, Some(reason.clone()), result)
            }
            Self::Failed(reason) => {
                let result = PruneOutcome::Failed(reason.clone());
                (Action::Failed, Some(reason.clone()), result)
            }
            Self::Stopped(stopped) => return Err(*stopped),
        };
        Ok((ObjectOutcome::of(&step.entry, action, reason), result))
    }
}

/// How objects are removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemovalOptions<'a> {
    pub(crate) release: &'a ReleaseId,
    pub(crate) concurrency: Concurrency,
    pub(crate) dry_run: bool,
    /// What success is called.
    pub(crate) done: Action,
    /// Whether the caller waits for what lingers, and tells then what became of it.
    pub(crate) awaits: bool,
    pub(crate) permit: Permit<'a>,
}

/// What became of objects that were to go.
#[derive(Debug, Default)]
pub(crate) struct RemovalResults {
    /// In the order of the plan.
    pub(crate) outcomes: Vec<ObjectOutcome>,
    pub(crate) results: HashMap<Identity, PruneOutcome>,
    /// Objects whose deletion the server has accepted, and that are still there.
    pub(crate) lingering: BTreeMap<Identity, String>,
    /// Set when it was cut short.
    pub(crate) stopped: Option<Stopped>,
}

impl RemovalResults {
    /// Whether an object could not be removed.
    pub(crate) fn stands(&self, identity: &Identity) -> bool {
        matches!(self.results.get(identity), Some(PruneOutcome::Failed(_)))
    }

    /// Takes one in, and answers with what is told of it.
    pub(crate) fn take(
        &mut self,
        step: &PruneStep,
        removed: &RemovalOutcome,
        done: Action,
    ) -> Option<ObjectOutcome> {
        if let RemovalOutcome::Gone { lingering: true } = removed {
            let identity = step.entry.identity.clone();
            self.lingering.insert(identity, step.uid.clone());
        }
        match removed.told(step, done) {
            Ok((outcome, result)) => {
                self.results.insert(outcome.identity.clone(), result);
                Some(outcome)
            }
            Err(stopped) => {
                self.stopped = Some(stopped);
                None
            }
        }
    }
}

impl Run<'_> {
    /// Removes all of these objects, in order.
    pub(crate) async fn remove_all(
        &self,
        steps: &[PruneStep],
        options: RemovalOptions<'_>,
    ) -> RemovalResults {
        let mut results = RemovalResults::default();
        for group in prune_groups(steps) {
            if results.stopped.is_none() {
                self.remove_group(group, options, &mut results).await;
            }
        }
        self.remove_rebuilt(steps, options, &mut results).await;
        results
    }

    /// Removes one group of objects at the same time, telling each as it goes.
    pub(crate) async fn remove_group(
        &self,
        group: &[PruneStep],
        options: RemovalOptions<'_>,
        results: &mut RemovalResults,
    ) {
        let options = RemovalOptions {
            permit: options.concurrency.pace(options.permit),
            ..options
        };
        let mut removals = pin!(concurrently(
            options.concurrency.limit(),
            group.len(),
            |at| async move {
                self.tell_sent(&group[at].entry);
                (at, self.remove_one(&group[at], options).await)
            }
        ));
        let mut outcomes = BTreeMap::new();
        while let Some((at, removed)) = removals.next().await {
            if options.awaits && removed == (RemovalOutcome::Gone { lingering: true }) {
                let (identity, uid) = (group[at].entry.identity.clone(), group[at].uid.clone());
                results.lingering.insert(identity, uid);
                continue;
            }
            if let Some(outcome) = results.take(&group[at], &removed, options.done) {
                self.emit(outcome.event());
                outcomes.insert(at, outcome);
            }
        }
        results.outcomes.extend(outcomes.into_values());
    }

    /// An aggregated ClusterRole comes back if its controller was at work on it when it went.
    /// With the roles that it was made of, it has no rules any more, and goes for good.
    pub(crate) async fn remove_rebuilt(
        &self,
        steps: &[PruneStep],
        options: RemovalOptions<'_>,
        results: &mut RemovalResults,
    ) {
        let aggregated = |step: &&PruneStep| {
            let done = results.results.get(&step.entry.identity) == Some(&PruneOutcome::Done);
            step.aggregated && step.method == PruneMethod::Delete && done && !options.dry_run
        };
        let aggregated: Vec<&PruneStep> = steps.iter().filter(aggregated).collect();
        for step in aggregated {
            if results.stopped.is_some() {
                return;
            }
            let reason = match self.remove_if_rebuilt(step, options).await {
                Ok(()) => continue,
                Err(error) => match error.kind {
                    ApiErrorKind::Stopped(stopped) => return results.stopped = Some(stopped),
                    _ => format!("its controller may have brought it back: {error}"),
                },
            };
            let failed = RemovalOutcome::Failed(reason);
            if let Some(outcome) = results.take(step, &failed, options.done) {
                self.emit(outcome.event());
                let same = |one: &ObjectOutcome| one.identity == outcome.identity;
                results.outcomes.retain(|one| !same(one));
                results.outcomes.push(outcome);
            }
        }
    }

    async fn remove_if_rebuilt(
        &self,
        step: &PruneStep,
        options: RemovalOptions<'_>,
    ) -> Result<(), ApiError> {
        let Some(object) = self.look_once(&step.entry.identity).await? else {
            return Ok(());
        };
        let live = LiveObject::read(&object, options.release);
        if !live.rebuilt || live.uid == step.uid {
            return Ok(());
        }
        let again = PruneStep {
            uid: live.uid,
            ..step.clone()
        };
        match self.delete_one(&again, None, options).await {
            Err(error) if error.kind != ApiErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) async fn remove_one(
        &self,
        step: &PruneStep,
        options: RemovalOptions<'_>,
    ) -> RemovalOutcome {
        let removed = match step.method {
            PruneMethod::AwaitGone => Ok(RemovalOutcome::Gone { lingering: true }),
            _ if step.shared => self.remove_observed(step, None, options).await,
            _ => {
                let version = Some(step.resource_version.as_str());
                match self.delete_one(step, version, options).await {
                    // It has changed since the look: it may be somebody else's by now.
                    Err(error) if error.kind == ApiErrorKind::Stale => {
                        self.remove_observed(step, None, options).await
                    }
                    removed => removed,
                }
            }
        };
        removed.unwrap_or_else(RemovalOutcome::from)
    }

    /// Removes an object about which nothing was decided since it was seen so.
    pub(crate) async fn remove_seen(
        &self,
        step: &PruneStep,
        seen: Map<String, Value>,
        options: RemovalOptions<'_>,
    ) -> RemovalOutcome {
        let removed = self.remove_observed(step, Some(seen), options).await;
        removed.unwrap_or_else(RemovalOutcome::from)
    }

    async fn delete_one(
        &self,
        step: &PruneStep,
        resource_version: Option<&str>,
        options: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        let request = DeleteObject {
            identity: &step.entry.identity,
            uid: &step.uid,
            resource_version,
            propagation: Propagation::Background,
            dry_run: options.dry_run,
        };
        let deleted = self.backend.delete(request, options.permit).await?;
        Ok(RemovalOutcome::Gone {
            lingering: deleted == DeleteOutcome::Accepted,
        })
    }

    /// Other releases may join, leave or take an object over at any moment, so each attempt looks,
    /// decides, and acts on exactly what it saw.
    async fn remove_observed(
        &self,
        step: &PruneStep,
        mut seen: Option<Map<String, Value>>,
        options: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        for _ in 0..LOOKS {
            let object = match seen.take() {
                Some(object) => object,
                None => match self.look_once(&step.entry.identity).await? {
                    Some(object) => object,
                    None => return Ok(RemovalOutcome::Gone { lingering: false }),
                },
            };
            let live = LiveObject::read(&object, options.release);
            let done = match decide_removal(&live, step, options.release) {
                RemovalDecision::LetGo => return Ok(RemovalOutcome::Left),
                RemovalDecision::TakenOver => {
                    let reason = "another release has taken it over meanwhile";
                    return Ok(RemovalOutcome::NotMine(reason.to_owned()));
                }
                RemovalDecision::NotMine => {
                    let reason = "it carries no label of this release any more";
                    return Ok(RemovalOutcome::NotMine(reason.to_owned()));
                }
                RemovalDecision::Guarded => {
                    let reason =
                        "the other releases have let go of it meanwhile, and it is guarded";
                    return Ok(RemovalOutcome::Failed(reason.to_owned()));
                }
                RemovalDecision::Delete => {
                    let version = Some(live.resource_version.as_str());
                    self.delete_one(step, version, options).await
                }
                RemovalDecision::Leave => {
                    let uid = step.entry.uid.as_deref();
                    self.disown_observed(&step.entry.identity, uid, &object, options)
                        .await
                }
            };
            match done {
                Err(error) if error.kind == ApiErrorKind::Stale => {}
                done => return done,
            }
        }
        let reason = "it keeps changing while it is being removed";
        Ok(RemovalOutcome::Failed(reason.to_owned()))
    }

    async fn disown_observed(
        &self,
        identity: &Identity,
        recorded_uid: Option<&str>,
        object: &Map<String, Value>,
        options: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        if let Some(disown) = disown(object, recorded_uid, options.release) {
            let request = DisownObject {
                identity,
                disown: &disown,
                dry_run: options.dry_run,
            };
            self.backend.disown(request, options.permit).await?;
        }
        Ok(RemovalOutcome::Left)
    }

    /// Takes this release's labels and field manager off an object, if it is this release's, and
    /// leaves it standing. False if it is not there.
    pub(crate) async fn disown_object(
        &self,
        identity: &Identity,
        recorded_uid: Option<&str>,
        options: RemovalOptions<'_>,
    ) -> Result<bool, ApiError> {
        let mut last = None;
        for _ in 0..LOOKS {
            let Some(object) = self.look_once(identity).await? else {
                return Ok(false);
            };
            match self
                .disown_observed(identity, recorded_uid, &object, options)
                .await
            {
                Err(error) if error.kind == ApiErrorKind::Stale => last = Some(error),
                done => return done.map(|_| true),
            }
        }
        last.map_or(Ok(true), Err)
    }

    /// The metadata of one object; none if it is absent.
    pub(crate) async fn look_once(
        &self,
        identity: &Identity,
    ) -> Result<Option<Map<String, Value>>, ApiError> {
        self.look_at(identity.into(), Detail::Metadata)
            .await
            .found()
    }

    /// What there is of one object.
    pub(crate) async fn look_at(&self, wanted: WantedObject, detail: Detail) -> Observation {
        let looks = self.backend.look_in_version(&[wanted], detail).await;
        let look = looks.into_values().next();
        look.map_or(Observation::Absent, |look| look.map(|found| found.unpack()))
    }
}

/// An object with nothing in it: applying it gives up everything that a field manager holds.
pub(crate) fn identity_only(identity: &Identity, version: &str) -> Map<String, Value> {
    let api_version = match identity.group() {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(identity.name));
    if let Some(namespace) = &identity.namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    Map::from_iter([
        ("apiVersion".to_owned(), json!(api_version)),
        ("kind".to_owned(), json!(identity.kind())),
        ("metadata".to_owned(), Value::Object(metadata)),
    ])
}
