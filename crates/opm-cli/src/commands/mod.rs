//! The commands: one file each, with its arguments and one function.

mod completion;
mod config;
mod version;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::{ConfigFile, Settings};
use crate::ui::Ui;

/// Everything that `opm` can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Config(config::Command),
    Completion(completion::Args),
    Version(version::Args),
}

impl Command {
    /// Whether this command looks at the configuration file.
    pub(crate) fn config_file(&self) -> ConfigFile {
        match self {
            Self::Completion(_) | Self::Config(config::Command::Init(_)) => ConfigFile::Ignore,
            Self::Config(_) | Self::Version(_) => ConfigFile::Read,
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::Config(command) => config::run(command, settings, ui),
        Command::Completion(args) => completion::run(args, ui),
        Command::Version(args) => version::run(args, ui),
    }
}
