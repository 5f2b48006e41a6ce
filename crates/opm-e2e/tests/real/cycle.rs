//! The life of an application, from its first `vet` to its last `delete`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opm_e2e::note;
use opm_testkit::CommandOutput;
use opm_testkit::compatibility::{CycleResult, CycleStep, Tally};

use serde_json::Value;

use crate::applications::{Application, Source};
use crate::cluster::{Cluster, Report};
use crate::rendering::{self, Modules};

/// Takes an application through its life on a control plane.
pub(crate) async fn on_a_real_control_plane(application: &'static Application) {
    let dir = tempfile::tempdir().unwrap();
    let Some(modules) = Modules::write(application, dir.path()) else {
        return;
    };
    if let Some(cluster) = Cluster::control_plane(dir.path(), application.namespace).await {
        live(application, &modules, cluster).await;
    }
}

/// Takes an application through its life on a sandbox of its own.
pub(crate) async fn on_the_sandbox(application: &'static Application) {
    let dir = tempfile::tempdir().unwrap();
    if let Some(modules) = Modules::write(application, dir.path()) {
        let cluster = Cluster::sandbox(dir.path(), application.namespace);
        live(application, &modules, cluster).await;
    }
}

/// Checks both versions of an application, if its files are in the cache.
pub(crate) async fn vet(application: &'static Application) {
    let sources = [&application.from, &application.to];
    let sources = sources.into_iter().chain(&application.needs);
    if sources.into_iter().any(|source| !source.module.is_cached()) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    if let Some(modules) = Modules::write(application, dir.path()) {
        let cluster = Cluster::sandbox(dir.path(), application.namespace);
        cluster.opm(&["vet", modules.from()]).await.ok();
        cluster.opm(&["vet", modules.to()]).await.ok();
    }
}

/// A chart of these files cannot be rendered, and all of this is said about it.
pub(crate) async fn misses(source: &'static Source, place: &str, words: &[&str]) {
    if !source.module.is_cached() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(chart) = rendering::bare_chart(source, place, &dir.path().join("kyverno")) else {
        return;
    };
    let cluster = Cluster::sandbox(dir.path(), "default");
    let ran = cluster.opm(&["apply", &chart]).await;
    assert_eq!(ran.code(), Some(2), "{ran}");
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {ran}");
    }
}

async fn live(application: &Application, modules: &Modules, cluster: Cluster) {
    let cycle = Cycle {
        application,
        cluster: &cluster,
        steps: BTreeMap::new(),
    };
    let result = cycle.run(modules).await;
    result.save().unwrap();
    cluster.leave();
}

struct Cycle<'a> {
    application: &'a Application,
    cluster: &'a Cluster,
    steps: BTreeMap<String, CycleStep>,
}

const WAIT: &[&str] = &["--wait", "--timeout", "5m"];
/// Where what an application needs is released.
const ELSEWHERE: &[&str] = &["-n", "default"];
const UNGUARDED: &[&str] = &["--prune-crds", "--prune-namespaces", "--yes"];

