//! A first module: files that apply as they are and explain themselves.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use opm_core::name::{ModuleName, NameError};
use thiserror::Error;

/// The language of a new module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitFormat {
    /// CUE: values, a schema for them, and everything that the language can.
    Cue,
    /// YAML: manifests as they are.
    Yaml,
}

/// Why a module cannot be written.
#[derive(Debug, Error)]
pub enum InitError {
    /// There is a module already, or files that would be in its way.
    #[error("{directory}: {}", listed(.files))]
    Exists {
        /// The directory.
        directory: String,
        /// The files.
        files: Vec<String>,
    },
    /// The directory's name cannot be a module's.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A file cannot be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
}

fn listed(files: &[String]) -> String {
    match files {
        [one] => format!("{one} already exists"),
        many => format!("{} already exist", many.join(", ")),
    }
}

/// A module that `init` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewModule {
    /// The name that the module got, from its directory.
    pub name: ModuleName,
    /// The files, relative to the directory.
    pub files: Vec<&'static str>,
}

const CUE: [(&str, &str); 3] = [
    (
        "cue.mod/module.cue",
        include_str!("init/cue/cue.mod.module.cue"),
    ),
    ("module.cue", include_str!("init/cue/module.cue")),
    ("values.cue", include_str!("init/cue/values.cue")),
];

const YAML: [(&str, &str); 3] = [
    ("module.yaml", include_str!("init/yaml/module.yaml")),
    ("config.yaml", include_str!("init/yaml/config.yaml")),
    ("web.yaml", include_str!("init/yaml/web.yaml")),
];

/// Both formats' definitions: a directory that has either holds a module.
const DEFINITIONS: [&str; 3] = ["cue.mod", "module.yaml", "module.cue"];

/// Writes a new module. Nothing that is there is overwritten.
pub fn init(directory: &Path, format: InitFormat) -> Result<NewModule, InitError> {
    let files = match format {
        InitFormat::Cue => CUE,
        InitFormat::Yaml => YAML,
    };
    let name = name_for(directory)?;
    let mut wanted: Vec<&str> = DEFINITIONS.to_vec();
    wanted.extend(
        files
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !path.contains('/')),
    );
    wanted.dedup();
    refuse_existing(directory, &wanted)?;
    let package = name.as_str().replace('-', "_");
    // A package's name must not begin with a digit.
    let package = if package.starts_with(|c: char| c.is_ascii_digit()) {
        format!("m{package}")
    } else {
        package
    };
    for (path, text) in files {
        let text = text
            .replace("NAME", name.as_str())
            .replace("PACKAGE", &package);
        write_new(&directory.join(path), &text)?;
    }
    Ok(NewModule {
        name,
        files: files.iter().map(|(path, _)| *path).collect(),
    })
}

fn refuse_existing(directory: &Path, wanted: &[&str]) -> Result<(), InitError> {
    let mut files: Vec<String> = Vec::new();
    for path in wanted {
        if directory.join(path).symlink_metadata().is_ok() && !files.iter().any(|f| f == path) {
            files.push((*path).to_owned());
        }
    }
    match files.is_empty() {
        true => Ok(()),
        false => Err(InitError::Exists {
            directory: directory.display().to_string(),
            files,
        }),
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), InitError> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)?
                .write_all(text.as_bytes())
        });
    written.map_err(|source| InitError::Write {
        path: path.display().to_string(),
        source,
    })
}

/// The directory's name, as far as it can be a module's name.
fn name_for(directory: &Path) -> Result<ModuleName, NameError> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| PathBuf::from(directory));
    let base = absolute
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let fitting: String = base
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    ModuleName::new(fitting.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_directories() {
        for (directory, expected) in [
            ("/a/web", Some("web")),
            ("My_App", Some("my-app")),
            ("a/b/../shop.v2", Some("shop-v2")),
            ("/", None),
            ("___", None),
        ] {
            let name = name_for(Path::new(directory)).ok();
            assert_eq!(
                name.as_ref().map(ModuleName::as_str),
                expected,
                "{directory}"
            );
        }
        assert!(name_for(Path::new(&"long".repeat(50))).is_ok());
    }
}
