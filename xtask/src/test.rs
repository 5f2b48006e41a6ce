//! All checks of this repository.

mod browser;
mod real;
mod summary;

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use opm_testkit::programs::{BuildError, Program};
use opm_testkit::{ControlPlane, PlaneError};

use crate::{Outcome, block_on, docs, fuzz, supply_chain};
use summary::Summary;

/// Runs all checks: format, lints, tests (on a real control plane when Go is there)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also run the long variants of the tests, and all real applications
    #[arg(long)]
    full: bool,
    /// Run only the suite of real applications, all of them, and write docs/compatibility.md
    #[arg(long, conflicts_with = "full")]
    real: bool,
}

/// The suite of real applications; those that the ordinary run leaves out are ignored tests of it.
const REAL: &[&str] = &["test", "-p", "opm-e2e", "--test", "real"];

pub(crate) fn run(args: &Args) -> Outcome {
    if args.real {
        return real::run();
    }
    let begin = Instant::now();
    cargo(&["fmt", "--all", "--check"])?;
    docs::check()?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ])?;
    supply_chain::check()?;
    let mut said = deny()?;
    browser::ensure()?;
    // Held until the end, so that all test programs share one control plane.
    let plane = block_on(ControlPlane::shared())?;
    let missing = without_control_plane(plane)?;
    if let Some(why) = &missing {
        banner(&[
            "NO CONTROL PLANE: the tests that need one are SKIPPED".to_owned(),
            why.clone(),
        ]);
    }
    let skipped = env::temp_dir().join(format!("opm-skipped-{}", std::process::id()));
    let mut summary = Summary::default();
    let mut outcome = cargo_test(args, &skipped, &mut summary);
    if args.full {
        let tests = command(&[REAL, &["--", "--ignored"]].concat());
        outcome = outcome.and(watched(tests, &skipped, &mut summary));
    }
    summary.read_skipped(&fs::read_to_string(&skipped).unwrap_or_default());
    let _ = fs::remove_file(&skipped);
    let outcome = outcome.and_then(|()| fuzz_all(args, &mut said));
    let mut lines = summary.lines();
    lines.append(&mut said);
    let tier = if args.full { "full" } else { "ordinary" };
    let minutes = begin.elapsed().as_secs_f32() / 60.0;
    lines.push(format!("the {tier} tier took {minutes:.1} minutes"));
    banner(&lines);
    outcome
}

/// Asks cargo-deny, where it is installed: it also knows advisories. Says what was not checked.
fn deny() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let quiet = |args: &[&str]| {
        let mut command = command(args);
        let asked = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if !quiet(&["deny", "--version"]) {
        let line = "NO cargo-deny: licences, bans and sources are checked, advisories are NOT";
        return Ok(vec![line.to_owned()]);
    }
    cargo(&["deny", "check", "bans", "licenses", "sources"])?;
    if !quiet(&["deny", "fetch"]) {
        let line = "the database of advisories cannot be had: they are NOT checked";
        return Ok(vec![line.to_owned()]);
    }
    cargo(&["deny", "check", "advisories"])?;
    Ok(Vec::new())
}

/// Fuzzes every target for a minute in the full tier, where that can be done.
fn fuzz_all(args: &Args, said: &mut Vec<String>) -> Outcome {
    if !args.full {
        return Ok(());
    }
    if let Some(why) = fuzz::missing() {
        said.push(format!("NOT FUZZED: {why}"));
        return Ok(());
    }
    fuzz::run(&fuzz::Args::all())
}

/// Why there is no control plane, if that is acceptable.
fn without_control_plane(
    plane: Result<&ControlPlane, PlaneError>,
) -> Result<Option<String>, PlaneError> {
    match plane {
        Ok(plane) => {
            if let Some(seconds) = plane.seconds_to_ready() {
                eprintln!("a control plane is up, ready {seconds:.1} s after its start");
            }
            Ok(None)
        }
        Err(PlaneError::Build(error @ BuildError::NoGo)) if !opm_testkit::cluster_required() => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// The histories, which want a build that is quick to run.
const HISTORIES: &[&str] = &["test", "-p", "opm-simulation", "--profile", "simulation"];

/// Runs all tests of the tier.
fn cargo_test(args: &Args, skipped: &Path, summary: &mut Summary) -> Outcome {
    let rest = ["test", "--workspace", "--exclude", "opm-simulation"];
    let mut outcome = Ok(());
    for tests in [&rest[..], HISTORIES] {
        let mut command = command(&[tests, &["--no-fail-fast"]].concat());
        if args.full {
            command.env("OPM_TEST_FULL", "1");
        }
        outcome = outcome.and(watched(command, skipped, summary));
    }
    outcome
}

/// Runs tests. Their output is passed on line by line, and read for the summary.
fn watched(mut command: Command, skipped: &Path, summary: &mut Summary) -> Outcome {
    command
        .env("OPM_TEST_SKIPPED", skipped)
        // Built once here, so that no test program has to ask cargo for it.
        .env("OPM_BIN", opm_testkit::opm_binary());
    // Built beside the control plane; the user's own wins.
    let cue = Program::Cue
        .find()
        .filter(|_| env::var_os("OPM_CUE").is_none());
    if let Some(cue) = cue {
        command.env("OPM_CUE", cue);
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            summary.read_line(&line);
        }
    }
    succeed(child.wait()?.success(), "test")
}

fn banner(lines: &[String]) {
    eprintln!("\n{}", "=".repeat(78));
    for line in lines {
        eprintln!("  {line}");
    }
    eprintln!("{}\n", "=".repeat(78));
}

fn cargo(args: &[&str]) -> Outcome {
    succeed(command(args).status()?.success(), args[0])
}

fn command(args: &[&str]) -> Command {
    eprintln!("cargo {}", args.join(" "));
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

fn succeed(success: bool, what: &str) -> Outcome {
    match success {
        true => Ok(()),
        false => Err(format!("cargo {what} failed").into()),
    }
}
