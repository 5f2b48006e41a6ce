//! A cluster in miniature and a run of the flow over it, in the order of the RFC's steps. The
//! record goes through the codec at every write, as it would in a Secret.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opm_core::check::{Adopt, CheckedPlan, Checking, Live, Observed, Refusals, Seen, check};
use opm_core::check::{How, PruneHow};
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::labels::OwnerLabels;
use opm_core::plan::{
    ComponentOrder, Desired, DesiredObject, Occupants, Plan, PlanOptions, Purpose, plan,
    plan_delete, plan_delete_component,
};
use opm_core::protocol::{
    Conclusion, Ended, LockSight, LockState, Locked, NewChange, PruneOutcome, Run, SendOutcome,
    Timing, begin,
};
use opm_core::record::{
    Extra, Lock, LogResult, Metadata, ModuleRef, Record, SecretParts, Stored, Values, decode,
    encode,
};
use opm_core::time::Timestamp;

/// The release under test.
pub(crate) fn release() -> ReleaseId {
    "ba7ef080-f6d7-5049-9ee5-a5e34cd652de".parse().unwrap()
}

/// Another release.
pub(crate) const OTHER: &str = "5112a79a-7e9f-5373-81fb-304f11762d33";

/// `SS/minecraft`, `Svc/web in games`, `NS/games`: an identity in the RFC's shorthand. Objects
/// are in namespace `default` unless they say otherwise or have none.
pub(crate) fn id(short: &str) -> Identity {
    let (kind_name, namespace) = match short.split_once(" in ") {
        Some((kind_name, namespace)) => (kind_name, namespace),
        None => (short, "default"),
    };
    let (kind, name) = kind_name.split_once('/').unwrap();
    let (group, kind, cluster) = match kind {
        "SS" => ("apps", "StatefulSet", false),
        "Deploy" => ("apps", "Deployment", false),
        "Svc" => ("", "Service", false),
        "PVC" => ("", "PersistentVolumeClaim", false),
        "PV" => ("", "PersistentVolume", true),
        "CM" => ("", "ConfigMap", false),
        "Secret" => ("", "Secret", false),
        "NS" => ("", "Namespace", true),
        "CRD" => ("apiextensions.k8s.io", "CustomResourceDefinition", true),
        "Foo" => ("example.com", "Foo", false),
        "Job" => ("batch", "Job", false),
        "Ing" => ("networking.k8s.io", "Ingress", false),
        "Role" => ("rbac.authorization.k8s.io", "ClusterRole", true),
        other => panic!("no shorthand {other}"),
    };
    let namespace = (!cluster).then_some(namespace);
    Identity::new(GroupKind::new(group, kind), namespace, name)
}

/// `SS/minecraft@app`: an object of a component, `app` if it names none.
pub(crate) fn object(short: &str) -> DesiredObject {
    let (identity, component) = match short.split_once('@') {
        Some((object, rest)) => match rest.split_once(" in ") {
            Some((component, namespace)) => (format!("{object} in {namespace}"), component),
            None => (object.to_owned(), rest),
        },
        None => (short.to_owned(), "app"),
    };
    DesiredObject::new(Entry::new(id(&identity), "v1", component))
}

/// What a module renders, in shorthand; its components come after nothing.
pub(crate) fn desired(objects: &[&str]) -> Desired {
    let objects: Vec<DesiredObject> = objects.iter().map(|short| object(short)).collect();
    let names: BTreeSet<&str> = objects.iter().map(|o| o.entry.component.as_str()).collect();
    let components = names.into_iter().map(ComponentOrder::first).collect();
    Desired {
        components,
        objects,
    }
}

/// A live object.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    pub(crate) live: Live,
}

/// Everything that a run was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) plan: PlanOptions,
    pub(crate) adopt: Adopt,
    pub(crate) take_ownership: bool,
}

/// What became of a run.
#[derive(Debug)]
pub(crate) enum Ran {
    Refused(Refusals),
    /// Not everything was applied.
    Partial,
    /// Recorded, or deleted; what was pruned, in order.
    Done {
        pruned: Vec<Identity>,
        unpruned: bool,
    },
    /// A delete that left something behind.
    Stays,
}

