//! Benchmarks.

use std::process::Command;

use crate::Outcome;

/// Runs a benchmark and prints what it measured
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to measure
    what: BenchSuite,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum BenchSuite {
    /// Digest, plan and check for 10,000 objects
    Core,
    /// Asking whether a feature is on
    Feature,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let name = match args.what {
        BenchSuite::Core => "core",
        BenchSuite::Feature => "feature",
    };
    let bench = ["bench", "--quiet", "--package", "opm-core", "--bench", name];
    let status = Command::new(env!("CARGO")).args(bench).status()?;
    if !status.success() {
        return Err(format!("the benchmark {name} failed: {status}").into());
    }
    Ok(())
}
