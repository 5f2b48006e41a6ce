//! A first module: files that apply as they are and explain themselves, or the module file of
//! what is there already.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use opm_core::name::{ModuleName, NameError};
use thiserror::Error;

use crate::error::RenderError;
use crate::module_dir::ModuleDir;
use crate::undeclared::{self, Found, fitting_name};
use crate::{yaml_module, zarf};

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
    /// What is in the directory cannot be looked at, or be a module.
    #[error(transparent)]
    Found(#[from] Box<RenderError>),
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
    /// The files that were written, relative to the directory.
    pub files: Vec<&'static str>,
    /// What was there already and belongs to the module now.
    pub found: Vec<String>,
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

/// The definitions of modules: a directory that has one of them holds a module.
const DEFINITIONS: [&str; 4] = ["cue.mod", "module.yaml", "module.cue", zarf::FILE];

/// Writes a new module. Nothing that is there is overwritten. A directory that holds manifests
/// gets the module file that says what `opm` makes of them without one, unless CUE is asked for.
pub fn init(directory: &Path, format: Option<InitFormat>) -> Result<NewModule, InitError> {
    if format != Some(InitFormat::Cue) && directory.is_dir() {
        refuse_existing(directory, &DEFINITIONS)?;
        if let Some(found) = found(directory).map_err(Box::new)? {
            return declare(directory, &found);
        }
    }
    let files = match format {
        Some(InitFormat::Cue) | None => CUE,
        Some(InitFormat::Yaml) => YAML,
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
        found: Vec::new(),
    })
}

fn found(directory: &Path) -> Result<Option<Found>, RenderError> {
    Found::within(&ModuleDir::open(directory)?)
}

/// Writes the module file of what is there. It declares no path, so that releases which were
/// applied without it go on.
fn declare(directory: &Path, found: &Found) -> Result<NewModule, InitError> {
    let name = name_for(directory)?;
    let source = match found {
        Found::Manifests(_) => {
            let files = found.shown();
            let listed = files
                .iter()
                .map(|file| format!("      - {}\n", scalar(file)));
            format!("manifests:\n{}", listed.collect::<String>())
        }
        Found::Kustomization(_) => "kustomize: .\n".to_owned(),
        Found::Chart => format!(
            "chart: {{path: ., values: [{:?}]}}\n",
            undeclared::ALL_VALUES
        ),
    };
    let values = match found {
        Found::Chart => "values: {}\n\n",
        Found::Manifests(_) | Found::Kustomization(_) => "",
    };
    let text = format!(
        "{DECLARED}metadata:\n  name: {name}\n\n{values}components:\n  - name: {}\n    {source}",
        undeclared::COMPONENT
    );
    write_new(&directory.join(yaml_module::FILE), &text)?;
    Ok(NewModule {
        name,
        files: vec![yaml_module::FILE],
        found: found.shown(),
    })
}

const DECLARED: &str =
    "# A module for opm, made from what was in this directory. `opm mod build .` shows what it
# renders, `opm mod apply .` applies it.
apiVersion: core.opmodel.dev/v1alpha1
kind: Module
";

/// A file's name as YAML: bare where nothing else could be read from it.
fn scalar(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain) {
        true => name.to_owned(),
        false => serde_json::Value::from(name).to_string(),
    }
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
    fitting_name(absolute.file_name().and_then(|name| name.to_str()))
}
