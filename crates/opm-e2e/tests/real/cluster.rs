//! The cluster that an application is tried on, and the binary that acts on it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use opm_sandbox::Sandbox;
use opm_testkit::compatibility::{CycleStep, Tally, Tried};
use opm_testkit::programs::BuildError;
use opm_testkit::{
    CommandOutput, ControlPlane, Opm, PlaneError, Requests, Snapshot, Target, cluster_required,
    skip_without,
};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};

/// Who acts on a control plane of the kit.
const ADMIN: &str = "opm-testkit:admin";

/// One application at a time: they own names that everybody sees.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

pub(crate) struct Cluster {
    opm: Opm,
    client: kube::Client,
    namespace: &'static str,
    plane: Option<Plane>,
}

struct Plane {
    /// There until the application is gone.
    control: Option<ControlPlane>,
    calls_before: usize,
    _only_one: MutexGuard<'static, ()>,
}

impl Drop for Plane {
    fn drop(&mut self) {
        // The application is still there: nothing else could live beside what is left of it.
        if let Some(control) = self.control.take() {
            control.stop_applications();
        }
    }
}

impl Cluster {
    /// A real control plane. Nothing without Go, which is noted.
    pub(crate) async fn control_plane(dir: &Path, namespace: &'static str) -> Option<Self> {
        let only_one = ONE_AT_A_TIME.lock().await;
        let control = match ControlPlane::for_applications().await {
            Ok(control) => control,
            Err(PlaneError::Build(BuildError::NoGo)) if !cluster_required() => {
                skip_without("Go to build a control plane with");
                return None;
            }
            Err(error) => panic!("no control plane: {error}"),
        };
        let target = Target::Kubeconfig(control.kubeconfig().to_owned());
        Some(Self {
            opm: opm(target, dir),
            client: control.client().await.unwrap(),
            namespace,
            plane: Some(Plane {
                calls_before: control.service_calls().len(),
                control: Some(control),
                _only_one: only_one,
            }),
        })
    }

    /// A sandbox of its own.
    pub(crate) fn sandbox(dir: &Path, namespace: &'static str) -> Self {
        let home = dir.join("sandbox");
        let sandbox = Sandbox::open(&home).unwrap();
        Self {
            opm: opm(Target::Sandbox(home), dir),
            client: kube::Client::new(sandbox, "default"),
            namespace,
            plane: None,
        }
    }

    pub(crate) fn tried(&self) -> Tried {
        match &self.plane {
            Some(_) => Tried::ControlPlane,
            None => Tried::Sandbox,
        }
    }

    fn control(&self) -> Option<&ControlPlane> {
        self.plane.as_ref().and_then(|plane| plane.control.as_ref())
    }

    /// Runs a command of `opm mod`, in the release's namespace unless it names another.
    pub(crate) async fn opm(&self, arguments: &[&str]) -> CommandOutput {
        let mut all = [&["mod"], arguments].concat();
        if !arguments.contains(&"-n") {
            all.extend(["-n", self.namespace]);
        }
        self.opm.run(all).await
    }

    /// Runs a command that reports what it does to which object, and measures it. It must succeed.
    pub(crate) async fn step(&self, arguments: &[&str]) -> (Report, CycleStep) {
        let audit = self.control().and_then(ControlPlane::audit);
        let mark = audit.as_ref().map(|audit| audit.mark());
        let begin = Instant::now();
        let ran = self.opm(&[arguments, &["-o", "json"]].concat()).await.ok();
        let millis = begin.elapsed().as_millis().try_into().unwrap();
        let requests = match (audit, mark) {
            (Some(audit), Some(mark)) => {
                let requests = audit.requests(mark, ADMIN).await;
                Some(requests.of_agent("opm"))
            }
            _ => None,
        };
        let report = Report(ran.json());
        let step = CycleStep {
            actions: report.actions(),
            requests: requests.as_ref().map(Requests::count),
            sent: requests.as_ref().map(sent),
            millis,
        };
        (report, step)
    }

    /// Everything in the cluster that carries a release's labels and was applied, by identity.
    pub(crate) async fn live(&self, release: &str) -> BTreeSet<String> {
        let selector = format!("module-release.opmodel.dev/name={release}");
        let found = Snapshot::selected(&self.client, &selector).await.unwrap();
        let found = found.applied();
        let identities = found.identities().into_iter();
        // `opm`'s own records carry the labels too.
        let own = |identity: &&str| identity.starts_with("Secret ") && identity.contains("/opm.");
        identities
            .filter(|identity| !own(identity))
            .map(str::to_owned)
            .collect()
    }

    /// How many reviews the application's Services answered.
    pub(crate) fn reviews(&self) -> usize {
        let (Some(control), Some(plane)) = (self.control(), &self.plane) else {
            return 0;
        };
        let calls = control.service_calls();
        let reviews = calls.iter().skip(plane.calls_before);
        reviews.filter(|call| !call.review.is_empty()).count()
    }

    /// The application is gone; the next one may use the cluster.
    pub(crate) fn leave(mut self) {
        if let Some(plane) = &mut self.plane {
            plane.control = None;
        }
    }
}

/// No other run wants the lock, and a busy machine may not get to renew it in time.
fn opm(target: Target, dir: &Path) -> Opm {
    Opm::new(target, dir).env("OPM_LOCK_TTL", "3m")
}

/// What a command said that it did, or would do.
pub(crate) struct Report(Value);

impl Report {
    pub(crate) fn resources(&self) -> impl Iterator<Item = (String, &str)> {
        let resources = self.0["resources"].as_array().into_iter().flatten();
        // Hooks come and go; they are no part of the release.
        let is_hook = |one: &&Value| {
            one["reason"]
                .as_str()
                .is_some_and(|why| why.ends_with(" hook"))
        };
        let resources = resources.filter(move |one| !is_hook(one));
        resources.map(|one| (identity(one), one["action"].as_str().unwrap_or_default()))
    }

    fn actions(&self) -> Tally {
        let mut tally = Tally::new();
        for (_, action) in self.resources() {
            *tally.entry(action.to_owned()).or_default() += 1;
        }
        tally
    }

    /// What stays, by identity.
    pub(crate) fn kept(&self) -> BTreeSet<String> {
        let kept = self.resources().filter(|(_, action)| *action == "kept");
        kept.map(|(identity, _)| identity).collect()
    }
}

/// As [`Snapshot`] spells it.
fn identity(one: &Value) -> String {
    let text = |field: &str| one[field].as_str().unwrap_or_default();
    let slashed = |text: &str| match text {
        "" => String::new(),
        text => format!("{text}/"),
    };
    let (group, namespace) = (slashed(text("group")), slashed(text("namespace")));
    format!("{group}{} {namespace}{}", text("kind"), text("name"))
}

/// How many objects were sent, the record's own Secrets apart.
fn sent(requests: &Requests) -> usize {
    let own = |name: &str| name.starts_with("opm.");
    let applies = requests.all().iter();
    let applies = applies.filter(|one| one.verb == "patch" && !one.uri.contains("dryRun"));
    let applies = applies.filter(|one| !(one.resource == "secrets" && own(&one.name)));
    let objects: BTreeSet<_> = applies
        .map(|one| (&one.group, &one.resource, &one.namespace, &one.name))
        .collect();
    objects.len()
}
