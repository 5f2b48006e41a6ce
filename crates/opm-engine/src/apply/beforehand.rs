//! Everything about the content of a plan that can be known before the first write: items that
//! stand in a list twice, conflicts over fields, fields that cannot be changed in place, and
//! rights. A refusal lists all of it.
//!
//! Where a look at the live object raises a suspicion, the server is asked to pretend: one request
//! for each such object, and none for all the others. A preflight asks for all of them.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use opm_core::check::{
    ApplyMethod, ApplyStep, HookStep, Refusal, RefusalReason, TrialFinding, repeated_items,
};
use opm_core::event::RunPhase;
use opm_core::identity::{GroupKind, Identity};
use opm_core::immutable::changed_immutable_fields;
use opm_core::reach::{self, OwnNamespace};
use serde_json::{Map, Value};

use super::Apply;
use super::check::ApplyContext;
use super::send::{ObjectToSend, SendError, conflict, precondition};
use crate::concurrently::concurrently_in_order;
use crate::failure::Failure;
use crate::ports::{ApiError, ApiErrorKind};

/// What is not there before this run: nobody can pretend to put anything into it.
pub(super) struct BroughtAlong<'a> {
    namespaces: BTreeSet<&'a str>,
    kinds: BTreeSet<GroupKind>,
}

impl BroughtAlong<'_> {
    /// Whether the namespace or the definition of an object is among it.
    pub(super) fn holds(&self, identity: &Identity) -> bool {
        let mut namespace = identity.namespace.as_deref().into_iter();
        namespace.any(|namespace| self.namespaces.contains(namespace))
            || self.kinds.contains(&identity.group_kind)
    }
}

/// Whether an object that cannot be changed in place may be recreated.
enum Recreation {
    /// It may.
    Settled,
    /// It may not.
    Refused(Box<Refusal>),
    /// Nobody could tell yet.
    Open,
}

