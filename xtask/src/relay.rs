//! The relay, for trying faults by hand.

use crate::Outcome;

/// Stands between opm and an API server, and brings delay and faults
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Outcome {
    Err("the relay is not here yet".into())
}
