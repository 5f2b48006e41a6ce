//! Zarf package definitions: five of them through their whole life.

use std::fs;
use std::path::{Path, PathBuf};

use opm_e2e::{World, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_guestbook_lives_the_life_of_a_module,
    a_site_with_variables_lives_the_life_of_a_module,
    a_store_of_charts_lives_the_life_of_a_module,
    a_platform_of_imports_lives_the_life_of_a_module,
    an_edge_with_flavors_lives_the_life_of_a_module,
}

/// Copies a package of these tests, and says where it is.
pub(crate) fn copied(w: &World, package: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = match package {
        "guestbook" => tests.join("../../examples/zarf-guestbook"),
        package => tests.join("tests/packages").join(package),
    };
    let to = w.dir().join(package);
    copy(&from, &to);
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => _ = fs::copy(&from, &to).unwrap(),
        }
    }
}

pub(crate) fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from} in {}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

/// A package, and what is expected of it.
struct Life<'a> {
    dir: PathBuf,
    release: &'a str,
    flags: Vec<String>,
    /// All of its objects.
    objects: Vec<String>,
    /// What a new version changes: the file, what is in it, and what comes instead.
    edit: (&'a str, &'a str, &'a str),
    /// The object that changes with it, the place in it, and what is there before and after.
    changed: (&'a str, &'a str, Value, Value),
    /// What it is said not to do.
    left_out: &'a [&'a str],
}

impl Life<'_> {
    /// From the first look to the end.
    async fn lived(self, w: &World) {
        let dir = self.dir.display().to_string();
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let run = |command: &'static str, more: &'static [&'static str]| {
            let start = ["mod", command, dir.as_str()];
            let words = [&start[..], &flags, more].concat();
            async move { w.opm(&words).await }
        };
        let mut vetted = run("vet", &[]).await.ok();
        for what in self.left_out {
            vetted = vetted.says(what);
        }
        let built = run("build", &["-o", "json"]).await.ok().json();
        assert_eq!(built["module"]["path"], format!("local/{}", self.release));
        assert_eq!(built["module"]["version"], "1.0.0");
        let count = self.objects.len();
        assert_eq!(built["resources"].as_array().unwrap().len(), count);

        let applied = run("apply", &["--create-namespace", "-o", "json"])
            .await
            .ok();
        let warnings = applied.json()["warnings"].to_string();
        for what in self.left_out {
            assert!(warnings.contains(what), "{what} in {warnings}");
        }
        let expected: Vec<&str> = self.objects.iter().map(String::as_str).collect();
        w.holds_exactly(self.release, &expected).await;
        let again = run("apply", &["-o", "json"]).await.ok().json();
        let resources = again["resources"].as_array().unwrap();
        assert_eq!(resources.len(), count);
        for one in resources {
            assert_eq!(one["action"], "unchanged", "{one}");
        }

        let (file, from, to) = self.edit;
        edit(&self.dir.join(file), from, to);
        let zarf = self.dir.join("zarf.yaml");
        edit(&zarf, "version: 1.0.0", "version: 1.1.0");
        let (object, pointer, before, after) = self.changed;
        let name = object.rsplit(':').next().unwrap();
        let differs = run("diff", &["--exit-code"]).await.ends(6);
        differs.says(name);
        let value = async || w.get(object).await.unwrap().pointer(pointer).cloned();
        assert_eq!(value().await, Some(before.clone()));
        let upgraded = run("apply", &["-o", "json"]).await.ok();
        upgraded.did("configured", name);
        assert_eq!(value().await, Some(after));
        let record = w.record(self.release).await;
        assert_eq!(record.current()["module"]["version"], "1.1.0");

        w.opm(&["mod", "rollback", self.release, "--yes"])
            .await
            .ok();
        assert_eq!(value().await, Some(before));
        w.holds_exactly(self.release, &expected).await;
        // By its directory, without a value.
        w.opm(&["mod", "delete", &dir, "--yes"]).await.ok();
        assert_eq!(w.settled_live(self.release).await, Vec::<String>::new());
        assert!(w.find_record(self.release).await.is_none());
    }
}

fn set(values: &[(&str, &str)]) -> Vec<String> {
    let flags = values.iter().flat_map(|(name, value)| {
        let assigned = format!("{name}={value}");
        ["--set".to_owned(), assigned]
    });
    flags.collect()
}

/// Objects in a namespace, and some in the release's.
pub(crate) fn objects(namespace: &str, there: &[&str], here: &[&str]) -> Vec<String> {
    let there = there.iter().map(|one| format!("{namespace}:{one}"));
    there
        .chain(here.iter().map(|one| (*one).to_owned()))
        .collect()
}

