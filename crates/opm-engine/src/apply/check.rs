//! `check`: everything that is decided before the first write. A refusal lists every reason at
//! once; nothing is touched unless everything passes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use opm_core::check::{
    ApplyStep, CheckedPlan, HookStep, ObjectBefore, Observed, PruneStep, Refusal, RefusalReason,
    Refusals, check, preview,
};
use opm_core::event::Wait;
use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_core::reach::NamespacePlan;
use opm_core::record::Record;
use serde_json::{Map, Value};

use super::Apply;
use super::observe::ObservedApply;
use super::send::AppliedObject;
use crate::failure::{Failure, FailureKind, Remedy};
use crate::ports::{Answer, Observation, Question, StoredSecret};
use crate::record::StoredNotes;
use crate::rollback::data::VolumeData;

/// A plan that passed all checks, and what carrying it out needs.
pub(super) struct CheckedApply {
    pub(super) checked: CheckedPlan,
    pub(super) context: ApplyContext,
    /// The record that the plan stands on: the stored one, or a new one.
    pub(super) record: Record,
    pub(super) stored: Option<StoredSecret>,
}

/// What the steps after the check have to know.
pub(super) struct ApplyContext {
    pub(super) namespaces: NamespacePlan,
    pub(super) first_apply: bool,
    /// Whether nothing of an earlier run can still land.
    pub(super) settled: bool,
    /// What is sent instead of the rendered object, where an autoscaler has a say.
    instead: BTreeMap<Identity, Map<String, Value>>,
    /// The live objects as they were seen.
    pub(super) live: BTreeMap<Identity, PackedObject>,
    /// Of which of them more than the metadata was seen.
    whole: HashSet<Identity>,
    /// What cannot be changed in place, and may be deleted and created again.
    pub(super) recreate: BTreeSet<Identity>,
    /// What need not be sent, as if it had been.
    pub(super) unchanged: HashMap<Identity, AppliedObject>,
    /// What is remembered of the last apply.
    pub(super) notes: StoredNotes,
    /// The places of the ring that the record named, or had given up.
    pub(super) places: BTreeSet<u8>,
    /// What was sent before everything else.
    pub(super) already: HashMap<Identity, AppliedObject>,
    pub(super) warnings: Vec<String>,
    pub(super) remedies: Vec<Remedy>,
}

impl ApplyContext {
    /// Whether an object is sent as it is rendered.
    pub(super) fn is_rendered(&self, identity: &Identity) -> bool {
        !self.instead.contains_key(identity)
    }

    /// The object as it was before this run.
    pub(super) fn before(&self, identity: &Identity) -> Option<ObjectBefore<'_>> {
        let object = self.live.get(identity)?;
        let whole = self.whole.contains(identity);
        Some(ObjectBefore { object, whole })
    }
}