impl Cycle<'_> {
    async fn run(mut self, modules: &Modules) -> CycleResult {
        if let Some(needs) = &modules.needs {
            let arguments = [&["apply", text(needs)], ELSEWHERE, WAIT].concat();
            self.cluster.step(&arguments).await;
        }
        self.cluster.opm(&["vet", modules.to()]).await.ok();
        let from = modules.from();
        self.cluster.opm(&["vet", from]).await.ok();
        if let Some(printed) = &modules.printed {
            self.builds_the_same(from, text(printed)).await;
        }
        let first = self.first_apply(from).await;
        self.changes_nothing(from, "again").await;
        self.is_as_applied(from).await;
        let to = modules.to();
        self.upgrade(to).await;
        self.is_as_applied(to).await;
        let from = modules.from();
        self.roll_back(from).await;
        let kept = self.delete().await;
        self.come_back_and_leave_nothing(from).await;
        if modules.needs.is_some() {
            let flags = [&["delete", "needs"], ELSEWHERE, UNGUARDED, WAIT].concat();
            self.cluster.step(&flags).await;
        }
        CycleResult {
            application: format!(
                "{} ({})",
                self.application.name,
                self.application.from.form.words()
            ),
            versions: [&self.application.from, &self.application.to]
                .map(|source| source.module.version.to_owned()),
            tried: self.cluster.tried(),
            objects: first,
            steps: self.steps,
            kept,
            reviews: self.cluster.reviews(),
        }
    }

    async fn apply(&self, module: &str) -> (Report, CycleStep) {
        let arguments = [&["apply", module, "--create-namespace"], WAIT].concat();
        self.cluster.step(&arguments).await
    }

    /// What is built is what `helm template`, `kubectl kustomize` or the files say, object for
    /// object.
    async fn builds_the_same(&self, module: &str, printed: &str) {
        let [ours, theirs] = [self.built(module).await, self.built(printed).await];
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let differ = |name: &&String| ours.get(*name) != theirs.get(*name);
        let differing: Vec<&String> = names.into_iter().filter(differ).collect();
        assert_eq!(
            differing,
            Vec::<&String>::new(),
            "built as its own tool prints it"
        );
    }

    /// What a module renders to, by identity, without what is said in our own words.
    async fn built(&self, module: &str) -> BTreeMap<String, String> {
        let built = self
            .cluster
            .opm(&["build", module, "-o", "json"])
            .await
            .ok();
        let built: Value = serde_json::from_str(&built.stdout).unwrap();
        let resources = built["resources"].as_array().unwrap().iter();
        let objects = resources.map(|one| {
            let mut object = one["object"].clone();
            let metadata = &mut object["metadata"];
            let name = format!(
                "{} {} {}",
                one["object"]["kind"], metadata["namespace"], metadata["name"]
            );
            for words in ["annotations", "labels"] {
                if let Some(words) = metadata[words].as_object_mut() {
                    words.retain(|key, _| !key.contains("opmodel.dev/"));
                }
            }
            (name, object.to_string())
        });
        objects.collect()
    }

    /// Everything is created, and was said to be so before. Says how many objects there are.
    async fn first_apply(&mut self, module: &str) -> usize {
        let arguments = ["diff", module, "--create-namespace"];
        let (shown, _) = self.cluster.step(&arguments).await;
        let (done, step) = self.apply(module).await;
        same(&shown, &done, "the first apply");
        let others = other_than(&done, &["created"]);
        assert_eq!(others, [""; 0], "the first apply creates everything");
        let count = done.resources().count();
        self.steps.insert("apply".to_owned(), step);
        count
    }

    async fn changes_nothing(&mut self, module: &str, name: &str) {
        let (done, step) = self.apply(module).await;
        let others = other_than(&done, &["unchanged"]);
        assert_eq!(others, [""; 0], "{name}: nothing is left to do");
        let objects = done.resources().count();
        let sent = step.sent.unwrap_or_default();
        note(&format!(
            "{} ({}): {name}: {sent} of {objects} objects sent in doubt",
            self.application.name,
            self.application.from.form.words()
        ));
        // One in a hundred; of fewer than that, one.
        let few = objects.div_ceil(100);
        assert!(sent <= few, "{name}: {sent} of {objects} sent");
        self.steps.insert(name.to_owned(), step);
    }

    /// Ready, without drift, and nothing would be done.
    async fn is_as_applied(&self, module: &str) {
        let name = self.application.name;
        let status = self.cluster.opm(&["status", name, "--exit-code"]).await;
        let diff = self.cluster.opm(&["diff", module, "--exit-code"]).await;
        let expected = |ran: &CommandOutput| ran.code() == Some(0);
        assert!(expected(&status), "the release is Ready\n{status}");
        assert!(expected(&diff), "nothing differs\n{diff}");
    }

    /// The upgrade does what was shown before.
    async fn upgrade(&mut self, module: &str) {
        let (shown, _) = self.cluster.step(&["diff", module]).await;
        let (done, step) = self.apply(module).await;
        same(&shown, &done, "the upgrade");
        let changed = other_than(&done, &["unchanged"]);
        assert_ne!(changed, [""; 0], "another version changes something");
        self.steps.insert("upgrade".to_owned(), step);
    }

    /// The first version is back.
    async fn roll_back(&mut self, module: &str) {
        let name = self.application.name;
        let arguments = [&["rollback", name], WAIT].concat();
        let (_, step) = self.cluster.step(&arguments).await;
        self.steps.insert("rollback".to_owned(), step);
        self.is_as_applied(module).await;
        self.changes_nothing(module, "again after the rollback")
            .await;
    }

    /// Only what is kept is left. Says what that is, by kind.
    async fn delete(&mut self) -> Tally {
        let name = self.application.name;
        let arguments = [&["delete", name, "--yes"], WAIT].concat();
        let (done, step) = self.cluster.step(&arguments).await;
        self.steps.insert("delete".to_owned(), step);
        let others = other_than(&done, &["deleted", "kept"]);
        assert_eq!(others, [""; 0], "everything is deleted or kept");
        let left = self.cluster.live(name).await;
        assert_eq!(
            left,
            done.kept(),
            "what is left is what was said to be kept"
        );
        let mut kinds = Tally::new();
        for identity in &left {
            *kinds.entry(kind(identity)).or_default() += 1;
        }
        let found: BTreeSet<&str> = kinds.keys().map(String::as_str).collect();
        let expected = self.application.kept.iter().copied().collect();
        assert_eq!(found, expected, "the kinds that a plain delete keeps");
        kinds
    }

    /// What was kept is taken up again, and with the guards lifted nothing is left.
    async fn come_back_and_leave_nothing(&self, module: &str) {
        let name = self.application.name;
        let (done, _) = self.apply(module).await;
        let others = other_than(&done, &["created", "unchanged", "configured"]);
        assert_eq!(others, [""; 0], "the application is back");
        let arguments = [&["delete", name], UNGUARDED, WAIT].concat();
        let (done, _) = self.cluster.step(&arguments).await;
        let others = other_than(&done, &["deleted"]);
        assert_eq!(others, [""; 0], "everything is deleted");
        let left = self.cluster.live(name).await;
        assert_eq!(left, BTreeSet::new(), "nothing is left");
    }
}

/// What was shown is what was done, object by object.
#[track_caller]
fn same(shown: &Report, done: &Report, what: &str) {
    let shown: BTreeMap<String, &str> = shown.resources().collect();
    let done: BTreeMap<String, &str> = done.resources().collect();
    let names: BTreeSet<&String> = shown.keys().chain(done.keys()).collect();
    let differing: Vec<String> = names
        .into_iter()
        .filter(|name| shown.get(*name) != done.get(*name))
        .map(|name| {
            format!(
                "{name}: shown {:?}, done {:?}",
                shown.get(name),
                done.get(name)
            )
        })
        .collect();
    assert_eq!(differing, [""; 0], "{what} does what was shown");
}

/// Objects to which something else happened.
fn other_than(report: &Report, expected: &[&str]) -> Vec<String> {
    let others = report
        .resources()
        .filter(|(_, action)| !expected.contains(action));
    others
        .map(|(identity, action)| format!("{action} {identity}"))
        .collect()
}

fn kind(identity: &str) -> String {
    let kind = identity.split(' ').next().unwrap_or_default();
    kind.rsplit('/').next().unwrap_or_default().to_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
