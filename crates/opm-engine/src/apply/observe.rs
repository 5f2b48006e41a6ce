//! `observe`: what there is of everything that the plan is about. Decides nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use opm_core::check::{Adopt, CheckContext, HelmRelease, LiveObject, Observed};
use opm_core::digest::ObjectHash;
use opm_core::entry::Entry;
use opm_core::event::RunPhase;
use opm_core::identity::Identity;
use opm_core::nearest::{did_you_mean, nearest};
use opm_core::packed::PackedObject;
use opm_core::plan::Occupants;
use opm_core::reach::{self, MissingRequirement, NamespacePlan};
use opm_core::record::{AppliedNotes, Record};

use super::Apply;
use super::early::EarlyLook;
use super::plan::PlannedApply;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Detail, Observation, WantedObject};
use crate::record::StoredNotes;

/// A plan, and everything that was seen of what it is about.
pub(super) struct ObservedApply {
    pub(super) planned: PlannedApply,
    pub(super) observed: Observed,
    pub(super) live: BTreeMap<Identity, PackedObject>,
    /// Of which live objects more than the metadata was seen.
    pub(super) whole: HashSet<Identity>,
    occupants: HashMap<Identity, Occupants>,
    /// What is remembered of the last apply.
    pub(super) notes: StoredNotes,
    /// Whether what the candidate needs of the cluster is there.
    pub(super) reached: Result<NamespacePlan, Failure>,
}