async fn a_guestbook_lives_the_life_of_a_module(w: World) {
    let dir = copied(&w, "guestbook");
    let namespace = w.name("book");
    edit(
        &dir.join("zarf.yaml"),
        "namespace: guestbook\n",
        &format!("namespace: {namespace}\n"),
    );
    let all = [
        "Service/database",
        "Deployment/database",
        "ConfigMap/page",
        "Deployment/page",
    ];
    let page = format!("{namespace}:ConfigMap/page");
    let life = Life {
        release: "guestbook",
        flags: set(&[("VERSION", "1.27")]),
        objects: objects(&namespace, &all, &[]),
        edit: ("zarf.yaml", "default: Guestbook", "default: Visitors"),
        changed: (&page, "/data/title", json!("Guestbook"), json!("Visitors")),
        left_out: &[
            "zarf.yaml:30:5: component `database`: `images`",
            "`actions.onDeploy`",
        ],
        dir,
    };
    life.lived(&w).await;
}

async fn a_site_with_variables_lives_the_life_of_a_module(w: World) {
    let dir = copied(&w, "site");
    let namespace = w.name("site");
    let all = [
        "ConfigMap/page",
        "Secret/login",
        "Deployment/web",
        "Service/web",
    ];
    let service = format!("{namespace}:Service/web");
    let life = Life {
        release: "site",
        flags: set(&[
            ("SERVER", "nginx:1.27"),
            ("NAMESPACE", &namespace),
            ("SITE_NAME", "yes: \"no\""),
        ]),
        objects: objects(&namespace, &all, &[]),
        edit: ("zarf.yaml", "default: \"8080\"", "default: \"8081\""),
        changed: (&service, "/spec/ports/0/port", json!(8080), json!(8081)),
        left_out: &[
            "`actions.onCreate`",
            "`actions.onDeploy`",
            "`files`",
            "`images`",
        ],
        dir: dir.clone(),
    };
    let dir = dir.display().to_string();
    let flags = life.flags.iter().map(String::as_str);
    let words: Vec<&str> = ["mod", "build", &dir, "-o", "json"]
        .into_iter()
        .chain(flags)
        .collect();
    let built = w.opm(&words).await.ok().json();
    let mut resources = built["resources"].as_array().unwrap().iter();
    let page = resources.find(|one| one["object"]["kind"] == "ConfigMap");
    assert_eq!(
        page.unwrap()["object"]["data"],
        json!({
            "notice": "\"Nobody\" reads: {this}\n",
            "index.html": "<title>yes: \"no\"</title>\n<style>\n  body { color: white; }\n  \
                           pre { color: black; }\n</style>\n<footer></footer>\n",
        })
    );
    life.lived(&w).await;
}

async fn a_store_of_charts_lives_the_life_of_a_module(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = copied(&w, "store");
    let namespace = w.name("store");
    let all = [
        "ConfigMap/shelf-goods",
        "Service/shelf",
        "ConfigMap/front-goods",
        "Service/front",
    ];
    let goods = format!("{namespace}:ConfigMap/shelf-goods");
    let expected = |colour: &str, door: &str| json!({"count": "2", "colour": colour, "namespace": namespace, "door": door});
    let life = Life {
        release: "store",
        flags: set(&[("NAMESPACE", &namespace)]),
        objects: objects(&namespace, &all, &["ConfigMap/door"]),
        edit: ("zarf.yaml", "default: blue", "default: red"),
        changed: (
            &goods,
            "/data",
            expected("blue", "blue"),
            expected("red", "red"),
        ),
        left_out: &["`healthChecks`", "`images`"],
        dir,
    };
    life.lived(&w).await;
}

async fn a_platform_of_imports_lives_the_life_of_a_module(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = copied(&w, "platform");
    // What a package imports may be anywhere in its repository.
    fs::create_dir(dir.join(".git")).unwrap();
    let namespace = w.name("platform");
    let all = [
        "ConfigMap/logs",
        "ConfigMap/logs-extra",
        "ConfigMap/mon-rules",
        "Service/mon-reader",
    ];
    let rules = format!("{namespace}:ConfigMap/mon-rules");
    let life = Life {
        release: "platform",
        flags: set(&[("NAMESPACE", &namespace)]),
        objects: objects(&namespace, &all, &[]),
        edit: ("zarf.yaml", "default: the platform", "default: everybody"),
        changed: (
            &rules,
            "/data/owner",
            json!("the platform"),
            json!("everybody"),
        ),
        left_out: &[
            "base/zarf.yaml:22:5: component `logs`: `repos`",
            "`dataInjections`",
        ],
        dir: dir.join("site"),
    };
    life.lived(&w).await;
}

async fn an_edge_with_flavors_lives_the_life_of_a_module(w: World) {
    let dir = copied(&w, "edge");
    let life = Life {
        release: "edge",
        flags: set(&[("flavor", "alma"), ("architecture", "arm64")]),
        objects: objects(
            "",
            &[],
            &["ConfigMap/alma", "ConfigMap/arm64", "ConfigMap/dashboard"],
        ),
        edit: ("alma.yaml", "\"1\"", "\"2\""),
        changed: ("ConfigMap/alma", "/data/version", json!("1"), json!("2")),
        left_out: &[],
        dir,
    };
    life.lived(&w).await;
}
