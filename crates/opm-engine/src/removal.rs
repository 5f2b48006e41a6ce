//! Removing objects: what apply prunes, what delete deletes.
//!
//! Every delete names the uid that was looked at. An accepted delete counts as gone: nobody
//! waits for finalizers here. What could not be removed is reported, and stays known.

use futures::stream::{self, StreamExt};
use opm_core::check::{LiveObject, PruneMethod, PruneStep, SharedDecision, decide_shared, disown};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::protocol::PruneOutcome;
use opm_core::weight::weight;
use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::ports::{
    ApiError, Cluster, DeleteObject, DeleteOutcome, Detail, DisownObject, ErrorKind, Found,
    Propagation, Stopped,
};
use crate::report::{Action, ObjectOutcome};

/// How often a shared object that moved on is looked at again.
const LOOKS: usize = 5;

/// What became of one object that was to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemovalOutcome {
    /// It is gone, or the server has accepted that it goes.
    Gone {
        /// Whether finalizers or a grace period still hold it.
        lingering: bool,
    },
    /// It is another object by now, or another release has joined it: it was left alone.
    NotMine(String),
    /// It could not be removed.
    Failed(String),
    /// It was not tried: the gate is closed.
    Stopped(Stopped),
}

impl RemovalOutcome {
    /// What the report and the protocol are told about a step; `done` is what success is called.
    pub(crate) fn told(
        &self,
        step: &PruneStep,
        done: Action,
    ) -> Result<(ObjectOutcome, PruneOutcome), Stopped> {
        let (action, reason, result) = match self {
            Self::Gone { .. } if step.method == PruneMethod::LeaveShared => {
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
        let outcome = ObjectOutcome {
            identity: step.entry.identity.clone(),
            version: step.entry.version.clone(),
            component: step.entry.component.clone(),
            action,
            reason,
        };
        Ok((outcome, result))
    }
}

/// How objects are removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemovalOptions<'a> {
    pub(crate) release: &'a ReleaseId,
    pub(crate) concurrency: usize,
    pub(crate) dry_run: bool,
}

/// The steps that may go at the same time: neighbours of one weight.
pub(crate) fn groups(steps: &[PruneStep]) -> impl Iterator<Item = &[PruneStep]> {
    steps.chunk_by(|a, b| {
        weight(&a.entry.identity.group_kind) == weight(&b.entry.identity.group_kind)
    })
}

impl<C: Cluster, S, K> Engine<C, S, K> {
    /// Removes one group of objects at the same time, telling each as it goes.
    pub(crate) async fn remove_group(
        &self,
        group: &[PruneStep],
        removing: RemovalOptions<'_>,
        mut tell: impl FnMut(&PruneStep, &RemovalOutcome),
    ) -> Vec<RemovalOutcome> {
        let mut results: Vec<Option<RemovalOutcome>> = vec![None; group.len()];
        let mut running = stream::iter(group.iter().enumerate())
            .map(|(at, step)| async move { (at, self.remove_one(step, removing).await) })
            .buffer_unordered(removing.concurrency.max(1));
        while let Some((at, removed)) = running.next().await {
            tell(&group[at], &removed);
            results[at] = Some(removed);
        }
        results.into_iter().flatten().collect()
    }

    async fn remove_one(&self, step: &PruneStep, removing: RemovalOptions<'_>) -> RemovalOutcome {
        // A version was asked for where another release could join or leave meanwhile.
        let removed = match step.resource_version {
            Some(_) => self.remove_shared(step, removing).await,
            None => self.delete_one(step, None, removing).await,
        };
        match removed {
            Ok(removed) => removed,
            Err(error) => match error.kind {
                ErrorKind::Stopped(stopped) => RemovalOutcome::Stopped(stopped),
                ErrorKind::NotFound | ErrorKind::NamespaceMissing | ErrorKind::KindNotServed => {
                    RemovalOutcome::Gone { lingering: false }
                }
                _ => RemovalOutcome::Failed(error.to_string()),
            },
        }
    }

    async fn delete_one(
        &self,
        step: &PruneStep,
        resource_version: Option<&str>,
        removing: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        let request = DeleteObject {
            identity: &step.entry.identity,
            uid: &step.uid,
            resource_version,
            propagation: Propagation::Background,
            dry_run: removing.dry_run,
        };
        let deleted = self.cluster.delete(request, &self.gate).await?;
        Ok(RemovalOutcome::Gone {
            lingering: deleted == DeleteOutcome::Accepted,
        })
    }

    /// Other releases may join and leave a shared object at any moment, so each attempt looks,
    /// decides, and acts on exactly what it saw.
    async fn remove_shared(
        &self,
        step: &PruneStep,
        removing: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        for _ in 0..LOOKS {
            let Some(object) = self.look_once(&step.entry.identity).await? else {
                return Ok(RemovalOutcome::Gone { lingering: false });
            };
            let live = LiveObject::read(&object, removing.release);
            let done = match decide_shared(&live, step, removing.release) {
                SharedDecision::LetGo => return Ok(RemovalOutcome::Gone { lingering: false }),
                SharedDecision::NotMine => {
                    let reason = "it carries no label of this release any more";
                    return Ok(RemovalOutcome::NotMine(reason.to_owned()));
                }
                SharedDecision::Guarded => {
                    let reason =
                        "the other releases have let go of it meanwhile, and it is guarded";
                    return Ok(RemovalOutcome::Failed(reason.to_owned()));
                }
                SharedDecision::Delete => {
                    let version = Some(live.resource_version.as_str());
                    self.delete_one(step, version, removing).await
                }
                SharedDecision::Leave => {
                    let uid = step.entry.uid.as_deref();
                    self.disown_observed(&step.entry.identity, uid, &object, removing)
                        .await
                }
            };
            match done {
                Err(error) if error.kind == ErrorKind::Stale => {}
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
        removing: RemovalOptions<'_>,
    ) -> Result<RemovalOutcome, ApiError> {
        if let Some(disown) = disown(object, recorded_uid, removing.release) {
            let request = DisownObject {
                identity,
                disown: &disown,
                dry_run: removing.dry_run,
            };
            self.cluster.part(request, &self.gate).await?;
        }
        Ok(RemovalOutcome::Gone { lingering: false })
    }

    /// Takes this release's labels and field manager off an object, if it is this release's, and
    /// leaves it standing.
    pub(crate) async fn disown_object(
        &self,
        identity: &Identity,
        recorded_uid: Option<&str>,
        release: &ReleaseId,
    ) -> Result<(), ApiError> {
        let removing = RemovalOptions {
            release,
            concurrency: 1,
            dry_run: false,
        };
        let mut last = None;
        for _ in 0..LOOKS {
            let Some(object) = self.look_once(identity).await? else {
                return Ok(());
            };
            match self
                .disown_observed(identity, recorded_uid, &object, removing)
                .await
            {
                Err(error) if error.kind == ErrorKind::Stale => last = Some(error),
                done => return done.map(drop),
            }
        }
        last.map_or(Ok(()), Err)
    }

    async fn look_once(&self, identity: &Identity) -> Result<Option<Map<String, Value>>, ApiError> {
        let wanted = [identity.clone()];
        let mut looks = self.cluster.look(&wanted, Detail::Metadata).await;
        match looks.remove(identity) {
            Some(Found::Present(object)) => Ok(Some(object)),
            Some(Found::Failed(error)) => Err(error),
            Some(Found::Absent) | None => Ok(None),
        }
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
