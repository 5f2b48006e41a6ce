//! The `opm` command: what was typed becomes settings, settings become a request, and one
//! module prints the answer.
//!
//! The path of the data is the path through the files:
//!
//! ```text
//! args      what was typed                        (clap)
//! env       what the environment says             (the only reader of variables)
//! config    what the configuration file says
//! settings  what all three mean together: flag beats environment beats file
//! commands  one file per command: its arguments, and one function
//! cluster   the session: a connected engine, and who watches and answers
//! answers   what each command says, to people and to scripts
//! ui        the only place that prints
//! ```
//!
//! Commands take plain values (those that wait for something, an `Invocation`) and return an [`Exit`] or a [`CliError`]; none of them prints by
//! itself, reads a variable, or ends the process.

mod answers;
mod args;
mod cluster;
mod commands;
mod complete;
mod config;
mod directories;
mod duration;
mod env;
mod error;
mod help;
mod interrupt;
mod invocation;
mod pre_settings;
pub mod reference;
mod runtime;
mod settings;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use args::Cli;
use env::Environment;
use opm_core::feature::Defaults;
use settings::Surroundings;
use ui::Ui;

pub use error::{CliError, ErrorKind, Exit};

/// Runs `opm` with the given arguments, the first of which is the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_with(arguments, Defaults::shipped())
}

/// Runs `opm` as a version that declares other features.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>, declared: Defaults) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let env = Environment::of_this_process();
    let given = Surroundings { env, declared };
    if let Some(exit) = complete::answer(&arguments, &given) {
        return exit.into();
    }
    match args::parse(&arguments) {
        Ok(cli) => execute(&cli.with_lists_of(&arguments), &given).into(),
        Err(answer) => pre_settings::answer(&answer, &arguments, &given).into(),
    }
}

fn execute(cli: &Cli, given: &Surroundings) -> Exit {
    let settings = match settings::resolve(&cli.global, given, cli.command.config_file()) {
        Ok(settings) => settings,
        Err(error) => return pre_settings::ui(&cli.global, given).fail(&error),
    };
    let ui = Ui::new(settings.output, settings.verbosity, settings.color);
    let ui = ui.drawing(settings.drawable);
    if let Some(path) = &settings.config_read {
        ui.detail(&format!("read the configuration file {}", path.display()));
    }
    for warning in &settings.warnings {
        ui.warn(warning);
    }
    let exit = commands::run(&cli.command, &settings, &ui).unwrap_or_else(|error| ui.fail(&error));
    ui.clear_live();
    exit
}
