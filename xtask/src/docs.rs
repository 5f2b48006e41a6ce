//! Generated documentation.

use crate::Outcome;

/// Writes the generated parts of the documentation
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Outcome {
    Err("there is no generated documentation yet".into())
}
