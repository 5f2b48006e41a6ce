//! Builds programs with Go into the cache.
//!
//! One build at a time per cache (a file lock), each program built beside its place and renamed
//! into it: a reader never sees half a program, and what an interrupted build finished stays.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::{Family, Program, cache};

/// How often a long build says that it is still going on.
const STILL_ALIVE: Duration = Duration::from_secs(20);

/// What the names of unfinished work begin with.
const SCRATCH: &str = ".building-";

/// Why programs could not be built.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BuildError {
    #[error(
        "no `go` command: the control plane of the tests is built with Go (https://go.dev/dl); \
         KUBEBUILDER_ASSETS or OPM_TEST_KUBECONFIG can stand in for it"
    )]
    NoGo,
    #[error("failed to build {program}: {status}\n{output}")]
    Go {
        program: &'static str,
        status: ExitStatus,
        output: String,
    },
    #[error("failed to {doing} {}", path.display())]
    File {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Is there a `go` command?
pub(crate) fn go_is_there() -> bool {
    Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub(super) fn build(programs: &[Program]) -> Result<(), BuildError> {
    if !go_is_there() {
        return Err(BuildError::NoGo);
    }
    let _only_one = lock()?;
    let begin = Instant::now();
    for (n, program) in programs.iter().enumerate() {
        if program.find().is_some() {
            continue;
        }
        eprintln!(
            "building {} {} ({} of {})",
            program.name(),
            program.version(),
            n + 1,
            programs.len()
        );
        build_one(*program)?;
    }
    eprintln!(
        "programs of the control plane built in {} s",
        begin.elapsed().as_secs()
    );
    Ok(())
}

fn lock() -> Result<File, BuildError> {
    let root = cache::cache_root();
    fs::create_dir_all(&root).map_err(file_error("create", &root))?;
    let path = root.join("build.lock");
    let file = File::create(&path).map_err(file_error("create", &path))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for another build of the control plane");
        file.lock().map_err(file_error("lock", &path))?;
    }
    Ok(file)
}

fn build_one(program: Program) -> Result<(), BuildError> {
    let begin = Instant::now();
    let target = cache::path(program);
    let dir = target.parent().unwrap_or(&target);
    fs::create_dir_all(dir).map_err(file_error("create", dir))?;
    remove_interrupted(dir);
    let scratch = tempfile::Builder::new()
        .prefix(SCRATCH)
        .tempdir_in(dir)
        .map_err(file_error("create a directory in", dir))?;
    let output = scratch.path().join(program.name());
    run_go(program, &output, &scratch.path().join("log"))?;
    fs::rename(&output, &target).map_err(file_error("move a program to", &target))?;
    eprintln!(
        "built {} in {} s",
        program.name(),
        begin.elapsed().as_secs()
    );
    Ok(())
}

/// We hold the lock, so what another build left unfinished here is nobody's.
fn remove_interrupted(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn run_go(program: Program, output: &Path, log: &Path) -> Result<(), BuildError> {
    let log_file = File::create(log).map_err(file_error("create", log))?;
    let mut child = go_build(program, output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file)
        .spawn()
        .map_err(|_| BuildError::NoGo)?;
    let begin = Instant::now();
    let mut said = begin;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(file_error("wait for", log))? {
            break status;
        }
        if said.elapsed() > STILL_ALIVE {
            said = Instant::now();
            eprintln!(
                "still building {}: {} s",
                program.name(),
                begin.elapsed().as_secs()
            );
        }
        thread::sleep(Duration::from_millis(100));
    };
    if status.success() {
        return Ok(());
    }
    let output = fs::read_to_string(log).unwrap_or_default();
    Err(BuildError::Go {
        program: program.name(),
        status,
        output,
    })
}

/// The build leaves the machine usable (`nice`), and does not depend on what the caller's
/// environment says about Go builds.
fn go_build(program: Program, output: &Path) -> Command {
    let family = program.family();
    let mut command = Command::new("nice");
    command
        .args([
            "-n",
            "5",
            "go",
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-mod=readonly",
        ])
        .args(["-ldflags", &ldflags(family), "-o"])
        .arg(output)
        .arg(program.package())
        .current_dir(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("control-plane")
                .join(family.dir),
        )
        .env("CGO_ENABLED", "0")
        .env("GO111MODULE", "on")
        .env("GOWORK", "off")
        .env("GOFLAGS", "")
        .env_remove("GOOS")
        .env_remove("GOARCH");
    command
}

pub(super) fn ldflags(family: &Family) -> String {
    let mut flags = "-s -w".to_owned();
    let mut numbers = family.version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let stamps = [
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitVersion", family.version),
        ("gitCommit", "unknown"),
        ("gitTreeState", "archive"),
        ("buildDate", "1970-01-01T00:00:00Z"),
    ];
    for package in family.stamped {
        for (name, value) in stamps {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}

fn file_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File {
        doing,
        path,
        source,
    }
}
