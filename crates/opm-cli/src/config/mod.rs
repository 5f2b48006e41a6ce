//! The configuration file: finding it, reading it, and writing a first one.
//!
//! `--config FILE` names the file. Without it the first directory that has one decides: the
//! working directory, then the user's configuration directory. Files are not merged.

mod decode;
pub(crate) mod template;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use opm_render::yaml;
use serde_json::Value;

use crate::error::{CliError, ErrorKind};
use crate::settings::Layer;

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
            "yaml" | "yml" | "json" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }

    fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Yaml => yaml::document(text).map_err(|error| match error.position() {
                Some(at) => format!("line {}, column {}: {error}", at.line, at.column),
                None => error.to_string(),
            }),
            Self::Toml => toml::from_str(text).map_err(|error| toml_message(text, &error)),
        }
    }
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

/// Reads the file that applies, if there is one, and says which it was.
pub(crate) fn read(
    named: Option<&PathBuf>,
    user: Option<&Path>,
) -> Result<Option<(PathBuf, Layer)>, CliError> {
    let found = match named {
        Some(path) => Some(path.clone()),
        None => match in_directory(Path::new(""))? {
            Some(path) => Some(path),
            None => user.map(in_directory).transpose()?.flatten(),
        },
    };
    found
        .map(|path| load(&path).map(|layer| (path, layer)))
        .transpose()
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

fn load(path: &Path) -> Result<Layer, CliError> {
    let language = ConfigLanguage::of(path).ok_or_else(|| {
        CliError::new(
            ErrorKind::Config,
            format!("cannot tell the language of {}", path.display()),
        )
        .hint("a configuration file ends in .yaml or .toml")
    })?;
    let text = contents(path).map_err(|error| {
        let message = format!(
            "failed to read the configuration file {}: {error}",
            path.display()
        );
        CliError::new(ErrorKind::Config, message)
    })?;
    let document = language.parse(&text).map_err(|error| {
        let message = format!(
            "failed to parse the configuration file {}: {error}",
            path.display()
        );
        CliError::new(ErrorKind::Config, message)
    })?;
    decode::layer(path, &document)
}

fn contents(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}
