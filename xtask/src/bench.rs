//! Benchmarks.

mod cluster;

use std::process::Command;

use clap::Subcommand;

use crate::{Outcome, block_on};

/// Runs a benchmark and prints what it measured
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: BenchSuite,
}

#[derive(Debug, Subcommand)]
enum BenchSuite {
    /// Digest, plan and check for 10,000 objects
    Core,
    /// Asking whether a feature is on
    Feature,
    /// opm beside other tools and a floor, on a real control plane; writes docs/benchmarks.md
    Cluster(cluster::Args),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let name = match &args.what {
        BenchSuite::Core => "core",
        BenchSuite::Feature => "feature",
        BenchSuite::Cluster(args) => return block_on(cluster::run(args))?,
    };
    let bench = ["bench", "--quiet", "--package", "opm-core", "--bench", name];
    let status = Command::new(env!("CARGO")).args(bench).status()?;
    if !status.success() {
        return Err(format!("the benchmark {name} failed: {status}").into());
    }
    Ok(())
}
