//! `opm mod`: modules and their releases.

mod build;
mod init;
mod out_dir;
mod rendering;
mod vet;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Work with modules and their releases
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Vet(vet::Args),
    Build(build::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::Init(args) => init::run(args, ui),
        Command::Vet(args) => vet::run(args, settings, ui),
        Command::Build(args) => build::run(args, settings, ui),
    }
}
