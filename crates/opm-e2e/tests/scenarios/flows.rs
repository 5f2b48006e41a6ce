//! What the kill matrix and the fault matrix have in common: a module of eight objects in four
//! kinds (and one with a kind of its own), the flows of a release's life that may go wrong anywhere, and what somebody does next.
//!
//! One more flow is one more variant: how the release is brought to where the flow begins, what
//! is run then, and what must be there when it has run to its end.

use opm_e2e::objects::{annotated, config_map, deployment, job, secret, service, unacceptable};
use opm_e2e::{Module, World};
use serde_json::{Value, json};

use crate::operator;

/// A flow of a release's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There is nothing yet.
    FirstApply,
    /// All objects but one are renamed, so that new ones come and old ones go.
    Upgrade,
    /// The same of a chart, with a hook before and one after.
    UpgradeWithHooks,
    /// Everything of such a chart goes, with a hook before and one after.
    DeleteWithHooks,
    /// Such a chart goes back to the change before, with a hook before and one after.
    RollbackWithHooks,
    /// The tests of such a chart run.
    TestHooks,
    /// The same, after two applies failed that had renamed them otherwise.
    AfterTwoFailures,
    /// Everything goes.
    Delete,
    /// Another tool has made the objects, with fields of its own, and they are adopted.
    Adopt,
    /// Everything goes, a kind and an object of it included, for which a controller has to do
    /// something first.
    DeleteOperator,
}

impl Flow {
    /// Short enough for a release's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::FirstApply => "first",
            Self::Upgrade => "upgrade",
            Self::UpgradeWithHooks => "hooked",
            Self::DeleteWithHooks => "parting",
            Self::RollbackWithHooks => "back",
            Self::TestHooks => "tested",
            Self::AfterTwoFailures => "third",
            Self::Delete => "delete",
            Self::Adopt => "adopt",
            Self::DeleteOperator => "operator",
        }
    }

    /// What was recorded before, by its stem.
    pub(crate) fn before(self) -> Option<&'static str> {
        match self {
            Self::FirstApply | Self::Adopt => None,
            Self::Upgrade
            | Self::UpgradeWithHooks
            | Self::DeleteWithHooks
            | Self::RollbackWithHooks
            | Self::TestHooks
            | Self::AfterTwoFailures
            | Self::Delete
            | Self::DeleteOperator => Some("v1"),
        }
    }

    /// What is there after it, by its stem; nothing after a delete.
    pub(crate) fn after(self) -> Option<&'static str> {
        match self {
            Self::FirstApply | Self::Adopt | Self::TestHooks => Some("v1"),
            Self::Upgrade
            | Self::UpgradeWithHooks
            | Self::RollbackWithHooks
            | Self::AfterTwoFailures => Some("v2"),
            Self::Delete | Self::DeleteWithHooks | Self::DeleteOperator => None,
        }
    }

    /// Whether everything goes.
    pub(crate) fn deletes(self) -> bool {
        self.after().is_none()
    }

    /// What is applied under a stem.
    fn module(self, w: &World, release: &str, stem: &str) -> Module {
        match self {
            Self::DeleteOperator => operator::module(w, release),
            Self::UpgradeWithHooks
            | Self::DeleteWithHooks
            | Self::RollbackWithHooks
            | Self::TestHooks => hooked(release, stem),
            _ => module(release, stem),
        }
    }

    /// Brings a release to where the flow begins.
    pub(crate) async fn prepare(self, w: &World, release: &str) {
        if self == Self::RollbackWithHooks {
            w.apply(&self.module(w, release, "v2"), &[]).await.ok();
        }
        if let Some(before) = self.before() {
            w.apply(&self.module(w, release, before), &[]).await.ok();
        }
        if self == Self::DeleteOperator {
            operator::start(w, release).await;
        }
        if self == Self::Adopt {
            make_by_kubectl(w, release).await;
        }
        if self == Self::AfterTwoFailures {
            for stem in ["lost", "stray"] {
                w.apply(&broken(release, stem), &[]).await.ends(1);
            }
        }
    }

    /// The command that may go wrong.
    pub(crate) fn command(self, w: &World, release: &str) -> Vec<String> {
        let module = self
            .after()
            .map(|stem| w.write(&self.module(w, release, stem)));
        let mut words = match &module {
            _ if self == Self::RollbackWithHooks => {
                vec!["mod", "rollback", release, "--yes", "-o", "json"]
            }
            _ if self == Self::TestHooks => vec!["mod", "test", release, "-o", "json"],
            Some(dir) if self == Self::Adopt => vec!["mod", "apply", dir, "--adopt", "-o", "json"],
            Some(dir) => vec!["mod", "apply", dir, "-o", "json"],
            None => vec!["mod", "delete", release, "--yes", "-o", "json"],
        };
        if self == Self::DeleteOperator {
            words.push("--prune-crds");
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// The release is as it should be after the flow.
    pub(crate) async fn is_done(self, w: &World, release: &str) {
        match self.after() {
            Some(stem) => holds(w, release, stem).await,
            None => is_gone(w, release).await,
        }
        if self == Self::Adopt {
            is_wholly_adopted(w, release).await;
        }
    }
}

/// What somebody does next. Each must end clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The same module again.
    Same,
    /// The module that was applied before.
    Previous,
    /// A delete.
    Delete,
}

