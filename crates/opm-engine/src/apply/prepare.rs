//! Everything that comes before the first write: the candidate, the plan, the look at the
//! cluster, and the checks. A refusal lists every reason at once.

use std::collections::{BTreeMap, HashMap};

use opm_core::candidate::{Candidate, Selection};
use opm_core::check::{
    CheckContext, CheckedPlan, Observed, PruneStep, RefusalReason, Refusals, Seen, check,
};
use opm_core::event::Wait;
use opm_core::identity::Identity;
use opm_core::plan::{Occupants, Plan, PlanOptions, plan};
use opm_core::reach::{self, OwnNamespace};
use opm_core::record::Record;
use opm_core::scope::Scopes;
use serde_json::{Map, Value};

use super::Apply;
use super::send::AppliedObject;
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::observe::scopes;
use crate::ports::{Clock, Cluster, Detail, SecretStore, ServedKinds};
use crate::record::LoadedRecord;
use crate::request::ApplyRequest;
use crate::run::new_record;

/// A checked plan, and what carrying it out needs.
pub(super) struct Prepared {
    pub(super) checked: CheckedPlan,
    pub(super) context: ApplyContext,
    pub(super) loaded: Option<LoadedRecord>,
    /// The record that the plan stands on: the stored one, or a new one.
    pub(super) record: Record,
}

/// A plan, and everything that was seen of what it is about.
pub(super) struct ObservedPlan {
    pub(super) plan: Plan,
    pub(super) observed: Observed,
    pub(super) live: BTreeMap<Identity, Map<String, Value>>,
    occupants: HashMap<Identity, Occupants>,
    /// Whether what the candidate needs of the cluster is there.
    pub(super) reached: Result<OwnNamespace, Failure>,
    loaded: Option<LoadedRecord>,
    record: Record,
    warnings: Vec<String>,
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
}

impl ApplyContext {
    /// What is sent for an object of the plan.
    pub(super) fn object(&self, identity: &Identity) -> Option<&Map<String, Value>> {
        let instead = self.instead.get(identity);
        instead.or_else(|| self.objects.get(identity))
    }
}

/// Why there is nothing to carry out.
pub(super) enum PrepareError {
    /// For good.
    Failure(Failure),
    /// These objects are being deleted, and are all that stands in the way.
    Terminating(BTreeMap<Identity, String>, Failure),
}

