//! The async renderer: it leaves the runtime alone, and no program outlives whoever asked for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::record;
use opm_engine::ports::{RenderRequest, Renderer};
use opm_render::{Inputs, ModuleRef, ModuleRenderer, RenderObserver, RenderSettings};
use rustix::process::{Pid, test_kill_process_group};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::support::{HANG, TestModule, WEB, config_map, cue_module, one_component};

/// A `cue` that writes down its process id and then takes far too long, with a child of its own.
struct SlowCue {
    dir: tempfile::TempDir,
}

impl SlowCue {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = version ] && echo 'cue version v0.17.1' && exit 0\n\
             echo $$ > {0}.new && mv {0}.new {0}\nsleep 600 & wait\n",
            pid.display()
        );
        let program = dir.path().join("cue");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn settings(&self) -> RenderSettings {
        RenderSettings {
            cue: self.dir.path().join("cue"),
            ..RenderSettings::default()
        }
    }

    /// The process group, once the program runs.
    async fn group(&self) -> Pid {
        let file = self.dir.path().join("pid");
        loop {
            if let Ok(text) = fs::read_to_string(&file) {
                return Pid::from_raw(text.trim().parse().unwrap()).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Waits until nothing of a process group is left; whoever renders reaps it.
async fn assert_ends(group: Pid) {
    let start = Instant::now();
    while test_kill_process_group(group).is_ok() {
        assert!(start.elapsed() < HANG, "the program still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn runtimes() -> [Runtime; 2] {
    use tokio::runtime::Builder;
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    let many = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    [one, many]
}

#[test]
fn other_tasks_make_progress_and_a_cancelled_token_ends_the_program() {
    for runtime in runtimes() {
        let (cue, module) = (SlowCue::new(), cue_module(WEB));
        let renderer = ModuleRenderer::new(cue.settings());
        let cancel = CancellationToken::new();
        runtime.block_on(async {
            let source = ModuleRef::Directory(module.path());
            let render = renderer.load(&source, Inputs::default(), &cancel);
            let meanwhile = async {
                let group = cue.group().await;
                // On this very thread, while the program runs.
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                test_kill_process_group(group).expect("the program runs");
                cancel.cancel();
                group
            };
            let (result, group) = tokio::join!(render, meanwhile);
            let error = result.unwrap_err();
            assert!(error.is_interrupted(), "{error}");
            assert_eq!(error.to_string(), "`cue export` was interrupted");
            assert_ends(group).await;
        });
    }
}

#[test]
fn dropping_the_future_ends_the_program() {
    for runtime in runtimes() {
        let (cue, module) = (SlowCue::new(), cue_module(WEB));
        let renderer = ModuleRenderer::new(cue.settings());
        let never = CancellationToken::new();
        runtime.block_on(async {
            let source = ModuleRef::Directory(module.path());
            let group = tokio::select! {
                result = renderer.load(&source, Inputs::default(), &never) => {
                    panic!("it rendered: {result:?}")
                }
                group = cue.group() => group,
            };
            assert_ends(group).await;
        });
    }
}

#[tokio::test]
async fn a_token_that_is_cancelled_already_starts_nothing() {
    let (cue, module) = (SlowCue::new(), cue_module(WEB));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let source = ModuleRef::Directory(module.path());
    let renderer = ModuleRenderer::new(cue.settings());
    let error = renderer.describe(&source, None, &cancel).await.unwrap_err();
    assert!(error.is_interrupted(), "{error}");
    assert!(!cue.dir.path().join("pid").exists());
}

#[tokio::test]
async fn an_observer_hears_of_a_slow_program() {
    #[derive(Default)]
    struct Counter(AtomicUsize);
    impl RenderObserver for Counter {
        fn waiting(&self, what: &str, elapsed: Duration) {
            assert_eq!(what, "cue export");
            assert!(elapsed >= Duration::from_secs(1));
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed) > 0
        }
    }
    let (cue, module) = (SlowCue::new(), cue_module(WEB));
    let counter = Arc::new(Counter::default());
    let renderer = ModuleRenderer::new(cue.settings()).observed(counter.clone());
    let source = ModuleRef::Directory(module.path());
    let never = CancellationToken::new();
    let result = renderer.load(&source, Inputs::default(), &never).await;
    assert!(result.unwrap_err().is_interrupted());
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    assert_ends(cue.group().await).await;
}

#[tokio::test]
async fn lints_come_without_blocking_too() {
    let module = TestModule::new(&[("module.yaml", &one_component("[]"))]);
    let source = ModuleRef::Directory(module.path());
    let renderer = ModuleRenderer::new(RenderSettings::default());
    let never = CancellationToken::new();
    let loaded = renderer.load(&source, Inputs::default(), &never);
    let loaded = Arc::new(loaded.await.unwrap());
    let lints = renderer.lint(&source, Inputs::default(), &loaded, &never);
    let lints: Vec<String> = lints
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lints, ["component app has no objects"]);
}

fn recorded(path: &str, version: Option<&str>) -> RenderRequest {
    RenderRequest {
        module: record::ModuleRef {
            path: path.to_owned(),
            version: version.map(str::to_owned),
            origin: None,
            charts: Default::default(),
            name: "web".to_owned(),
            extra: Default::default(),
        },
        values: "{}\n".to_owned(),
        release: ReleaseName::new("shop").unwrap(),
        namespace: NamespaceName::new("prod").unwrap(),
    }
}

#[tokio::test]
async fn a_recorded_module_comes_from_its_directory_else_from_its_registry() {
    let module = TestModule::new(&[
        ("module.yaml", &one_component("[app.yaml]")),
        ("app.yaml", &config_map("a")),
    ]);
    let no_cue = RenderSettings {
        cue: PathBuf::from("/no/such/cue"),
        cue_cache: Some(module.path()),
        ..RenderSettings::default()
    };
    let never = CancellationToken::new();
    let registry = ModuleRenderer::new(no_cue);
    let directory = registry.clone().recorded_in(Some(module.path()));

    let request = recorded("local/web", None);
    let rendered = directory.render(&request, &never).await.unwrap();
    assert_eq!(rendered.components[0].manifests.len(), 1);

    for (path, version, expected) in [
        (
            "local/web",
            None,
            "the module local/web was applied from a directory and is in no registry",
        ),
        (
            "local/web",
            Some("1.2.3"),
            "the module local/web was applied from a directory and is in no registry",
        ),
        (
            "example.com/web@v1",
            None,
            "the module example.com/web was recorded without a version, \
             so no registry can be asked for it",
        ),
    ] {
        let request = recorded(path, version);
        let failure = registry.render(&request, &never).await.unwrap_err();
        assert_eq!(failure.message, expected);
    }

    let request = recorded("example.com/web@v1", Some("1.2.3"));
    let failure = registry.render(&request, &never).await.unwrap_err();
    assert_eq!(failure.message, "the program `/no/such/cue` was not found");
    assert!(!failure.hints.is_empty());
}
