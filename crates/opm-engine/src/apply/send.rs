//! Sending one object, and what its answer means.
//!
//! What is believed absent is created and never merged into something that appeared meanwhile;
//! what is there is sent with its uid. When the cluster has moved on since the look, the object
//! is looked at once more and the same ownership table decides again.

use opm_core::check::{Adopt, ApplyStep, How, Live, Ownership};
use opm_core::diff::diff;
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels::{self, OwnerLabels};
use serde_json::{Map, Value};

use super::Apply;
use crate::observe::metadata;
use crate::ports::{
    ApiError, ApplyMode, ApplyObject, Clock, Cluster, Detail, ErrorKind, Found, SecretStore,
    Stopped,
};
use crate::report::Action;

/// How often an object that moved on is looked at again.
const LOOKS: usize = 3;

/// One object on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending<'a> {
    pub(super) step: &'a ApplyStep,
    pub(super) object: &'a Map<String, Value>,
    /// The object as it was looked at.
    pub(super) seen: Option<&'a Map<String, Value>>,
}

impl<'a> Sending<'a> {
    pub(super) fn identity(&self) -> &'a Identity {
        &self.step.entry.identity
    }
}

/// An object that the server took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) uid: Option<String>,
    pub(super) action: Action,
    /// How it would look, if the server only pretended.
    pub(super) after: Option<Map<String, Value>>,
}

/// Why an object was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// Nothing was sent: the gate is closed.
    Stopped(Stopped),
    /// The cluster does not answer, so the next one need not be tried.
    Unreachable(String),
    /// The object itself.
    Failed { reason: String, forbidden: bool },
}

impl Refused {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self::Failed {
            reason: reason.into(),
            forbidden: false,
        }
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        match error.kind {
            ErrorKind::Stopped(stopped) => Self::Stopped(stopped),
            ErrorKind::Unreachable => Self::Unreachable(error.to_string()),
            kind => Self::Failed {
                reason: error.to_string(),
                forbidden: kind == ErrorKind::Forbidden,
            },
        }
    }
}

