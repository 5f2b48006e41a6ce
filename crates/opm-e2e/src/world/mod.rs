//! One scenario's world: a cluster of one kind or the other, a namespace of its own in it, and
//! the built binary to act on it (`commands`), past which one can look (`observe`).

mod commands;
mod controller;
mod faults;
mod kubectl;
mod lockstep;
mod observe;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::ClusterRole;
use opm_sandbox::Sandbox;
use opm_testkit::programs::{self, BuildError, Program};
use opm_testkit::{ControlPlane, Leftover, Opm, Rights, Rule, Target, TestNamespace, User, Writes};
use tempfile::TempDir;

use crate::api::Api;
use crate::canary::Canaries;
use crate::objects;

pub use commands::{CuttableConnection, KillOutcome};
pub use controller::RelayedController;
pub use faults::{RelayedRun, StruckLine};
pub use kubectl::Kubectl;
pub use lockstep::{Lockstep, Rounds};

/// Which cluster a scenario runs on.
pub enum TestCluster {
    /// A real control plane: this scenario's part of it, and who acts there.
    Real(Box<TestNamespace>, User),
    /// The cluster inside the binary, which has neither users nor admission.
    Sandbox(Sandbox),
}

/// A cluster, a namespace of one's own, and the binary.
pub struct World {
    /// The namespace of the scenario's releases.
    pub ns: String,
    /// The cluster's API, past `opm`.
    pub api: Api,
    cluster: TestCluster,
    opm: Opm,
    dir: TempDir,
    canaries: Canaries,
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
            cluster: TestCluster::Real(Box::new(test), user),
            opm,
            dir,
            canaries: Canaries::default(),
        }
    }

    /// A new world on an embedded cluster of its own.
    pub async fn sandbox() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("sandbox");
        let sandbox = Sandbox::open(&home).unwrap();
        let client = kube::Client::new(sandbox.clone(), "default");
        let opm = Opm::new(Target::Sandbox(home), dir.path()).env("OPM_NAMESPACE", "scenario");
        let world = Self {
            ns: "scenario".to_owned(),
            api: Api::new(client),
            cluster: TestCluster::Sandbox(sandbox),
            opm,
            dir,
            canaries: Canaries::default(),
        };
        world.api.create("", &objects::namespace(&world.ns)).await;
        world
    }

    /// Whether its cluster is the one inside the binary.
    pub fn is_sandbox(&self) -> bool {
        matches!(self.cluster, TestCluster::Sandbox(_))
    }

    /// The same world, in which the binary always runs with this variable.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.opm = self.opm.env(name, value);
        self
    }

    /// The same world, in which `helm` is in the PATH. None, and a note, where it cannot be had.
    #[must_use]
    pub fn with_helm(self) -> Option<Self> {
        match programs::ensure(&[Program::Helm]) {
            Ok(()) => {}
            Err(BuildError::NoGo) if !opm_testkit::cluster_required() => {
                opm_testkit::skip_without("helm to render charts with");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
        let mut path = programs::directories();
        path.extend(["/usr/bin", "/bin"].map(std::path::PathBuf::from));
        let path = std::env::join_paths(path).expect("no colon in a path");
        Some(self.with_env("PATH", path.to_str().expect("a path in UTF-8")))
    }

    /// A name that no other scenario uses, of a namespace or a cluster role that is removed when
    /// the scenario is over.
    pub fn name(&self, stem: &str) -> String {
        let name = format!("{}-{stem}", self.ns);
        match &self.cluster {
            TestCluster::Real(test, _) => {
                test.remove_after(Leftover::object::<Namespace>(None, &name));
                test.remove_after(Leftover::object::<ClusterRole>(None, &name));
            }
            TestCluster::Sandbox(_) => {}
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

    /// Somebody with exactly these rights, by their kubeconfig.
    ///
    /// # Panics
    /// On the sandbox, which has no access control.
    pub async fn user(&self, rights: &Rights) -> User {
        static USERS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("somebody-{}", USERS.fetch_add(1, Ordering::Relaxed));
        self.real_namespace().user(&name, rights).await
    }

    /// Makes the server deny these deletes.
    ///
    /// # Panics
    /// On the sandbox, which has no admission.
    pub async fn deny_deletes_of(&self, resource: &str) -> AdmissionRule<'_> {
        let test = self.real_namespace();
        let writes = Writes::of("", resource, &["DELETE"]);
        let rule = test.deny(&writes, "not today").await;
        AdmissionRule { test, rule }
    }

    /// Makes the server change these writes.
    ///
    /// # Panics
    /// On the sandbox, which has no admission.
    pub async fn mutate(&self, writes: &Writes, expression: &str) -> AdmissionRule<'_> {
        let test = self.real_namespace();
        let rule = test.mutate(writes, expression).await;
        AdmissionRule { test, rule }
    }

    /// Provides a volume for a claim, so that it is bound. The sandbox binds every claim by itself.
    pub async fn volume_for(&self, claim: &str) {
        if let TestCluster::Real(test, _) = &self.cluster {
            test.volume_for(claim).await;
        }
    }

    fn real_namespace(&self) -> &TestNamespace {
        match &self.cluster {
            TestCluster::Real(test, _) => test,
            TestCluster::Sandbox(_) => {
                panic!("not on the sandbox: say `real_only` in `scenarios!`")
            }
        }
    }
}

/// A rule of admission in force.
pub struct AdmissionRule<'a> {
    test: &'a TestNamespace,
    rule: Rule,
}

impl AdmissionRule<'_> {
    /// Lifts it.
    pub async fn lift(self) {
        self.test.lift(self.rule).await;
    }
}

/// A set of names, to compare with.
pub fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}
