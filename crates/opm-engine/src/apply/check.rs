//! `check`: everything that is decided before the first write. A refusal lists every reason at
//! once; nothing is touched unless everything passes.

use std::collections::{BTreeMap, HashMap};

use opm_core::check::{CheckedPlan, Observed, PruneStep, Refusal, RefusalReason, Refusals, check};
use opm_core::event::Wait;
use opm_core::identity::Identity;
use opm_core::reach::OwnNamespace;
use opm_core::record::Record;
use serde_json::{Map, Value};

use super::Apply;
use super::observe::ObservedApply;
use super::send::AppliedObject;
use crate::failure::{Failure, Remedy};
use crate::ports::{Answer, Backend, Observation, Question, StoredSecret};
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
    pub(super) own_namespace: OwnNamespace,
    pub(super) first_apply: bool,
    /// The rendered objects.
    objects: HashMap<Identity, Map<String, Value>>,
    /// What is sent instead of the rendered object, where an autoscaler has a say.
    instead: BTreeMap<Identity, Map<String, Value>>,
    /// The live objects as they were seen; whole in a dry run, else metadata only.
    pub(super) live: BTreeMap<Identity, Map<String, Value>>,
    /// What was sent before everything else.
    pub(super) already: HashMap<Identity, AppliedObject>,
    pub(super) warnings: Vec<String>,
    pub(super) remedies: Vec<Remedy>,
}

impl ApplyContext {
    /// What is sent for an object of the plan.
    pub(super) fn object(&self, identity: &Identity) -> Option<&Map<String, Value>> {
        let instead = self.instead.get(identity);
        instead.or_else(|| self.objects.get(identity))
    }
}

impl<B: Backend> Apply<'_, B> {
    /// Checks, asks, and announces the plan. None if only objects that were being deleted stood
    /// in the way, and are gone now.
    pub(super) async fn check(
        &self,
        observed: ObservedApply,
    ) -> Result<Option<CheckedApply>, Failure> {
        let checked = self.check_or_ask(&observed).await?;
        let (own_namespace, checked) = match (&observed.reached, checked) {
            (Ok(own_namespace), Ok(checked)) => (*own_namespace, checked),
            (Err(failure), Ok(_)) => return Err(self.refusal(failure.clone())),
            (Ok(_), Err(refusals)) => return self.refused(refusals, &observed.observed).await,
            (Err(failure), Err(refusals)) => {
                let failure = failure.clone().and(Failure::of_refusals(refusals));
                return Err(self.refusal(failure));
            }
        };
        let record = observed.planned.record.clone();
        let stored = observed.planned.stored.clone();
        let going = &checked.stale.prune;
        let context = self.context(observed, own_namespace, going).await;
        self.without_conflicts(&checked, &context)
            .await
            .map_err(|failure| self.refusal(failure))?;
        self.without_unremovable(&checked, &context)
            .await
            .map_err(|failure| self.refusal(failure))?;
        self.without_contested_claims(checked.applies(), going, &context)
            .await
            .map_err(|failure| self.refusal(failure))?;
        self.announce(checked.applies(), &checked.stale);
        let stale = self.mode.check_stale(&checked.stale);
        stale.map_err(|failure| self.refusal(failure))?;
        Ok(Some(CheckedApply {
            checked,
            context,
            record,
            stored,
        }))
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
        own_namespace: OwnNamespace,
        going: &[PruneStep],
    ) -> ApplyContext {
        let ObservedApply { live, planned, .. } = observed;
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
        let objects = self.candidate.objects.iter().map(|object| {
            let manifest = &object.manifest;
            (manifest.identity().clone(), manifest.object().clone())
        });
        ApplyContext {
            own_namespace,
            first_apply,
            objects: objects.collect(),
            instead,
            live,
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

    /// Every reason at once. Objects that are being deleted can be waited for, if nothing else
    /// stands in the way.
    async fn refused(
        &self,
        refusals: Refusals,
        observed: &Observed,
    ) -> Result<Option<CheckedApply>, Failure> {
        let terminating = |why: &RefusalReason| matches!(why, RefusalReason::Terminating);
        let only_terminating = refusals.0.iter().all(|refusal| terminating(&refusal.why));
        let objects = refusals.0.iter().filter_map(|r| r.object.clone());
        let objects: Vec<Identity> = objects.collect();
        let failure = Failure::of_refusals(refusals);
        if !self.request.options.wait_for_deletion || !only_terminating {
            return Err(self.refusal(failure));
        }
        let going = objects.into_iter().filter_map(|identity| {
            let live = observed.get(&identity).and_then(Observation::present)?;
            Some((identity, live.uid.clone()))
        });
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
                Err(self.refusal(failure.remedy(format!("the time is over: {holds}"))))
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