impl Apply<'_> {
    /// What is sent for an object of the plan.
    pub(super) fn object<'s>(
        &'s self,
        identity: &Identity,
        context: &'s ApplyContext,
    ) -> Option<Cow<'s, Map<String, Value>>> {
        let rendered = || Some(self.candidate.object(identity)?.manifest.object());
        let instead = context.instead.get(identity).map(Cow::Borrowed);
        instead.or_else(rendered)
    }

    /// Checks, asks, and announces the plan. None if only objects that were being deleted stood
    /// in the way, and are gone now.
    pub(super) async fn check(
        &self,
        observed: ObservedApply,
    ) -> Result<Option<CheckedApply>, Failure> {
        let checked = self.check_or_ask(&observed).await?;
        if let (Ok(_), Err(refusals)) = (&observed.reached, &checked)
            && self.waits_for_deletion(refusals)
        {
            return self.deleted_first(refusals, &observed.observed).await;
        }
        let (applies, going, hooks) = self.considered(&checked, &observed);
        let reached = observed.reached.clone();
        let (record, stored) = (
            observed.planned.record.clone(),
            observed.planned.stored.clone(),
        );
        let namespaces = reached.clone().unwrap_or_default();
        let mut context = self.context(observed, namespaces, &going).await;
        self.decide_unchanged(&applies, &mut context);
        let unchanged = &context.unchanged;
        let to_send = applies.iter();
        let to_send = to_send.filter(|step| !unchanged.contains_key(&step.entry.identity));
        let to_send: Vec<ApplyStep> = to_send.cloned().collect();
        let mut failures: Vec<Failure> = reached.err().into_iter().collect();
        let (checked, mut refusals) = match checked {
            Ok(checked) => (Some(checked), Vec::new()),
            Err(refusals) => (None, refusals.0),
        };
        if !cannot_be_asked(&failures, &refusals) {
            let more = self
                .refused_beforehand(&to_send, &hooks, &mut context, stored.is_some())
                .await
                .map_err(|failure| self.refusal(failure))?;
            refusals.extend(more);
            let unremovable = self.without_unremovable(&to_send, &context);
            failures.extend(unremovable.await.err());
            let contested = self.without_contested_claims(applies.iter(), &going, &context);
            failures.extend(contested.await.err());
        }
        if !refusals.is_empty() {
            failures.push(Failure::of_refusals(Refusals(refusals)));
        }
        let failure = failures.into_iter().reduce(Failure::and);
        let checked = match (checked, failure) {
            (Some(checked), None) => checked,
            (_, failure) => {
                let failure = failure.unwrap_or_else(|| Failure::refused("a check refused"));
                let unmatched = self.unmatched_names().into_iter();
                let failure = unmatched.fold(failure, Failure::remedy);
                return Err(self.refusal(failure));
            }
        };
        self.announce(checked.applies(), &checked.stale);
        let stale = self.mode.check_stale(&checked.stale);
        stale.map_err(|failure| self.refusal(failure))?;
        self.as_reviewed(&checked, &context, &record)?;
        Ok(Some(CheckedApply {
            checked,
            context,
            record,
            stored,
        }))
    }

    /// What would be sent, what would go and which hooks would run, of what is not refused.
    fn considered(
        &self,
        checked: &Result<CheckedPlan, Refusals>,
        observed: &ObservedApply,
    ) -> (Vec<ApplyStep>, Vec<PruneStep>, Vec<HookStep>) {
        match checked {
            Ok(checked) => (
                checked.applies().cloned().collect(),
                checked.stale.prune.clone(),
                checked.hooks.clone(),
            ),
            Err(_) => {
                let checking = self.check_context(observed);
                let preview = preview(&observed.planned.plan, &observed.observed, &checking);
                let applies = preview.applies().cloned().collect();
                (applies, preview.stale.prune, preview.hooks)
            }
        }
    }

    /// Checks the plan. That nothing is rendered is asked about, if it is all that stands in the
    /// way; unless somebody says that it is meant, it stays a refusal.
    async fn check_or_ask(
        &self,
        observed: &ObservedApply,
    ) -> Result<Result<CheckedPlan, Refusals>, Failure> {
        let mut plan = observed.planned.plan.clone();
        let checking = self.check_context(observed);
        let refusals = match check(plan.clone(), &observed.observed, &checking) {
            Err(refusals) if observed.reached.is_ok() => refusals,
            checked => return Ok(checked),
        };
        if self.agrees_to_replace(&refusals).await? {
            plan.options.replace_all = true;
            return Ok(check(plan, &observed.observed, &checking));
        }
        if !refusals.only_empty_render() {
            return Ok(Err(refusals));
        }
        plan.options.allow_empty = true;
        let Ok(emptied) = check(plan, &observed.observed, &checking) else {
            return Ok(Err(refusals));
        };
        let going = emptied.stale.prune.iter();
        let question = Question::EmptyRender {
            release: self.release().name.to_string(),
            objects: going.map(|step| step.entry.identity.clone()).collect(),
        };
        Ok(match self.run.confirm(&question).await? {
            Answer::Yes => Ok(emptied),
            Answer::No | Answer::CannotAsk => Err(refusals),
        })
    }

    /// What the steps after the check have to know.
    pub(super) async fn context(
        &self,
        observed: ObservedApply,
        namespaces: NamespacePlan,
        going: &[PruneStep],
    ) -> ApplyContext {
        let ObservedApply {
            live,
            whole,
            planned,
            notes,
            ..
        } = observed;
        let first_apply = planned.current().is_none();
        let mut warnings = planned.warnings;
        let instead = self
            .run
            .autoscaled(&self.candidate, &live, going, self.served, &mut warnings)
            .await;
        for identity in instead.keys() {
            warnings.push(format!(
                "{identity}: an autoscaler targets it, so its replicas are left as they are"
            ));
        }
        ApplyContext {
            namespaces,
            first_apply,
            settled: planned.settled,
            instead,
            live,
            whole,
            recreate: BTreeSet::new(),
            unchanged: HashMap::new(),
            notes,
            places: planned.places,
            already: HashMap::new(),
            warnings,
            remedies: planned.remedies,
        }
    }

    /// Whether that it looks like another module is all that stands in the way, and somebody says
    /// that it is meant.
    async fn agrees_to_replace(&self, refusals: &Refusals) -> Result<bool, Failure> {
        let [
            Refusal {
                why: RefusalReason::AnotherModule(objects),
                ..
            },
        ] = refusals.0.as_slice()
        else {
            return Ok(false);
        };
        let question = Question::ReplaceAll {
            release: self.candidate.owner.release.to_string(),
            objects: objects.clone(),
        };
        match self.run.confirm(&question).await {
            Ok(answer) => Ok(answer == Answer::Yes),
            Err(stopped) => Err(self.refusal(stopped)),
        }
    }

    /// Whether objects that are being deleted are all that stands in the way, and are waited for.
    fn waits_for_deletion(&self, refusals: &Refusals) -> bool {
        let terminating = |why: &RefusalReason| matches!(why, RefusalReason::Terminating);
        self.request.options.wait_for_deletion
            && refusals.0.iter().all(|refusal| terminating(&refusal.why))
    }

    /// Waits for objects that are being deleted; everything is then looked at anew.
    async fn deleted_first(
        &self,
        refusals: &Refusals,
        observed: &Observed,
    ) -> Result<Option<CheckedApply>, Failure> {
        let objects = refusals.0.iter().filter_map(|r| r.object.clone());
        let going = objects.filter_map(|identity| {
            let live = observed.get(&identity).and_then(Observation::present)?;
            Some((identity, live.uid.clone()))
        });
        let failure = Failure::of_refusals(refusals.clone());
        self.wait_for_deletion(&going.collect(), failure).await?;
        Ok(None)
    }

    /// Waits until these objects are gone; if they do not go in time, the refusal stands.
    async fn wait_for_deletion(
        &self,
        going: &BTreeMap<Identity, String>,
        failure: Failure,
    ) -> Result<(), Failure> {
        self.tell_waiting(Wait::Gone(going.keys().cloned().collect()));
        let timeout = self.request.options.timeout;
        let waited = self.run.wait_gone(going, timeout, self.run.permit()).await;
        match waited {
            Ok(there) if there.is_empty() => Ok(()),
            Ok(there) => {
                let holds = there
                    .iter()
                    .map(|(identity, why)| format!("{identity}: {why}"));
                let holds = holds.collect::<Vec<_>>().join("; ");
                Err(self.refusal(failure.remedy(format!("not gone in time: {holds}"))))
            }
            Err(error) => {
                let what = "cannot wait for objects to be deleted";
                Err(self.refusal(Failure::before_writing(what, &error)))
            }
        }
    }

    /// Whoever goes back has to know what does not come back with it.
    pub(super) async fn ask_about_data(&self, checked: &CheckedPlan) -> Result<(), Failure> {
        if !self.mode.asks_about_data {
            return Ok(());
        }
        let data = VolumeData::of_plan(checked.applies(), &checked.stale);
        let Some(question) = data.question() else {
            return Ok(());
        };
        let answer = self.run.confirm(&question).await;
        let agreed = answer.and_then(|answer| data.agreed(answer));
        agreed.map_err(|failure| self.refusal(failure))
    }
}

/// Whether the server does not answer: more questions would only take longer.
fn cannot_be_asked(failures: &[Failure], refusals: &[Refusal]) -> bool {
    let silent = |refusal: &Refusal| matches!(refusal.why, RefusalReason::Unreachable(_));
    let mut kinds = failures.iter().map(|failure| failure.kind);
    kinds.any(|kind| kind == FailureKind::Unreachable) || refusals.iter().any(silent)
}
