//! `opm completion`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{CliError, Exit};
use crate::ui::Ui;

/// Print the completion script for a shell
///
/// For bash, for example: `opm completion bash > ~/.local/share/bash-completion/completions/opm`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to write the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "opm", &mut script);
    ui.verbatim(&String::from_utf8_lossy(&script))?;
    Ok(Exit::DONE)
}
