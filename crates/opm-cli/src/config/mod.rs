//! The configuration file: finding it, reading it, and writing a first one.
//!
//! `--config FILE` names the file. Without it the first directory that has one decides: the
//! working directory, then the user's configuration directory. Files are not merged.
//!
//! A file in the working directory may have come with a checkout, and is not the user's word:
//! what chooses clusters, credentials, programs or paths holds from there only if the user
//! trusts the file.

mod decode;
pub(crate) mod template;
mod trust;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use opm_render::{json_document, read_regular_file, yaml};
use serde_json::Value;

use crate::error::{CliError, ErrorKind};
use crate::settings::{Key, Layer};

pub(crate) use trust::{TrustStore, TrustedFile};

/// The largest file that can be somebody's configuration.
const MAX_BYTES: u64 = 1 << 20;

/// The names under which a configuration file is found.
const FILE_NAMES: [&str; 3] = ["opm-config.yaml", "opm-config.yml", "opm-config.toml"];

/// The languages in which a configuration file can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigLanguage {
    /// YAML, in `opm-config.yaml`
    Yaml,
    /// TOML, in `opm-config.toml`
    Toml,
}

impl ConfigLanguage {
    /// The name of a new file of this language.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::Yaml => "opm-config.yaml",
            Self::Toml => "opm-config.toml",
        }
    }

    /// The language of a file, by its ending.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

/// The document in a file's text, in the language that its ending says; none if that says nothing.
fn parse(path: &Path, text: &str) -> Option<Result<Value, String>> {
    let placed = |line: u64, column: u64, error: &dyn std::fmt::Display| {
        format!("line {line}, column {column}: {error}")
    };
    Some(match ConfigLanguage::of(path) {
        Some(ConfigLanguage::Yaml) => {
            yaml::document(text).map_err(|error| match error.position() {
                Some(at) => placed(at.line, at.column, &error),
                None => error.to_string(),
            })
        }
        Some(ConfigLanguage::Toml) => {
            toml::from_str(text).map_err(|error| toml_message(text, &error))
        }
        None if path.extension().is_some_and(|ending| ending == "json") => json_document(text)
            .map_err(|error| placed(error.position.line, error.position.column, &error)),
        None => return None,
    })
}

/// The error in one line: with its place, without quoting the text.
fn toml_message(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!("line {line}, column {column}: {}", error.message())
        }
        None => error.message().to_owned(),
    }
}

/// A configuration file, read.
#[derive(Debug)]
pub(crate) struct ReadConfig {
    /// The file.
    pub(crate) path: PathBuf,
    /// What of it holds.
    pub(crate) layer: Layer,
    /// What it says and may not, because the user does not trust it.
    pub(crate) untrusted: Vec<Key>,
}

/// Reads the file that applies, if there is one.
pub(crate) fn read(
    named: Option<&PathBuf>,
    user: Option<&Path>,
    trust: Option<&TrustStore>,
) -> Result<Option<ReadConfig>, CliError> {
    if let Some(path) = named {
        return load(path).map(|(_, layer)| Some(whole(path.clone(), layer)));
    }
    if let Some(path) = in_working_directory()? {
        let (text, layer) = load(&path)?;
        let untrusted = layer.beyond_checkout();
        let is_users = user.is_some_and(|user| is_same_directory(user, Path::new(".")));
        if untrusted.is_empty() || is_users || is_trusted(&path, &text, &layer, trust) {
            return Ok(Some(whole(path, layer)));
        }
        let layer = layer.of_checkout();
        return Ok(Some(ReadConfig {
            path,
            layer,
            untrusted,
        }));
    }
    match user.map(in_directory).transpose()?.flatten() {
        Some(path) => load(&path).map(|(_, layer)| Some(whole(path, layer))),
        None => Ok(None),
    }
}

fn whole(path: PathBuf, layer: Layer) -> ReadConfig {
    ReadConfig {
        path,
        layer,
        untrusted: Vec::new(),
    }
}

fn is_same_directory(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn is_trusted(path: &Path, text: &str, layer: &Layer, trust: Option<&TrustStore>) -> bool {
    let (Some(store), Ok(path)) = (trust, trust::place(path)) else {
        return false;
    };
    let content = trust::digest(text, layer);
    store.holds(&TrustedFile { path, content })
}

/// Reads a file that the user wants to trust, and says which of its keys need it.
pub(crate) fn trusted(path: &Path) -> Result<(TrustedFile, Vec<Key>), CliError> {
    let (text, layer) = load(path)?;
    let place = trust::place(path).map_err(|error| unreadable(path, &error))?;
    let file = TrustedFile {
        path: place,
        content: trust::digest(&text, &layer),
    };
    Ok((file, layer.beyond_checkout()))
}

/// The place of a file as it is remembered, also if the file is gone.
pub(crate) fn place(path: &Path) -> Result<PathBuf, CliError> {
    trust::place(path).map_err(|error| unreadable(path, &error))
}

/// Remembers a file as trusted.
pub(crate) fn trust(store: &TrustStore, file: &TrustedFile) -> Result<(), CliError> {
    store.add(file).map_err(|error| {
        let message = format!("failed to remember {}: {error}", file.path.display());
        CliError::new(ErrorKind::Io, message)
    })
}

/// The configuration file of the working directory.
pub(crate) fn in_working_directory() -> Result<Option<PathBuf>, CliError> {
    in_directory(Path::new(""))
}

/// The configuration file of a directory.
fn in_directory(directory: &Path) -> Result<Option<PathBuf>, CliError> {
    let mut found = FILE_NAMES.map(|name| directory.join(name)).to_vec();
    found.retain(|path| path.exists());
    if found.len() > 1 {
        let names: Vec<String> = found
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let message = format!(
            "there is more than one configuration file: {}",
            names.join(" and ")
        );
        return Err(CliError::new(ErrorKind::Config, message)
            .hint("keep one of them, or name the one to use with --config"));
    }
    Ok(found.pop())
}

/// A file's text and what it says.
fn load(path: &Path) -> Result<(String, Layer), CliError> {
    let text = read_regular_file(path, MAX_BYTES).map_err(|error| unreadable(path, &error))?;
    let parsed = parse(path, &text).ok_or_else(|| {
        CliError::new(
            ErrorKind::Config,
            format!("cannot tell the language of {}", path.display()),
        )
        .hint("a configuration file ends in .yaml, .toml or .json")
    })?;
    let document = parsed.map_err(|error| {
        let message = format!(
            "failed to parse the configuration file {}: {error}",
            path.display()
        );
        CliError::new(ErrorKind::Config, message)
    })?;
    let layer = decode::layer(path, &document)?;
    Ok((text, layer))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> CliError {
    let (shown, said) = (path.display().to_string(), error.to_string());
    let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said);
    let message = format!("failed to read the configuration file {shown}: {said}");
    CliError::new(ErrorKind::Config, message)
}