impl Apply<'_> {
    /// Every reason to refuse that is not about whose the objects are. What may be recreated is
    /// noted in the context.
    pub(super) async fn refused_beforehand(
        &self,
        applies: &[ApplyStep],
        hooks: &[HookStep],
        context: &mut ApplyContext,
        recorded: bool,
    ) -> Result<Vec<Refusal>, Failure> {
        let mut refusals = self.repeated(applies);
        if self.request.options.dry_run {
            return Ok(refusals);
        }
        let refused: BTreeSet<Identity> =
            refusals.iter().filter_map(|r| r.object.clone()).collect();
        let mut tried = self.try_out(applies, &refused, context).await?;
        tried.extend(self.try_out_hooks(hooks, applies, context).await?);
        let missing = match applies.is_empty() && hooks.is_empty() {
            true => Vec::new(),
            false => {
                let missing = self.missing_rights(applies, hooks, context, recorded);
                missing.await
            }
        };
        // That it is forbidden to send an object is told once, with all objects it is about.
        let forbidden = |refusal: &Refusal| {
            let why = &refusal.why;
            matches!(
                why,
                RefusalReason::WouldFail {
                    forbidden: true,
                    ..
                }
            )
        };
        let told = !missing.is_empty();
        refusals.extend(
            tried
                .into_iter()
                .filter(|refusal| !(told && forbidden(refusal))),
        );
        refusals.extend(missing);
        Ok(refusals)
    }

    /// Objects that have an item twice in a list: no server takes them.
    pub(super) fn repeated(&self, applies: &[ApplyStep]) -> Vec<Refusal> {
        let sent: BTreeSet<&Identity> = applies.iter().map(|step| &step.entry.identity).collect();
        let objects = self.candidate.objects.iter().map(|object| &object.manifest);
        objects
            .filter(|manifest| sent.contains(manifest.identity()))
            .filter_map(|manifest| {
                let items = repeated_items(manifest);
                (!items.is_empty()).then(|| Refusal {
                    object: Some(manifest.identity().clone()),
                    why: RefusalReason::RepeatedItems(items),
                })
            })
            .collect()
    }

    /// Lets the server pretend, where that may tell something.
    async fn try_out(
        &self,
        applies: &[ApplyStep],
        refused: &BTreeSet<Identity>,
        context: &mut ApplyContext,
    ) -> Result<Vec<Refusal>, Failure> {
        let preflight = self.is_preflight();
        let created = &self.created(applies, context);
        let brought = self.brought(created, context);
        let steps = applies.iter().filter(|step| {
            let identity = &step.entry.identity;
            !refused.contains(identity)
                && step.method != ApplyMethod::Completed
                && (self.is_suspect(step, context) || (preflight && !brought.holds(identity)))
        });
        let steps: &Vec<&ApplyStep> = &steps.collect();
        if !steps.is_empty() {
            self.tell_phase(RunPhase::Rehearse, steps.len());
        }
        let (limit, seen) = (self.request.options.concurrency.limit(), &*context);
        let pretended = concurrently_in_order(limit, steps.len(), |at| async move {
            self.pretend(steps[at], seen).await
        });
        let pretended: Vec<Option<ApiError>> = pretended.collect().await;
        let mut refusals = Vec::new();
        for (step, error) in steps.iter().zip(pretended) {
            let Some(error) = error else { continue };
            let identity = &step.entry.identity;
            let Some(object) = self.object(identity, context) else {
                continue;
            };
            let finding = TrialFinding::of(&error, &object, created);
            let why = match finding {
                TrialFinding::Conflict => {
                    refusals.push(conflict(&error, step));
                    continue;
                }
                TrialFinding::Immutable(fields) => {
                    match self.settle_recreate(step, fields, context).await? {
                        Recreation::Settled => drop(context.recreate.insert(identity.clone())),
                        Recreation::Refused(refusal) => refusals.push(*refusal),
                        Recreation::Open => {}
                    }
                    continue;
                }
                TrialFinding::Unanswered => {
                    let what = "cannot check the objects beforehand";
                    return Err(Failure::before_writing(what, &error));
                }
                TrialFinding::WouldFail { cause, forbidden } if preflight => {
                    RefusalReason::WouldFail { cause, forbidden }
                }
                TrialFinding::WouldFail { .. } => continue,
                TrialFinding::CannotTell if preflight => {
                    let warning = format!("{identity} could not be tried beforehand: {error}");
                    context.warnings.push(warning);
                    continue;
                }
                TrialFinding::CannotTell => continue,
            };
            let object = Some(identity.clone());
            refusals.push(Refusal { object, why });
        }
        Ok(refusals)
    }

    /// Whether everything is tried out beforehand, and not only what looks suspicious.
    pub(super) fn is_preflight(&self) -> bool {
        self.request.options.preflight || self.mode.fallback.is_some()
    }

    /// Whether the object would be recreated, and may be.
    async fn settle_recreate(
        &self,
        step: &ApplyStep,
        fields: Vec<String>,
        context: &ApplyContext,
    ) -> Result<Recreation, Failure> {
        let Some(object) = self.object(&step.entry.identity, context) else {
            return Ok(Recreation::Open);
        };
        let item = self.item(step, &object, context);
        let settled = match self.live(step).await {
            Ok(live) => self.check_recreate(item, &live, fields).await,
            Err(error) => Err(error),
        };
        match settled {
            Ok(()) => Ok(Recreation::Settled),
            Err(SendError::Refused(refusal)) => Ok(Recreation::Refused(refusal)),
            Err(SendError::Stopped(stopped)) => {
                Err(Failure::stopped("nothing was changed", stopped))
            }
            // What keeps it from being looked at now is told when it is sent, and whether it may
            // be recreated is asked then.
            Err(_) => Ok(Recreation::Open),
        }
    }

    /// Whether the live object, or whoever has a part in it, may be in the way.
    fn is_suspect(&self, step: &ApplyStep, context: &ApplyContext) -> bool {
        let identity = &step.entry.identity;
        let Some((before, object)) = context.before(identity).zip(self.object(identity, context))
        else {
            return false;
        };
        let changed =
            || changed_immutable_fields(&identity.group_kind, &before.object.unpack(), &object);
        !self.forces(step) || (before.whole && !changed().is_empty())
    }

    /// What this run brings along: what it creates, and definitions that it may change.
    pub(super) fn created(
        &self,
        applies: &[ApplyStep],
        context: &ApplyContext,
    ) -> BTreeSet<Identity> {
        let created = applies.iter().filter(|step| {
            let identity = &step.entry.identity;
            let may_change = context.before(identity).is_none_or(|before| before.whole);
            step.method == ApplyMethod::Create || (reach::is_definition(identity) && may_change)
        });
        created.map(|step| step.entry.identity.clone()).collect()
    }

    /// The namespaces and kinds that come only with what this run creates.
    pub(super) fn brought<'s>(
        &'s self,
        created: &'s BTreeSet<Identity>,
        context: &'s ApplyContext,
    ) -> BroughtAlong<'s> {
        let own = self.candidate.owner.namespace.as_str();
        let to_be_created = context.namespaces.own == OwnNamespace::ToBeCreated;
        let homes = context.namespaces.homes.iter().map(String::as_str);
        let namespaces = created
            .iter()
            .filter(|one| one.group_kind.is("", "Namespace"));
        let namespaces = namespaces.map(|one| one.name.as_str());
        let objects = self.candidate.objects.iter().map(|object| &object.manifest);
        let objects = objects.filter(|manifest| created.contains(manifest.identity()));
        let kinds = objects.filter_map(reach::plural_defined_by);
        BroughtAlong {
            namespaces: namespaces
                .chain(to_be_created.then_some(own))
                .chain(homes)
                .collect(),
            kinds: kinds.map(|(kind, _)| kind).collect(),
        }
    }

    /// An object as it would be sent beforehand, before there is a lock.
    pub(super) fn item<'s>(
        &'s self,
        step: &'s ApplyStep,
        object: &'s Map<String, Value>,
        context: &'s ApplyContext,
    ) -> ObjectToSend<'s> {
        ObjectToSend {
            step,
            object,
            seen: context.before(&step.entry.identity),
            recreate: false,
            permit: self.request.options.concurrency.pace(self.run.permit()),
        }
    }

    /// Why the server would not take an object, if it would not.
    async fn pretend(&self, step: &ApplyStep, context: &ApplyContext) -> Option<ApiError> {
        let object = self.object(&step.entry.identity, context)?;
        let item = self.item(step, &object, context);
        let sent = self.send_once(item, precondition(step), true).await;
        let error = sent.err()?;
        if error.kind == ApiErrorKind::FieldConflict
            && let Ok(Some(_)) = self.apply_same_values(item, true).await
        {
            return None;
        }
        Some(error)
    }
}
