//! How long rendering takes: a CUE module of 1,000 objects beside bare `cue export` of the same
//! module, and a YAML module of 5,000 objects in CPU time.
//!
//! `OPM_CUE=… cargo bench -p opm-render`; without `cue` only YAML is measured.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark talks to the person who runs it"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use opm_render::{Inputs, ModuleRef, NoObserver, RenderSettings};
use rustix::time::{ClockId, clock_gettime};

const RUNS: usize = 7;

fn main() {
    let program = std::env::var_os("OPM_CUE").map_or_else(|| PathBuf::from("cue"), PathBuf::from);
    yaml(5_000, 1);
    yaml(5_000, 5_000);
    match Command::new(&program)
        .arg("version")
        .stdout(Stdio::null())
        .status()
    {
        Ok(status) if status.success() => cue(&program, 1_000),
        _ => println!("cue: not measured, there is no `cue` (set OPM_CUE)"),
    }
}

/// `objects` Deployments in `files` files.
fn yaml(objects: usize, files: usize) {
    let dir = tempfile::tempdir().unwrap();
    let module = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: big}\n\
                  components: [{name: app, manifests: [m]}]\n";
    std::fs::write(dir.path().join("module.yaml"), module).unwrap();
    std::fs::create_dir(dir.path().join("m")).unwrap();
    for file in 0..files {
        let mut text = String::new();
        for n in (file * objects / files)..((file + 1) * objects / files) {
            let _ = write!(text, "---\n{}", deployment(n));
        }
        std::fs::write(dir.path().join(format!("m/{file:05}.yaml")), text).unwrap();
    }
    let source = ModuleRef::Directory(dir.path().to_owned());
    let before = cpu();
    let wall = median(|| {
        let loaded = opm_render::load(
            &source,
            &Inputs::default(),
            &RenderSettings::default(),
            &NoObserver,
        );
        assert_eq!(
            loaded.unwrap().rendered.components[0].manifests.len(),
            objects
        );
    });
    let each = (cpu() - before) / u32::try_from(RUNS).unwrap();
    println!("yaml: {objects} objects in {files} files: {wall:?}, {each:?} of CPU");
}

fn deployment(n: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{n}\n  labels: {{app: app-{n}, tier: web}}\nspec:\n  replicas: 2\n  \
         selector:\n    matchLabels: {{app: app-{n}}}\n  template:\n    metadata:\n      labels: {{app: app-{n}, tier: web}}\n    spec:\n      \
         containers:\n        - name: web\n          image: example.com/web:1.2.{n}\n          ports:\n            - containerPort: 8080\n          \
         env:\n            - name: INDEX\n              value: \"{n}\"\n          resources:\n            requests: {{cpu: 50m, memory: 64Mi}}\n"
    )
}

/// `objects` realistic objects, beside `cue export` of the module's own components.
fn cue(program: &Path, objects: usize) {
    let dir = tempfile::tempdir().unwrap();
    let cue_mod = dir.path().join("cue.mod");
    std::fs::create_dir(&cue_mod).unwrap();
    let path = "module: \"example.com/big@v0\"\nlanguage: version: \"v0.15.0\"\n";
    std::fs::write(cue_mod.join("module.cue"), path).unwrap();
    let mut text = String::from(
        "package big\n\nmetadata: name: \"big\"\n#config: {replicas: *2 | int, tag: *\"1.2\" | string}\n\n#components: app: resources: {\n",
    );
    for n in 0..objects {
        let _ = write!(
            text,
            "\tr{n}: {{\n\t\tapiVersion: \"apps/v1\"\n\t\tkind: \"Deployment\"\n\t\tmetadata: {{name: \"app-{n}\", labels: {{app: \"app-{n}\", tier: \"web\"}}}}\n\t\t\
             spec: {{\n\t\t\treplicas: #config.replicas\n\t\t\tselector: matchLabels: app: \"app-{n}\"\n\t\t\ttemplate: {{\n\t\t\t\tmetadata: labels: {{app: \"app-{n}\", tier: \"web\"}}\n\t\t\t\t\
             spec: containers: [{{name: \"web\", image: \"example.com/web:\\(#config.tag)\", ports: [{{containerPort: 8080}}], env: [{{name: \"INDEX\", value: \"{n}\"}}], resources: requests: {{cpu: \"50m\", memory: \"64Mi\"}}}}]\n\t\t\t}}\n\t\t}}\n\t}}\n"
        );
    }
    text.push_str("}\n");
    std::fs::write(dir.path().join("module.cue"), text).unwrap();
    let bare = median(|| {
        let status = Command::new(program)
            .args(["export", ".", "-e", "#components", "--out", "json"])
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    });
    let settings = RenderSettings {
        cue: program.to_owned(),
        ..RenderSettings::default()
    };
    let source = ModuleRef::Directory(dir.path().to_owned());
    let ours = median(|| {
        let loaded = opm_render::load(&source, &Inputs::default(), &settings, &NoObserver).unwrap();
        assert_eq!(loaded.rendered.components[0].manifests.len(), objects);
    });
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!("cue: {objects} objects: {ours:?}, bare `cue export` {bare:?}, {ratio:.2} times");
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

/// CPU time of this process, all threads.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}
