//! Dry runs and `diff`: the same plan, the same checks and the same requests, which the server
//! only pretends to carry out. No lock is taken and nothing is written.
//!
//! A refusal of one object keeps nothing else from being shown, and a pretended request that
//! failed is a failure of that object, never "no change".

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures::StreamExt as _;
use opm_core::check::{
    ApplyMethod, ApplyStep, Preview, PruneStep, Refusal, RefusalReason, preview,
};
use opm_core::diff::{FieldChange, diff, stated};
use opm_core::drift::changes_by_apply;
use opm_core::entry::Entry;
use opm_core::event::RunPhase;
use opm_core::identity::Identity;
use opm_core::immutable::changed_immutable_fields;
use opm_core::packed::PackedObject;
use opm_core::plan::Plan;
use opm_core::record::Lock;
use serde_json::{Map, Value};

use super::check::ApplyContext;
use super::diff_report::DryRunResults;
use super::observe::ObservedApply;
use super::send::{AppliedObject, SendError};
use super::tell::without_request;
use super::{Apply, ApplySource};
use crate::concurrently::concurrently_in_order;
use crate::diff::{DiffReport, Difference};
use crate::failure::Failure;
use crate::record::{check_writable, holder};
use crate::removal::RemovalOptions;
use crate::report::{Action, ObjectOutcome, Release};
use crate::request::ApplyRequest;
use crate::run::Run;

/// Whether a dry run also looks for objects that nobody knows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orphans {
    /// It does.
    Shown,
    /// It does not: it is about what a run would do.
    LeftOut,
}

impl Run<'_> {
    /// What applying a rendered module would do, and what is there that nobody knows of.
    pub(crate) async fn diff(&self, request: &ApplyRequest) -> Result<DiffReport, Failure> {
        self.dry_run(request, Orphans::Shown).await
    }

    /// What applying a rendered module would do.
    pub(crate) async fn dry_run(
        &self,
        request: &ApplyRequest,
        orphans: Orphans,
    ) -> Result<DiffReport, Failure> {
        let mut request = request.clone();
        request.options.dry_run = true;
        let release = super::release_of(&request);
        let source = ApplySource::Module(&request);
        self.rehearse(&release, &source, orphans).await
    }

    /// What applying this would do: the very task, plan and checks of the real thing, without
    /// lock and writes.
    pub(crate) async fn rehearse(
        &self,
        release: &Release,
        source: &ApplySource<'_>,
        orphans: Orphans,
    ) -> Result<DiffReport, Failure> {
        let (served, loaded) =
            futures::join!(Box::pin(self.discover()), Box::pin(self.load(release)));
        let served = served?;
        let (loaded, mut warnings) = loaded?;
        let stored = loaded.as_ref().map(|loaded| &loaded.record);
        let mut task = source.render(self, release, stored).await?;
        // Whoever asks: from here on the server only pretends.
        task.request.to_mut().options.dry_run = true;
        let rendered = &task.request.rendered;
        let served = self.discover_rendered(served, rendered).await?;
        let apply = Apply::candidate(self, &task, &served, stored)?;
        let stored = loaded.as_ref().map(|loaded| &loaded.stored);
        let unwritable = stored.and_then(|stored| check_writable(stored).err());
        let lock = loaded
            .as_ref()
            .and_then(|loaded| loaded.record.lock.clone());
        warnings.extend(task.warnings.iter().cloned());
        let planned = apply.plan(loaded, warnings, None).await?;
        let orphans = match orphans {
            Orphans::Shown => apply.find_orphans(&planned.record).await,
            Orphans::LeftOut => (Vec::new(), Vec::new()),
        };
        let observed = Box::pin(apply.observe(planned, None)).await;
        let mut report = Box::pin(apply.rehearse(observed, unwritable, lock)).await?;
        report.orphans = orphans.0;
        report.warnings.extend(orphans.1);
        Ok(report)
    }
}

