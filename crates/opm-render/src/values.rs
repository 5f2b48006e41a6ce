//! Values as the user gives them: files (`-f`) and assignments (`--set` and its kin), over what a
//! module or an earlier change has.
//!
//! Read and checked for what needs no schema; what they mean to a module is the module's to say.
//! Later beats earlier, by key (`picks`).

mod assignment;
mod data;
mod key;
mod literal;
mod picks;
mod resolve;
mod schema;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use opm_core::manifest::type_name;
use opm_core::values::Value::Null;
use opm_core::values::value_path;
use serde_json::Value;
use thiserror::Error;

use crate::json;
use crate::module_dir::{self, DirError};
use crate::yaml::{self, Document, Position};

pub(crate) use assignment::{AssignedValue, Assignment};
pub(crate) use data::{PlainValues, YamlData};
pub(crate) use key::{KeyPath, Segment};
pub(crate) use picks::{Layer, Pick};
pub(crate) use resolve::{OwnValues, resolve};
pub(crate) use schema::Schema;

pub use resolve::{PlacedViolation, ResolveError};

/// The largest values file.
const MAX_FILE: u64 = 32 << 20;
/// The most paths that are remembered as given.
const MAX_SET: usize = 500;
/// What standard input is called.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// What is wrong with given values.
#[derive(Debug, Error)]
pub enum ValuesError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] DirError),
    /// A file's name does not say what it is.
    #[error("{0}: a values file must end in .cue, .yaml, .yml or .json")]
    Format(String),
    /// A file is not YAML or JSON.
    #[error("{place}: {message}")]
    Text {
        /// File, line and column.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A file holds a list or a scalar.
    #[error("{file}: values must be a mapping, not {found}")]
    NotAMapping {
        /// The file.
        file: String,
        /// What it holds.
        found: &'static str,
    },
    /// A file holds more than one document.
    #[error("{0}: values must be a single document")]
    Documents(String),
    /// Standard input is asked for twice.
    #[error("standard input (`-f -`) can be read only once")]
    InputTwice,
    /// An assignment that is none.
    #[error("{flag} {given:?}: {why}")]
    Assignment {
        /// The flag.
        flag: &'static str,
        /// The key, or all that is given when there is none.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two assignments by different flags, of which nobody knows which came later.
    #[error("{first} and {second} contradict each other")]
    Conflict {
        /// The first flag with its key.
        first: String,
        /// The other flag with its key.
        second: String,
    },
}

/// The value flags of a command line, as typed.
#[derive(Debug, Clone, Default)]
pub struct ValueFlags {
    /// `-f FILE`; `-` is standard input.
    pub files: Vec<String>,
    /// `--set KEY=VALUE`.
    pub set: Vec<String>,
    /// `--set-string KEY=VALUE`.
    pub set_string: Vec<String>,
    /// `--set-file KEY=FILE`.
    pub set_file: Vec<String>,
}

/// Values, read.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// What everything else comes over, instead of the module's own values.
    pub(crate) base: Option<ValuesFile>,
    /// The paths of those in it that were given at the time.
    reused: Vec<String>,
    pub(crate) files: Vec<ValuesFile>,
    pub(crate) assignments: Vec<Assignment>,
}

/// The text of a values file.
#[derive(Clone)]
pub(crate) struct ValuesFile {
    /// What errors call it.
    pub(crate) shown: String,
    pub(crate) format: ValuesFormat,
    pub(crate) text: String,
}

/// The language of a values file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValuesFormat {
    Cue,
    Yaml,
    Json,
}

impl Values {
    /// Reads the files that the flags name and takes the assignments apart.
    pub fn read(flags: &ValueFlags) -> Result<Self, ValuesError> {
        if flags.files.iter().filter(|file| *file == "-").count() > 1 {
            return Err(ValuesError::InputTwice);
        }
        let files = flags
            .files
            .iter()
            .map(|file| read_file(file))
            .collect::<Result<_, _>>()?;
        let set = flags.set.iter().map(|given| Assignment::literal(given));
        let strings = flags
            .set_string
            .iter()
            .map(|given| Assignment::string(given));
        let contents = flags.set_file.iter().map(|given| {
            let (key, file) = assignment::split("--set-file", given)?;
            Assignment::content(key, open_any(Path::new(file), file)?)
        });
        let assignments = set
            .chain(strings)
            .chain(contents)
            .collect::<Result<Vec<_>, _>>()?;
        assignment::check_conflicts(&assignments)?;
        Ok(Self {
            base: None,
            reused: Vec::new(),
            files,
            assignments,
        })
    }

    /// Values that are texts already, later over earlier: what messages call each, a file's name
    /// that ends as its language does, and the text.
    pub fn of_texts(
        texts: impl IntoIterator<Item = (String, String, String)>,
    ) -> Result<Self, ValuesError> {
        let file = |(shown, name, text): (String, String, String)| -> Result<_, ValuesError> {
            let format = format_of(&name)?;
            if format != ValuesFormat::Cue {
                check_document(&shown, format, &text)?;
            }
            Ok(ValuesFile {
                shown,
                format,
                text,
            })
        };
        let files = texts.into_iter().map(file).collect::<Result<_, _>>()?;
        Ok(Self {
            files,
            ..Self::default()
        })
    }

    /// Values that an earlier rendering resolved and a change recorded as CUE text.
    pub fn recorded(text: &str) -> Self {
        Self::default().over_recorded(text, Vec::new())
    }