impl Recovery {
    pub(crate) const ALL: [Self; 3] = [Self::Same, Self::Previous, Self::Delete];

    /// Recovers, and looks whether everything is as it should be.
    pub(crate) async fn run(self, flow: Flow, w: &World, release: &str) {
        if flow == Flow::Adopt {
            return self.adopt_again(w, release).await;
        }
        let stem = match self {
            Self::Same => flow.after(),
            Self::Previous => flow.before(),
            Self::Delete => None,
        };
        match stem {
            Some(stem) => {
                let module = flow.module(w, release, stem);
                w.apply(&module, &["--wait-for-deletion"]).await.ok();
                match flow {
                    Flow::DeleteOperator => operator::holds(w, release).await,
                    _ => holds(w, release, stem).await,
                }
            }
            None => {
                let flags = ["--ignore-not-found", "--prune-crds"];
                w.delete(release, &flags).await.ok();
                is_gone(w, release).await;
            }
        }
    }
}

impl Recovery {
    /// What was there before a release tried to adopt it survives a delete; so there is always
    /// something to adopt, or nothing in the way.
    async fn adopt_again(self, w: &World, release: &str) {
        if self != Self::Same {
            w.delete(release, &["--ignore-not-found"]).await.ok();
        }
        w.apply(&module(release, "v1"), &["--adopt"]).await.ok();
        Flow::Adopt.is_done(w, release).await;
    }
}

/// The field manager of `kubectl apply`, and a label that only it sets.
const KUBECTL: &str = "kubectl-client-side-apply";
const OLD: &str = "old";

/// All objects of the module as kubectl has made them, with a label that the module lacks.
async fn make_by_kubectl(w: &World, release: &str) {
    for object in module(release, "v1").objects() {
        let mut object = object.clone();
        object["metadata"]["labels"] = json!({ OLD: "1" });
        w.api.create_by(KUBECTL, &w.ns, &object).await;
    }
}

/// kubectl owns nothing any more, and what it alone had set is gone.
async fn is_wholly_adopted(w: &World, release: &str) {
    for spelled in objects(release, "v1") {
        let metadata = w.get(&spelled).await.expect("it is there")["metadata"].clone();
        assert_eq!(metadata["labels"].get(OLD), None, "{spelled}");
        let entries = metadata["managedFields"].as_array().unwrap();
        let mut managers = entries.iter().map(|entry| &entry["manager"]);
        assert!(
            !managers.any(|name| name == KUBECTL),
            "{spelled}: {entries:?}"
        );
    }
}

