//! `opm sandbox reset`.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use opm_sandbox::Sandbox;

use super::unusable;
use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::{Ui, Verbosity};
use opm_engine::FailureKind;

/// Delete the sandbox with everything in it
///
/// Only a file that is a sandbox's is deleted, and only when nobody else has it open; the next
/// command that uses it starts empty.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, dir: &Path, ui: &Ui) -> Result<Exit, CliError> {
    let file = dir.join(opm_sandbox::FILE_NAME);
    if !file.exists() {
        ui.info(&format!("{} does not exist", file.display()));
        return Ok(Exit::DONE);
    }
    if !args.yes && !agreed(&file, ui)? {
        return Err(CliError::new(FailureKind::Refused, "nothing was deleted"));
    }
    Sandbox::reset(dir).map_err(|error| unusable(&error))?;
    ui.info(&format!("deleted {}", file.display()));
    Ok(Exit::DONE)
}

fn agreed(file: &Path, ui: &Ui) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        let message = format!(
            "{} is to be deleted, and nobody can be asked",
            file.display()
        );
        return Err(CliError::new(FailureKind::Refused, message).hint("say --yes"));
    }
    ui.say(
        Verbosity::Quiet,
        &format!("Delete {}? [y/N]", file.display()),
    );
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| {
        CliError::new(ErrorKind::Io, format!("failed to read the answer: {error}"))
    })?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
