//! `opm man`.

use std::path::PathBuf;

use crate::args;
use crate::error::{CliError, ErrorKind, Exit};
use crate::help;
use crate::ui::Ui;

/// Write the manual pages
///
/// One page for opm and one for each command, as `man` reads them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write them into; without one, the page of opm itself is printed
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let command = help::documented(args::command());
    let unwritten = |error: std::io::Error| {
        CliError::new(
            ErrorKind::Io,
            format!("failed to write the manual pages: {error}"),
        )
    };
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.map_err(unwritten)?;
        ui.verbatim(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::DONE);
    };
    std::fs::create_dir_all(directory).map_err(unwritten)?;
    clap_mangen::generate_to(command, directory).map_err(unwritten)?;
    ui.info(&format!(
        "wrote the manual pages to {}",
        directory.display()
    ));
    Ok(Exit::DONE)
}
