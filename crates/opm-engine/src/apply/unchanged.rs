//! What need not be sent, because it would change nothing.
//!
//! Whether an object would change is the core's to decide; here is what the whole run has to say
//! about it. Where requests of an earlier run may still land, and where this run changes what
//! others are read or mutated by, everything concerned is sent.

use std::collections::{BTreeSet, HashMap};

use opm_core::candidate::CandidateObject;
use opm_core::check::{ApplyMethod, ApplyStep};
use opm_core::digest::ObjectHash;
use opm_core::drift::{AppliedNote, ApplyEffect, ObjectToApply};
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::reach;
use serde_json::{Map, Value};

use super::Apply;
use super::check::ApplyContext;
use super::send::{AppliedObject, ObjectToSend};
use crate::report::Action;

impl Apply<'_> {
    /// Decides which of these need not be sent, and puts them down as unchanged.
    pub(super) fn decide_unchanged(&self, applies: &[ApplyStep], context: &mut ApplyContext) {
        if self.request.options.send_all || !context.settled {
            return;
        }
        let unchanged = applies.iter().filter_map(|step| {
            let unchanged = self.unchanged(step, context)?;
            Some((step.entry.identity.clone(), unchanged))
        });
        let mut unchanged: HashMap<Identity, AppliedObject> = unchanged.collect();
        let sent: Vec<&Identity> = applies
            .iter()
            .map(|step| &step.entry.identity)
            .filter(|identity| !unchanged.contains_key(identity))
            .collect();
        // What mutates objects on their way in may make something else of them from now on.
        if sent.iter().any(|identity| mutates(&identity.group_kind)) {
            return;
        }
        let redefined = self.defined_by(&sent);
        unchanged.retain(|identity, _| !redefined.contains(&identity.group_kind));
        context.unchanged = unchanged;
    }

    /// The kinds whose definitions are among these.
    fn defined_by(&self, sent: &[&Identity]) -> BTreeSet<GroupKind> {
        let sent: BTreeSet<&&Identity> = sent.iter().collect();
        let objects = self.candidate.objects.iter().map(|object| &object.manifest);
        let defined = objects
            .filter(|manifest| sent.contains(&manifest.identity()))
            .flat_map(reach::defined_by);
        defined.map(|(kind, _)| kind).collect()
    }

    /// The object as if it had been sent, if sending it would change nothing.
    fn unchanged(&self, step: &ApplyStep, context: &ApplyContext) -> Option<AppliedObject> {
        let identity = &step.entry.identity;
        let ApplyMethod::Update { uid } = &step.method else {
            return None;
        };
        if step.takes_fields {
            return None;
        }
        let (object, before) = (self.object(identity, context)?, context.before(identity)?);
        let note = context.notes.notes.get(identity);
        let sent = match context.is_rendered(identity) {
            true => step.entry.hash.clone()?,
            false => ObjectHash::of(&object),
        };
        let manager = self.field_manager(step);
        let to_apply = self.to_apply(&object, &sent, &manager, note);
        let live = before.object.unpack();
        if to_apply.effect(&live, before.whole) != ApplyEffect::Unchanged {
            return None;
        }
        let noted = match before.whole {
            true => to_apply.note(&live),
            false => note.cloned(),
        };
        Some(AppliedObject {
            uid: Some(uid.clone()),
            action: Action::Unchanged,
            after: None,
            note: None,
            noted,
        })
    }

    /// What to remember of an object that the server took.
    pub(super) fn noted(
        &self,
        item: ObjectToSend<'_>,
        live: &Map<String, Value>,
    ) -> Option<AppliedNote> {
        if self.request.options.dry_run {
            return None;
        }
        let manager = self.field_manager(item.step);
        let sent = ObjectHash::of(item.object);
        self.to_apply(item.object, &sent, &manager, None).note(live)
    }

    /// Whether what is remembered of an object says that it need not even be read.
    pub(super) fn is_settled(
        &self,
        object: &CandidateObject,
        metadata: &PackedObject,
        note: Option<&AppliedNote>,
    ) -> bool {
        // The note tells whether what it is about was sent by the manager of today.
        let desired = object.manifest.object();
        let to_apply = self.to_apply(&desired, &object.hash, "", note);
        to_apply.effect(&metadata.unpack(), false) == ApplyEffect::Unchanged
    }

    fn to_apply<'s>(
        &'s self,
        desired: &'s Map<String, Value>,
        sent: &'s ObjectHash,
        manager: &'s str,
        note: Option<&'s AppliedNote>,
    ) -> ObjectToApply<'s> {
        let version = desired.get("apiVersion").and_then(Value::as_str);
        let schema = version.and_then(|version| self.served.schemas.get(version));
        ObjectToApply {
            desired,
            sent,
            manager,
            schema: schema.map(String::as_str),
            note,
            release: &self.candidate.owner.id,
        }
    }
}

/// Whether objects of a kind change others on their way in.
fn mutates(kind: &GroupKind) -> bool {
    kind.group == "admissionregistration.k8s.io" && kind.kind.starts_with("Mutating")
}