/// Each field with its manager; a release that shares the object is named as such.
fn conflict(error: &ApiError, seen: Option<&Map<String, Value>>) -> String {
    let sharing = seen.map(|seen| OwnerLabels::read(seen).shared);
    let sharing = sharing.unwrap_or_default();
    let named = |manager: &str| {
        let id = manager.strip_prefix("opm-");
        let release = sharing
            .iter()
            .find(|(shared, _)| Some(shared.as_str()) == id);
        match release {
            Some((id, name)) => format!("release {name} (id {id})"),
            None => format!("{manager:?}"),
        }
    };
    let fields: Vec<String> = error
        .causes
        .iter()
        .map(|cause| match cause.manager() {
            Some(manager) => format!("{} belongs to {}", cause.field, named(manager)),
            None => cause.message.clone(),
        })
        .collect();
    format!(
        "others set fields of it to other values: {}; --force-conflicts takes them over",
        fields.join(", ")
    )
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Sends one object until it is taken, or will not be.
    pub(super) async fn send(&self, sending: Sending<'_>) -> Result<Taken, Refused> {
        let mut mode = match &sending.step.how {
            How::Completed => return Ok(completed(sending)),
            How::Create => ApplyMode::CreateOnly,
            How::Update { uid }
            | How::Adopt { uid }
            | How::Take { uid, .. }
            | How::Join { uid } => ApplyMode::Update { uid: uid.clone() },
        };
        for _ in 0..LOOKS {
            match self.send_once(sending, mode.clone()).await {
                Ok(sent) => return Ok(self.taken(sending, &sent.object, sent.created)),
                Err(error) if self.request.dry_run && comes_along(&error) => {
                    return Ok(Taken {
                        uid: None,
                        action: Action::Created,
                        after: None,
                    });
                }
                Err(error) if moved_on(&error) => {
                    mode = self.look_again(sending).await?;
                }
                Err(error) if error.kind == ErrorKind::Invalid => {
                    return self.perhaps_recreate(sending, error).await;
                }
                Err(error) if error.kind == ErrorKind::FieldConflict => {
                    return Err(Refused::because(conflict(&error, sending.seen)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::because(
            "it keeps changing while it is being applied",
        ))
    }

    pub(super) async fn send_once(
        &self,
        sending: Sending<'_>,
        mode: ApplyMode,
    ) -> Result<crate::ports::Sent, ApiError> {
        let shared = labels::shared_field_manager(&self.candidate.owner.id);
        let request = ApplyObject {
            identity: sending.identity(),
            version: &sending.step.entry.version,
            object: sending.object,
            mode,
            field_manager: match sending.step.shared {
                true => &shared,
                false => labels::FIELD_MANAGER,
            },
            force: self.forces(sending.step),
            dry_run: self.request.dry_run,
        };
        self.engine.cluster.apply(request, &self.engine.gate).await
    }

    /// What the release has, and what is adopted by name, is brought to what is rendered; what
    /// others have a part in only with the flag.
    fn forces(&self, step: &ApplyStep) -> bool {
        let by_name = matches!(self.request.adopt, Adopt::Named(_));
        let own = match step.how {
            How::Update { .. } => !step.shared,
            How::Adopt { .. } => by_name,
            _ => false,
        };
        own || self.request.force_conflicts
    }

    fn taken(&self, sending: Sending<'_>, live: &Map<String, Value>, created: bool) -> Taken {
        let dry_run = self.request.dry_run;
        let same = sending.seen.is_some_and(|seen| match dry_run {
            // A pretended change leaves the resourceVersion alone.
            true => same_in_a_dry_run(&sending.identity().group_kind, seen, live),
            false => same_but_for_status(seen, live),
        });
        let action = match &sending.step.how {
            _ if created => Action::Created,
            How::Adopt { .. } | How::Take { .. } => Action::Adopted,
            _ if same => Action::Unchanged,
            _ => Action::Configured,
        };
        Taken {
            uid: metadata(live, "uid").map(str::to_owned),
            action,
            after: dry_run.then(|| live.clone()),
        }
    }

    /// The object is not as it was seen before. Decides anew, and only for the better: what is
    /// not this release's by now is left alone.
    async fn look_again(&self, sending: Sending<'_>) -> Result<ApplyMode, Refused> {
        let identity = sending.identity();
        let wanted = [identity.clone()];
        let mut looks = self.engine.cluster.look(&wanted, Detail::Metadata).await;
        let found = looks.remove(identity);
        let object = match (found, &sending.step.how) {
            (Some(Found::Failed(error)), _) => return Err(error.into()),
            (Some(Found::Present(object)), _) => object,
            (Some(Found::Absent), How::Adopt { .. } | How::Take { .. } | How::Join { .. }) => {
                return Err(Refused::because(
                    "it disappeared while it was being taken over",
                ));
            }
            (Some(Found::Absent) | None, _) => return Ok(ApplyMode::CreateOnly),
        };
        let release = &self.candidate.owner.id;
        let live = Live::read(&object, release);
        if live.terminating {
            return Err(Refused::because("it is being deleted"));
        }
        let recorded = match &sending.step.how {
            How::Update { uid } => Some(uid.as_str()),
            _ => None,
        };
        match Ownership::of(&live, recorded, release) {
            Ownership::Mine | Ownership::Shared { mine: true, .. } => {
                Ok(ApplyMode::Update { uid: live.uid })
            }
            Ownership::Shared { mine: false, .. } if sending.step.shared => {
                Ok(ApplyMode::Update { uid: live.uid })
            }
            Ownership::Anothers(other) => Err(Refused::because(format!(
                "it was taken by release {other} meanwhile"
            ))),
            Ownership::Nobodys | Ownership::Shared { .. } => Err(Refused::because(
                "it was created by somebody else meanwhile, and is not tracked by this release",
            )),
        }
    }
}

/// A Job that is done and gone is as it should be.
fn completed(sending: Sending<'_>) -> Taken {
    Taken {
        uid: sending.step.entry.uid.clone(),
        action: Action::Unchanged,
        after: None,
    }
}

/// In a dry run, what the object needs does not exist yet. That something brings it along was
/// checked.
fn comes_along(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ErrorKind::NamespaceMissing | ErrorKind::KindNotServed
    )
}

fn moved_on(error: &ApiError) -> bool {
    matches!(error.kind, ErrorKind::AlreadyExists | ErrorKind::Stale)
}

/// Whether an apply would change nothing. Where the server counts no generations, a change of who
/// manages which field moves the version as well, though nobody sees it.
fn same_in_a_dry_run(
    kind: &GroupKind,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> bool {
    let managed = |object: &Map<String, Value>| {
        let entries = object.get("metadata")?.get("managedFields")?.as_array()?;
        let fields = entries.iter().map(|entry| {
            let of = |name: &str| entry.get(name).cloned().unwrap_or_default();
            (of("manager"), of("operation"), of("fieldsV1"))
        });
        Some(fields.collect::<Vec<_>>())
    };
    let counted = after
        .get("metadata")
        .is_some_and(|metadata| metadata.get("generation").is_some());
    diff(kind, before, after).is_empty() && (counted || managed(before) == managed(after))
}

/// Whether an apply changed nothing. The version moves also when a controller writes a status in
/// between, so where the server counts generations of the specification, these and what a
/// person may have set in the metadata decide.
fn same_but_for_status(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    let of = |object: &Map<String, Value>, field: &str| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
            .cloned()
    };
    let same = |field: &str| of(before, field) == of(after, field);
    same("resourceVersion")
        || (of(after, "generation").is_some()
            && [
                "generation",
                "labels",
                "annotations",
                "finalizers",
                "ownerReferences",
            ]
            .into_iter()
            .all(same))
}
