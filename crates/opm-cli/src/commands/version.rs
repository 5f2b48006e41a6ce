//! `opm version`.

use serde_json::json;

use crate::error::{CliError, Exit};
use crate::ui::{Format, Ui};

/// Show the version of opm
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let document = json!({ "version": version });
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => ui.text(&format!("opm {version}\n"))?,
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
    }
    Ok(Exit::Done)
}
