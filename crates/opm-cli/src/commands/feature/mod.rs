//! `opm feature`: what can be switched on and off.

mod docs;
mod list;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show the features that can be switched on and off
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Docs(docs::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::List(args) => list::run(args, &settings.features, ui),
        Command::Docs(args) => docs::run(args, &settings.features, ui),
    }
}
