//! `opm config init`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::config::{ConfigLanguage, template};
use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::Settings;
use crate::ui::{Format, Ui};
use opm_engine::FailureKind;

/// Write a configuration file that has every key, explained and commented out
///
/// Writes `opm-config.yaml` in the working directory, or the file that `--config` names. An
/// existing file is left alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The language of the file; by default YAML, or what the name of the file says
    #[arg(long, value_name = "LANGUAGE")]
    format: Option<ConfigLanguage>,

    /// Write into the user's configuration directory instead
    #[arg(long, conflicts_with = "config")]
    user: bool,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let (path, language) = target(args, settings)?;
    write(&path, &template::text(language)).map_err(|error| unwritten(&path, &error))?;
    let document = json!({ "file": path });
    match ui.format_or(Format::Table) {
        Format::Table | Format::Wide => {
            ui.info(&format!("wrote {}", path.display()));
            ui.hint("`opm config view` shows what holds, and where it comes from");
        }
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
    }
    Ok(Exit::DONE)
}

/// Which file to write, and in which language.
fn target(args: &Args, settings: &Settings) -> Result<(PathBuf, ConfigLanguage), CliError> {
    let asked = args.format.unwrap_or(ConfigLanguage::Yaml);
    if args.user {
        let directory = settings.config_dir.as_ref().ok_or_else(|| {
            CliError::new(
                ErrorKind::Config,
                "this user has no configuration directory: HOME is not set",
            )
        })?;
        return Ok((directory.join(asked.file_name()), asked));
    }
    let Some(named) = &settings.config_named else {
        return Ok((PathBuf::from(asked.file_name()), asked));
    };
    match ConfigLanguage::of(named) {
        Some(language) if args.format.is_none_or(|format| format == language) => {
            Ok((named.clone(), language))
        }
        _ => {
            let message = format!(
                "{} does not have the ending of its language",
                named.display()
            );
            Err(CliError::new(ErrorKind::Usage, message)
                .hint("a configuration file ends in .yaml or .toml"))
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        fs::create_dir_all(directory)?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?
        .write_all(text.as_bytes())
}

fn unwritten(path: &Path, error: &io::Error) -> CliError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        let message = format!("{} exists already and was left as it is", path.display());
        return CliError::new(FailureKind::Refused, message)
            .hint("edit it, or remove it first to start over");
    }
    CliError::new(
        ErrorKind::Io,
        format!("failed to write {}: {error}", path.display()),
    )
}
