//! Sending one object, and what its answer means.
//!
//! What is believed absent is created and never merged into something that appeared meanwhile;
//! what is there is sent as it was seen, so that what became another's since is left alone. When
//! the cluster has moved on since the look, the object is looked at once more and the same
//! ownership table decides again.

use opm_core::check::{
    ApplyMethod, ApplyStep, LiveObject, ObjectBefore, Ownership, Refusal, RefusalReason,
    former_manager, is_unchanged,
};
use opm_core::drift::AppliedNote;
use opm_core::identity::Identity;
use serde_json::{Map, Value};

use super::Apply;
use crate::observe::metadata;
use crate::ports::{
    ApiError, ApiErrorKind, ApplyObject, ApplyResponse, Permit, Precondition, Stopped, WantedObject,
};
use crate::removal::identity_only;
use crate::report::Action;

/// How often an object is sent that moved on each time. Whatever changes all the time is applied
/// all the same: the last time, only its uid is held.
const SENDS: usize = 4;

/// One object on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectToSend<'a> {
    pub(super) step: &'a ApplyStep,
    pub(super) object: &'a Map<String, Value>,
    /// The object as it was looked at.
    pub(super) seen: Option<ObjectBefore<'a>>,
    /// Whether it was settled that it may be recreated.
    pub(super) recreate: bool,
    pub(super) permit: Permit<'a>,
}

impl<'a> ObjectToSend<'a> {
    pub(super) fn identity(&self) -> &'a Identity {
        &self.step.entry.identity
    }

    /// The object to look at, as it is in the version that is sent.
    pub(super) fn wanted(&self) -> WantedObject {
        WantedObject::from(&self.step.entry)
    }
}

/// An object that the server took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AppliedObject {
    pub(super) uid: Option<String>,
    pub(super) action: Action,
    /// How it would look, if the server only pretended.
    pub(super) after: Option<Map<String, Value>>,
    /// More about it.
    pub(super) note: Option<String>,
    /// What to remember of this apply.
    pub(super) noted: Option<AppliedNote>,
}

/// Why an object was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendError {
    /// Nothing was sent: the run was stopped.
    Stopped(Stopped),
    /// The cluster does not answer, so the next one need not be tried.
    Unreachable(String),
    /// A webhook or an aggregated API that has a say in it does not answer yet.
    NotUpYet(String),
    /// A check says no: others set fields of it, or it cannot be changed in place.
    Refused(Box<Refusal>),
    /// The object itself.
    Failed { reason: String, forbidden: bool },
}

impl SendError {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self::Failed {
            reason: reason.into(),
            forbidden: false,
        }
    }
}

impl From<ApiError> for SendError {
    fn from(error: ApiError) -> Self {
        match error.kind {
            ApiErrorKind::Stopped(stopped) => Self::Stopped(stopped),
            ApiErrorKind::Unreachable => Self::Unreachable(error.to_string()),
            ApiErrorKind::NotUpYet => Self::NotUpYet(error.to_string()),
            kind => Self::Failed {
                reason: error.to_string(),
                forbidden: kind == ApiErrorKind::Forbidden,
            },
        }
    }
}

