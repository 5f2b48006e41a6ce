//! One scenario's world: a cluster of one kind or the other, a namespace of its own in it, and
//! the built binary to act on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::ClusterRole;
use opm_sandbox::Sandbox;
use opm_testkit::relay::{Fault, Moment, Relay, When};
use opm_testkit::{ControlPlane, Leftover, Opm, Rights, Rule, Target, TestNamespace, User, Writes};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::{self, Api};
use crate::module::Module;
use crate::objects;
use crate::ran::{Ran, Running};
use crate::record::RecordSeen;

/// Which cluster a scenario runs on.
pub enum Place {
    /// A real control plane: this scenario's part of it, and who acts there.
    Real(TestNamespace, User),
    /// The cluster inside the binary, which has neither users nor admission.
    Sandbox,
}

/// A cluster, a namespace of one's own, and the binary.
pub struct World {
    /// The namespace of the scenario's releases.
    pub ns: String,
    /// The cluster's API, past `opm`.
    pub api: Api,
    place: Place,
    opm: Opm,
    dir: TempDir,
}

impl World {
    /// A new world on a real control plane.
    pub async fn real(plane: &'static ControlPlane) -> Self {
        let test = plane.namespace("scenario").await;
        let user = test.admin().await;
        let dir = tempfile::tempdir().unwrap();
        let opm = Opm::new(Target::Kubeconfig(user.kubeconfig().to_owned()), dir.path());
        let api = Api::new(test.client());
        Self {
            ns: test.name().to_owned(),
            api,
            place: Place::Real(test, user),
            opm,
            dir,
        }
    }

