//! Nothing of a control plane is left, running or on disk, however its users end; and what they
//! share, they share.
//!
//! The users are processes: this test program itself, started again for one ignored test.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opm_testkit::programs::{self, Program};
use opm_testkit::{ControlPlane, HANG, skip_without};

/// The user process: gets hold of a control plane, says where it is, and ends as it is told.
#[tokio::test]
#[ignore = "a part of the other tests"]
async fn user() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("user").await;
    println!("\nSOCKET {}", ControlPlane::socket().display());
    println!("PLANE {}", plane.directory().unwrap().display());
    match std::env::var("ENDING").unwrap().as_str() {
        "success" => {}
        "panic" => panic!("on purpose, in {}", namespace.name()),
        "exit" => std::process::exit(3),
        _ => std::future::pending().await,
    }
}

struct User {
    child: Child,
    dir: PathBuf,
    socket: PathBuf,
}

/// Starts a user of the plane of this name and waits until it has it.
fn start(plane: &str, ending: &str) -> User {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "user", "--nocapture"])
        .env("OPM_TEST_PLANE", plane)
        .env("OPM_TEST_LINGER", "0.2")
        .env(
            "OPM_TEST_SUPERVISOR",
            env!("CARGO_BIN_EXE_opm-control-plane"),
        )
        .env("ENDING", ending)
        .env_remove("OPM_TEST_KUBECONFIG")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut said = |word: &str| {
        let found = lines.find_map(|line| line.strip_prefix(word).map(PathBuf::from));
        found.expect("a control plane")
    };
    let (socket, dir) = (said("SOCKET "), said("PLANE "));
    // It goes on writing, and would fail if nobody read.
    thread::spawn(move || lines.for_each(drop));
    User { child, dir, socket }
}

/// The processes that work in a directory, and those that were told of it.
fn processes_of(dir: &Path) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let at_home = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if at_home || line.contains(&*dir.to_string_lossy()) {
            found.push((pid, line));
        }
    }
    found
}

fn assert_nothing_is_left(user: &User) {
    let begin = Instant::now();
    loop {
        let running = processes_of(&user.dir);
        if running.is_empty() && !user.dir.exists() && !user.socket.exists() {
            return;
        }
        let left = (&running, &user.dir, &user.socket);
        assert!(begin.elapsed() < HANG, "left: {left:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// One control plane at a time beside the shared one: each takes hundreds of megabytes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn skipped() -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let plane = runtime.block_on(ControlPlane::own_for_test());
    plane.is_none()
}

#[test]
fn nothing_is_left_after_success_failure_panic_and_kill() {
    if skipped() {
        return;
    }
    let _turn = turn();
    for (ending, code) in [
        ("success", Some(0)),
        ("panic", Some(101)),
        ("exit", Some(3)),
        ("kill", None),
    ] {
        let mut user = start(&format!("ends-{ending}"), ending);
        if ending == "kill" {
            assert!(
                processes_of(&user.dir).len() >= 6,
                "{:?}",
                processes_of(&user.dir)
            );
            user.child.kill().unwrap();
        }
        let status = user.child.wait().unwrap();
        assert_eq!(status.code(), code, "{ending}: {status}");
        assert_nothing_is_left(&user);
    }
}

#[test]
fn nothing_is_left_after_the_supervisor_is_killed() {
    if skipped() {
        return;
    }
    let _turn = turn();
    let user = start("supervisor-killed", "wait");
    let sweeper = processes_of(&user.dir)
        .into_iter()
        .find(|(_, line)| line.contains(" sweep "));
    let supervisor = parent_of(sweeper.unwrap().0);
    let killed = Command::new("kill")
        .args(["-9", &supervisor.to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_nothing_is_left(&user);
}

/// Who comes while the last user's control plane is about to go gets one that answers.
#[test]
fn who_comes_at_the_last_moment_gets_a_new_one() {
    if skipped() {
        return;
    }
    let _turn = turn();
    let mut last = start("last-moment", "success");
    assert_eq!(last.child.wait().unwrap().code(), Some(0));
    for moment in [200, 260, 320] {
        thread::sleep(Duration::from_millis(moment));
        let mut user = start("last-moment", "success");
        let status = user.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{moment} ms later: {status}");
        last = user;
    }
    assert_nothing_is_left(&last);
}

fn parent_of(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn users_share_one_control_plane_until_the_last_is_gone() {
    if skipped() {
        return;
    }
    let _turn = turn();
    let (mut first, mut second) = thread::scope(|scope| {
        let first = scope.spawn(|| start("shared", "wait"));
        let second = scope.spawn(|| start("shared", "wait"));
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(first.dir, second.dir);
    end(&mut first);
    // Nothing is to happen, so there is nothing to wait for but five times its lingering.
    thread::sleep(Duration::from_secs(1));
    assert!(second.dir.exists(), "it is still in use");
    end(&mut second);
    assert_nothing_is_left(&second);
}

fn end(user: &mut User) {
    user.child.kill().unwrap();
    user.child.wait().unwrap();
}

impl Drop for User {
    /// A test that fails leaves no process of its own either.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other process: builds one program into the cache that it is given.
#[test]
#[ignore = "a part of the other tests"]
fn builder() {
    programs::ensure(&[Program::Cue]).unwrap();
    assert!(Program::Cue.find().unwrap().is_file());
}

#[test]
fn two_builds_that_race_make_one_program() {
    if Command::new("go").arg("version").output().is_err() {
        return skip_without("Go to build with");
    }
    let cache = tempfile::tempdir().unwrap();
    let build = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "builder", "--nocapture"])
            .env("OPM_TEST_CACHE", cache.path())
            .env_remove("KUBEBUILDER_ASSETS")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let outputs = [build(), build()].map(|child| child.wait_with_output().unwrap());
    let said = outputs
        .each_ref()
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(
        outputs.iter().all(|output| output.status.success()),
        "{said:?}"
    );
    let built = said
        .iter()
        .filter(|text| text.contains("built cue in"))
        .count();
    assert_eq!(built, 1, "{said:?}");
}

/// The other process: looks for a program.
#[test]
#[ignore = "a part of the other tests"]
fn finder() {
    let expected = std::env::var_os("EXPECTED").map(PathBuf::from);
    assert_eq!(Program::Cue.find(), expected);
}

#[test]
fn programs_can_be_supplied() {
    let supplied = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let cue = supplied.path().join("cue");
    fs::write(&cue, "").unwrap();
    for (assets, expected) in [(supplied.path(), Some(&cue)), (empty.path(), None)] {
        let mut finder = Command::new(std::env::current_exe().unwrap());
        finder.args(["--ignored", "--exact", "finder"]);
        finder
            .env("KUBEBUILDER_ASSETS", assets)
            .env("OPM_TEST_CACHE", empty.path());
        if let Some(path) = expected {
            finder.env("EXPECTED", path);
        }
        assert!(
            finder.stdout(Stdio::null()).status().unwrap().success(),
            "{expected:?}"
        );
    }
}
