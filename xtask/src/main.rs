//! The chores of this repository: `cargo xtask <chore>`. Each is a file of its own.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores talk to the person who runs them"
)]

mod bench;
mod cluster;
mod dist;
mod docs;
mod fuzz;
mod recording;
mod relay;
mod sandbox_schema;
mod supply_chain;
mod test;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

/// How a chore ends; the error is for the person who runs it.
type Outcome = Result<(), Box<dyn Error>>;

/// The chores of this repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
enum Chore {
    Test(test::Args),
    Docs(docs::Args),
    Recording(recording::Args),
    Dist(dist::Args),
    Bench(bench::Args),
    Cluster(cluster::Args),
    Relay(relay::Args),
    SandboxSchema(sandbox_schema::Args),
    Fuzz(fuzz::Args),
    SupplyChain(supply_chain::Args),
}

fn main() -> ExitCode {
    let outcome = match Chore::parse() {
        Chore::Test(args) => test::run(&args),
        Chore::Docs(args) => docs::run(&args),
        Chore::Recording(args) => recording::run(&args),
        Chore::Dist(args) => dist::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Cluster(args) => cluster::run(&args),
        Chore::Relay(args) => relay::run(&args),
        Chore::SandboxSchema(args) => sandbox_schema::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::SupplyChain(args) => supply_chain::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(source) = cause {
                eprintln!("  because: {source}");
                cause = source.source();
            }
            ExitCode::FAILURE
        }
    }
}

/// Runs the asynchronous part of a chore.
fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
