//! A resource that names a CUE module in a registry.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use opm_e2e::{World, scenarios};
use opm_testkit::programs::{self, BuildError, Program};
use serde_json::json;

scenarios! {
    a_module_comes_from_a_registry_by_its_version,
}

/// A registry that `cue` itself serves, and ends with the scenario.
struct Registry {
    cue: PathBuf,
    process: Child,
    address: String,
    /// Held open: the registry would end when nobody reads what it prints.
    _printed: BufReader<ChildStdout>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

impl Registry {
    /// None, and a note, where `cue` cannot be had.
    fn start() -> Option<Self> {
        match programs::ensure(&[Program::Cue]) {
            Ok(()) => {}
            Err(BuildError::NoGo) if !opm_testkit::cluster_required() => {
                opm_testkit::skip_without("cue to serve a registry");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
        let cue = Program::Cue.find().unwrap();
        let mut process = Command::new(&cue)
            .args(["mod", "registry", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        printed.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        Some(Self {
            cue,
            address: format!("{address}+insecure"),
            process,
            _printed: printed,
        })
    }

    /// Publishes the module with its version as a value in it.
    fn publish(&self, directory: &Path, version: &str) {
        std::fs::create_dir_all(directory.join("cue.mod")).unwrap();
        let definition = "module: \"example.com/app@v0\"\nlanguage: version: \"v0.15.0\"\nsource: kind: \"self\"\n";
        std::fs::write(directory.join("cue.mod/module.cue"), definition).unwrap();
        let module = format!(
            "package app\n\nmetadata: name: \"app\"\n#config: greeting: *\"x\" | string\n\
             #components: app: resources: a: {{apiVersion: \"v1\", kind: \"ConfigMap\", \
             metadata: name: \"app\", data: {{version: \"{version}\", greeting: #config.greeting}}}}\n"
        );
        std::fs::write(directory.join("module.cue"), module).unwrap();
        let published = Command::new(&self.cue)
            .args(["mod", "publish", version])
            .current_dir(directory)
            .env("CUE_REGISTRY", &self.address)
            .env("CUE_CACHE_DIR", directory.with_extension("publisher"))
            .output()
            .unwrap();
        assert!(published.status.success(), "{published:?}");
    }
}

async fn a_module_comes_from_a_registry_by_its_version(w: World) {
    let Some(registry) = Registry::start() else {
        return;
    };
    let source = w.dir().join("published");
    for version in ["v0.1.0", "v0.2.0"] {
        registry.publish(&source, version);
    }
    let cache = w.dir().join("fetched").display().to_string();
    let w = w
        .with_env("CUE_REGISTRY", &registry.address)
        .with_env("CUE_CACHE_DIR", &cache);
    let spec =
        |version: &str| json!({"module": {"reference": format!("example.com/app@{version}")}});
    w.define_resource().await;
    let mut first = spec("v0.1.0");
    first["values"] = json!({"greeting": "hello"});
    w.put_release("app", first).await;
    let running = w.start_controller(&[]);
    w.until_ready("app").await;
    let map = w.get("ConfigMap/app").await.unwrap();
    assert_eq!(
        map["data"],
        json!({"version": "v0.1.0", "greeting": "hello"})
    );
    let module = w.get_release("app").await.unwrap()["status"]["module"].clone();
    assert_eq!(
        module,
        json!({"path": "example.com/app@v0", "version": "0.1.0"})
    );

    w.edit_release("app", spec("v0.2.0")).await;
    w.until_value("ConfigMap/app", "/data/version", json!("v0.2.0"))
        .await;

    // A version that nobody published: the condition says which, and what stands is left alone.
    w.edit_release("app", spec("v0.9.0")).await;
    let ready = w.until_condition("app", "Ready", "False").await;
    let why = ready["message"].as_str().unwrap();
    assert!(why.contains("v0.9.0"), "{why}");
    w.holds_exactly("app", &["ConfigMap/app"]).await;
    let map = w.get("ConfigMap/app").await.unwrap();
    assert_eq!(map["data"]["version"], "v0.2.0");

    // What was fetched before needs no registry.
    drop(registry);
    w.edit_release("app", spec("v0.1.0")).await;
    w.until_value("ConfigMap/app", "/data/version", json!("v0.1.0"))
        .await;
    w.until_ready("app").await;
    running.interrupt();
    running.end().await.ends(130);
}
