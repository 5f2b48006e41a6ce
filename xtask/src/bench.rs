//! Benchmarks.

mod cluster;
mod controller;

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use clap::Subcommand;

use crate::{Outcome, block_on, docs};

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
    /// The controller with many releases, on an API server of its own
    Controller(controller::Args),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let name = match &args.what {
        BenchSuite::Core => "core",
        BenchSuite::Feature => "feature",
        BenchSuite::Cluster(args) => return block_on(cluster::run(args))?,
        BenchSuite::Controller(args) => return block_on(controller::run(args))?,
    };
    let bench = ["bench", "--quiet", "--package", "opm-core", "--bench", name];
    let status = Command::new(env!("CARGO")).args(bench).status()?;
    if !status.success() {
        return Err(format!("the benchmark {name} failed: {status}").into());
    }
    Ok(())
}

/// Builds a program as it is shipped, and says where it is.
fn release_build(package: &str, binary: &str) -> Result<PathBuf, Box<dyn Error>> {
    let root = docs::full(".");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", package, "--bin", binary])
        .current_dir(&root)
        .status()?;
    if !built.success() {
        return Err(format!("cargo build --release --bin {binary} failed").into());
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release").join(binary).canonicalize()?)
}