impl From<Failure> for PrepareError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// What the release is about to be.
    pub(super) fn candidate(
        &self,
        request: &ApplyRequest,
        stored: Option<&Record>,
        served: &ServedKinds,
    ) -> Result<Candidate, Failure> {
        self.candidate_in(request, stored, scopes(served))
    }

    /// The same, of objects that were applied before: where they live is known from themselves,
    /// also if the cluster does not know their kind any more.
    pub(super) fn candidate_again(
        &self,
        request: &ApplyRequest,
        stored: Option<&Record>,
        served: &ServedKinds,
    ) -> Result<Candidate, Failure> {
        let applied = request.rendered.components.iter();
        let applied = applied.flat_map(|component| &component.manifests);
        self.candidate_in(request, stored, scopes(served).with_applied(applied))
    }

    fn candidate_in(
        &self,
        request: &ApplyRequest,
        stored: Option<&Record>,
        scopes: Scopes,
    ) -> Result<Candidate, Failure> {
        let recorded = stored.and_then(Record::current);
        let recorded = recorded.and_then(|change| change.components.clone());
        let selection = match &request.selection {
            Some(given) => Selection::Given(given.iter().map(ToString::to_string).collect()),
            None => Selection::Recorded(recorded.unwrap_or_default()),
        };
        let candidate = Candidate::new(
            request.rendered.clone(),
            request.name.clone(),
            request.namespace.clone(),
            &selection,
            scopes,
        );
        candidate.map_err(|error| {
            let failure = Failure::new(FailureKind::Refused, error.to_string());
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Plans, looks, and checks.
    pub(super) async fn prepare(
        &self,
        loaded: Option<LoadedRecord>,
        warnings: Vec<String>,
        served: &ServedKinds,
    ) -> Result<Prepared, PrepareError> {
        let observed_plan = self.survey(loaded, warnings, served).await?;
        let checked = check(
            observed_plan.plan.clone(),
            &observed_plan.observed,
            &self.checking(&observed_plan),
        );
        let (own_namespace, checked) = match (&observed_plan.reached, checked) {
            (Ok(own_namespace), Ok(checked)) => (*own_namespace, checked),
            (Err(failure), Ok(_)) => return Err(failure.clone().into()),
            (Ok(_), Err(refusals)) => return Err(self.refused(&refusals, &observed_plan.observed)),
            (Err(failure), Err(refusals)) => {
                return Err(failure.clone().and(Failure::refused(&refusals)).into());
            }
        };
        let going = &checked.stale.prune;
        let context = self
            .context(observed_plan, own_namespace, going, served)
            .await;
        let (context, loaded, record) = context;
        self.without_conflicts(&checked, &context).await?;
        let going = &checked.stale.prune;
        self.without_contested_claims(checked.applies(), going, &context)
            .await?;
        Ok(Prepared {
            checked,
            context,
            loaded,
            record,
        })
    }

    /// Plans, and looks at everything that the plan is about. Decides nothing.
    pub(super) async fn survey(
        &self,
        loaded: Option<LoadedRecord>,
        mut warnings: Vec<String>,
        served: &ServedKinds,
    ) -> Result<ObservedPlan, Failure> {
        let reached = self.reach(served).await;
        if loaded.is_none() {
            warnings.extend(self.engine.namesakes(&self.release()).await);
        }
        let stored = loaded.as_ref().map(|loaded| loaded.record.clone());
        let mut record = stored.unwrap_or_else(|| new_record(&self.candidate.owner));
        self.add_orphans(&mut record, loaded.is_none(), served, &mut warnings)
            .await?;
        let plan = self.plan(&record)?;
        let detail = match self.request.options.dry_run {
            true => Detail::Whole,
            false => Detail::Metadata,
        };
        let release = &self.candidate.owner.id;
        let (observed, live) = self.engine.observe(&plan, release, detail).await;
        let occupants = self.engine.look_into(&plan, served).await;
        Ok(ObservedPlan {
            plan,
            observed,
            live,
            occupants,
            reached,
            loaded,
            record,
            warnings,
        })
    }

    /// What the check has to know beside the plan and the live objects.
    pub(super) fn checking<'s>(&self, observed_plan: &'s ObservedPlan) -> CheckContext<'s> {
        CheckContext {
            release: self.candidate.owner.id,
            adopt: self.request.options.adopt.clone(),
            take_ownership: self.request.options.take_ownership,
            occupants: &observed_plan.occupants,
        }
    }

    /// What the steps after the check have to know, and what the plan stands on.
    pub(super) async fn context(
        &self,
        observed_plan: ObservedPlan,
        own_namespace: OwnNamespace,
        going: &[PruneStep],
        served: &ServedKinds,
    ) -> (ApplyContext, Option<LoadedRecord>, Record) {
        let ObservedPlan {
            live,
            loaded,
            record,
            mut warnings,
            ..
        } = observed_plan;
        warnings.extend(loaded.iter().flat_map(|loaded| loaded.warnings.clone()));
        warnings.extend(self.candidate.warnings.iter().map(ToString::to_string));
        let instead = self
            .engine
            .autoscaled(&self.candidate, &live, going, served, &mut warnings)
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
        let current = loaded.as_ref().and_then(|loaded| loaded.record.current());
        let context = ApplyContext {
            own_namespace,
            first_apply: current.is_none(),
            objects: objects.collect(),
            instead,
            live,
            already: HashMap::new(),
            warnings,
        };
        (context, loaded, record)
    }

    async fn reach(&self, served: &ServedKinds) -> Result<OwnNamespace, Failure> {
        let mut cluster_state = self.engine.cluster_state(&self.candidate, served).await;
        self.probe(&mut cluster_state).await;
        let reached = reach::check(
            &self.candidate,
            &cluster_state,
            self.request.create_namespace,
        );
        reached.map_err(|problems| {
            let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let mut failure = Failure::new(FailureKind::Refused, reasons.join("\n"));
            failure.hints = problems
                .iter()
                .filter_map(|problem| problem.hint(&self.request.namespace))
                .collect();
            failure.hints.dedup();
            failure
        })
    }

    fn plan(&self, record: &Record) -> Result<Plan, Failure> {
        let options = PlanOptions {
            no_prune: self.request.options.no_prune,
            allow_empty: self.request.options.allow_empty,
            guards: self.request.options.guards,
        };
        plan(&self.candidate.desired(), Some(record), options)
            .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))
    }

    /// Every reason at once. Objects that are being deleted can be waited for, if nothing else
    /// stands in the way.
    fn refused(&self, refusals: &Refusals, observed: &Observed) -> PrepareError {
        let failure = Failure::refused(refusals);
        let terminating = |why: &RefusalReason| matches!(why, RefusalReason::Terminating);
        if !self.request.options.wait_for_deletion
            || !refusals.0.iter().all(|r| terminating(&r.why))
        {
            return PrepareError::Failure(failure);
        }
        let going = refusals.0.iter().filter_map(|refusal| {
            let identity = refusal.object.clone()?;
            match observed.get(&identity)? {
                Seen::Present(live) => Some((identity, live.uid.clone())),
                Seen::Absent | Seen::Forbidden(_) | Seen::Unreachable(_) => None,
            }
        });
        PrepareError::Terminating(going.collect(), failure)
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Waits until these objects are gone; if they do not go in time, the refusal stands.
    pub(super) async fn wait_for_deletion(
        &self,
        going: &BTreeMap<Identity, String>,
        failure: Failure,
    ) -> Result<(), Failure> {
        self.tell_waiting(Wait::Gone(going.keys().cloned().collect()));
        match self
            .engine
            .wait_gone(going, self.request.options.timeout)
            .await
        {
            Ok(there) if there.is_empty() => Ok(()),
            Ok(there) => {
                let holds = there
                    .iter()
                    .map(|(identity, why)| format!("{identity}: {why}"));
                let holds = holds.collect::<Vec<_>>().join("; ");
                Err(self.refusal(failure.hint(format!("the time is over: {holds}"))))
            }
            Err(error) => {
                let what = "cannot wait for objects to be deleted";
                Err(self.refusal(Failure::before_writing(what, &error)))
            }
        }
    }
}
