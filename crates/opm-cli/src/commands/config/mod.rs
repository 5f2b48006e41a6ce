//! `opm config`: the settings themselves.

mod init;
mod trust;
mod view;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show the settings that hold, write a first configuration file, or trust one
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    View(view::Args),
    Init(init::Args),
    Trust(trust::TrustArgs),
    Untrust(trust::UntrustArgs),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::View(args) => view::run(args, settings, ui),
        Command::Init(args) => init::run(args, settings, ui),
        Command::Trust(args) => trust::trust(args, settings, ui),
        Command::Untrust(args) => trust::untrust(args, settings, ui),
    }
}