/// Each field with its manager; a release that shares the object is named as such.
pub(super) fn conflict(error: &ApiError, step: &ApplyStep) -> Refusal {
    let named = |manager: &str| {
        let id = manager.strip_prefix("opm-");
        let mut sharing = step.shared_with.iter();
        match sharing.find(|release| Some(release.id.as_str()) == id) {
            Some(release) => format!("release {release}"),
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
    Refusal {
        object: Some(step.entry.identity.clone()),
        why: RefusalReason::FieldConflict {
            conflict: format!(
                "other managers set some of its fields to other values: {}",
                fields.join(", ")
            ),
            adopted: matches!(step.method, ApplyMethod::Adopt { .. }),
        },
    }
}

/// What must hold of an object when the server pretends.
pub(super) fn precondition(step: &ApplyStep) -> Precondition {
    let uid = step.method.uid().map(str::to_owned);
    uid.map_or(Precondition::Absent, |uid| Precondition::Exists { uid })
}

/// The same, and that nobody has changed it since it was looked at.
fn as_seen(item: ObjectToSend<'_>) -> Precondition {
    let seen = item.seen.map(|seen| seen.object);
    let version = seen.and_then(|object| object.text(&["metadata", "resourceVersion"]));
    match (precondition(item.step), version) {
        (Precondition::Exists { uid }, Some(version)) => Precondition::Unchanged {
            uid,
            resource_version: version.to_owned(),
        },
        (precondition, _) => precondition,
    }
}

/// The same, without a version.
fn at_last(precondition: Precondition) -> Precondition {
    match precondition {
        Precondition::Unchanged { uid, .. } => Precondition::Exists { uid },
        precondition => precondition,
    }
}

impl Apply<'_> {
    /// Sends one object until it is taken, or will not be.
    pub(super) async fn send(&self, item: ObjectToSend<'_>) -> Result<AppliedObject, SendError> {
        if item.step.method == ApplyMethod::Completed {
            return Ok(completed(item));
        }
        let mut precondition = as_seen(item);
        for sends in 1..=SENDS {
            let dry_run = self.request.options.dry_run;
            if sends == SENDS {
                precondition = at_last(precondition);
            }
            match self.send_once(item, precondition.clone(), dry_run).await {
                Ok(sent) => return self.applied(item, sent).await,
                Err(error) if self.request.options.dry_run && comes_along(&error) => {
                    return Ok(AppliedObject {
                        uid: None,
                        action: Action::Created,
                        after: None,
                        note: None,
                        noted: None,
                    });
                }
                Err(error) if moved_on(&error) => {
                    precondition = self.look_again(item).await?;
                }
                Err(error) if error.kind == ApiErrorKind::Invalid => {
                    return self.perhaps_recreate(item, error).await;
                }
                Err(error) if error.kind == ApiErrorKind::FieldConflict => {
                    return match self.apply_same_values(item, dry_run).await? {
                        Some(sent) => self.applied(item, sent).await,
                        None => Err(SendError::Refused(Box::new(conflict(&error, item.step)))),
                    };
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(SendError::because(
            "it keeps changing while it is being applied",
        ))
    }

    /// What is left to do for an object that the server took.
    async fn applied(
        &self,
        item: ObjectToSend<'_>,
        sent: ApplyResponse,
    ) -> Result<AppliedObject, SendError> {
        self.shed(item, &sent.object).await?;
        let taken = self.take_fields(item, sent.object).await?;
        let applied = self.taken(item, &taken.object, sent.created);
        // What belonged to another tool and went with the take-over is this run's doing.
        let removed = applied.action == Action::Unchanged && !taken.removed.is_empty();
        Ok(AppliedObject {
            note: taken.note(),
            action: match removed {
                true => Action::Configured,
                false => applied.action,
            },
            ..applied
        })
    }

    pub(super) async fn send_once(
        &self,
        item: ObjectToSend<'_>,
        precondition: Precondition,
        dry_run: bool,
    ) -> Result<ApplyResponse, ApiError> {
        let force = self.forces(item.step);
        self.send_as(item, precondition, force, dry_run).await
    }

    pub(super) async fn send_as(
        &self,
        item: ObjectToSend<'_>,
        precondition: Precondition,
        force: bool,
        dry_run: bool,
    ) -> Result<ApplyResponse, ApiError> {
        let request = ApplyObject {
            identity: item.identity(),
            version: &item.step.entry.version,
            object: item.object,
            precondition,
            field_manager: &self.field_manager(item.step),
            force,
            dry_run,
        };
        self.run.backend.apply(request, item.permit).await
    }

    pub(super) fn forces(&self, step: &ApplyStep) -> bool {
        self.request.options.force_conflicts || step.forces(&self.request.options.adopt)
    }

    /// An object that became shared, or ceased to be, changed hands between this release's two
    /// field managers: what the former one still holds goes.
    async fn shed(
        &self,
        item: ObjectToSend<'_>,
        live: &Map<String, Value>,
    ) -> Result<(), SendError> {
        let step = item.step;
        let release = &self.candidate.owner.id;
        let former = match step.method {
            ApplyMethod::Join { .. } | ApplyMethod::Completed => None,
            _ => former_manager(live, step.shared, release),
        };
        let (Some(former), false) = (former, self.request.options.dry_run) else {
            return Ok(());
        };
        let object = identity_only(item.identity(), &step.entry.version);
        let request = ApplyObject {
            identity: item.identity(),
            version: &step.entry.version,
            object: &object,
            precondition: Precondition::Exists {
                uid: metadata(live, "uid").unwrap_or_default().to_owned(),
            },
            field_manager: &former,
            force: false,
            dry_run: false,
        };
        self.run.backend.apply(request, item.permit).await?;
        Ok(())
    }

    fn taken(
        &self,
        item: ObjectToSend<'_>,
        live: &Map<String, Value>,
        created: bool,
    ) -> AppliedObject {
        let dry_run = self.request.options.dry_run;
        let kind = &item.identity().group_kind;
        let release = &self.candidate.owner.id;
        let same = item
            .seen
            .is_some_and(|seen| is_unchanged(kind, seen, live, release));
        let action = match &item.step.method {
            _ if created => Action::Created,
            ApplyMethod::Adopt { .. } | ApplyMethod::Take { .. } => Action::Adopted,
            _ if same => Action::Unchanged,
            _ => Action::Configured,
        };
        AppliedObject {
            uid: metadata(live, "uid").map(str::to_owned),
            action,
            after: dry_run.then(|| live.clone()),
            note: None,
            noted: self.noted(item, live),
        }
    }

    /// The object is not as it was seen before. Decides anew, and only for the better: what is
    /// not this release's by now is left alone.
    async fn look_again(&self, item: ObjectToSend<'_>) -> Result<Precondition, SendError> {
        let found = self.run.look_once(item.identity()).await?;
        let object = match (found, &item.step.method) {
            (Some(object), _) => object,
            (
                None,
                ApplyMethod::Adopt { .. } | ApplyMethod::Take { .. } | ApplyMethod::Join { .. },
            ) => {
                return Err(SendError::because(
                    "it disappeared while it was being taken over",
                ));
            }
            (None, _) => return Ok(Precondition::Absent),
        };
        let release = &self.candidate.owner.id;
        let live = LiveObject::read(&object, release);
        if live.terminating {
            return Err(SendError::because("it is being deleted"));
        }
        let recorded = match &item.step.method {
            ApplyMethod::Update { uid } => Some(uid.as_str()),
            _ => None,
        };
        let decided = Ownership::of(&live, recorded, release);
        let planned = still_as_planned(&item.step.method, &live);
        let unchanged = Precondition::Unchanged {
            uid: live.uid,
            resource_version: metadata(&object, "resourceVersion")
                .unwrap_or_default()
                .to_owned(),
        };
        match decided {
            Ownership::Mine | Ownership::Shared { mine: true, .. } => Ok(unchanged),
            Ownership::Shared { mine: false, .. } if item.step.shared => Ok(unchanged),
            _ if planned => Ok(unchanged),
            Ownership::OtherRelease(other) => Err(SendError::because(format!(
                "it was taken by release {other} meanwhile"
            ))),
            Ownership::Unowned | Ownership::Shared { .. } => Err(SendError::because(
                "it was created by somebody else meanwhile, and is not tracked by this release",
            )),
        }
    }
}

/// Whether an object that is to be taken over is still the one, and still whose it was.
fn still_as_planned(method: &ApplyMethod, live: &LiveObject) -> bool {
    match method {
        ApplyMethod::Adopt { uid } => *uid == live.uid && live.owner.id.is_none(),
        ApplyMethod::Take { uid, from } => {
            *uid == live.uid && live.owner.id.as_ref() == Some(&from.id)
        }
        _ => false,
    }
}

/// A Job that is done and gone is as it should be.
fn completed(item: ObjectToSend<'_>) -> AppliedObject {
    AppliedObject {
        uid: item.step.entry.uid.clone(),
        action: Action::Unchanged,
        after: None,
        note: None,
        noted: None,
    }
}

/// In a dry run, what the object needs does not exist yet. That something brings it along was
/// checked.
fn comes_along(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ApiErrorKind::NamespaceMissing | ApiErrorKind::KindNotServed
    )
}

fn moved_on(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ApiErrorKind::AlreadyExists | ApiErrorKind::Stale
    )
}