    /// The same values over those that a change recorded, instead of the module's own. `set` are
    /// the paths of those that were given to that change.
    #[must_use]
    pub fn over_recorded(self, text: &str, set: Vec<String>) -> Self {
        Self {
            reused: set,
            base: Some(ValuesFile {
                shown: "recorded values".to_owned(),
                format: ValuesFormat::Cue,
                text: text.to_owned(),
            }),
            ..self
        }
    }

    /// Whether there are none, and the module's own are all.
    pub fn is_empty(&self) -> bool {
        self.base.is_none() && self.files.is_empty() && self.assignments.is_empty()
    }

    /// The paths of what is given, as far as it can be told without another program, and not too
    /// many.
    pub(crate) fn set(&self) -> Vec<String> {
        let mut paths = self.reused.clone();
        for plain in self.files.iter().filter_map(ValuesFile::plain) {
            let given = plain.value.paths().into_iter();
            let removed = |path: &String| plain.value.at_path(path) == Some(&Null);
            paths.extend(given.filter(|path| !removed(path)));
        }
        paths.extend(
            self.assignments
                .iter()
                .filter(|one| !one.removes())
                .map(|one| {
                    let fields = one.key.0.iter().map_while(|segment| match segment {
                        Segment::Field(name) => Some(name.as_str()),
                        Segment::Index(_) => None,
                    });
                    value_path(fields)
                }),
        );
        paths.sort();
        paths.dedup();
        paths.truncate(MAX_SET);
        paths
    }

    /// All files.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &ValuesFile> {
        self.base.iter().chain(&self.files)
    }
}

/// The text of a file that the user names; `-` is standard input.
pub(crate) fn read_any(given: &str) -> Result<String, DirError> {
    let text = match given {
        "-" => module_dir::read_capped(io::stdin().lock(), STANDARD_INPUT, MAX_FILE)?,
        path => open_any(Path::new(path), path)?,
    };
    let stripped = text.strip_prefix('\u{feff}').map(str::to_owned);
    Ok(stripped.unwrap_or(text))
}

fn read_file(given: &str) -> Result<ValuesFile, ValuesError> {
    let text = read_any(given)?;
    let shown = match given {
        "-" => STANDARD_INPUT.to_owned(),
        path => path.to_owned(),
    };
    let format = format_of(given)?;
    if format != ValuesFormat::Cue {
        check_document(&shown, format, &text)?;
    }
    Ok(ValuesFile {
        shown,
        format,
        text,
    })
}

/// By the file's ending; a pipe has none and holds YAML, of which JSON is a part.
fn format_of(given: &str) -> Result<ValuesFormat, ValuesError> {
    match Path::new(given)
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .as_deref()
    {
        Some("cue") => Ok(ValuesFormat::Cue),
        Some("yaml" | "yml") | None => Ok(ValuesFormat::Yaml),
        Some("json") => Ok(ValuesFormat::Json),
        Some(_) => Err(ValuesError::Format(given.to_owned())),
    }
}

/// Unlike a module's files, one that the user names may be a pipe, as `-f <(command)` makes it.
fn open_any(path: &Path, shown: &str) -> Result<String, DirError> {
    let is_stream = path.metadata().is_ok_and(|m| {
        let kind = m.file_type();
        kind.is_fifo() || kind.is_char_device()
    });
    if !is_stream {
        return module_dir::read_text(path, shown, MAX_FILE);
    }
    match File::open(path) {
        Ok(stream) => module_dir::read_capped(stream, shown, MAX_FILE),
        Err(source) => Err(DirError::Io {
            path: shown.to_owned(),
            source,
        }),
    }
}

/// One document at most, and that a mapping: errors about it are clearer from here.
fn check_document(shown: &str, format: ValuesFormat, text: &str) -> Result<(), ValuesError> {
    let documents = documents(format, text).map_err(|(message, at)| {
        let place = match at {
            Some(at) => format!("{shown}:{}:{}", at.line, at.column),
            None => shown.to_owned(),
        };
        ValuesError::Text { place, message }
    })?;
    match documents.as_slice() {
        [] => Ok(()),
        [one] => match &one.value {
            Value::Object(_) => Ok(()),
            other => Err(ValuesError::NotAMapping {
                file: shown.to_owned(),
                found: type_name(other),
            }),
        },
        _ => Err(ValuesError::Documents(shown.to_owned())),
    }
}

/// The documents of a values file, or what is wrong with it and where.
fn documents(
    format: ValuesFormat,
    text: &str,
) -> Result<Vec<Document>, (String, Option<Position>)> {
    match format {
        ValuesFormat::Json => {
            json::documents(text).map_err(|error| (error.to_string(), Some(error.position)))
        }
        ValuesFormat::Yaml | ValuesFormat::Cue => {
            yaml::documents(text).map_err(|error| (error.to_string(), error.position()))
        }
    }
}

impl fmt::Debug for ValuesFile {
    /// Without the text, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValuesFile")
            .field("shown", &self.shown)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl ValuesFile {
    /// Whether there is nothing in it. A CUE file always says something, if only its package.
    pub(crate) fn is_blank(&self) -> bool {
        self.format != ValuesFormat::Cue
            && documents(self.format, &self.text).is_ok_and(|documents| documents.is_empty())
    }
}
