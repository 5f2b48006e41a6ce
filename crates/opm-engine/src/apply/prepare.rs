//! Everything that comes before the first write: the candidate, the plan, the look at the
//! cluster, and the checks. A refusal lists every reason at once.

use std::collections::{BTreeMap, HashMap};

use opm_core::candidate::{Candidate, CandidateObject, Selection};
use opm_core::check::{CheckedPlan, Checking, Live, Observed, Refusals, Seen, Why, check};
use opm_core::identity::Identity;
use opm_core::plan::{
    ComponentOrder, Desired, DesiredObject, Occupants, Plan, PlanOptions, plan,
};
use opm_core::reach::{self, OwnNamespace};
use opm_core::record::Record;
use serde_json::{Map, Value};

use super::Apply;
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::observe::scopes;
use crate::ports::{Clock, Cluster, Detail, ErrorKind, Found, SecretStore, ServedKinds};
use crate::record::Loaded;
use crate::request::ApplyRequest;

/// A checked plan with everything that carrying it out needs.
pub(super) struct Prepared {
    pub(super) checked: CheckedPlan,
    pub(super) own_namespace: OwnNamespace,
    /// The rendered objects.
    pub(super) objects: HashMap<Identity, CandidateObject>,
    /// What is sent instead of the rendered object, where an autoscaler has a say.
    pub(super) instead: BTreeMap<Identity, Map<String, Value>>,
    /// The live objects as they were seen; whole in a dry run, else metadata only.
    pub(super) live: BTreeMap<Identity, Map<String, Value>>,
    pub(super) loaded: Option<Loaded>,
    pub(super) warnings: Vec<String>,
}

/// Why there is nothing to carry out.
pub(super) enum Unprepared {
    /// For good.
    Failure(Failure),
    /// These objects are being deleted, and are all that stands in the way.
    Terminating(BTreeMap<Identity, String>, Failure),
}

impl From<Failure> for Unprepared {
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
            scopes(served),
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
        loaded: Option<Loaded>,
        served: &ServedKinds,
    ) -> Result<Prepared, Unprepared> {
        let own_namespace = self.reach(served).await?;
        let plan = self.plan(loaded.as_ref().map(|loaded| &loaded.record))?;
        let (observed, live) = self.observe(&plan).await;
        let occupants = self.look_into(&plan, served).await;
        let checking = Checking {
            release: self.candidate.owner.id,
            adopt: self.request.adopt.clone(),
            take_ownership: self.request.take_ownership,
            occupants: &occupants,
        };
        let checked = check(plan, &observed, &checking)
            .map_err(|refusals| self.refused(&refusals, &observed))?;
        let mut warnings: Vec<String> = self.candidate.warnings.iter().map(ToString::to_string).collect();
        let instead = self
            .engine
            .autoscaled(&self.candidate, served, &mut warnings)
            .await;
        for identity in instead.keys() {
            warnings.push(format!(
                "{identity}: an autoscaler targets it, so its replicas are left as they are"
            ));
        }
        let objects = self.candidate.objects.iter();
        Ok(Prepared {
            checked,
            own_namespace,
            objects: objects
                .map(|object| (object.manifest.identity().clone(), object.clone()))
                .collect(),
            instead,
            live,
            loaded,
            warnings,
        })
    }

    async fn reach(&self, served: &ServedKinds) -> Result<OwnNamespace, Failure> {
        let surroundings = self.engine.surroundings(&self.candidate, served).await;
        let reached = reach::check(&self.candidate, &surroundings, self.request.create_namespace);
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

    fn plan(&self, stored: Option<&Record>) -> Result<Plan, Failure> {
        let options = PlanOptions {
            no_prune: self.request.no_prune,
            allow_empty: self.request.allow_empty,
            guards: self.request.guards,
        };
        let desired = desired(&self.candidate);
        plan(&desired, stored, options)
            .map_err(|error| Failure::new(FailureKind::Refused, error.to_string()))
    }

    async fn observe(&self, plan: &Plan) -> (Observed, BTreeMap<Identity, Map<String, Value>>) {
        let wanted: Vec<Identity> = plan.to_observe().map(|e| e.identity.clone()).collect();
        let detail = match self.request.dry_run {
            true => Detail::Whole,
            false => Detail::Metadata,
        };
        let looks = self.engine.cluster.look(&wanted, detail).await;
        let release = &self.candidate.owner.id;
        let mut live = BTreeMap::new();
        let mut observed = Observed::with_capacity(looks.len());
        for (identity, found) in looks {
            let seen = match found {
                Found::Absent => Seen::Absent,
                Found::Failed(error) if error.kind == ErrorKind::Forbidden => {
                    Seen::Forbidden(error.to_string())
                }
                Found::Failed(error) => Seen::Unreachable(error.to_string()),
                Found::Present(object) => {
                    let seen = Seen::Present(Box::new(Live::read(&object, release)));
                    live.insert(identity.clone(), object);
                    seen
                }
            };
            observed.insert(identity, seen);
        }
        (observed, live)
    }

    async fn look_into(&self, plan: &Plan, served: &ServedKinds) -> HashMap<Identity, Occupants> {
        let mut occupants = HashMap::new();
        for holder in plan.to_look_into() {
            let held = self.engine.occupants(holder, served).await;
            occupants.insert(holder.clone(), held);
        }
        occupants
    }

    /// Every reason at once. Objects that are being deleted can be waited for, if nothing else
    /// stands in the way.
    fn refused(&self, refusals: &Refusals, observed: &Observed) -> Unprepared {
        let failure = Failure::refused(refusals);
        let terminating = |why: &Why| matches!(why, Why::Terminating);
        if !self.request.wait_for_deletion || !refusals.0.iter().all(|r| terminating(&r.why)) {
            return Unprepared::Failure(failure);
        }
        let going = refusals.0.iter().filter_map(|refusal| {
            let identity = refusal.object.clone()?;
            match observed.get(&identity)? {
                Seen::Present(live) => Some((identity, live.uid.clone())),
                Seen::Absent | Seen::Forbidden(_) | Seen::Unreachable(_) => None,
            }
        });
        Unprepared::Terminating(going.collect(), failure)
    }
}

/// A candidate as a plan wants it.
fn desired(candidate: &Candidate) -> Desired {
    let components = candidate.components.iter().map(|component| ComponentOrder {
        name: component.name.to_string(),
        after: component.after.iter().map(ToString::to_string).collect(),
    });
    let objects = candidate.objects.iter().map(|object| {
        let mut entry = object.entry();
        entry.hash = Some(object.hash.clone());
        DesiredObject {
            entry,
            shared: opm_core::labels::is_shared(&object.manifest),
            expires: expires(object.manifest.object()),
        }
    });
    Desired {
        components: components.collect(),
        objects: objects.collect(),
    }
}

/// A Job that removes itself when it is done.
fn expires(object: &Map<String, Value>) -> bool {
    object
        .get("spec")
        .and_then(|spec| spec.get("ttlSecondsAfterFinished"))
        .is_some_and(|ttl| !ttl.is_null())
}