impl Ran {
    pub(crate) fn pruned(&self) -> &[Identity] {
        match self {
            Self::Done { pruned, .. } => pruned,
            other => panic!("not done: {other:?}"),
        }
    }

    pub(crate) fn refusals(&self) -> Vec<String> {
        match self {
            Self::Refused(refusals) => refusals.0.iter().map(ToString::to_string).collect(),
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// A cluster with one release's Secret in it.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) objects: BTreeMap<Identity, Thing>,
    pub(crate) secret: Option<SecretParts>,
    pub(crate) now: Timestamp,
    /// Objects that the server refuses to apply.
    pub(crate) broken: BTreeSet<Identity>,
    /// Objects that may not be deleted.
    pub(crate) undeletable: BTreeSet<Identity>,
    /// What a look at these finds.
    pub(crate) hidden: BTreeMap<Identity, Seen>,
    pub(crate) occupants: HashMap<Identity, Occupants>,
    pub(crate) max_history: usize,
    uid: u32,
}

impl Default for World {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            secret: None,
            now: Timestamp::from_secs(1_770_820_200),
            broken: BTreeSet::new(),
            undeletable: BTreeSet::new(),
            hidden: BTreeMap::new(),
            occupants: HashMap::new(),
            max_history: 10,
            uid: 0,
        }
    }
}

impl World {
    /// The record as stored.
    pub(crate) fn record(&self) -> Option<Record> {
        self.secret
            .as_ref()
            .map(|secret| match decode(secret).unwrap().stored {
                Stored::Writable(record) => record,
                Stored::ReadOnly(_) => panic!("the record should be writable"),
            })
    }

    pub(crate) fn write(&mut self, record: &Record) {
        self.secret = Some(encode(record));
        assert_eq!(
            self.record().as_ref(),
            Some(record),
            "the codec loses nothing"
        );
    }

    /// Puts an object there that nobody applied.
    pub(crate) fn put(&mut self, short: &str) -> &mut Live {
        self.uid += 1;
        let live = Live {
            uid: format!("uid-{}", self.uid),
            ..Live::default()
        };
        &mut self.objects.entry(id(short)).or_insert(Thing { live }).live
    }

    /// Puts an object there that the release applied, outside any record.
    pub(crate) fn put_mine(&mut self, short: &str) -> &mut Live {
        let live = self.put(short);
        live.owner.id = Some(release().to_string());
        live.applied_by_opm = true;
        live
    }

    pub(crate) fn has(&self, short: &str) -> bool {
        self.objects.contains_key(&id(short))
    }

    pub(crate) fn index(&self) -> Vec<String> {
        let record = self.record();
        record
            .into_iter()
            .flat_map(|record| record.history)
            .map(|slot| slot.id)
            .collect()
    }

    pub(crate) fn inventory(&self) -> BTreeSet<Identity> {
        let record = self.record();
        let entries = record.iter().flat_map(|record| record.inventory());
        entries
            .map(|recorded| recorded.entry.identity.clone())
            .collect()
    }

    pub(crate) fn pending(&self) -> BTreeMap<Identity, (&'static str, bool)> {
        let record = self.record();
        let objects = record.iter().flat_map(|record| record.pending.objects());
        objects
            .map(|o| (o.entry.identity.clone(), (o.why.word(), o.late)))
            .collect()
    }

