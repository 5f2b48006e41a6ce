//! Taking an object over from another tool, so that what the module does not render can go.
//!
//! Three requests, each of which may be the last one of this run: the apply, which puts the
//! release's labels on; a patch that strikes the retired tools off the managed fields and gives
//! this release what they had set and the module does not render; and a second apply, which
//! removes that. The object stays pending until all are done, so the next run goes on where this
//! one stopped. A dry run asks the server to pretend, and so does a real one before it begins:
//! what cannot be removed is a refusal, not half a release.

use futures::StreamExt as _;
use opm_core::autoscale;
use opm_core::check::{ApplyMethod, ApplyStep};
use opm_core::diff::{ChangeKind, diff};
use opm_core::identity::Identity;
use opm_core::labels;
use opm_core::takeover::{
    LeftoverField, MovedFields, Takeover, changed_fields_of_others, leftovers, merge_patch,
    moved_fields,
};
use serde_json::{Map, Value};

use super::Apply;
use super::check::ApplyContext;
use super::send::{ObjectToSend, SendError};
use crate::concurrently::concurrently_in_order;
use crate::failure::Failure;
use crate::observe::metadata;
use crate::ports::{
    ApiError, ApiErrorKind, ApplyResponse, Detail, MoveFields, Observation, Precondition,
    PretendedPatch,
};

/// How often an object that changes meanwhile is looked at again.
const LOOKS: usize = 10;

type Object = Map<String, Value>;

/// What became of an object that was taken over.
pub(super) struct TakenOver {
    /// How it is now, or would be.
    pub(super) object: Object,
    /// The fields that were removed.
    pub(super) removed: Vec<String>,
}

