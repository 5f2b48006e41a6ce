//! The runner of `opm`: what it passes on, what it keeps away, what it reports. A script stands in
//! for `opm`, since what is looked at is the runner.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use opm_testkit::{Opm, Target, until};
use tokio::sync::Mutex;

/// A process that another test starts just now would hold a freshly written script open for a
/// moment, and the system refuses to run a file that is open for writing.
static TURN: Mutex<()> = Mutex::const_new(());

fn opm(dir: &Path, script: &str) -> Opm {
    let path = dir.join("opm");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Opm::new(Target::Kubeconfig("/the/kubeconfig".into()), dir).program(&path)
}

#[tokio::test]
async fn the_target_comes_before_the_arguments() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), r#"for arg; do echo "$arg"; done"#);
    let ran = opm.run(["mod", "list", "a b"]).await.ok();
    let expected = ["--kubeconfig", "/the/kubeconfig", "mod", "list", "a b"];
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
    let ran = opm
        .against(Target::Sandbox("/box".into()))
        .run(["mod"])
        .await
        .ok();
    let expected = ["--sandbox", "--sandbox-dir", "/box", "mod"];
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_environment_is_pinned() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), "env; pwd").env("OPM_OUTPUT", "json");
    let ran = opm.run(["mod"]).await.ok();
    let home = format!("HOME={}", dir.path().display());
    for line in [home.as_str(), "OPM_OUTPUT=json", "TZ=UTC", "NO_COLOR=1"] {
        assert!(
            ran.stdout.lines().any(|one| one == line),
            "no {line} in {ran}"
        );
    }
    // Cargo sets it for every test, so it would be inherited.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!ran.stdout.contains("CARGO_"), "{ran}");
    let last = ran.stdout.lines().last().unwrap();
    assert_eq!(
        fs::canonicalize(last).unwrap(),
        fs::canonicalize(dir.path()).unwrap()
    );
}

#[tokio::test]
async fn output_and_exit_code_are_reported() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), r#"echo '{"a": 1}'; echo trouble >&2; exit 8"#);
    let ran = opm.run(["mod"]).await.expect_code(8);
    assert_eq!(ran.json()["a"], 1);
    assert_eq!(ran.stderr, "trouble\n");
    assert!(!ran.was_killed());
}

#[tokio::test]
async fn what_a_running_command_writes_is_read_as_it_comes() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), "echo begun >&2; exec sleep 60");
    let running = opm.start(["mod"]);
    until("it has begun", async || running.has_written("begun")).await;
    assert!(!running.has_written("ended"));
}

#[tokio::test]
#[should_panic(expected = "took longer than")]
async fn a_command_that_hangs_fails_the_test() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), "exec sleep 60").patience(Duration::from_millis(300));
    let _ = opm.run(["mod"]).await;
}

#[tokio::test]
async fn a_running_command_has_a_pid_and_dies_when_dropped() {
    let _turn = TURN.lock().await;
    let dir = tempfile::tempdir().unwrap();
    let opm = opm(dir.path(), "exec sleep 60");
    let running = opm.start(["mod"]);
    let process = format!("/proc/{}", running.pid());
    if cfg!(target_os = "linux") {
        assert!(Path::new(&process).exists());
    }
    drop(running);
    until("it is dead", async || {
        fs::read_to_string(format!("{process}/stat")).map_or(true, |stat| stat.contains(") Z "))
    })
    .await;
}
