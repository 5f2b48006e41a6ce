//! Objects whose immutable fields changed: deleted and created anew, if somebody said so.
//!
//! Only a refusal that is about immutable fields and nothing else leads here. Any other refusal
//! would only meet the object again after it had been deleted.

use std::collections::{BTreeMap, HashSet};

use opm_core::check::{ApplyMethod, against_recreating};
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::immutable::{changed_immutable_fields, immutable_fields};
use opm_core::labels;
use opm_core::plan::{Guard, Occupants, Purpose, ignored_in_namespace};
use serde_json::{Map, Value};

use super::Apply;
use super::send::{AppliedObject, ObjectToSend, SendError};
use crate::observe::metadata;
use crate::ports::{
    Answer, ApiError, Backend, DeleteObject, Detail, Precondition, Propagation, Question,
};
use crate::report::Action;

impl<B: Backend> Apply<'_, B> {
    /// The server found the object invalid: perhaps only because it cannot be changed in place.
    pub(super) async fn perhaps_recreate(
        &self,
        item: ObjectToSend<'_>,
        error: ApiError,
    ) -> Result<AppliedObject, SendError> {
        let Some(fields) = immutable_fields(&error, item.object) else {
            return Err(error.into());
        };
        // What is being taken over was there before; deleting it could not be undone.
        if !matches!(item.step.method, ApplyMethod::Update { .. }) {
            return Err(SendError::because(format!(
                "{} cannot be changed in place, and it is not this release's to recreate: {error}",
                fields.join(", ")
            )));
        }
        self.may_recreate(item, &fields).await?;
        let live = self.live(item.identity()).await?;
        if self.request.options.dry_run {
            propagation(item.identity(), &live, item.object)?;
            return Ok(AppliedObject {
                uid: metadata(&live, "uid").map(str::to_owned),
                action: Action::Recreated,
                after: None,
                note: None,
            });
        }
        self.recreate(item, &live).await
    }

    /// A flag, an annotation or a person has to say so, and a guarded kind needs its flag too.
    async fn may_recreate(
        &self,
        item: ObjectToSend<'_>,
        fields: &[String],
    ) -> Result<(), SendError> {
        let identity = item.identity();
        if let Some(refusal) = against_recreating(identity, self.request.options.guards) {
            let reason = format!(
                "{} cannot be changed in place, and {}",
                fields.join(", "),
                refusal.message()
            );
            return Err(SendError::unless(reason, refusal.remedy()));
        }
        self.nobody_inside(identity).await?;
        if self.request.options.recreate || annotated(item.object) {
            return Ok(());
        }
        let question = Question::Recreate {
            identity: identity.clone(),
            fields: fields.to_vec(),
        };
        let fields = fields.join(", ");
        let answer = match self.request.options.dry_run {
            true => Answer::CannotAsk,
            false => {
                let answer = self.run.ask(&question, item.permit).await;
                answer.map_err(SendError::Stopped)?
            }
        };
        match answer {
            Answer::Yes => Ok(()),
            Answer::No => Err(SendError::because(format!(
                "{fields} cannot be changed in place, and recreating it was declined"
            ))),
            Answer::CannotAsk => {
                let reason = format!("{fields} cannot be changed in place");
                Err(SendError::unless(reason, Remedy::Recreate))
            }
        }
    }

    /// A Namespace or definition takes everything inside along, also when it comes back.
    async fn nobody_inside(&self, holder: &Identity) -> Result<(), SendError> {
        if !Guard::of(&holder.group_kind).is_some_and(Guard::holds_others) {
            return Ok(());
        }
        let served = self.run.backend.served().await?;
        let occupants = match self.run.occupants(holder, &served).await {
            Occupants::Known(occupants) => occupants,
            Occupants::Partly { silent, .. } => {
                let groups: Vec<&str> = silent.iter().map(|one| one.group.as_str()).collect();
                let reason = format!(
                    "what it holds could not be found out: the servers behind API groups {} do \
                     not answer",
                    groups.join(", ")
                );
                return Err(SendError::because(reason));
            }
            Occupants::Unknown(reason) => {
                let reason = format!("what it holds could not be found out: {reason}");
                return Err(SendError::because(reason));
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
        match others.is_empty() {
            true => Ok(()),
            false => Err(SendError::because(format!(
                "it would have to be recreated, and holds objects that would go with it: {}",
                others.join(", ")
            ))),
        }
    }

    async fn live(&self, identity: &Identity) -> Result<Map<String, Value>, SendError> {
        let found = self.run.look_at(identity, Detail::Whole).await.found()?;
        found.ok_or_else(|| SendError::because("it disappeared meanwhile"))
    }

    async fn recreate(
        &self,
        item: ObjectToSend<'_>,
        live: &Map<String, Value>,
    ) -> Result<AppliedObject, SendError> {
        let identity = item.identity();
        let uid = metadata(live, "uid").unwrap_or_default();
        let request = DeleteObject {
            identity,
            uid,
            resource_version: None,
            propagation: propagation(identity, live, item.object)?,
            dry_run: false,
        };
        self.run.backend.delete(request, item.permit).await?;
        let going = BTreeMap::from([(identity.clone(), uid.to_owned())]);
        let timeout = self.request.options.timeout;
        let there = self.run.wait_gone(&going, timeout, item.permit).await?;
        if let Some((_, why)) = there.first() {
            return Err(SendError::because(format!(
                "it was deleted to be recreated, and is not gone yet: {why}"
            )));
        }
        let sent = self.send_once(item, Precondition::Absent, false).await?;
        Ok(AppliedObject {
            uid: metadata(&sent.object, "uid").map(str::to_owned),
            action: Action::Recreated,
            after: None,
            note: None,
        })
    }
}

fn annotated(object: &Map<String, Value>) -> bool {
    let annotations = object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let value = annotations.and_then(|annotations| annotations.get(labels::RECREATE));
    value.and_then(Value::as_str) == Some("true")
}

/// A StatefulSet leaves its pods and claims standing for its successor. One whose selector
/// changed would not find them again, so there they go; but never the claims.
fn propagation(
    identity: &Identity,
    live: &Map<String, Value>,
    desired: &Map<String, Value>,
) -> Result<Propagation, SendError> {
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
        Some("Delete") => Err(SendError::because(
            "its selector changed, and its volume claims would be deleted with it \
             (persistentVolumeClaimRetentionPolicy.whenDeleted is Delete)",
        )),
        _ => Ok(Propagation::Background),
    }
}