impl Apply<'_> {
    async fn rehearse(
        &self,
        observed: ObservedApply,
        unwritable: Option<Failure>,
        lock: Option<Lock>,
    ) -> Result<DiffReport, Failure> {
        let mut preview = preview(
            &observed.planned.plan,
            &observed.observed,
            &self.check_context(&observed),
        );
        let applies: Vec<ApplyStep> = preview.applies().cloned().collect();
        self.refuse_repeated(&applies, &mut preview);
        let awaited = self.awaited_deletions(&mut preview.refusals);
        let unreached = observed.reached.clone().err();
        let namespaces = observed.reached.clone().unwrap_or_default();
        let entries = named(&observed.planned.plan);
        let current = observed.planned.current();
        let record = observed.planned.record.clone();
        let going = &preview.stale.prune;
        let mut context = self.context(observed, namespaces, going).await;
        self.decide_unchanged(&applies, &mut context);
        let contested = self.without_contested_claims(preview.applies(), going, &context);
        let contested = contested.await.err();
        let lost = self.mode.check_stale(&preview.stale).err();
        let blocked = [unreached, unwritable, contested, lost];

        self.announce(preview.applies(), &preview.stale);
        let mut results = DryRunResults::default();
        self.rehearse_applies(&preview, &context, &mut results)
            .await;
        let refused = preview.refusals.iter().filter_map(|refusal| {
            let entry = entries.get(refusal.object.as_ref()?)?;
            Some(self.refused_object(refusal, entry, &context))
        });
        results.objects.extend(refused);
        let awaited = awaited.iter().filter_map(|identity| entries.get(identity));
        results
            .objects
            .extend(awaited.map(|entry| self.awaited_object(entry, &context)));
        self.rehearse_prunes(&preview, &mut results).await;
        if let Some(stopped) = results.stopped {
            return Err(self.refusal(Failure::stopped("the dry run was cut short", stopped)));
        }
        let plan = self.reviewable(preview.applies(), &preview.stale, &context, &record);
        let mut report = self.diff_report(preview, results, blocked, context, current);
        report.plan = Some(plan);
        report.warnings.extend(lock.map(|lock| {
            format!(
                "the release is locked by {}: what is shown may change",
                holder(&lock)
            )
        }));
        Ok(report)
    }

    /// Every object that passed the checks. The server only pretends, so their order does not
    /// matter.
    async fn rehearse_applies(
        &self,
        preview: &Preview,
        context: &ApplyContext,
        all: &mut DryRunResults,
    ) {
        let permit = self.request.options.concurrency.pace(self.run.permit());
        let steps: &Vec<&ApplyStep> = &preview.applies().collect();
        self.tell_phase(RunPhase::Rehearse, steps.len());
        let limit = self.request.options.concurrency.limit();
        let sends = concurrently_in_order(limit, steps.len(), |at| async move {
            (
                steps[at],
                self.send_or_skip(steps[at], context, permit).await,
            )
        });
        let mut results = pin!(sends);
        while let Some((step, result)) = results.next().await {
            let (action, reason, after) = match result {
                Ok(AppliedObject {
                    action,
                    after,
                    note,
                    ..
                }) => (action, self.why(step, action, context).or(note), after),
                Err(SendError::Stopped(stopped)) => {
                    all.stopped = Some(stopped);
                    continue;
                }
                Err(SendError::Unreachable(reason)) => {
                    all.unreachable = true;
                    (Action::Failed, Some(reason), None)
                }
                Err(SendError::NotUpYet(reason)) => {
                    all.forbidden.push(false);
                    (Action::Failed, Some(reason), None)
                }
                Err(SendError::Refused(refusal)) => {
                    let detail = refusal.detail();
                    all.refusals.push(*refusal);
                    (Action::Refused, Some(detail), None)
                }
                Err(SendError::Failed { reason, forbidden }) => {
                    all.forbidden.push(forbidden);
                    (Action::Failed, Some(reason), None)
                }
            };
            let outcome = ObjectOutcome::of(&step.entry, action, reason);
            self.tell_object(&outcome);
            let before = context
                .live
                .get(&outcome.identity)
                .map(PackedObject::unpack);
            let changes = match (&before, &after) {
                // What a take-over removes belonged to another tool.
                (Some(before), Some(after)) if step.takes_fields && action != Action::Unchanged => {
                    diff(&outcome.identity.group_kind, before, after)
                }
                _ => self.changes(&outcome, before.as_ref(), after.as_ref(), context),
            };
            // What is not even sent stays as it is.
            let unsent = context.unchanged.contains_key(&outcome.identity);
            let after = after.as_ref();
            let left = after.or_else(|| before.as_ref().filter(|_| unsent));
            let leftovers = self.leftovers(step, left);
            all.objects.push(Difference {
                outcome,
                changes,
                leftovers,
            });
        }
    }

    /// More about what would happen, where the action alone does not say it.
    fn why(&self, step: &ApplyStep, action: Action, context: &ApplyContext) -> Option<String> {
        match (action, &step.method) {
            (Action::Recreated, _) => {
                let identity = &step.entry.identity;
                let live = context.live.get(identity)?.unpack();
                let desired = self.object(identity, context)?;
                let fields = changed_immutable_fields(&identity.group_kind, &live, &desired);
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
        before: Option<&Map<String, Value>>,
        after: Option<&Map<String, Value>>,
        context: &ApplyContext,
    ) -> Vec<FieldChange> {
        let identity = &outcome.identity;
        let kind = &identity.group_kind;
        if outcome.action == Action::Unchanged {
            return Vec::new();
        }
        let desired = self.object(identity, context);
        match (before, after, &desired) {
            (Some(before), Some(after), _) => {
                changes_by_apply(kind, before, after, &self.candidate.owner.id)
            }
            (Some(before), None, Some(desired)) => diff(kind, &stated(before, desired), desired),
            (None, after, Some(desired)) => {
                let answered = after.map(|after| stated(after, desired));
                let new: &Map<String, Value> = answered.as_ref().unwrap_or(desired);
                diff(kind, &identity_of(new), new)
            }
            (_, _, None) => Vec::new(),
        }
    }

    /// What has an item twice is not sent.
    fn refuse_repeated(&self, applies: &[ApplyStep], preview: &mut Preview) {
        let refusals = self.repeated(applies);
        let refused: HashSet<Identity> = refusals.iter().filter_map(|r| r.object.clone()).collect();
        let steps = preview.phases.iter_mut().flat_map(|phase| &mut phase.steps);
        for step in steps {
            step.retain(|step| !refused.contains(&step.entry.identity));
        }
        preview.refusals.extend(refusals);
    }

    /// Where deletions are waited for, what is being deleted is no reason to refuse.
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
        let outcome = ObjectOutcome::of(entry, Action::Created, Some(reason));
        let new = self.object(&entry.identity, context);
        let changes = new.map(|new| diff(&entry.identity.group_kind, &identity_of(&new), &new));
        self.tell_object(&outcome);
        Difference {
            outcome,
            changes: changes.unwrap_or_default(),
            leftovers: Vec::new(),
        }
    }

    fn refused_object(
        &self,
        refusal: &Refusal,
        entry: &Entry,
        context: &ApplyContext,
    ) -> Difference {
        let outcome = ObjectOutcome::of(entry, Action::Refused, Some(refusal.message()));
        self.tell_object(&outcome);
        let before = context.live.get(&outcome.identity);
        let before = before.map(PackedObject::unpack);
        let changes = self.changes(&outcome, before.as_ref(), None, context);
        Difference {
            outcome,
            changes,
            leftovers: Vec::new(),
        }
    }

    async fn rehearse_prunes(&self, preview: &Preview, all: &mut DryRunResults) {
        let options = RemovalOptions {
            release: &self.candidate.owner.id,
            concurrency: self.request.options.concurrency,
            dry_run: true,
            done: Action::Pruned,
            awaits: false,
            permit: self.run.permit(),
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
        let removed = self.run.remove_all(&going, options).await;
        all.stopped = all.stopped.or(removed.stopped);
        let standing = without_request(&preview.stale);
        for outcome in &standing {
            self.tell_object(outcome);
        }
        for outcome in removed.outcomes.into_iter().chain(standing) {
            if outcome.action == Action::Failed {
                all.forbidden.push(false);
            }
            all.objects.push(Difference {
                outcome,
                changes: Vec::new(),
                leftovers: Vec::new(),
            });
        }
    }
}

/// Everything that the plan names.
fn named(plan: &Plan) -> HashMap<Identity, Entry> {
    let named = plan.to_observe();
    named
        .map(|entry| (entry.identity.clone(), entry.clone()))
        .collect()
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
