//! All checks of this repository.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use opm_testkit::programs::{BuildError, Program};
use opm_testkit::{ControlPlane, PlaneError};

use crate::{Outcome, block_on, docs};

/// Runs all checks: format, lints, tests (on a real control plane when Go is there)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also run the long variants of the tests
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    cargo(&["fmt", "--all", "--check"], &[])?;
    docs::check()?;
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    // Held until the end, so that all test programs share one control plane.
    let plane = block_on(ControlPlane::shared())?;
    let missing = without_control_plane(plane)?;
    if let Some(why) = &missing {
        banner(&["NO CONTROL PLANE: the tests that need one are SKIPPED", why]);
    }
    let skipped = env::temp_dir().join(format!("opm-skipped-{}", std::process::id()));
    let outcome = cargo_test(args, &skipped);
    report_skipped(&skipped);
    outcome
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

fn cargo_test(args: &Args, skipped: &Path) -> Outcome {
    // Built once here, so that no test program has to ask cargo for it.
    let opm = opm_testkit::opm_binary();
    let (skipped, opm) = (skipped.to_string_lossy(), opm.to_string_lossy());
    let mut vars = vec![
        ("OPM_TEST_SKIPPED", skipped.as_ref()),
        ("OPM_BIN", opm.as_ref()),
    ];
    if args.full {
        vars.push(("OPM_TEST_FULL", "1"));
    }
    // Built beside the control plane; the user's own wins.
    let cue = Program::Cue
        .find()
        .filter(|_| env::var_os("OPM_CUE").is_none());
    let cue = cue.map(|path| path.to_string_lossy().into_owned());
    if let Some(cue) = &cue {
        vars.push(("OPM_CUE", cue));
    }
    cargo(&["test", "--workspace"], &vars)
}

fn report_skipped(list: &Path) {
    let Ok(text) = fs::read_to_string(list) else {
        return;
    };
    let _ = fs::remove_file(list);
    let mut names: Vec<_> = text.lines().collect();
    names.sort_unstable();
    let title = format!(
        "{} TESTS WERE SKIPPED for want of a control plane:",
        names.len()
    );
    names.insert(0, &title);
    banner(&names);
}

fn banner(lines: &[&str]) {
    eprintln!("\n{}", "=".repeat(78));
    for line in lines {
        eprintln!("  {line}");
    }
    eprintln!("{}\n", "=".repeat(78));
}

fn cargo(args: &[&str], vars: &[(&str, &str)]) -> Outcome {
    eprintln!("cargo {}", args.join(" "));
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(args)
        .envs(vars.iter().copied())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo {} failed", args[0]).into())
    }
}
