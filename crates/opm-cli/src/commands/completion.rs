//! `opm completion`.

use clap_complete::Shell;

use crate::complete;
use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::Ui;

/// Print the completion script for a shell
///
/// For bash, for example: `opm completion bash > ~/.local/share/bash-completion/completions/opm`.
/// Releases, changes, components, contexts and namespaces are completed from the cluster; where it
/// does not answer at once, there is silence.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to write the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let script = complete::script(&args.shell.to_string()).ok_or_else(|| {
        let message = format!("there is no script for {}", args.shell);
        CliError::new(ErrorKind::Usage, message)
    })?;
    ui.verbatim(&String::from_utf8_lossy(&script))?;
    Ok(Exit::DONE)
}
