//! `opm config trust` and `opm config untrust`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use crate::config::{self, TrustStore};
use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::{Key, Settings};
use crate::ui::{Format, Table, Ui};

/// Accept everything that a configuration file in a working directory says
///
/// A file that came with a checkout may set only what is harmless: the namespace, the output, and
/// features. What chooses a cluster, credentials or a path is refused there until its file is
/// trusted. It is trusted as it is now: once it changes, or the kubeconfig that it names does, it
/// has to be trusted again.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The file; by default the one in the working directory
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// List the files that are trusted instead
    #[arg(long, conflicts_with = "file")]
    list: bool,
}

/// Stop trusting a configuration file
#[derive(Debug, clap::Args)]
pub(crate) struct UntrustArgs {
    /// The file; by default the one in the working directory
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The document of `trust --list -o json`.
#[derive(Serialize)]
struct TrustDocument {
    trusted: Vec<TrustRow>,
}

#[derive(Serialize)]
struct TrustRow {
    file: PathBuf,
    state: &'static str,
}

pub(super) fn trust(args: &TrustArgs, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let store = store(settings)?;
    if args.list {
        return list(store, ui);
    }
    let path = file(args.file.as_deref(), settings)?;
    let (trusted, keys) = config::trusted(&path)?;
    config::trust(store, &trusted)?;
    let keys: Vec<&str> = keys.into_iter().filter_map(Key::config).collect();
    let document = json!({ "file": trusted.path, "keys": keys });
    match ui.format_or(Format::Table) {
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
        Format::Table | Format::Wide => {
            let what = match keys.is_empty() {
                true => "it says nothing that has to be trusted".to_owned(),
                false => format!("from now on it may set {}", keys.join(", ")),
            };
            ui.info(&format!("trusted {}: {what}", trusted.path.display()));
        }
    }
    Ok(Exit::DONE)
}

pub(super) fn untrust(args: &UntrustArgs, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let store = store(settings)?;
    let path = config::place(&file(args.file.as_deref(), settings)?)?;
    let was_trusted = store.remove(&path).map_err(|error| failed(&error))?;
    let document = json!({ "file": path, "wasTrusted": was_trusted });
    match ui.format_or(Format::Table) {
        Format::Json => ui.json(&document)?,
        Format::Yaml => ui.yaml(&document)?,
        Format::Table | Format::Wide => {
            let was = if was_trusted { "no longer" } else { "not" };
            ui.info(&format!("{} is {was} trusted", path.display()));
        }
    }
    Ok(Exit::DONE)
}

fn list(store: &TrustStore, ui: &Ui) -> Result<Exit, CliError> {
    let files = store.list().map_err(|error| failed(&error))?;
    let rows = files.into_iter().map(|file| {
        let now = config::trusted(&file.path).ok();
        let state = match now {
            Some((now, _)) if now == file => "trusted",
            Some(_) => "changed",
            None => "unreadable",
        };
        let file = file.path;
        TrustRow { file, state }
    });
    let document = TrustDocument {
        trusted: rows.collect(),
    };
    ui.data(&document, |_| {
        let mut table = Table::new(["FILE", "STATE"]);
        for row in &document.trusted {
            table.row([&row.file.display().to_string(), row.state]);
        }
        table
    })?;
    Ok(Exit::DONE)
}

/// The file that is meant.
fn file(given: Option<&Path>, settings: &Settings) -> Result<PathBuf, CliError> {
    let named = given.map(Path::to_owned).or(settings.config_named.clone());
    let found = match named {
        Some(path) => Some(path),
        None => config::in_working_directory()?,
    };
    found.ok_or_else(|| {
        let message = "there is no configuration file in the working directory";
        CliError::new(ErrorKind::Usage, message).hint("name the file")
    })
}

fn store(settings: &Settings) -> Result<&TrustStore, CliError> {
    settings.trust.as_ref().ok_or_else(|| {
        let message = "this user has no state directory: HOME is not set";
        CliError::new(ErrorKind::Config, message)
    })
}

fn failed(error: &std::io::Error) -> CliError {
    let message = format!("failed to read or write what is trusted: {error}");
    CliError::new(ErrorKind::Io, message)
}
