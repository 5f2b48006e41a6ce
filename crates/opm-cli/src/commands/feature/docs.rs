//! `opm feature docs`.

use opm_core::feature::{FeatureSet, markdown};

use crate::error::{CliError, Exit};
use crate::ui::Ui;

/// Print the documentation of all features as Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, features: &FeatureSet, ui: &Ui) -> Result<Exit, CliError> {
    ui.text(&markdown::page(features))?;
    Ok(Exit::DONE)
}