impl Apply<'_> {
    /// Takes over the fields of retired tools, after the object was applied and looks like this.
    pub(super) async fn take_fields(
        &self,
        item: ObjectToSend<'_>,
        applied: Object,
    ) -> Result<TakenOver, SendError> {
        if !item.step.takes_fields {
            return Ok(TakenOver::as_it_was(applied));
        }
        if self.request.options.dry_run {
            let pretended = self.pretend_removal(item, applied).await;
            return pretended.map_err(|error| match error.kind {
                ApiErrorKind::Invalid => SendError::because(unremovable(&error)),
                _ => error.into(),
            });
        }
        let Some(after) = self.move_and_remove(item, &applied).await? else {
            return Ok(TakenOver::as_it_was(applied));
        };
        Ok(TakenOver::new(item.identity(), &applied, after))
    }

    /// Moves the fields, and applies once more if something has to go by that. None if it does
    /// not.
    async fn move_and_remove(
        &self,
        item: ObjectToSend<'_>,
        applied: &Object,
    ) -> Result<Option<Object>, SendError> {
        let (mut object, mut removes) = (applied.clone(), false);
        let mut moved_on = None;
        for _ in 0..LOOKS {
            let Some(moved) = self.moved(item, &object).await else {
                moved_on = None;
                break;
            };
            // An answer that got lost may have been a success.
            removes |= moved.removes();
            let request = MoveFields {
                identity: item.identity(),
                moved: &moved,
            };
            match self.run.backend.move_fields(request, item.permit).await {
                Ok(()) => {
                    moved_on = None;
                    break;
                }
                Err(error) if error.kind == ApiErrorKind::Stale => moved_on = Some(error),
                Err(error) => return Err(error.into()),
            }
            object = self.same_object(item, &moved.uid).await?;
        }
        if moved_on.is_some() {
            return Err(changes_too_often());
        }
        if !removes {
            return Ok(None);
        }
        let uid = metadata(applied, "uid").unwrap_or_default().to_owned();
        let force = self.forces(item.step) || item.step.shared_with.is_empty();
        for _ in 0..LOOKS {
            let exists = Precondition::Exists { uid: uid.clone() };
            match self.send_as(item, exists, force, false).await {
                Ok(sent) => return Ok(Some(sent.object)),
                Err(error) if error.kind == ApiErrorKind::Stale => {}
                Err(error) => return Err(error.into()),
            }
            self.same_object(item, &uid).await?;
        }
        Err(changes_too_often())
    }

    /// The object as it is now, if it is still the one.
    async fn same_object(&self, item: ObjectToSend<'_>, uid: &str) -> Result<Object, SendError> {
        let found = self.run.look_at(item.wanted(), Detail::Whole).await;
        let found = found.found()?;
        found
            .filter(|object| metadata(object, "uid") == Some(uid))
            .ok_or_else(|| SendError::because("it disappeared while it was being taken over"))
    }

    /// What becomes of the managed fields of an object that was applied.
    async fn moved(&self, item: ObjectToSend<'_>, object: &Object) -> Option<MovedFields> {
        let mut takeover = Takeover {
            kind: &item.identity().group_kind,
            manager: &self.field_manager(item.step),
            retired: &self.run.settings.retired_managers,
            replicas_stay: false,
        };
        let moved = moved_fields(object, &takeover)?;
        if !moved.removes_replicas() || !self.is_autoscaled(item.identity()).await {
            return Some(moved);
        }
        takeover.replicas_stay = true;
        moved_fields(object, &takeover)
    }

    /// Whether an autoscaler targets an object. Where that cannot be told, it counts as one.
    async fn is_autoscaled(&self, identity: &Identity) -> bool {
        let objects = self.candidate.objects.iter();
        let rendered = objects.map(|object| &object.manifest);
        let rendered = rendered.filter(|m| autoscale::is_autoscaler(&m.identity().group_kind));
        let rendered: Vec<_> = rendered.map(|m| m.object()).collect();
        if autoscale::targets(rendered.iter().map(AsRef::as_ref)).contains(identity) {
            return true;
        }
        let Some(namespace) = &identity.namespace else {
            return false;
        };
        let mut unseen = Vec::new();
        let targets = self
            .run
            .live_targets(namespace, &[], self.served, &mut unseen);
        targets.await.contains(identity) || !unseen.is_empty()
    }

    /// What the object would be in the end, given what the server would make of the first apply.
    async fn pretend_removal(
        &self,
        item: ObjectToSend<'_>,
        pretended: Object,
    ) -> Result<TakenOver, ApiError> {
        let mut applied = pretended;
        for _ in 0..LOOKS {
            let moved = self.moved(item, &applied).await;
            let Some(moved) = moved.filter(MovedFields::removes) else {
                return Ok(TakenOver::as_it_was(applied));
            };
            let wanted = moved.without_removed(&applied);
            let look = self.run.look_at(item.wanted(), Detail::Whole).await;
            let before = look.found()?;
            // In another version the fields have other names, so there is nothing to build on.
            let same_version = |live: &&Object| live.get("apiVersion") == applied.get("apiVersion");
            let Some(before) = before.as_ref().filter(same_version) else {
                return Ok(TakenOver::new(item.identity(), &applied, wanted));
            };
            let request = PretendedPatch {
                identity: item.identity(),
                version: &item.step.entry.version,
                uid: &moved.uid,
                resource_version: &moved.resource_version,
                patch: &merge_patch(before, &wanted),
            };
            let patched = self.run.backend.pretend_patch(request, item.permit).await;
            match patched {
                Ok(after) => return Ok(TakenOver::new(item.identity(), &applied, after)),
                Err(error) if error.kind == ApiErrorKind::Stale => {
                    let uid = moved.uid.clone();
                    let exists = Precondition::Exists { uid };
                    let force = self.forces(item.step);
                    applied = self.send_as(item, exists, force, true).await?.object;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(TakenOver::as_it_was(applied))
    }

    /// Refuses if what retired tools have set cannot be removed.
    pub(super) async fn without_unremovable(
        &self,
        applies: &[ApplyStep],
        context: &ApplyContext,
    ) -> Result<(), Failure> {
        if self.request.options.dry_run {
            return Ok(());
        }
        let taking = applies.iter().filter(|step| step.takes_fields);
        let taking: &Vec<&ApplyStep> = &taking.collect();
        let limit = self.request.options.concurrency.limit();
        let pretended = concurrently_in_order(limit, taking.len(), |at| async move {
            let reason = self.unremovable(taking[at], context).await?;
            Some((taking[at], reason))
        });
        let refused: Vec<_> = pretended.collect().await;
        let refused: Vec<(&ApplyStep, String)> = refused.into_iter().flatten().collect();
        if refused.is_empty() {
            return Ok(());
        }
        let lines = refused.iter().map(|(step, reason)| {
            let identity = &step.entry.identity;
            format!("Resource {identity} cannot be taken over as it is: {reason}")
        });
        let failure = Failure::refused(lines.collect::<Vec<_>>().join("\n"))
            .remedy("Render these fields in the module as they are");
        Err(refused
            .into_iter()
            .fold(failure, |failure, (step, reason)| {
                failure.object(step.entry.identity.clone(), reason)
            }))
    }

    async fn unremovable(&self, step: &ApplyStep, context: &ApplyContext) -> Option<String> {
        let object = self.object(&step.entry.identity, context)?;
        let item = self.item(step, &object, context);
        let uid = step.method.uid()?.to_owned();
        let sent = self.send_as(item, Precondition::Exists { uid }, true, true);
        // Whatever is wrong with the object itself comes up when it is sent.
        let applied = sent.await.ok()?.object;
        let error = self.pretend_removal(item, applied).await.err()?;
        (error.kind == ApiErrorKind::Invalid).then(|| unremovable(&error))
    }

    /// After a conflict over fields: whether the values only read otherwise, because the server
    /// writes them in its own way. Then the object is applied, at the version that was judged.
    pub(super) async fn apply_same_values(
        &self,
        item: ObjectToSend<'_>,
        dry_run: bool,
    ) -> Result<Option<ApplyResponse>, ApiError> {
        let (ApplyMethod::Adopt { uid } | ApplyMethod::Take { uid, .. }) = &item.step.method else {
            return Ok(None);
        };
        for _ in 0..LOOKS {
            let look = self.run.look_at(item.wanted(), Detail::Whole).await;
            let Observation::Present(before) = look else {
                return Ok(None);
            };
            let exists = Precondition::Exists { uid: uid.clone() };
            let after = self.send_as(item, exists, true, true).await?;
            let version = metadata(&before, "resourceVersion").unwrap_or_default();
            if metadata(&after.object, "resourceVersion") != Some(version) {
                continue;
            }
            let manager = self.field_manager(item.step);
            let changed = changed_fields_of_others(&before, &after.object, &manager);
            if changed.is_none_or(|changed| !changed.is_empty()) {
                return Ok(None);
            }
            if dry_run {
                return Ok(Some(after));
            }
            let unchanged = Precondition::Unchanged {
                uid: uid.clone(),
                resource_version: version.to_owned(),
            };
            match self.send_as(item, unchanged, true, false).await {
                Err(error) if error.kind == ApiErrorKind::Stale => {}
                sent => return sent.map(Some),
            }
        }
        Ok(None)
    }

    /// What replaced tools would still own of an object beyond what is rendered.
    pub(super) fn leftovers(&self, step: &ApplyStep, after: Option<&Object>) -> Vec<LeftoverField> {
        let kind = &step.entry.identity.group_kind;
        let retired = &self.run.settings.retired_managers;
        match after {
            Some(after) if !step.takes_fields => {
                leftovers(kind, after, &self.candidate.owner.id, retired)
            }
            _ => Vec::new(),
        }
    }

    /// The name under which this release applies an object.
    pub(super) fn field_manager(&self, step: &ApplyStep) -> String {
        match step.shared {
            true => labels::shared_field_manager(&self.candidate.owner.id),
            false => labels::FIELD_MANAGER.to_owned(),
        }
    }
}

impl TakenOver {
    fn as_it_was(object: Object) -> Self {
        Self {
            object,
            removed: Vec::new(),
        }
    }

    /// Only what the server has not filled in again is gone.
    fn new(identity: &Identity, applied: &Object, object: Object) -> Self {
        let changes = diff(&identity.group_kind, applied, &object).into_iter();
        // What has another value now has the one that the server fills in. Controllers write
        // annotations at any time.
        let removed = changes.filter(|change| match change.kind {
            ChangeKind::Removed => true,
            ChangeKind::Changed => !change.path.starts_with("metadata."),
            ChangeKind::Added => false,
        });
        Self {
            removed: removed.map(|change| change.path).collect(),
            object,
        }
    }

    /// What there is to say about it.
    pub(super) fn note(&self) -> Option<String> {
        (!self.removed.is_empty()).then(|| {
            format!(
                "without what another tool had set and the module does not render: {}",
                self.removed.join(", ")
            )
        })
    }
}

fn unremovable(error: &ApiError) -> String {
    format!(
        "fields that another tool has set and the module does not render cannot be removed: {error}"
    )
}

fn changes_too_often() -> SendError {
    SendError::because("it keeps changing while its fields are being taken over")
}
