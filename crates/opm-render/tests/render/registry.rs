//! Modules and their dependencies from a CUE registry, served on loopback by `cue` itself.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::{TestModule, cue, explain, have_cue, objects};
use opm_render::{Inputs, ModuleRef, NoObserver, RenderError, RenderSettings};

/// A registry of this test's own, with a cache that belongs to it.
struct Registry {
    server: Child,
    /// Held open: the server would end when nobody reads what it prints.
    _stdout: BufReader<ChildStdout>,
    address: String,
    cache: tempfile::TempDir,
}

impl Registry {
    fn start() -> Option<Self> {
        if !have_cue() {
            return None;
        }
        let mut server = Command::new(cue()?)
            .args(["mod", "registry", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Some(Self {
            server,
            _stdout: stdout,
            address,
            cache: tempfile::tempdir().unwrap(),
        })
    }

    fn variable(&self) -> String {
        format!("{}+insecure", self.address)
    }

    fn publish(&self, module: &TestModule, version: &str) {
        let status = Command::new(cue().unwrap())
            .args(["mod", "publish", version])
            .current_dir(module.path())
            .env("CUE_REGISTRY", self.variable())
            .env("CUE_CACHE_DIR", self.cache.path())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "publishing {version}");
    }

    /// Settings with a `cue` that has this registry in its environment: a test must not change
    /// the variables of its own process.
    fn settings(&self, cache: &Path) -> (tempfile::TempDir, RenderSettings) {
        self.settings_for(&self.variable(), cache)
    }

    fn settings_for(&self, registry: &str, cache: &Path) -> (tempfile::TempDir, RenderSettings) {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("cue");
        // What opm sets itself wins: an evaluation must stay without a registry.
        let script = format!(
            "#!/bin/sh\nexport CUE_REGISTRY=${{CUE_REGISTRY:-{registry}}}\nexec {} \"$@\"\n",
            cue().unwrap().display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let cache = Some(cache.to_owned());
        (
            dir,
            RenderSettings {
                cue: program,
                cue_cache: cache,
                ..RenderSettings::default()
            },
        )
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn library() -> TestModule {
    TestModule::new(&[
        (
            "cue.mod/module.cue",
            "module: \"example.com/lib@v0\"\nlanguage: version: \"v0.15.0\"\nsource: kind: \"self\"\n",
        ),
        (
            "lib.cue",
            "package lib\n\n#CM: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: string}\n",
        ),
    ])
}

fn app(version: &str) -> TestModule {
    TestModule::new(&[
        (
            "cue.mod/module.cue",
            "module: \"example.com/app@v0\"\nlanguage: version: \"v0.15.0\"\nsource: kind: \"self\"\n\
             deps: \"example.com/lib@v0\": v: \"v0.1.0\"\n",
        ),
        (
            "module.cue",
            &format!(
                "package app\n\nimport \"example.com/lib\"\n\nmetadata: name: \"app\"\n\
                 #config: suffix: *\"x\" | string\n\
                 #components: app: resources: a: lib.#CM & {{metadata: name: \"{version}-\\(#config.suffix)\"}}\n"
            ),
        ),
    ])
}

fn load(reference: &str, settings: &RenderSettings) -> Result<opm_render::Loaded, RenderError> {
    opm_render::load(
        &ModuleRef::parse(reference),
        &Inputs::default(),
        settings,
        &NoObserver,
    )
}

#[test]
fn dependencies_are_fetched_once_and_then_found_without_a_registry() {
    let Some(registry) = Registry::start() else {
        return;
    };
    registry.publish(&library(), "v0.1.0");
    let module = app("local");
    let cache = tempfile::tempdir().unwrap();
    let (_dir, settings) = registry.settings(cache.path());
    let loaded = module.load_by(&Inputs::default(), &settings).unwrap();
    assert_eq!(objects(&loaded), ["app: ConfigMap/local-x"]);
    drop(registry);
    assert_eq!(
        module.load_by(&Inputs::default(), &settings).unwrap(),
        loaded
    );
}

#[test]
fn a_dependency_that_cannot_be_had_is_an_error_that_says_why() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let module = app("local");
    let (_dir, settings) = registry.settings(cache.path());
    let error = module.load_by(&Inputs::default(), &settings).unwrap_err();
    let error = explain(&error, module.dir.path());
    assert!(
        error.contains("cannot fetch example.com/lib@v0.1.0"),
        "{error}"
    );
    assert!(error.contains("module.cue:3:8"), "{error}");
    let (_dir, settings) = registry.settings_for("127.0.0.1:1+insecure", cache.path());
    let error = module
        .load_by(&Inputs::default(), &settings)
        .unwrap_err()
        .to_string();
    assert!(error.contains("connection refused"), "{error}");
}

#[test]
fn references_are_resolved_to_exact_versions() {
    let Some(registry) = Registry::start() else {
        return;
    };
    registry.publish(&library(), "v0.1.0");
    for version in ["v0.1.0", "v0.1.3", "v0.2.0"] {
        registry.publish(&app(&version.replace('.', "-")), version);
    }
    let cache = tempfile::tempdir().unwrap();
    let (_dir, settings) = registry.settings(cache.path());
    for (reference, version) in [
        ("example.com/app@v0.1.0", "0.1.0"),
        ("example.com/app@v0.1", "0.1.3"),
        ("example.com/app@v0", "0.2.0"),
        ("example.com/app@latest", "0.2.0"),
    ] {
        let loaded = load(reference, &settings).unwrap();
        let module = &loaded.rendered.module;
        assert_eq!(module.version.as_deref(), Some(version), "{reference}");
        assert_eq!(module.path.as_str(), "example.com/app@v0");
        let name = format!("app: ConfigMap/v{}-x", version.replace('.', "-"));
        assert_eq!(objects(&loaded), [name]);
    }
    let described = opm_render::describe(
        &ModuleRef::parse("example.com/app@v0.1"),
        &settings,
        &NoObserver,
    )
    .unwrap();
    assert_eq!(described.version.as_deref(), Some("0.1.3"));
    for (reference, expected) in [
        (
            "example.com/app@v0.7",
            "no registry has example.com/app@v0.7",
        ),
        (
            "example.com/nope@latest",
            "no registry has example.com/nope@latest",
        ),
        (
            "example.com/app@main",
            "\"main\" is not a version: use v1.2.3, v1.2, v1 or latest",
        ),
    ] {
        let error = load(reference, &settings).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    drop(registry);
    let loaded = load("example.com/app@v0.1.3", &settings).unwrap();
    assert_eq!(loaded.rendered.module.version.as_deref(), Some("0.1.3"));
}

#[test]
fn what_is_a_reference_and_what_a_directory() {
    for (given, remote) in [
        ("example.com/app@v1.2.3", true),
        ("example.com/deep/app@latest", true),
        ("./example.com/app@v1", false),
        ("app@v1", false),
        ("example.com/app", false),
        ("../a.b/c@v1", false),
    ] {
        let parsed = ModuleRef::parse(given);
        assert_eq!(
            matches!(parsed, ModuleRef::Registry { .. }),
            remote,
            "{given}"
        );
        assert_eq!(parsed.to_string(), given);
    }
    let there = tempfile::tempdir().unwrap();
    let odd: PathBuf = there.path().join("a.b/c@v1");
    std::fs::create_dir_all(&odd).unwrap();
    assert_eq!(
        ModuleRef::parse(odd.to_str().unwrap()),
        ModuleRef::Directory(odd)
    );
}
