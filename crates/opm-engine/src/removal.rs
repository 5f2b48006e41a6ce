//! Removing objects: what apply prunes, what delete deletes.
//!
//! Every delete names the uid that was looked at. An accepted delete counts as gone: nobody
//! waits for finalizers here. What could not be removed is reported, and stays known.

use futures::stream::{self, StreamExt};
use opm_core::check::{PruneHow, PruneStep};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::labels;
use opm_core::protocol::PruneOutcome;
use opm_core::weight::weight;
use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::ports::{
    ApiError, ApplyMode, ApplyObject, Cluster, DeleteObject, Deleted, ErrorKind, Propagation,
    Stopped,
};
use crate::report::{Action, Outcome};

/// What became of one object that was to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Removed {
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

impl Removed {
    /// What the report and the protocol are told about a step; `done` is what success is called.
    pub(crate) fn told(
        &self,
        step: &PruneStep,
        done: Action,
    ) -> Result<(Outcome, PruneOutcome), Stopped> {
        let (action, reason, result) = match self {
            Self::Gone { .. } if step.how == PruneHow::LeaveShared => {
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
        let outcome = Outcome {
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
pub(crate) struct Removing<'a> {
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
        removing: Removing<'_>,
        mut tell: impl FnMut(&PruneStep, &Removed),
    ) -> Vec<Removed> {
        let mut results: Vec<Option<Removed>> = vec![None; group.len()];
        let mut running = stream::iter(group.iter().enumerate())
            .map(|(at, step)| async move { (at, self.remove_one(step, removing).await) })
            .buffer_unordered(removing.concurrency.max(1));
        while let Some((at, removed)) = running.next().await {
            tell(&group[at], &removed);
            results[at] = Some(removed);
        }
        results.into_iter().flatten().collect()
    }

    async fn remove_one(&self, step: &PruneStep, removing: Removing<'_>) -> Removed {
        let removed = match step.how {
            PruneHow::Delete => self.delete_one(step, removing).await,
            PruneHow::LeaveShared => self.leave_shared(step, removing).await,
        };
        match removed {
            Ok(removed) => removed,
            Err(error) => match error.kind {
                ErrorKind::Stopped(stopped) => Removed::Stopped(stopped),
                ErrorKind::NotFound | ErrorKind::NamespaceMissing | ErrorKind::KindNotServed => {
                    Removed::Gone { lingering: false }
                }
                // Only where a version was asked for does a conflict mean that somebody joined;
                // otherwise it says nothing about whose the object is.
                ErrorKind::Stale if step.resource_version.is_some() => {
                    Removed::NotMine(error.to_string())
                }
                _ => Removed::Failed(error.to_string()),
            },
        }
    }

    async fn delete_one(
        &self,
        step: &PruneStep,
        removing: Removing<'_>,
    ) -> Result<Removed, ApiError> {
        let request = DeleteObject {
            identity: &step.entry.identity,
            uid: &step.uid,
            resource_version: step.resource_version.as_deref(),
            propagation: Propagation::Background,
            dry_run: removing.dry_run,
        };
        let deleted = self.cluster.delete(request, &self.gate).await?;
        Ok(Removed::Gone {
            lingering: deleted == Deleted::Accepted,
        })
    }

    /// Applies nothing but the identity, which takes this release's label and fields off and
    /// leaves what the others hold.
    async fn leave_shared(
        &self,
        step: &PruneStep,
        removing: Removing<'_>,
    ) -> Result<Removed, ApiError> {
        let identity = &step.entry.identity;
        let object = identity_only(identity, &step.entry.version);
        let request = ApplyObject {
            identity,
            version: &step.entry.version,
            object: &object,
            mode: ApplyMode::Update {
                uid: step.uid.clone(),
            },
            field_manager: &labels::shared_field_manager(removing.release),
            force: false,
            dry_run: removing.dry_run,
        };
        self.cluster.apply(request, &self.gate).await?;
        Ok(Removed::Gone { lingering: false })
    }
}

fn identity_only(identity: &Identity, version: &str) -> Map<String, Value> {
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
