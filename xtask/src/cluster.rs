//! A control plane to test on: its programs, and one that stays up between test runs.

use std::env;

use clap::Subcommand;
use opm_testkit::programs::{self, CONTROL_PLANE, PEERS};
use opm_testkit::{ControlPlane, Stop};

use crate::{Outcome, block_on};

/// Builds, starts and stops a control plane on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ClusterAction,
}

#[derive(Debug, Subcommand)]
enum ClusterAction {
    /// Build the programs of the control plane into the cache; needs Go, and minutes the first time
    Build {
        /// Also build the peers of the benchmark: helm and kapp
        #[arg(long)]
        peers: bool,
    },
    /// Start a control plane that stays up, and print the path of its kubeconfig
    Up,
    /// Stop it and remove its files
    Down,
    /// Print shell commands that make it the cluster of this shell
    Env,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match args.what {
        ClusterAction::Build { peers } => build(peers),
        ClusterAction::Up => block_on(up())?,
        ClusterAction::Down => down(),
        ClusterAction::Env => block_on(print_env())?,
    }
}

fn build(peers: bool) -> Outcome {
    programs::ensure(CONTROL_PLANE)?;
    if peers {
        programs::ensure(PEERS)?;
    }
    for dir in programs::directories() {
        println!("{}", dir.display());
    }
    Ok(())
}

async fn up() -> Outcome {
    let plane = ControlPlane::keep_up().await?;
    if let Some(seconds) = plane.seconds_to_ready() {
        eprintln!("ready, {seconds:.1} s after its start; `cargo xtask cluster down` stops it");
    }
    println!("{}", plane.kubeconfig().display());
    Ok(())
}

fn down() -> Outcome {
    match opm_testkit::stop()? {
        Stop::Stopped => eprintln!("stopped"),
        Stop::NothingRan => eprintln!("nothing was up"),
    }
    Ok(())
}

async fn print_env() -> Outcome {
    let plane = ControlPlane::running().await?;
    let plane = plane.ok_or("no control plane is up: run `cargo xtask cluster up` first")?;
    let kubeconfig = plane.kubeconfig().display();
    println!("export KUBECONFIG='{kubeconfig}'");
    println!("export OPM_TEST_KUBECONFIG='{kubeconfig}'");
    let mut path = programs::directories();
    if let Some(dir) = path.first() {
        println!("export KUBEBUILDER_ASSETS='{}'", dir.display());
    }
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    println!("export PATH='{}'", env::join_paths(path)?.to_string_lossy());
    Ok(())
}
