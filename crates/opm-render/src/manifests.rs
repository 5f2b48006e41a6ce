//! Kubernetes objects in files: which files a list of paths and patterns means, in which order,
//! and the objects in them.
//!
//! Order is always that of the list, and within a directory or pattern that of the paths' bytes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use opm_core::manifest::{Manifest, ManifestError};
use opm_core::nearest::{did_you_mean, nearest};
use serde_json::Value;
use thiserror::Error;

use crate::batch::Batch;
use crate::json::JsonError;
use crate::lint::Lint;
use crate::module_dir::{DirError, ModuleDir};
use crate::substitution::{Replaced, Substitution, SubstitutionError};
use crate::yaml::{MAX_WORDS, MemoryBudget, YamlError};
use crate::yaml_module;

/// The most bytes of manifests that one module may hold.
const MAX_TOTAL: usize = 128 << 20;

/// Why a component's files cannot be read as objects.
#[derive(Debug, Error)]
pub enum FilesError {
    /// A file cannot be found or opened.
    #[error("{source}")]
    Dir {
        /// What happened.
        source: DirError,
        /// A file of nearly that name, if one is there.
        meant: Option<String>,
    },
    /// A pattern that makes no sense.
    #[error("the pattern {pattern:?} is not valid: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is no YAML.
    #[error("{place}: {source}")]
    Yaml {
        /// File, line and column.
        place: String,
        /// What is wrong.
        source: YamlError,
    },
    /// A file that another program has to fill in first.
    #[error("{place}: this is a Go template, not YAML, and opm fills in none here")]
    Template {
        /// File, line and column.
        place: String,
    },
    /// A file that is no JSON.
    #[error("{place}: {source}")]
    Json {
        /// File, line and column.
        place: String,
        /// What is wrong.
        source: JsonError,
    },
    /// A document that is no Kubernetes object.
    #[error("{place}: {source}")]
    Manifest {
        /// File and line.
        place: String,
        /// What is wrong.
        source: ManifestError,
    },
    /// An expression that stands for nothing.
    #[error("{place}: {source}")]
    Substitution {
        /// File and line.
        place: String,
        /// What is wrong.
        source: SubstitutionError,
    },
    /// More text than is read.
    #[error("the module's manifests hold more than {} MiB", MAX_TOTAL >> 20)]
    TooMuch,
}

impl FilesError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Substitution { source, .. } => source.hint(),
            Self::Dir {
                meant: Some(meant), ..
            } => did_you_mean(&[meant]),
            Self::Dir {
                source: DirError::Outside { .. },
                ..
            } => Some("copy it into the module".to_owned()),
            Self::Manifest { source, .. } if source.to_string().contains("{{") => {
                Some("this is a Go template, and opm fills in none here".to_owned())
            }
            Self::Template { .. } => Some(
                "templates belong to charts: render the chart, and list what comes out".to_owned(),
            ),
            _ => None,
        }
    }
}

impl From<DirError> for FilesError {
    fn from(source: DirError) -> Self {
        Self::Dir {
            source,
            meant: None,
        }
    }
}

/// Reads the objects of a module's components, and counts the bytes and memory of all of them.
#[derive(Debug)]
pub(crate) struct ManifestReader {
    /// What is replaced in them, if anything is.
    replaced: Option<Replaced>,
    read: usize,
    memory: MemoryBudget,
    words: Vec<Lint>,
}

impl ManifestReader {
    /// A reader for one rendering of a module.
    pub(crate) fn new(replaced: Option<Replaced>) -> Self {
        Self {
            replaced,
            read: 0,
            memory: MemoryBudget::default(),
            words: Vec::new(),
        }
    }

    /// The words that were read and that other readers of YAML take for something else.
    pub(crate) fn words(self) -> Vec<Lint> {
        self.words
    }

    /// What expressions stand for, if they are replaced.
    pub(crate) fn substitution(&self) -> Option<&Substitution> {
        match &self.replaced {
            Some(Replaced::Expressions(with)) => Some(with),
            _ => None,
        }
    }

    /// How much memory the module's objects may still take.
    pub(crate) fn memory(&mut self) -> &mut MemoryBudget {
        &mut self.memory
    }

    /// Remembers words of what was not read from files.
    pub(crate) fn remember(&mut self, words: Vec<Lint>) {
        let left = MAX_WORDS.saturating_sub(self.words.len());
        self.words.extend(words.into_iter().take(left));
    }

    /// The objects in all files of a module that `paths` mean.
    pub(crate) fn objects(
        &mut self,
        module: &ModuleDir,
        paths: &[String],
    ) -> Result<Vec<Manifest>, FilesError> {
        let files = files(module, paths)?;
        self.texts(files.into_iter().map(|file| {
            let text = module.read(&file)?;
            Ok((module.shown(&file), text))
        }))
    }

    /// The objects in texts, each with what messages call it.
    pub(crate) fn texts(
        &mut self,
        texts: impl Iterator<Item = Result<(String, String), DirError>>,
    ) -> Result<Vec<Manifest>, FilesError> {
        let mut objects = Vec::new();
        let mut batch = Batch::default();
        for text in texts {
            let text = text.map_err(FilesError::from).and_then(|(shown, text)| {
                self.read += text.len();
                match self.read > MAX_TOTAL {
                    true => Err(FilesError::TooMuch),
                    false => Ok((shown, text)),
                }
            });
            match text {
                Ok((shown, text)) => {
                    let readable = self.replaced.as_ref().map(|with| with.readable(&text));
                    let replaced = match readable {
                        Some(Cow::Owned(readable)) => Some(readable),
                        _ => None,
                    };
                    batch.add(shown, replaced.unwrap_or(text));
                }
                // What is wrong in an earlier file comes first.
                Err(error) => return Err(self.parse(batch, &mut objects).err().unwrap_or(error)),
            }
            if batch.is_full() {
                self.parse(std::mem::take(&mut batch), &mut objects)?;
            }
        }
        self.parse(batch, &mut objects)?;
        Ok(objects)
    }

