//! A run of the flow over a cluster in miniature, in the order of the RFC's steps.

use std::collections::{BTreeMap, HashMap};

use opm_core::check::{
    ApplyMethod, CheckContext, CheckedPlan, LiveObject, Observed, PruneMethod, Refusals, check,
};
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::labels::OwnerLabels;
use opm_core::observation::Observation;
use opm_core::plan::{Desired, Plan, Purpose, plan, plan_delete, plan_delete_component};
use opm_core::protocol::{
    Conclusion, LockObservation, LockState, Locked, PruneOutcome, RunEnd, RunStart, SendOutcome,
    Timing, begin,
};
use opm_core::record::{LogResult, Record};

use crate::world::{
    Flags, Ran, Thing, World, change, change_of, desired, lock, new_record, release,
};

impl World {
    pub(crate) fn observe(&self, plan: &Plan) -> Observed {
        let look = |entry: &Entry| {
            let identity = entry.identity.clone();
            let seen = match (self.hidden.get(&identity), self.objects.get(&identity)) {
                (Some(seen), _) => seen.clone(),
                (None, Some(thing)) => Observation::Present(thing.live.clone()),
                (None, None) => Observation::Absent,
            };
            (identity, seen)
        };
        plan.to_observe().map(look).collect()
    }

    pub(crate) fn check(&self, plan: Plan, flags: &Flags) -> Result<CheckedPlan, Refusals> {
        let observed = self.observe(&plan);
        let checking = CheckContext {
            release: release(),
            adopt: flags.adopt.clone(),
            take_ownership: flags.take_ownership,
            occupants: &self.occupants,
        };
        check(plan, &observed, &checking)
    }

    /// The apply flow, with default flags.
    pub(crate) fn apply(&mut self, objects: &[&str]) -> Ran {
        self.apply_with(&desired(objects), &Flags::default())
    }

    /// The apply flow: plan, check, begin, apply, prune, record.
    pub(crate) fn apply_with(&mut self, desired: &Desired, flags: &Flags) -> Ran {
        let stored = self.record();
        let plan = plan(desired, stored.as_ref(), flags.plan).unwrap();
        let checked = match self.check(plan, flags) {
            Ok(checked) => checked,
            Err(refusals) => return Ran::Refused(refusals),
        };
        let change = change_of(desired);
        let locked = self.begin(stored, checked, "apply", Some(&change.id));
        let outcomes = self.send(&locked);
        let ended = self.ended(LogResult::Succeeded);
        let applied = match locked.finish(&outcomes) {
            Ok(applied) => applied,
            Err(partial) => {
                let failed = self.ended(LogResult::Failed);
                let record = partial.release(&failed, &Timing::default());
                self.write(&record);
                return Ran::Partial;
            }
        };
        let (outcomes, pruned) = self.prune(applied.plan());
        let reconciled = applied.reconcile(&outcomes, self.now);
        let recorded = reconciled.record(change, self.max_history, &ended);
        self.write(&recorded.record);
        Ran::Done {
            pruned,
            unpruned: recorded.unpruned,
        }
    }

    /// Removes a release, or a component of it.
    pub(crate) fn delete(&mut self, component: Option<&str>, flags: &Flags) -> Ran {
        let stored = self.record().expect("a release to delete");
        let plan = match component {
            Some(component) => plan_delete_component(&stored, component, flags.plan).unwrap(),
            None => plan_delete(&stored, flags.plan).unwrap(),
        };
        let purpose = plan.purpose.clone();
        let checked = match self.check(plan, flags) {
            Ok(checked) => checked,
            Err(refusals) => return Ran::Refused(refusals),
        };
        let locked = self.begin(Some(stored), checked, "delete", None);
        let applied = locked.finish(&HashMap::new()).expect("nothing to apply");
        let (outcomes, pruned) = self.prune(applied.plan());
        let reconciled = applied.reconcile(&outcomes, self.now);
        let ended = self.ended(LogResult::Succeeded);
        if purpose != Purpose::Delete {
            let recorded = reconciled.record(change("component"), self.max_history, &ended);
            self.write(&recorded.record);
            return Ran::Done {
                pruned,
                unpruned: recorded.unpruned,
            };
        }
        match reconciled.conclude(&ended, false) {
            Conclusion::Remove => {
                self.secret = None;
                Ran::Done {
                    pruned,
                    unpruned: false,
                }
            }
            Conclusion::Deleted(record) => {
                self.write(&record);
                Ran::Done {
                    pruned,
                    unpruned: false,
                }
            }
            Conclusion::Stays(record) => {
                self.write(&record);
                Ran::Stays
            }
            Conclusion::Rest { .. } => panic!("nothing was taken over"),
        }
    }

