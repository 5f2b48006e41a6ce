//! `opm mod init`.

use std::path::PathBuf;

use clap::ValueEnum;
use opm_render::{InitError, InitFormat};
use serde_json::json;

use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::Settings;
use crate::ui::{Format, Ui};
use opm_engine::FailureKind;

/// Write a new module that applies as it is
///
/// The module is named after its directory. Nothing that is there is overwritten. In a directory
/// that holds manifests it writes the module.yaml that lists them, and says what it found: what
/// `opm mod apply` makes of such a directory, written down.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The language of the module; by default CUE, or YAML for manifests that are there
    #[arg(long, value_name = "LANGUAGE")]
    format: Option<ModuleFormat>,
}

/// The language of a new module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModuleFormat {
    /// With values and a schema for them; needs the `cue` command
    Cue,
    /// Manifests as they are; needs nothing else
    Yaml,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let format = args.format.map(|format| match format {
        ModuleFormat::Cue => InitFormat::Cue,
        ModuleFormat::Yaml => InitFormat::Yaml,
    });
    let written = opm_render::init(&args.directory, format).map_err(|error| failure(&error))?;
    let shown = args.directory.display();
    let document = json!({ "module": written.name.as_str(), "directory": args.directory, "files": written.files, "found": written.found });
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => {
            let files = written.files.join(", ");
            ui.info(&format!(
                "wrote the module {} to {shown}: {files}",
                written.name
            ));
            if !written.found.is_empty() {
                ui.info(&format!(
                    "it lists what was there: {}",
                    written.found.join(", ")
                ));
            }
            ui.hint(&format!("`opm mod build {shown}` shows what it renders"));
        }
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
    }
    if args.format != Some(ModuleFormat::Yaml) && written.found.is_empty() {
        warn_without_cue(settings, ui);
    }
    Ok(Exit::DONE)
}

/// The module is fine without `cue`, but no other command can do anything with it.
fn warn_without_cue(settings: &Settings, ui: &Ui) {
    if let Err(error) = opm_render::find_cue(&settings.render) {
        ui.warn(&format!("the module cannot be rendered yet: {error}"));
        for hint in error.hints() {
            ui.hint(&hint);
        }
    }
}

fn failure(error: &InitError) -> CliError {
    let message = error.to_string();
    match error {
        InitError::Exists { .. } => CliError::new(FailureKind::Refused, message)
            .hint("choose another directory, or remove them first to start over"),
        InitError::Name(_) => CliError::new(ErrorKind::Invalid, message)
            .hint("a module is named after its directory: choose another one"),
        InitError::Found(error) => super::rendering::failure(error),
        InitError::Write { .. } => CliError::new(ErrorKind::Io, message),
    }
}
