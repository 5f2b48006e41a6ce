//! The commands: one file each, with its arguments and one function.
//!
//! A new one gets a file with a clap struct, whose doc comment is the help text, and a `run` that
//! takes plain values and the `Ui`; a line in [`Command`] and one in each `match` below.

mod completion;
mod config;
mod controller;
pub(crate) mod examples;
mod feature;
mod man;
mod module;
mod page;
pub(crate) mod sandbox;
mod version;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::{ConfigFile, Key, Origin, Settings};
use crate::ui::Ui;

/// Everything that `opm` can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(subcommand, name = "mod")]
    Module(module::Command),
    #[command(subcommand)]
    Controller(controller::Command),
    #[command(subcommand)]
    Config(config::Command),
    #[command(subcommand)]
    Feature(feature::Command),
    #[command(subcommand)]
    Sandbox(sandbox::Command),
    #[command(name = "ui")]
    Page(page::Args),
    Completion(completion::Args),
    #[command(hide = true)]
    Man(man::Args),
    Version(version::Args),
    /// The commands of `mod`, without that word.
    #[command(flatten)]
    Short(module::Command),
}

impl Command {
    /// Whether this command looks at the configuration file.
    pub(crate) fn config_file(&self) -> ConfigFile {
        match self {
            Self::Completion(_)
            | Self::Man(_)
            | Self::Config(
                config::Command::Init(_) | config::Command::Trust(_) | config::Command::Untrust(_),
            ) => ConfigFile::Ignore,
            Self::Module(_)
            | Self::Short(_)
            | Self::Config(_)
            | Self::Feature(_)
            | Self::Sandbox(_)
            | Self::Page(_)
            | Self::Controller(_)
            | Self::Version(_) => ConfigFile::Read,
        }
    }

    /// Whether this command only tells about `opm` itself. Such a one works with settings that
    /// would be refused elsewhere, so that they can be looked at.
    pub(crate) fn tells_about_opm(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Feature(_)
            | Self::Completion(_)
            | Self::Man(_)
            | Self::Version(_) => true,
            Self::Module(_)
            | Self::Short(_)
            | Self::Controller(_)
            | Self::Sandbox(_)
            | Self::Page(_) => false,
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let typed = *settings.origin(Key::Sandbox) == Origin::Flag;
    if typed || !command.tells_about_opm() {
        settings.check_sandbox()?;
    }
    match command.tells_about_opm() {
        true => settings.untrusted_message().iter().for_each(|message| {
            ui.warn(message);
            ui.hint("read the file; `opm config trust` accepts it as it is now");
        }),
        false => settings.check_trust()?,
    }
    match command {
        Command::Module(command) | Command::Short(command) => module::run(command, settings, ui),
        Command::Controller(command) => controller::run(command, settings, ui),
        Command::Config(command) => config::run(command, settings, ui),
        Command::Feature(command) => feature::run(command, settings, ui),
        Command::Sandbox(command) => sandbox::run(command, settings, ui),
        Command::Page(args) => page::run(args, settings, ui),
        Command::Completion(args) => completion::run(args, ui),
        Command::Man(args) => man::run(args, ui),
        Command::Version(args) => version::run(args, &settings.features, ui),
    }
}