/// A module of eight objects in four kinds, all but one named after `stem`.
pub(crate) fn module(release: &str, stem: &str) -> Module {
    let name = |kind: &str| format!("{release}-{stem}-{kind}");
    Module::new(release).component(
        "app",
        &[
            config_map(&format!("{release}-stays"), stem),
            config_map(&name("one"), "1"),
            config_map(&name("two"), "2"),
            secret(&name("key"), "hunter2"),
            secret(&name("token"), "hunter3"),
            service(&name("web")),
            service(&name("db")),
            deployment(&name("web")),
        ],
    )
}

/// The same objects as a chart, with a hook that is named after the stem before them, one that is
/// always named the same after them, and a test. They go when they have succeeded.
fn hooked(release: &str, stem: &str) -> Module {
    let mut templates: Vec<Value> = module(release, stem).objects().cloned().collect();
    let before = format!("{release}-{stem}-before");
    let after = format!("{release}-after");
    for (name, events) in [
        (before, "pre-install,pre-upgrade,pre-rollback,pre-delete"),
        (after, "post-install,post-upgrade,post-rollback,post-delete"),
        (format!("{release}-works"), "test"),
    ] {
        let hook = annotated(job(&name), "helm.sh/hook", events);
        templates.push(annotated(
            hook,
            "helm.sh/hook-delete-policy",
            "hook-succeeded",
        ));
    }
    Module::new(release).chart("app", &templates)
}

/// The same, with a Deployment that no server takes: it comes last, so the others are there.
fn broken(release: &str, stem: &str) -> Module {
    let name = format!("{release}-{stem}-web");
    let deployment = unacceptable(deployment(&name));
    let objects = [
        config_map(&format!("{release}-{stem}-one"), "1"),
        secret(&format!("{release}-{stem}-key"), "hunter2"),
        service(&name),
        deployment,
    ];
    Module::new(release).component("app", &objects)
}

/// `Kind/name` of what [`module`] renders.
fn objects(release: &str, stem: &str) -> Vec<String> {
    let named = [
        ("ConfigMap", "one"),
        ("ConfigMap", "two"),
        ("Deployment", "web"),
        ("Secret", "key"),
        ("Secret", "token"),
        ("Service", "db"),
        ("Service", "web"),
    ];
    let mut all: Vec<String> = named
        .iter()
        .map(|(kind, name)| format!("{kind}/{release}-{stem}-{name}"))
        .collect();
    all.push(format!("ConfigMap/{release}-stays"));
    all
}

/// Exactly these objects are there, exactly these are recorded, nothing is pending, and no record
/// Secret is left over.
pub(crate) async fn holds(w: &World, release: &str, stem: &str) {
    let objects = objects(release, stem);
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    w.holds_exactly(release, &objects).await;
}

/// Nothing of the release is left.
pub(crate) async fn is_gone(w: &World, release: &str) {
    let nothing = Vec::<String>::new();
    assert_eq!(w.settled_live(release).await, nothing, "{release}");
    assert!(w.find_record(release).await.is_none(), "{release}");
    w.has_no_stray_records(release).await;
}

/// Objects that are nobody's business: whatever goes wrong, they stay as they are.
pub(crate) struct Bystanders(Vec<(String, Value)>);

impl Bystanders {
    pub(crate) async fn put(w: &World) -> Self {
        let mut all = Vec::new();
        for object in [config_map("bystander", "1"), secret("bystander", "theirs")] {
            let made = w.api.create(&w.ns, &object).await;
            let kind = object["kind"].as_str().unwrap();
            let version = made["metadata"]["resourceVersion"].clone();
            all.push((format!("{kind}/bystander"), version));
        }
        Self(all)
    }

    pub(crate) async fn are_untouched(&self, w: &World) {
        for (spelled, version) in &self.0 {
            let now = w.get(spelled).await.expect("it is not ours to delete");
            assert_eq!(now["metadata"]["resourceVersion"], *version, "{spelled}");
        }
    }
}
