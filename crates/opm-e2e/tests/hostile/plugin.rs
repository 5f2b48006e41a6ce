//! A credential plugin that hangs, and an interrupt that nobody has to repeat.

use std::path::{Path, PathBuf};
use std::time::Duration;

use opm_testkit::hostile::{Behaviour, HostileServer, behaviours};
use opm_testkit::{Opm, Target, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::release::{NAMESPACE, PreparedRelease};

/// A kubeconfig whose plugin says that it runs, and then never ends.
fn hanging(dir: &Path) -> PathBuf {
    let mark = dir.join("runs");
    let script = format!("touch {}; exec sleep 600", mark.display());
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "c", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
            "args": ["-c", script], "interactiveMode": "IfAvailable"}}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]});
    let path = dir.join("kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

fn interrupt(pid: u32) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[tokio::test]
async fn a_plugin_that_hangs_is_given_up_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let opm = Opm::new(Target::Kubeconfig(hanging(dir.path())), dir.path());
    let ran = opm.env("OPM_PATIENCE", "500ms").run(["mod", "list"]).await;
    let ran = ran.expect_code(2);
    let said = "credential plugin \"sh\" did not end within 0.5 s";
    assert!(ran.stderr.contains(said), "{ran}");
}

#[tokio::test]
async fn one_interrupt_ends_a_plugin() {
    let dir = tempfile::tempdir().unwrap();
    let opm = Opm::new(Target::Kubeconfig(hanging(dir.path())), dir.path());
    let running = opm.start(["mod", "list"]);
    let mark = dir.path().join("runs");
    eventually("the plugin runs", || async { mark.exists().then_some(()) }).await;
    interrupt(running.pid());
    let ran = running.finish().await.expect_code(130);
    assert!(ran.stderr.contains("interrupted"), "{ran}");
}

/// A list that goes on for ever, but slowly.
fn slow_pages() -> Behaviour {
    let endless = "another-next-page-for-ever";
    let all = behaviours().into_iter();
    let mut found = all.into_iter().find(|b| b.name == endless).unwrap();
    found.strikes = |struck| {
        std::thread::sleep(Duration::from_millis(100));
        struck.is_list()
    };
    found
}

/// Starts a command against a behaviour, and interrupts it once so many requests were sent.
async fn interrupted(
    release: &PreparedRelease,
    command: &[&str],
    (behaviour, after): (Behaviour, usize),
    requests: usize,
) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let honest = kube::Client::new(release.copy(dir.path()), "default");
    let server = HostileServer::start(honest, behaviour, after).await;
    let kubeconfig = server.write_kubeconfig(dir.path(), NAMESPACE);
    // No bound but the interrupt ends it before the test is given up.
    let opm = Opm::new(Target::Kubeconfig(kubeconfig), dir.path()).env("OPM_PATIENCE", "1h");
    let running = opm.start([&["mod"], command].concat());
    let sent = || async { (server.requests() >= requests).then_some(()) };
    eventually("the requests are sent", sent).await;
    interrupt(running.pid());
    let ran = running.finish().await;
    assert_eq!(ran.code(), Some(130), "{command:?}: {ran}");
    server.requests()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_interrupt_ends_an_endless_list() {
    let release = PreparedRelease::new().await;
    for command in [
        &["list"][..],
        &["status", "web", "--scan"],
        &["repair", "web", "--yes"],
    ] {
        let requests = interrupted(&release, command, (slow_pages(), 0), 10).await;
        assert!(requests < 1500, "{command:?}: it went on to the end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_interrupt_ends_the_wait_for_an_answer() {
    let release = PreparedRelease::new().await;
    let silent = behaviours().into_iter().find(|b| b.name == "no-answer");
    for command in [
        &["status", "web"][..],
        &["apply", "web", "--yes"],
        &["delete", "web", "--yes"],
        &["rollback", "web", "--yes"],
    ] {
        // At the first request, and among the looks that come before anything is written.
        for after in [0, 3] {
            let silent = (silent.unwrap(), after);
            interrupted(&release, command, silent, after + 1).await;
        }
    }
}
