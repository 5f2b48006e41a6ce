//! Renderings that are kept: the second one needs no `cue`, as long as nothing that goes in changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::{TestModule, cue, cue_module, have_cue, owned};
use opm_core::name::{NamespaceName, ReleaseName};
use opm_render::{Inputs, Limits, Loaded, RenderError, RenderSettings, ValueFlags, Values};

const MODULE: &str = r#"
metadata: name: "web"
#config: {port: *80 | int}
#components: app: resources: page: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "\(#release.name)-page"
	data: port: "\(#config.port)"
}
"#;

/// A module, a place for its renderings, and a `cue`.
struct Bench {
    module: TestModule,
    kept: tempfile::TempDir,
    settings: RenderSettings,
}

impl Bench {
    fn new() -> Option<Self> {
        let program = cue().filter(|_| have_cue())?;
        let kept = tempfile::tempdir().unwrap();
        let settings = RenderSettings {
            cue: program,
            renderings: Some(kept.path().join("renderings")),
            ..RenderSettings::default()
        };
        let module = cue_module(MODULE);
        Some(Self {
            module,
            kept,
            settings,
        })
    }

    fn load(&self) -> Loaded {
        let loaded = self.module.load_by(&Inputs::default(), &self.settings);
        loaded.unwrap()
    }

    /// Renders with a `cue` that must not print anything: what succeeds was kept.
    fn load_without_cue(&self, inputs: &Inputs) -> Result<Loaded, RenderError> {
        let settings = RenderSettings {
            limits: Limits {
                output: 0,
                ..self.settings.limits
            },
            ..self.settings.clone()
        };
        self.module.load_by(inputs, &settings)
    }

    fn is_kept(&self) -> bool {
        self.load_without_cue(&Inputs::default()).is_ok()
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(self.kept.path().join("renderings"));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_second_rendering_is_the_first_and_needs_no_cue() {
    let Some(bench) = Bench::new() else { return };
    assert!(!bench.is_kept());
    let first = bench.load();
    let second = bench.load_without_cue(&Inputs::default()).unwrap();
    assert_eq!(first, second);
    assert_eq!(mode(&bench.kept.path().join("renderings")), 0o700);
    assert!(bench.files().iter().all(|file| mode(file) == 0o600));
}

#[test]
fn whatever_goes_in_makes_another_rendering() {
    let Some(bench) = Bench::new() else { return };
    bench.load();
    let other_name = Inputs {
        name: ReleaseName::new("other").ok(),
        ..Inputs::default()
    };
    let other_namespace = Inputs {
        namespace: NamespaceName::new("other").ok(),
        ..Inputs::default()
    };
    for inputs in [other_name, other_namespace] {
        assert!(bench.load_without_cue(&inputs).is_err());
    }
    for (path, text) in [
        ("values.cue", "package web\n\nvalues: port: 81\n"),
        ("more/data.txt", "anything"),
        (".hidden", "anything"),
    ] {
        bench.module.write(path, text);
        assert!(!bench.is_kept(), "{path}");
        bench.load();
        assert!(bench.is_kept(), "{path}");
        bench.module.write(path, &format!("{text}\n"));
        assert!(!bench.is_kept(), "{path}");
        bench.load();
    }
    // Back to what it was is what was kept.
    for path in ["values.cue", "more/data.txt", ".hidden"] {
        fs::remove_file(bench.module.path().join(path)).unwrap();
    }
    fs::remove_dir(bench.module.path().join("more")).unwrap();
    assert!(bench.is_kept());
}

#[test]
fn nothing_is_kept_of_values_from_outside_or_with_dependencies() {
    let Some(bench) = Bench::new() else { return };
    let values = Values::read(&ValueFlags {
        set: owned(&["port=8080"]),
        ..ValueFlags::default()
    });
    let inputs = Inputs {
        values: values.unwrap(),
        ..Inputs::default()
    };
    bench.module.load_by(&inputs, &bench.settings).unwrap();
    assert!(bench.files().is_empty());
    let path = bench.module.path().join("cue.mod/module.cue");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "\ndeps: {}\n").unwrap();
    bench.load();
    assert!(bench.files().is_empty());
}

#[test]
fn a_script_may_start_any_cue_so_nothing_is_kept_of_it() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let script = bench.kept.path().join("cue");
    let real = bench.settings.cue.display().to_string();
    fs::write(&script, format!("#!/bin/sh\nexec {real} \"$@\"\n")).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    bench.settings.cue = script;
    bench.load();
    assert!(bench.files().is_empty());
}

#[test]
fn what_is_damaged_or_others_could_have_written_does_not_count() {
    let Some(bench) = Bench::new() else { return };
    let loaded = bench.load();
    let directory = bench.kept.path().join("renderings");
    fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
    assert!(!bench.is_kept());
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    assert!(bench.is_kept());
    for file in bench.files() {
        let text = fs::read(&file).unwrap();
        fs::write(&file, &text[..text.len() - 1]).unwrap();
    }
    assert!(!bench.is_kept());
    assert_eq!(bench.load(), loaded);
    assert!(bench.is_kept());
}