    pub(crate) fn begin(
        &mut self,
        stored: Option<Record>,
        checked: CheckedPlan,
        command: &str,
        change: Option<&str>,
    ) -> Locked {
        self.now = self.now + std::time::Duration::from_secs(1);
        let sight = LockObservation {
            written: None,
            server_time: self.now,
            unchanged_for: std::time::Duration::ZERO,
            holder_dead: false,
        };
        let state = LockState::of(stored.as_ref(), &sight, &Timing::default());
        let LockState::Open(acquisition) = state else {
            panic!("somebody holds the lock")
        };
        self.uid += 1;
        let run = RunStart {
            lock: lock(&format!("lock-{}", self.uid), command),
            from: String::new(),
            who: "tester".into(),
            opm: "0.1.0".into(),
            message: None,
            change: change.map(str::to_owned),
            deployed: None,
            manager: opm_core::managed::ManagerMark::Keep,
            log_entries: 50,
            timing: Timing::default(),
            now: self.now,
        };
        let record = stored.unwrap_or_else(new_record);
        let locked = begin(record, acquisition, checked, run).unwrap();
        self.write(locked.record());
        locked
    }

    /// Sends everything; after the first failure within a step the rest of the steps is not sent.
    pub(crate) fn send(&mut self, locked: &Locked) -> HashMap<Identity, SendOutcome> {
        let mut outcomes = HashMap::new();
        let mut failed = false;
        for step in locked.plan().phases.iter().flat_map(|phase| &phase.steps) {
            for one in step {
                let identity = one.entry.identity.clone();
                let outcome = if failed {
                    SendOutcome::NotSent
                } else if self.broken.contains(&identity) {
                    SendOutcome::Failed
                } else {
                    self.send_one(&identity, one.shared, &one.method)
                };
                outcomes.insert(identity, outcome);
            }
            failed |= outcomes
                .values()
                .any(|outcome| *outcome == SendOutcome::Failed);
        }
        outcomes
    }

    fn send_one(&mut self, identity: &Identity, shared: bool, method: &ApplyMethod) -> SendOutcome {
        if *method == ApplyMethod::Completed {
            return SendOutcome::Done { uid: None };
        }
        let exists = self.objects.contains_key(identity);
        if (*method == ApplyMethod::Create) == exists {
            return SendOutcome::Failed;
        }
        self.uid += 1;
        let uid = format!("uid-{}", self.uid);
        let fresh = Thing {
            live: LiveObject {
                uid,
                ..LiveObject::default()
            },
        };
        let thing = self.objects.entry(identity.clone()).or_insert(fresh);
        thing.live.applied_by_opm = true;
        let me = release().to_string();
        if shared {
            let labels = &mut thing.live.owner.shared;
            if !labels.iter().any(|(id, _)| *id == me) {
                labels.push((me, "web".into()));
            }
        } else {
            thing.live.owner = OwnerLabels {
                id: Some(me),
                ..OwnerLabels::default()
            };
        }
        SendOutcome::Done {
            uid: Some(thing.live.uid.clone()),
        }
    }

    pub(crate) fn prune(
        &mut self,
        checked: &CheckedPlan,
    ) -> (HashMap<Identity, PruneOutcome>, Vec<Identity>) {
        let (mut outcomes, mut pruned) = (HashMap::new(), Vec::new());
        for step in &checked.stale.prune {
            let identity = step.entry.identity.clone();
            let outcome = match self.objects.get_mut(&identity) {
                _ if self.undeletable.contains(&identity) => {
                    PruneOutcome::Failed("forbidden".into())
                }
                None => PruneOutcome::Done,
                Some(thing) if thing.live.uid != step.uid => {
                    PruneOutcome::NotMine("another object has taken its place".into())
                }
                Some(thing) if step.method == PruneMethod::LeaveShared => {
                    let me = release().to_string();
                    thing.live.owner.shared.retain(|(id, _)| *id != me);
                    PruneOutcome::Done
                }
                Some(_) => {
                    self.objects.remove(&identity);
                    pruned.push(identity.clone());
                    PruneOutcome::Done
                }
            };
            outcomes.insert(identity, outcome);
        }
        (outcomes, pruned)
    }

    pub(crate) fn ended(&self, result: LogResult) -> RunEnd {
        RunEnd {
            result,
            reason: None,
            counts: BTreeMap::new(),
            record: None,
            now: self.now,
        }
    }
}
