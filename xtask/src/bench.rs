//! Benchmarks.

use crate::Outcome;

/// Measures opm against its peers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Outcome {
    Err("there are no benchmarks yet".into())
}
