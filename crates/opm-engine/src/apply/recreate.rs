//! Objects whose immutable fields changed: deleted and created anew, if somebody said so.
//!
//! Only a refusal that is about immutable fields and nothing else leads here. Any other refusal
//! would only meet the object again after it had been deleted.

use std::collections::{BTreeMap, HashSet};

use opm_core::check::{
    ApplyStep, LiveObject, RecreateRefusal, Refusal, RefusalReason, may_recreate, must_end_first,
};
use opm_core::identity::Identity;
use opm_core::immutable::{changed_immutable_fields, immutable_fields};
use opm_core::plan::{Guard, Occupants, Purpose, ignored_in_namespace};
use serde_json::{Map, Value};

use super::Apply;
use super::send::{AppliedObject, ObjectToSend, SendError};
use crate::observe::metadata;
use crate::ports::{
    Answer, ApiError, ApiErrorKind, DeleteObject, Detail, Precondition, Propagation, Question,
    WantedObject,
};
use crate::removal::LOOKS;
use crate::report::Action;
use crate::wait::WaitTarget;

/// It cannot be changed in place, and is not recreated.
fn refused(item: ObjectToSend<'_>, fields: Vec<String>, recreate: RecreateRefusal) -> SendError {
    SendError::Refused(Box::new(Refusal {
        object: Some(item.identity().clone()),
        why: RefusalReason::Immutable { fields, recreate },
    }))
}

