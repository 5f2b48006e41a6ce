//! Modules written to a temporary directory, and a short way to render them.

use std::fs;
use std::path::{Path, PathBuf};

use opm_render::{
    Inputs, Loaded, ModuleRef, NoObserver, RenderError, RenderSettings, ValueFlags, Values,
};

#[path = "../../../opm-testkit/src/skip.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
pub(crate) mod skip;

/// After this long something hangs, however slow the machine is.
pub(crate) const HANG: std::time::Duration = std::time::Duration::from_secs(600);

/// A directory with files in it.
pub(crate) struct TestModule {
    pub(crate) dir: tempfile::TempDir,
}

impl TestModule {
    /// Writes files, given as path and text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let module = Self { dir };
        for (path, text) in files {
            module.write(path, text);
        }
        module
    }

    /// A YAML module of one component, `app`, with the given manifests.
    pub(crate) fn yaml(manifests: &str) -> Self {
        Self::new(&[
            ("module.yaml", &one_component("[app.yaml]")),
            ("app.yaml", manifests),
        ])
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    pub(crate) fn load(&self) -> Result<Loaded, RenderError> {
        self.load_with(&Inputs::default())
    }

    pub(crate) fn load_with(&self, inputs: &Inputs) -> Result<Loaded, RenderError> {
        self.load_by(
            inputs,
            &RenderSettings {
                cue: cue().unwrap_or_default(),
                ..RenderSettings::default()
            },
        )
    }

    pub(crate) fn load_by(
        &self,
        inputs: &Inputs,
        settings: &RenderSettings,
    ) -> Result<Loaded, RenderError> {
        opm_render::load(
            &ModuleRef::Directory(self.path()),
            inputs,
            settings,
            &NoObserver,
        )
    }

    /// Renders with value flags.
    pub(crate) fn load_flags(&self, flags: &ValueFlags) -> Result<Loaded, RenderError> {
        self.load_with(&Inputs {
            values: Values::read(flags)?,
            ..Inputs::default()
        })
    }

    /// Renders with `--set`.
    pub(crate) fn set(&self, assignments: &[&str]) -> Result<Loaded, RenderError> {
        self.load_flags(&ValueFlags {
            set: owned(assignments),
            ..ValueFlags::default()
        })
    }

    /// The error's message and hints, with the temporary directory's path left out.
    pub(crate) fn error(&self) -> String {
        match self.load() {
            Ok(loaded) => panic!("rendered to {loaded:#?}"),
            Err(error) => explain(&error, self.dir.path()),
        }
    }
}

/// Message and hints as a reader sees them, without the directory's own path.
pub(crate) fn explain(error: &RenderError, dir: &Path) -> String {
    let mut text = error.to_string();
    for hint in error.hints() {
        text.push_str("\n  hint: ");
        text.push_str(&hint);
    }
    text.replace(&format!("{}/", dir.display()), "")
        .replace(&dir.display().to_string(), "DIR")
}

/// A module.yaml with one component `app` and the given list of manifests.
pub(crate) fn one_component(manifests: &str) -> String {
    format!(
        "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {{name: web}}\n\
         components:\n  - name: app\n    manifests: {manifests}\n"
    )
}

/// A ConfigMap as YAML.
pub(crate) fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

/// `Kind/name` of every object, component by component.
pub(crate) fn objects(loaded: &Loaded) -> Vec<String> {
    let components = &loaded.rendered.components;
    let all = components.iter().flat_map(|c| {
        c.manifests
            .iter()
            .map(move |m| (c.name.as_str(), m.identity()))
    });
    all.map(|(c, i)| format!("{c}: {}/{}", i.kind(), i.name))
        .collect()
}

pub(crate) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The `cue` to test with: OPM_CUE, or the one in PATH.
pub(crate) fn cue() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("OPM_CUE") {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join("cue"))
        .find(|file| file.is_file())
}

/// Whether CUE tests can run. They are skipped aloud, or fail where they must run.
pub(crate) fn have_cue() -> bool {
    let found = cue().is_some();
    if !found {
        skip::skip_without("`cue`: set OPM_CUE or put it in PATH");
    }
    found
}

/// A CUE module with the given text in module.cue, behind its package clause.
pub(crate) fn cue_module(text: &str) -> TestModule {
    TestModule::new(&[
        (
            "cue.mod/module.cue",
            "module: \"example.com/web@v0\"\nlanguage: version: \"v0.15.0\"\n",
        ),
        ("module.cue", &format!("package web\n\n{text}")),
    ])
}

/// A module with a few values, one of which must be given.
pub(crate) const WEB: &str = "metadata: name: \"web\"\n#config: {\n\thost!: string\n\tport: *80 | int\n\treplicas: int & >0 & <10 | *1\n\tpassword?: string\n}\n";

/// The error of rendering with value flags, as a reader sees it.
pub(crate) fn error_of(module: &TestModule, flags: &ValueFlags) -> String {
    match module.load_flags(flags) {
        Ok(loaded) => panic!("{flags:?} rendered to {loaded:#?}"),
        Err(error) => explain(&error, module.dir.path()),
    }
}

/// `--set` flags.
pub(crate) fn set(assignments: &[&str]) -> ValueFlags {
    ValueFlags {
        set: owned(assignments),
        ..ValueFlags::default()
    }
}
