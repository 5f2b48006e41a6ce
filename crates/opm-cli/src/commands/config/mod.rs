//! `opm config`: the settings themselves.

mod init;
mod view;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show the settings that hold, or write a first configuration file
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    View(view::Args),
    Init(init::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::View(args) => view::run(args, settings, ui),
        Command::Init(args) => init::run(args, settings, ui),
    }
}