impl Apply<'_> {
    /// The server found the object invalid: perhaps only because it cannot be changed in place.
    pub(super) async fn perhaps_recreate(
        &self,
        item: ObjectToSend<'_>,
        error: ApiError,
    ) -> Result<AppliedObject, SendError> {
        let Some(fields) = immutable_fields(&error, item.object) else {
            return Err(error.into());
        };
        let mut live = self.live(item.step).await?;
        if !item.recreate {
            self.check_recreate(item, &live, fields.clone()).await?;
        } else if !self.may_replace(item, &live) {
            return Err(refused(item, fields, RecreateRefusal::NotOurs));
        }
        if self.request.options.dry_run {
            return Ok(AppliedObject {
                noted: None,
                uid: metadata(&live, "uid").map(str::to_owned),
                action: Action::Recreated,
                after: None,
                note: None,
            });
        }
        let told = self.request.options.recreate;
        if must_end_first(item.identity(), &live, told) {
            live = self.wait_for_end(item, fields.clone()).await?;
        }
        self.recreate(item, live, fields).await
    }

    /// A Job that is at work is not cut short.
    async fn wait_for_end(
        &self,
        item: ObjectToSend<'_>,
        fields: Vec<String>,
    ) -> Result<Map<String, Value>, SendError> {
        let targets = [WaitTarget::from(item.identity().clone())];
        self.tell_targets(&targets);
        let timeout = self.request.options.timeout;
        self.run.wait_ready(&targets, timeout, item.permit).await?;
        let live = self.live(item.step).await?;
        match must_end_first(item.identity(), &live, false) {
            false => Ok(live),
            true => Err(refused(item, fields, RecreateRefusal::Running)),
        }
    }

    /// A flag, an annotation or a person has to say so, and nothing may go that should not.
    pub(super) async fn check_recreate(
        &self,
        item: ObjectToSend<'_>,
        live: &Map<String, Value>,
        fields: Vec<String>,
    ) -> Result<(), SendError> {
        let options = &self.request.options;
        let (step, desired) = (item.step, item.object);
        let refused = |recreate| refused(item, fields.clone(), recreate);
        if !self.may_replace(item, live) {
            return Err(refused(RecreateRefusal::NotOurs));
        }
        let said = may_recreate(step, desired, options.guards, options.recreate);
        let unsaid = matches!(said, Err(RecreateRefusal::Unsaid { .. }));
        if !unsaid {
            said.clone().map_err(refused)?;
        }
        if let Some(why) = self.inside(item.identity()).await? {
            return Err(refused(RecreateRefusal::Blocked(why)));
        }
        propagation(item.identity(), live, desired)
            .map_err(|why| refused(RecreateRefusal::Blocked(why.to_owned())))?;
        if !unsaid || options.dry_run {
            return said.map_err(refused);
        }
        let question = Question::Recreate {
            identity: item.identity().clone(),
            fields: fields.clone(),
        };
        let answer = self.run.ask(&question, item.permit).await;
        match answer.map_err(SendError::Stopped)? {
            Answer::Yes => Ok(()),
            Answer::No => Err(refused(RecreateRefusal::Declined)),
            Answer::CannotAsk => said.map_err(refused),
        }
    }

    /// Whether what is there is this release's to delete.
    fn may_replace(&self, item: ObjectToSend<'_>, live: &Map<String, Value>) -> bool {
        let release = &self.candidate.owner.id;
        item.step
            .may_replace(&LiveObject::read(live, release), release)
    }

    /// A Namespace or definition takes everything inside along, also when it comes back.
    async fn inside(&self, holder: &Identity) -> Result<Option<String>, SendError> {
        if !Guard::of(&holder.group_kind).is_some_and(Guard::holds_others) {
            return Ok(None);
        }
        let served = self.run.discover_all().await;
        let served = served.map_err(|failure| SendError::because(failure.message))?;
        let occupants = match self.run.occupants(holder, &served).await {
            Occupants::Known(occupants) => occupants,
            Occupants::Partly { silent, .. } => {
                let groups: Vec<&str> = silent.iter().map(|one| one.group.as_str()).collect();
                let reason = format!(
                    "what it holds could not be found out: the servers behind API groups {} do \
                     not answer",
                    groups.join(", ")
                );
                return Ok(Some(reason));
            }
            Occupants::Unknown(reason) => {
                let reason = format!("what it holds could not be found out: {reason}");
                return Ok(Some(reason));
            }
        };
        let release = &self.candidate.owner.id;
        let rendered: HashSet<&Identity> = self
            .candidate
            .objects
            .iter()
            .map(|object| object.manifest.identity())
            .collect();
        let others: Vec<String> = occupants
            .iter()
            .filter(|one| {
                !rendered.contains(&one.identity)
                    && !ignored_in_namespace(one, release, &Purpose::Apply)
            })
            .map(|one| one.identity.to_string())
            .collect();
        let others = (!others.is_empty()).then(|| {
            let others = others.join(", ");
            format!("it holds objects that would go with it: {others}")
        });
        Ok(others)
    }

    pub(super) async fn live(&self, step: &ApplyStep) -> Result<Map<String, Value>, SendError> {
        let wanted = WantedObject::from(&step.entry);
        let found = self.run.look_at(wanted, Detail::Whole).await.found()?;
        found.ok_or_else(|| SendError::because("it disappeared meanwhile"))
    }

    async fn recreate(
        &self,
        item: ObjectToSend<'_>,
        live: Map<String, Value>,
        fields: Vec<String>,
    ) -> Result<AppliedObject, SendError> {
        let identity = item.identity();
        let uid = self.make_room(item, live, fields).await?;
        let going = BTreeMap::from([(identity.clone(), uid)]);
        let timeout = self.request.options.timeout;
        let there = self.run.wait_gone(&going, timeout, item.permit).await?;
        if let Some((_, why)) = there.first() {
            return Err(SendError::because(format!(
                "it was deleted to be recreated, and is not gone yet: {why}"
            )));
        }
        let sent = self.send_once(item, Precondition::Absent, false).await?;
        Ok(AppliedObject {
            noted: None,
            uid: metadata(&sent.object, "uid").map(str::to_owned),
            action: Action::Recreated,
            after: None,
            note: None,
        })
    }

    /// Deletes what is in the way exactly as it was seen: it may be somebody else's by now, and
    /// then it stays. Answers with the uid of what goes.
    async fn make_room(
        &self,
        item: ObjectToSend<'_>,
        mut live: Map<String, Value>,
        fields: Vec<String>,
    ) -> Result<String, SendError> {
        let identity = item.identity();
        for _ in 0..LOOKS {
            if !self.may_replace(item, &live) {
                return Err(refused(item, fields, RecreateRefusal::NotOurs));
            }
            let uid = metadata(&live, "uid").unwrap_or_default();
            let request = DeleteObject {
                identity,
                uid,
                resource_version: metadata(&live, "resourceVersion"),
                propagation: propagation(identity, &live, item.object)
                    .map_err(SendError::because)?,
                dry_run: false,
            };
            match self.run.backend.delete(request, item.permit).await {
                Err(error) if error.kind == ApiErrorKind::Stale => {
                    live = self.live(item.step).await?;
                }
                deleted => return deleted.map(|_| uid.to_owned()).map_err(SendError::from),
            }
        }
        let reason = "it keeps changing while it is being recreated";
        Err(SendError::because(reason))
    }
}

/// A StatefulSet leaves its pods and claims standing for its successor. One whose selector
/// changed would not find them again, so there they go; but never the claims.
fn propagation(
    identity: &Identity,
    live: &Map<String, Value>,
    desired: &Map<String, Value>,
) -> Result<Propagation, &'static str> {
    if !identity.group_kind.is("apps", "StatefulSet") {
        return Ok(Propagation::Background);
    }
    let changed = changed_immutable_fields(&identity.group_kind, live, desired);
    if !changed.contains(&"spec.selector") {
        return Ok(Propagation::Orphan);
    }
    let retention = live
        .get("spec")
        .and_then(|spec| spec.get("persistentVolumeClaimRetentionPolicy"))
        .and_then(|policy| policy.get("whenDeleted"));
    match retention.and_then(Value::as_str) {
        Some("Delete") => Err(
            "its selector changed, so its volume claims would be deleted with it \
             (persistentVolumeClaimRetentionPolicy.whenDeleted is Delete)",
        ),
        _ => Ok(Propagation::Background),
    }
}