    pub(crate) fn kept(&self) -> BTreeMap<Identity, &'static str> {
        let record = self.record();
        let objects = record.iter().flat_map(|record| &record.kept.objects);
        objects
            .map(|o| (o.entry.identity.clone(), o.why.word()))
            .collect()
    }

    pub(crate) fn observe(&self, plan: &Plan) -> Observed {
        let look = |entry: &Entry| {
            let identity = entry.identity.clone();
            let seen = match (self.hidden.get(&identity), self.objects.get(&identity)) {
                (Some(seen), _) => seen.clone(),
                (None, Some(thing)) => Seen::Present(Box::new(thing.live.clone())),
                (None, None) => Seen::Absent,
            };
            (identity, seen)
        };
        plan.to_observe().map(look).collect()
    }

    pub(crate) fn check(&self, plan: Plan, flags: &Flags) -> Result<CheckedPlan, Refusals> {
        let observed = self.observe(&plan);
        let checking = Checking {
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
        let settled = applied.settle(&outcomes, self.now);
        let recorded = settled.record(change, self.max_history, &ended);
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
        let settled = applied.settle(&outcomes, self.now);
        let ended = self.ended(LogResult::Succeeded);
        if purpose != Purpose::Delete {
            let recorded = settled.record(change("component"), self.max_history, &ended);
            self.write(&recorded.record);
            return Ran::Done {
                pruned,
                unpruned: recorded.unpruned,
            };
        }
        match settled.conclude(&ended) {
            Conclusion::Remove => {
                self.secret = None;
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
        let sight = LockSight {
            written: None,
            server_time: self.now,
            unchanged_for: std::time::Duration::ZERO,
            holder_dead: false,
        };
        let state = LockState::of(stored.as_ref(), &sight, &Timing::default());
        let LockState::Open(opening) = state else {
            panic!("somebody holds the lock")
        };
        self.uid += 1;
        let run = Run {
            lock: lock(&format!("lock-{}", self.uid), command),
            who: "tester".into(),
            opm: "0.1.0".into(),
            message: None,
            change: change.map(str::to_owned),
            now: self.now,
        };
        let record = stored.unwrap_or_else(new_record);
        let locked = begin(record, opening, checked, run).unwrap();
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
                    self.send_one(&identity, one.shared, &one.how)
                };
                outcomes.insert(identity, outcome);
            }
            failed |= outcomes
                .values()
                .any(|outcome| *outcome == SendOutcome::Failed);
        }
        outcomes
    }

    fn send_one(&mut self, identity: &Identity, shared: bool, how: &How) -> SendOutcome {
        if *how == How::Completed {
            return SendOutcome::Done { uid: None };
        }
        let exists = self.objects.contains_key(identity);
        if (*how == How::Create) == exists {
            return SendOutcome::Failed;
        }
        self.uid += 1;
        let uid = format!("uid-{}", self.uid);
        let fresh = Thing {
            live: Live {
                uid,
                ..Live::default()
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
                Some(thing) if step.how == PruneHow::LeaveShared => {
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

    pub(crate) fn ended(&self, result: LogResult) -> Ended {
        Ended {
            result,
            reason: None,
            counts: BTreeMap::new(),
            now: self.now,
        }
    }
}

pub(crate) fn lock(id: &str, command: &str) -> Lock {
    Lock {
        id: id.into(),
        holder: "tester".into(),
        host: "here".into(),
        pid: 1,
        boot: None,
        pid_namespace: None,
        command: command.into(),
        since: String::new(),
        beat: 0,
        extra: Extra::default(),
    }
}

pub(crate) fn new_record() -> Record {
    let metadata = Metadata {
        name: "minecraft".into(),
        namespace: "default".into(),
        release_id: release().to_string(),
        last_transition_time: None,
        extra: Extra::default(),
    };
    Record::new(metadata, BTreeMap::new())
}

/// A change whose id follows from what it is made of.
pub(crate) fn change_of(desired: &Desired) -> NewChange {
    let mut names: Vec<String> = desired
        .objects
        .iter()
        .map(|o| format!("{:?}", o.entry))
        .collect();
    names.sort();
    change(&names.join("\n"))
}

pub(crate) fn change(made_of: &str) -> NewChange {
    let hash = made_of.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    NewChange {
        id: format!("change-sha1-{hash:08x}"),
        module: ModuleRef {
            path: "opmodel.dev/modules/minecraft@v0".into(),
            version: Some("0.1.0".into()),
            name: "minecraft".into(),
            extra: Extra::default(),
        },
        values: Values("{}".into()),
        manifest_digest: "sha256:00".into(),
        components: Vec::new(),
        features: BTreeMap::new(),
        record: None,
    }
}
