//! `opm controller`: releases as resources of a cluster.

mod install;
mod run;

use clap::Subcommand;

use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Run or install the controller, which keeps releases as ModuleReleases describe them
///
/// A ModuleRelease is a resource of the cluster that says which module a release is made of, and
/// with which values. The controller applies it with the same engine as `opm mod apply`, and keeps
/// it so.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Install(install::Args),
}

pub(super) fn run(command: &Command, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) => run::run(args, settings, ui),
        Command::Install(args) => install::run(args, settings, ui),
    }
}