    /// A new world on an embedded cluster of its own.
    pub async fn sandbox() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("sandbox");
        let client = kube::Client::new(Sandbox::open(&home).unwrap(), "default");
        let opm = Opm::new(Target::Sandbox(home), dir.path()).env("OPM_NAMESPACE", "scenario");
        let world = Self {
            ns: "scenario".to_owned(),
            api: Api::new(client),
            place: Place::Sandbox,
            opm,
            dir,
        };
        world.api.create("", &objects::namespace(&world.ns)).await;
        world
    }

    /// A name that no other scenario uses, of a namespace or a cluster role that is removed when
    /// the scenario is over.
    pub fn name(&self, stem: &str) -> String {
        let name = format!("{}-{stem}", self.ns);
        match &self.place {
            Place::Real(test, _) => {
                test.remove_after(Leftover::object::<Namespace>(None, &name));
                test.remove_after(Leftover::object::<ClusterRole>(None, &name));
            }
            Place::Sandbox => {}
        }
        name
    }

    /// An API group that no other scenario uses.
    pub fn group(&self) -> String {
        format!("{}.example.com", self.ns)
    }

    /// One more namespace.
    pub async fn other_namespace(&self, stem: &str) -> String {
        let name = self.name(stem);
        self.api.create("", &objects::namespace(&name)).await;
        name
    }

    /// Somebody with exactly these rights, by their kubeconfig. Nothing on a cluster that has no
    /// access control.
    pub async fn user(&self, rights: &Rights) -> Option<User> {
        match &self.place {
            Place::Real(test, _) => Some(test.user("somebody", rights).await),
            Place::Sandbox => None,
        }
    }

    /// Makes the server deny these deletes. Nothing on a cluster that has no admission.
    pub async fn deny_deletes_of(&self, resource: &str) -> Option<Denied<'_>> {
        match &self.place {
            Place::Real(test, _) => {
                let rule = test
                    .deny(&Writes::of("", resource, &["DELETE"]), "not today")
                    .await;
                Some(Denied { test, rule })
            }
            Place::Sandbox => None,
        }
    }

    /// How many requests `opm` sends while a future runs, by verb and resource. Nothing on a
    /// cluster that does not count.
    pub async fn requests_during<T>(
        &self,
        running: impl Future<Output = T>,
    ) -> (T, Option<BTreeMap<String, usize>>) {
        match &self.place {
            Place::Real(test, user) => {
                let Some(audit) = test.plane().audit() else {
                    return (running.await, None);
                };
                let mark = audit.mark();
                let done = running.await;
                (done, Some(audit.requests(mark, user.name()).await.tally()))
            }
            Place::Sandbox => (running.await, None),
        }
    }

    /// Runs the binary on this world's cluster and namespace.
    pub async fn opm(&self, arguments: &[&str]) -> Ran {
        self.opm_with(&[], arguments).await
    }

    /// Runs the binary with additional variables in its environment.
    pub async fn opm_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let opm = variables
            .iter()
            .fold(self.opm.clone(), |opm, (name, value)| opm.env(name, value));
        Ran(opm.run(arguments).await)
    }

    /// Runs the binary as somebody else.
    pub async fn opm_as(&self, kubeconfig: &Path, arguments: &[&str]) -> Ran {
        let target = Target::Kubeconfig(kubeconfig.to_owned());
        Ran(self.opm.clone().against(target).run(arguments).await)
    }

    /// Applies a module; the answer is JSON.
    pub async fn apply(&self, module: &Module, flags: &[&str]) -> Ran {
        self.apply_with(&[], module, flags).await
    }

    /// Applies a module with additional variables in the environment.
    pub async fn apply_with(
        &self,
        variables: &[(&str, &str)],
        module: &Module,
        flags: &[&str],
    ) -> Ran {
        let dir = module.write(self.dir.path()).display().to_string();
        self.opm_with(variables, &apply_arguments(&dir, flags))
            .await
    }

    /// Applies a module as somebody with other rights.
    pub async fn apply_as(&self, kubeconfig: &Path, module: &Module, flags: &[&str]) -> Ran {
        let dir = module.write(self.dir.path()).display().to_string();
        self.opm_as(kubeconfig, &apply_arguments(&dir, flags)).await
    }

    /// Writes a module, and says where.
    pub fn write(&self, module: &Module) -> String {
        module.write(self.dir.path()).display().to_string()
    }

    /// How many requests a run sends.
    pub async fn requests_of(&self, arguments: &[&str]) -> usize {
        let relay = self.relay().await;
        self.opm_as(&relay.1, arguments).await.ok();
        relay.0.count()
    }

    /// Runs the binary and kills it right before or right after its nth request.
    pub async fn killed_at(&self, nth: usize, moment: Moment, arguments: &[&str]) -> Killed {
        let (relay, kubeconfig) = self.relay().await;
        relay.on(When::nth(nth), Fault::Kill(moment));
        let target = Target::Kubeconfig(kubeconfig);
        let running = self.opm.clone().against(target).start(arguments);
        relay.aim_at(running.pid());
        let ran = running.finish().await;
        match (ran.was_killed(), ran.code()) {
            (true, _) => Killed::Yes,
            (false, Some(0)) => Killed::TooLate,
            _ => Killed::Failed,
        }
    }

    /// A relay in front of the API server, and a kubeconfig that leads through it.
    async fn relay(&self) -> (Relay, PathBuf) {
        let Place::Real(_, user) = &self.place else {
            panic!("only a real control plane can be reached through a relay");
        };
        let relay = Relay::start(user.kubeconfig()).await.unwrap();
        let file = self
            .dir
            .path()
            .join(format!("relay-{}", relay.address().port()));
        let kubeconfig = relay.write_kubeconfig(&file).unwrap();
        (relay, kubeconfig)
    }

    /// Starts an apply and leaves it running.
    pub fn start_apply(&self, module: &Module, flags: &[&str]) -> Running {
        let dir = module.write(self.dir.path()).display().to_string();
        Running(self.opm.start(apply_arguments(&dir, flags)))
    }

    /// Deletes a release by name; the answer is JSON.
    pub async fn delete(&self, release: &str, flags: &[&str]) -> Ran {
        self.opm(&delete_arguments(release, flags)).await
    }

    /// Deletes a release as somebody with other rights.
    pub async fn delete_as(&self, kubeconfig: &Path, release: &str, flags: &[&str]) -> Ran {
        self.opm_as(kubeconfig, &delete_arguments(release, flags))
            .await
    }

    /// The release's record, which must exist.
    #[track_caller]
    pub fn record(&self, release: &str) -> impl Future<Output = RecordSeen> {
        let place = std::panic::Location::caller();
        let release = release.to_owned();
        async move {
            let found = self.find_record(&release).await;
            found.unwrap_or_else(|| panic!("{place}: there is no record of {release}"))
        }
    }

    /// The release's record, if there is one.
    pub async fn find_record(&self, release: &str) -> Option<RecordSeen> {
        let label = "opmodel.dev%2Fcomponent%3Dinventory";
        let path = format!(
            "{}?labelSelector={label}",
            api::collection("Secret", Some(&self.ns))
        );
        let list = self.api.get(&path).await.unwrap();
        let mut items = list["items"].as_array().unwrap().clone();
        items.retain(|s| {
            s["metadata"]["name"]
                .as_str()
                .unwrap()
                .starts_with(&format!("opm.{release}."))
        });
        assert!(items.len() < 2, "one record per release");
        items.pop().map(RecordSeen::decode)
    }

    /// Removes the record behind the release's back.
    pub async fn delete_record(&self, release: &str) {
        let record = self.record(release).await;
        let name = record.secret["metadata"]["name"].as_str().unwrap();
        self.api
            .delete(&format!(
                "{}/{name}",
                api::collection("Secret", Some(&self.ns))
            ))
            .await;
    }

    /// The bytes of the record, key by key.
    pub async fn raw_record(&self, release: &str) -> BTreeMap<String, Vec<u8>> {
        self.record(release).await.raw()
    }

    /// Replaces the data of the record, behind the release's back.
    pub async fn write_raw_record(&self, release: &str, data: &BTreeMap<String, Vec<u8>>) {
        let mut secret = self.record(release).await.secret;
        secret["data"] = data
            .iter()
            .map(|(k, v)| (k.clone(), json!(STANDARD.encode(v))))
            .collect();
        let name = secret["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", api::collection("Secret", Some(&self.ns)));
        let (status, body) = self
            .api
            .send(http::Method::PUT, &path, "application/json", Some(&secret))
            .await;
        assert_eq!(status, 200, "PUT {path}: {body}");
    }

    /// Edits the record as JSON, behind the release's back.
    pub async fn edit_record(
        &self,
        release: &str,
        edit: impl FnOnce(&mut BTreeMap<String, Value>),
    ) {
        let mut data = self.record(release).await.data;
        edit(&mut data);
        let bytes = data
            .into_iter()
            .map(|(key, value)| (key, value.to_string().into_bytes()));
        self.write_raw_record(release, &bytes.collect()).await;
    }

    /// Waits until something has happened, for a while.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, happened: impl Fn() -> F) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !happened().await {
            assert!(Instant::now() < deadline, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// `Kind/name` of every live object that carries the labels of this release.
    pub async fn live(&self, release: &str) -> Vec<String> {
        let all = self
            .api
            .labelled("module.opmodel.dev%2Fnamespace", &self.ns, &self.ns)
            .await;
        let named = self
            .api
            .labelled("module-release.opmodel.dev%2Fname", release, &self.ns)
            .await;
        all.into_iter().filter(|o| named.contains(o)).collect()
    }

    /// The cluster has exactly these objects of the release, the record has exactly these, and
    /// nothing is left to do.
    pub async fn holds_exactly(&self, release: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|o| (*o).to_owned()).collect();
        let live = self.settled(release, &expected).await;
        assert_eq!(live, expected, "what is live");
        let record = self.record(release).await;
        let without_namespace = |o: &String| o.rsplit(':').next().unwrap_or(o).to_owned();
        assert_eq!(
            record.inventory(),
            expected.iter().map(without_namespace).collect(),
            "what is recorded"
        );
        assert_eq!(record.pending(), BTreeSet::new(), "what is pending");
        assert!(!record.locked(), "the lock is released");
    }

    /// What is live of a release that should be gone, once the cluster has finished deleting.
    pub async fn settled_live(&self, release: &str) -> Vec<String> {
        self.settled(release, &BTreeSet::new())
            .await
            .into_iter()
            .collect()
    }

    /// What is live once the cluster has finished deleting, or after a few seconds.
    async fn settled(&self, release: &str, expected: &BTreeSet<String>) -> BTreeSet<String> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let live: BTreeSet<String> = self.live(release).await.into_iter().collect();
            if live == *expected || Instant::now() > deadline {
                return live;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Reads an object, given as `Kind/name`, with `namespace:` in front if it lives elsewhere.
    pub async fn get(&self, spelled: &str) -> Option<Value> {
        self.api.get(&api::object(spelled, &self.ns)).await
    }

    /// Whether an object exists.
    pub async fn exists(&self, spelled: &str) -> bool {
        self.get(spelled).await.is_some()
    }

    /// Whether an object goes away, or at least is on its way, within a few seconds.
    pub async fn gone(&self, spelled: &str) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            match self.get(spelled).await {
                None => return true,
                Some(object) if !object["metadata"]["deletionTimestamp"].is_null() => return true,
                Some(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        false
    }

    /// The uid of an object, which must exist.
    pub async fn uid(&self, spelled: &str) -> String {
        let object = self
            .get(spelled)
            .await
            .unwrap_or_else(|| panic!("{spelled} does not exist"));
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Creates an object that a finalizer holds, and deletes it: it is terminating now.
    pub async fn terminating(&self, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        let made = self.api.create(&self.ns, &object).await;
        let (kind, name) = (
            object["kind"].as_str().unwrap(),
            made["metadata"]["name"].as_str().unwrap(),
        );
        self.api
            .delete(&api::object(&format!("{kind}/{name}"), &self.ns))
            .await;
    }

    /// Takes the finalizers off.
    pub async fn let_go(&self, spelled: &str) {
        let path = api::object(spelled, &self.ns);
        self.api
            .merge(&path, json!({"metadata": {"finalizers": null}}))
            .await;
    }

    /// Where the scenario may write files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

/// A set of names, to compare with.
pub fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

fn apply_arguments<'a>(dir: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["mod", "apply", dir, "-o", "json"], flags].concat()
}

fn delete_arguments<'a>(release: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["mod", "delete", release, "--yes", "-o", "json"], flags].concat()
}

/// What became of a run that was to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// It was.
    Yes,
    /// It had ended well before it came to that request.
    TooLate,
    /// It failed by itself.
    Failed,
}

/// A rule of admission in force.
pub struct Denied<'a> {
    test: &'a TestNamespace,
    rule: Rule,
}

impl Denied<'_> {
    /// Lifts it.
    pub async fn lift(self) {
        self.test.lift(self.rule).await;
    }
}
