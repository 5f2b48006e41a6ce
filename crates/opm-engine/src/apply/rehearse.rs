//! `--dry-run` and `diff`: the same plan, the same checks and the same requests, which the server
//! only pretends to carry out. No lock is taken and nothing is written.
//!
//! A refusal of one object keeps nothing else from being shown, and a pretended request that
//! failed is a failure of that object, never "no change".

use std::collections::{HashMap, HashSet};

use futures::lock::Mutex;
use futures::stream::{self, StreamExt};
use opm_core::check::{
    ApplyMethod, ApplyStep, Preview, PruneStep, Refusal, RefusalReason, preview,
};
use opm_core::diff::{FieldChange, diff, stated};
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::immutable::changed_immutable_fields;
use opm_core::reach::OwnNamespace;
use serde_json::{Map, Value};

use super::prepare::{ApplyContext, ObservedPlan};
use super::rehearsed::DryRunResults;
use super::send::{AppliedObject, SendError};
use super::stages::outcome;
use super::tell::presence;
use super::{Apply, ApplyMode};
use crate::diff::{DiffReport, Difference};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::ports::{ApiError, Clock, Cluster, Frontend, SecretStore, ServedKinds};
use crate::record::check_writable;
use crate::removal::{RemovalOptions, RemovalOutcome, groups};
use crate::report::{Action, ObjectOutcome};
use crate::request::ApplyRequest;

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// What applying a rendered module would do. Nothing is written, and no lock is taken.
    pub async fn diff(
        &self,
        request: &ApplyRequest,
        frontend: Frontend<'_>,
    ) -> Result<DiffReport, Failure> {
        let mut request = request.clone();
        request.options.dry_run = true;
        let request = &request;
        let release = super::release_of(request);
        let served = self.discover().await?;
        let (loaded, warnings) = self.load(&release).await?;
        let stored = loaded.as_ref().map(|loaded| &loaded.record);
        let course = ApplyMode::default();
        let apply = Apply {
            engine: self,
            request,
            course: &course,
            frontend,
            candidate: self.candidate(request, stored, &served)?,
            asking: Mutex::new(()),
        };
        let unwritable = loaded
            .as_ref()
            .and_then(|loaded| check_writable(&loaded.stored).err());
        let observed_plan = apply.survey(loaded, warnings, &served).await;
        let observed_plan = observed_plan.map_err(|failure| apply.refusal(failure))?;
        apply.rehearse(observed_plan, unwritable, &served).await
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    async fn rehearse(
        &self,
        observed_plan: ObservedPlan,
        unwritable: Option<Failure>,
        served: &ServedKinds,
    ) -> Result<DiffReport, Failure> {
        let mut preview = preview(
            &observed_plan.plan,
            &observed_plan.observed,
            &self.checking(&observed_plan),
        );
        let awaited = self.awaited_deletions(&mut preview.refusals);
        let unreached = observed_plan.reached.clone().err();
        let own_namespace = observed_plan
            .reached
            .clone()
            .unwrap_or(OwnNamespace::Exists);
        let entries = named(&observed_plan);
        let going = &preview.stale.prune;
        let context = self
            .context(observed_plan, own_namespace, going, served)
            .await;
        let (context, loaded, _) = context;
        let contested = self.without_contested_claims(preview.applies(), going, &context);
        let blocked = [unreached, unwritable, contested.await.err()];

        self.announce(preview.applies(), &preview.stale);
        let mut rehearsed = DryRunResults::default();
        self.rehearse_applies(&preview, &context, &mut rehearsed)
            .await;
        let refused = preview.refusals.iter().filter_map(|refusal| {
            let entry = entries.get(refusal.object.as_ref()?)?;
            Some(self.refused_object(refusal, entry, &context))
        });
        rehearsed.objects.extend(refused);
        let awaited = awaited.iter().filter_map(|identity| entries.get(identity));
        rehearsed
            .objects
            .extend(awaited.map(|entry| self.awaited_object(entry, &context)));
        self.rehearse_prunes(&preview, &mut rehearsed).await;
        if let Some(stopped) = rehearsed.stopped {
            let what = "the dry run was cut short";
            return Err(self.refusal(Failure::before_writing(what, &ApiError::stopped(stopped))));
        }
        Ok(self.told(preview, rehearsed, blocked, &context, loaded.as_ref()))
    }

    /// Every object that nothing speaks against. The server only pretends, so their order does
    /// not matter.
    async fn rehearse_applies(
        &self,
        preview: &Preview,
        context: &ApplyContext,
        all: &mut DryRunResults,
    ) {
        let mut results = stream::iter(preview.applies())
            .map(|step| async move { (step, self.send_or_skip(step, context).await) })
            .buffered(self.request.options.concurrency.max(1));
        while let Some((step, result)) = results.next().await {
            let (action, reason, after) = match result {
                Ok(AppliedObject { action, after, .. }) => {
                    (action, self.why(step, action, context), after)
                }
                Err(SendError::Stopped(stopped)) => {
                    all.stopped = Some(stopped);
                    continue;
                }
                Err(SendError::Unreachable(reason)) => {
                    all.unreachable = true;
                    (Action::Failed, Some(reason), None)
                }
                Err(SendError::Conflict(reason)) => {
                    all.conflicts.push((step.clone(), reason.clone()));
                    (Action::Refused, Some(reason), None)
                }
                Err(SendError::Failed { reason, forbidden }) => {
                    all.forbidden.push(forbidden);
                    (Action::Failed, Some(reason), None)
                }
            };
            let outcome = outcome(step, action, reason);
            self.tell_object(&outcome);
            let changes = self.changes(&outcome, after.as_ref(), context);
            all.objects.push(Difference { outcome, changes });
        }
    }

    /// More about what would happen, where the action alone does not say it.
    fn why(&self, step: &ApplyStep, action: Action, context: &ApplyContext) -> Option<String> {
        match (action, &step.method) {
            (Action::Recreated, _) => {
                let identity = &step.entry.identity;
                let (live, desired) = (context.live.get(identity)?, context.object(identity)?);
                let fields = changed_immutable_fields(&identity.group_kind, live, desired);
                Some(match fields.is_empty() {
                    true => "it cannot be changed in place".to_owned(),
                    false => format!("{} cannot be changed in place", fields.join(", ")),
                })
            }
            (Action::Adopted, ApplyMethod::Take { from, .. }) => {
                Some(format!("it is taken over from release {from}"))
            }
            _ => None,
        }
    }

    /// The fields that would change: as the server answered, or as rendered where it did not.
    fn changes(
        &self,
        outcome: &ObjectOutcome,
        after: Option<&Map<String, Value>>,
        context: &ApplyContext,
    ) -> Vec<FieldChange> {
        let identity = &outcome.identity;
        let kind = &identity.group_kind;
        let (before, desired) = (context.live.get(identity), context.object(identity));
        match (before, after, desired) {
            _ if outcome.action == Action::Unchanged => Vec::new(),
            (Some(before), Some(after), _) => diff(kind, before, after),
            (Some(before), None, Some(desired)) => diff(kind, &stated(before, desired), desired),
            (None, after, Some(desired)) => {
                let answered = after.map(|after| stated(after, desired));
                let new = answered.as_ref().unwrap_or(desired);
                diff(kind, &identity_of(new), new)
            }
            (_, _, None) => Vec::new(),
        }
    }

    /// With `--wait-for-deletion`, what is being deleted is no reason to refuse.
    fn awaited_deletions(&self, refusals: &mut Vec<Refusal>) -> Vec<Identity> {
        let waits = |refusal: &Refusal| {
            self.request.options.wait_for_deletion
                && matches!(refusal.why, RefusalReason::Terminating)
        };
        let awaited = refusals.iter().filter(|refusal| waits(refusal));
        let awaited = awaited.filter_map(|refusal| refusal.object.clone());
        let awaited = awaited.collect();
        refusals.retain(|refusal| !waits(refusal));
        awaited
    }

    fn awaited_object(&self, entry: &Entry, context: &ApplyContext) -> Difference {
        let reason = "as soon as it is deleted".to_owned();
        let outcome = of_entry(entry, Action::Created, reason);
        let new = context.object(&entry.identity);
        let changes = new.map(|new| diff(&entry.identity.group_kind, &identity_of(new), new));
        self.tell_object(&outcome);
        Difference {
            outcome,
            changes: changes.unwrap_or_default(),
        }
    }

    fn refused_object(
        &self,
        refusal: &Refusal,
        entry: &Entry,
        context: &ApplyContext,
    ) -> Difference {
        let outcome = of_entry(entry, Action::Refused, refusal.message());
        self.tell_object(&outcome);
        let changes = self.changes(&outcome, None, context);
        Difference { outcome, changes }
    }

    async fn rehearse_prunes(&self, preview: &Preview, all: &mut DryRunResults) {
        let removing = RemovalOptions {
            release: &self.candidate.owner.id,
            concurrency: self.request.options.concurrency,
            dry_run: true,
        };
        let refused: HashSet<&Identity> = preview
            .refusals
            .iter()
            .filter_map(|refusal| refusal.object.as_ref())
            .collect();
        let going: Vec<PruneStep> = preview
            .stale
            .prune
            .iter()
            .filter(|step| !refused.contains(&step.entry.identity))
            .cloned()
            .collect();
        for group in groups(&going) {
            let removed = self.engine.remove_group(group, removing, |_, _| {}).await;
            for (step, removed) in group.iter().zip(&removed) {
                self.rehearsed_prune(step, removed, all);
            }
        }
        let presence = presence(&preview.stale);
        all.forbidden
            .extend(preview.stale.undetermined.iter().map(|_| false));
        for outcome in presence {
            self.tell_object(&outcome);
            all.objects.push(bare(outcome));
        }
    }

    fn rehearsed_prune(&self, step: &PruneStep, removed: &RemovalOutcome, all: &mut DryRunResults) {
        match removed.told(step, Action::Pruned) {
            Ok((outcome, _)) => {
                self.tell_object(&outcome);
                if let RemovalOutcome::Failed(_) = removed {
                    all.forbidden.push(false);
                }
                all.objects.push(bare(outcome));
            }
            Err(stopped) => all.stopped = Some(stopped),
        }
    }
}

/// Everything that the plan names.
fn named(observed_plan: &ObservedPlan) -> HashMap<Identity, Entry> {
    let named = observed_plan.plan.to_observe();
    named
        .map(|entry| (entry.identity.clone(), entry.clone()))
        .collect()
}

fn bare(outcome: ObjectOutcome) -> Difference {
    Difference {
        outcome,
        changes: Vec::new(),
    }
}

fn of_entry(entry: &Entry, action: Action, reason: String) -> ObjectOutcome {
    ObjectOutcome {
        identity: entry.identity.clone(),
        version: entry.version.clone(),
        component: entry.component.clone(),
        action,
        reason: Some(reason),
    }
}

/// What an object is called: no difference in something that is new.
fn identity_of(object: &Map<String, Value>) -> Map<String, Value> {
    let mut identity = Map::new();
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            identity.insert(field.to_owned(), value.clone());
        }
    }
    let metadata = object.get("metadata").and_then(Value::as_object);
    let names = metadata.into_iter().flatten();
    let names = names.filter(|(key, _)| ["name", "namespace"].contains(&key.as_str()));
    let names = names.map(|(key, value)| (key.clone(), value.clone()));
    identity.insert("metadata".to_owned(), Value::Object(names.collect()));
    identity
}
