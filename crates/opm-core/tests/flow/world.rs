//! A cluster in miniature with one release's Secret in it. The record goes through the codec at
//! every write, as it would on a server.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opm_core::api_error::{ApiError, ApiErrorKind};
use opm_core::check::{Adopt, LiveObject, Refusals};
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::observation::Observation;
use opm_core::plan::{ComponentOrder, Desired, DesiredObject, Occupants, PlanOptions};
use opm_core::protocol::{NewChange, RunStart, Timing};
use opm_core::record::{
    Extra, Lock, Metadata, ModuleRef, Record, ReleaseState, SecretParts, Stored, Values, decode,
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
        "APIService" => ("apiregistration.k8s.io", "APIService", true),
        "Hook" => (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            true,
        ),
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

/// A look that the server did not permit.
pub(crate) fn forbidden(message: &str) -> Observation<LiveObject> {
    Observation::Failed(ApiError::local(ApiErrorKind::Forbidden, message))
}

/// A look that got no answer.
pub(crate) fn unreachable(message: &str) -> Observation<LiveObject> {
    Observation::Failed(ApiError::local(ApiErrorKind::Unreachable, message))
}

/// A live object.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    pub(crate) live: LiveObject,
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
    pub(crate) hidden: BTreeMap<Identity, Observation<LiveObject>>,
    pub(crate) occupants: HashMap<Identity, Occupants>,
    pub(crate) max_history: usize,
    pub(crate) uid: u32,
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
    /// A run that begins now and says nothing of itself but its lock.
    pub(crate) fn start(&self, lock: Lock) -> RunStart {
        RunStart {
            lock,
            from: String::new(),
            who: String::new(),
            opm: String::new(),
            message: None,
            change: None,
            deployed: None,
            manager: opm_core::managed::ManagerMark::Keep,
            log_entries: 50,
            timing: Timing::default(),
            now: self.now,
        }
    }

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
    pub(crate) fn put(&mut self, short: &str) -> &mut LiveObject {
        self.uid += 1;
        let live = LiveObject {
            uid: format!("uid-{}", self.uid),
            ..LiveObject::default()
        };
        &mut self.objects.entry(id(short)).or_insert(Thing { live }).live
    }

    /// Puts an object there that the release applied, outside any record.
    pub(crate) fn put_mine(&mut self, short: &str) -> &mut LiveObject {
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
        state: ReleaseState::Live,
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
    let ordered = desired
        .components
        .iter()
        .filter(|one| !one.after.is_empty());
    NewChange {
        order: ordered
            .map(|one| (one.name.clone(), one.after.clone()))
            .collect(),
        ..change(&names.join("\n"))
    }
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
            origin: None,
            name: "minecraft".into(),
            charts: Default::default(),
            extra: Extra::default(),
        },
        values: Values("{}".into()),
        manifest_digest: "sha256:00".into(),
        components: Vec::new(),
        features: BTreeMap::new(),
        order: BTreeMap::new(),
        hooks: Vec::new(),
        set: Vec::new(),
        record: None,
    }
}
