//! Benchmarks.

mod cluster;
mod controller;
mod ui;

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

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
    /// The page with many releases and a large one, on the sandbox
    Ui(ui::Args),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let name = match &args.what {
        BenchSuite::Core => "core",
        BenchSuite::Feature => "feature",
        BenchSuite::Cluster(args) => return block_on(cluster::run(args))?,
        BenchSuite::Controller(args) => return block_on(controller::run(args))?,
        BenchSuite::Ui(args) => return block_on(ui::run(args))?,
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

/// The kernel counts processor time in these.
const TICKS: f64 = 100.0;

/// What the kernel says of a process's memory, by the name that it has there, in bytes.
fn memory_of(process: u32, name: &str) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(kibibytes.ok_or("the kernel says nothing about memory")? << 10)
}

/// The processor time that a process took so far.
fn cpu_of(process: u32) -> Result<Duration, Box<dyn Error>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may hold anything.
    let (_, fields) = text.rsplit_once(") ").ok_or("no processor time")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    let both = ticks(11).zip(ticks(12)).ok_or("no processor time")?;
    Ok(Duration::from_secs_f64((both.0 + both.1) / TICKS))
}