    /// Appends the objects of some files, and remembers their words.
    fn parse(&mut self, batch: Batch, objects: &mut Vec<Manifest>) -> Result<(), FilesError> {
        for parsed in batch.parse(&mut self.memory, self.replaced.as_ref())? {
            objects.extend(parsed.objects);
            self.remember(parsed.words);
        }
        Ok(())
    }
}

/// The files of a module that `paths` mean, each once, where it is first named.
pub(crate) fn files(module: &ModuleDir, paths: &[String]) -> Result<Vec<PathBuf>, FilesError> {
    ManifestFiles { module }.listed(paths)
}

/// The files of a module that hold objects.
struct ManifestFiles<'a> {
    module: &'a ModuleDir,
}

impl ManifestFiles<'_> {
    /// The files that `paths` mean, each once, where it is first named.
    fn listed(&self, paths: &[String]) -> Result<Vec<PathBuf>, FilesError> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for path in paths {
            let meant = self.meant_by(path)?;
            files.extend(meant.into_iter().filter(|file| seen.insert(file.clone())));
        }
        Ok(files)
    }

    fn meant_by(&self, given: &str) -> Result<Vec<PathBuf>, FilesError> {
        let path = normal(given);
        if is_pattern(given) && !self.module.has(given) {
            return self.matching(given);
        }
        let resolved = self
            .module
            .resolve(&path)
            .map_err(|source| self.missing(&path, source))?;
        if !resolved.is_dir() {
            return Ok(vec![path]);
        }
        let mut files = self.module.list(&path)?;
        files.retain(|file| holds_objects(file) && !self.module.root().join(file).is_dir());
        Ok(files)
    }

    /// The files that a pattern matches; none is no error, as an empty directory is none.
    fn matching(&self, pattern: &str) -> Result<Vec<PathBuf>, FilesError> {
        let matcher = compile(pattern)?;
        let fixed = fixed_part(pattern);
        // Also when nothing matches: a pattern that points outside must not look harmless.
        match self.module.resolve(&fixed) {
            Ok(found) if found.is_dir() => {}
            Ok(_) | Err(DirError::Missing { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let mut files = self.module.walk(&fixed)?;
        files.retain(|file| matcher.is_match(file) && !is_definition(file));
        Ok(files)
    }

    fn missing(&self, path: &Path, source: DirError) -> FilesError {
        let siblings = match (&source, path.parent()) {
            (DirError::Missing { .. }, Some(parent)) => {
                self.module.list(parent).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let names: Vec<_> = siblings.iter().map(|p| p.display().to_string()).collect();
        let meant = nearest(
            &path.display().to_string(),
            names.iter().map(String::as_str),
        );
        FilesError::Dir {
            meant: meant.first().map(|&name| name.to_owned()),
            source,
        }
    }
}

/// A path without `.` parts, so that one file has one spelling.
fn normal(given: &str) -> PathBuf {
    Path::new(given)
        .components()
        .filter(|c| !matches!(c, std::path::Component::CurDir))
        .collect()
}

fn is_pattern(given: &str) -> bool {
    given.contains(['*', '?', '[', '{'])
}

fn compile(pattern: &str) -> Result<GlobMatcher, FilesError> {
    let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
    match GlobBuilder::new(trimmed).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => {
            let why = error.kind().to_string();
            Err(FilesError::Pattern {
                pattern: pattern.to_owned(),
                why,
            })
        }
    }
}

/// The directories that stand before the first part with a wildcard.
fn fixed_part(pattern: &str) -> PathBuf {
    let parts: Vec<&str> = pattern
        .split('/')
        .take_while(|part| !is_pattern(part))
        .collect();
    match pattern.starts_with('/') {
        true => PathBuf::from(format!("/{}", parts.join("/"))),
        false => normal(&parts.join("/")),
    }
}

/// Files that a directory contributes: what is hidden or of another kind must be named.
pub(crate) fn holds_objects(file: &Path) -> bool {
    let hidden = file
        .file_name()
        .is_none_or(|n| n.as_encoded_bytes().starts_with(b"."));
    let known = file
        .extension()
        .is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
    known && !hidden && !is_definition(file)
}

/// The module's own definition holds no object.
fn is_definition(file: &Path) -> bool {
    file == Path::new(yaml_module::FILE)
}

/// Appends one object, or the items of a list of objects.
pub(crate) fn flatten(value: Value, objects: &mut Vec<Manifest>) -> Result<(), ManifestError> {
    for value in flat(value) {
        objects.push(Manifest::parse(value)?);
    }
    Ok(())
}

/// One object, or the items of a list of objects.
pub(crate) fn flat(value: Value) -> Vec<Value> {
    if !is_list(&value) {
        return vec![value];
    }
    let Value::Object(mut list) = value else {
        return Vec::new();
    };
    match list.remove("items") {
        Some(Value::Array(items)) => items.into_iter().flat_map(flat).collect(),
        _ => Vec::new(),
    }
}

/// `kind: List`, or `ConfigMapList` and the like, which the API's conventions reserve for lists.
pub(crate) fn is_list(value: &Value) -> bool {
    let kind = value
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let items = value.get("items");
    match kind {
        "List" => items.is_none_or(|i| i.is_array() || i.is_null()),
        _ => kind.ends_with("List") && items.is_some_and(Value::is_array),
    }
}