impl Apply<'_> {
    /// Looks at the namespaces and kinds that the candidate needs, at every object of the plan,
    /// and into what the plan would delete with everything in it.
    pub(super) async fn observe(
        &self,
        mut planned: PlannedApply,
        early: Option<EarlyLook>,
    ) -> ObservedApply {
        let record = &planned.record;
        let current = planned.current();
        let same_change = current.as_deref() == Some(self.candidate.change.as_str());
        let changed = self.rendered_anew(record);
        let look = |entry: &Entry| match self.request.options.dry_run {
            _ if changed.contains(&entry.identity) => Detail::Whole,
            true => Detail::Whole,
            false => Detail::Metadata,
        };
        self.tell_phase(RunPhase::Look, self.candidate.objects.len());
        let (id, release) = (&self.candidate.owner.id, self.release());
        // Who asks is told in lock and log, which come later.
        let who = async {
            if !self.request.options.dry_run {
                self.run.who().await;
            }
        };
        let sends_something = !changed.is_empty();
        let rights = async {
            if sends_something {
                self.ask_rights().await;
            }
        };
        let covers = |early: &EarlyLook| {
            let mut named = planned.plan.to_observe();
            named.all(|entry| early.observed.contains_key(&entry.identity))
        };
        let (reached, (mut observed, mut live), notes) = match early.filter(covers) {
            Some(early) => (
                early.reached,
                (early.observed, early.live),
                StoredNotes::default(),
            ),
            None => {
                let (reached, seen, notes, (), ()) = futures::join!(
                    Box::pin(self.reach(planned.stored.is_some())),
                    Box::pin(self.run.observe(&planned.plan, id, look)),
                    Box::pin(self.run.stored_notes(&release, record, same_change)),
                    Box::pin(who),
                    Box::pin(rights)
                );
                (reached, seen, notes)
            }
        };
        let mut whole: HashSet<Identity> = match self.request.options.dry_run {
            true => live.keys().cloned().collect(),
            false => changed,
        };
        whole.retain(|identity| live.contains_key(identity));
        planned.warnings.extend(self.without_objects(&observed));
        for (identity, found) in self.look_closer(&notes.notes, &whole, &live).await {
            match found {
                // Whose it is by now counts, and not whose it was a moment ago.
                Some(object) => {
                    let judged = LiveObject::read(&object.unpack(), id);
                    observed.insert(identity.clone(), Observation::Present(judged));
                    live.insert(identity.clone(), object);
                    whole.insert(identity);
                }
                None => _ = live.remove(&identity),
            }
        }
        let occupants = self.run.look_into(&planned.plan, Some(self.served)).await;
        ObservedApply {
            planned,
            observed,
            live,
            whole,
            occupants,
            notes,
            reached,
        }
    }

    /// What is rendered otherwise than it was recorded: that it was not just applied is known before
    /// anybody looks at it.
    fn rendered_anew(&self, record: &Record) -> HashSet<Identity> {
        let recorded = record.inventory().iter().map(|recorded| &recorded.entry);
        let recorded = recorded.map(|entry| (&entry.identity, entry.hash.as_ref()));
        let recorded: HashMap<&Identity, Option<&ObjectHash>> = recorded.collect();
        let objects = self.candidate.objects.iter();
        let anew = objects.filter(|object| {
            let hash = recorded.get(object.manifest.identity()).copied().flatten();
            hash.is_some_and(|hash| *hash != object.hash)
        });
        anew.map(|object| object.manifest.identity().clone())
            .collect()
    }

    /// Reads the whole of the objects that are not known to be as they were applied. What cannot be
    /// read is as if it had not been seen: what an apply does to it then counts as a change.
    async fn look_closer(
        &self,
        notes: &AppliedNotes,
        whole: &HashSet<Identity>,
        live: &BTreeMap<Identity, PackedObject>,
    ) -> Vec<(Identity, Option<PackedObject>)> {
        let unsettled = self.candidate.objects.iter().filter(|object| {
            let identity = object.manifest.identity();
            let seen = live.get(identity).filter(|_| !whole.contains(identity));
            seen.is_some_and(|seen| !self.is_settled(object, seen, notes.get(identity)))
        });
        let wanted: Vec<WantedObject> = unsettled
            .map(|object| WantedObject::from(&object.manifest))
            .collect();
        let found = self.run.backend.look_in_version(&wanted, Detail::Whole);
        let found = found.await.into_iter();
        found
            .map(|(identity, found)| (identity, found.found().ok().flatten()))
            .collect()
    }

    /// What the check has to know beside the plan and the live objects.
    pub(super) fn check_context<'s>(&self, observed: &'s ObservedApply) -> CheckContext<'s> {
        CheckContext {
            release: self.candidate.owner.id,
            adopt: self.adopt(),
            take_ownership: self.request.options.take_ownership,
            occupants: &observed.occupants,
        }
    }

    /// What may be adopted; a release of Helm is one of this namespace unless it says otherwise.
    fn adopt(&self) -> Adopt {
        let namespace = self.request.namespace.as_str();
        let adopt = self.request.options.adopt.in_namespace(namespace);
        adopt.known_as(|word| self.served.called(word))
    }

    /// Releases of Helm of which no object is to be adopted: perhaps the name is another one.
    fn without_objects(&self, observed: &Observed) -> Vec<String> {
        let adopt = self.adopt();
        let has = |release: &&HelmRelease| {
            let mut seen = observed.values().filter_map(Observation::present);
            seen.any(|live| live.helm_release.as_ref() == Some(*release))
        };
        let missing = adopt.helm_releases().filter(|release| !has(release));
        let missing = missing.map(|release| {
            format!("no object that the module renders belongs to the Helm release {release}")
        });
        missing.chain(self.unmatched_names()).collect()
    }

    /// Names of objects to adopt that the module does not render: perhaps they are called
    /// otherwise.
    pub(super) fn unmatched_names(&self) -> Vec<String> {
        let rendered = self.candidate.objects.iter();
        let rendered = rendered.map(|object| object.manifest.identity());
        let rendered: Vec<&Identity> = rendered.collect();
        let adopt = self.adopt();
        let unmatched = adopt.unmatched(&rendered);
        let unmatched = unmatched.into_iter().map(|named| {
            let spelled = rendered.iter();
            let spelled = spelled.map(|one| format!("{}/{}", one.kind(), one.name));
            let spelled: Vec<String> = spelled.collect();
            let near = nearest(&named.to_string(), spelled.iter().map(String::as_str));
            let near = did_you_mean(&near).map(|words| format!("; {words}"));
            format!(
                "{named} names no object that the module renders, so nothing is adopted by that \
                 name{}",
                near.unwrap_or_default()
            )
        });
        unmatched.collect()
    }

    pub(super) async fn reach(&self, recorded: bool) -> Result<NamespacePlan, Failure> {
        // The record is in it.
        let active = self.request.namespace.as_str();
        let active = recorded.then_some(active);
        let state = self.run.cluster_state(&self.candidate, self.served, active);
        let mut state = state.await;
        self.probe(&mut state).await;
        reach::check(&self.candidate, &state, self.request.create_namespace).map_err(|problems| {
            let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let remedies = problems
                .iter()
                .filter_map(|problem| problem.remedy(&self.candidate));
            let kinds = problems.iter().map(MissingRequirement::kind);
            let kind = kinds.reduce(FailureKind::and);
            let failure = Failure::new(kind.unwrap_or(FailureKind::Refused), reasons.join("\n"));
            remedies.fold(failure, Failure::remedy)
        })
    }
}
