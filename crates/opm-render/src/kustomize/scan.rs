//! What a tree of kustomizations names: all of it must be there, and inside the module.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::chart::is_on_loopback;
use crate::module_dir::{self, DirError, MAX_FILE};
use crate::yaml;

/// The names that a kustomization's file may have.
pub(crate) const FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// The most directories that one kustomization may come to.
const MAX_DIRECTORIES: usize = 1000;

/// Why a tree of kustomizations is not built.
#[derive(Debug, Error)]
pub enum ScanError {
    /// A file cannot be read.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// A directory without a kustomization.
    #[error("{0}: there is no kustomization.yaml")]
    NoKustomization(String),
    /// A file that is no YAML.
    #[error("{place}: {message}")]
    Yaml {
        /// File, line and column.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// Something would be fetched.
    #[error("{place}: {entry:?} would be fetched")]
    Remote {
        /// The kustomization.
        place: String,
        /// What it names.
        entry: String,
    },
    /// Something would be fetched from this machine, or in a way that anybody between could change.
    #[error("{place}: {entry:?} is not fetched: only https, ssh and this machine's loopback are")]
    Unsafe {
        /// The kustomization.
        place: String,
        /// What it names.
        entry: String,
    },
    /// Something is not there.
    #[error("{place}: {entry:?} is not there")]
    Missing {
        /// The kustomization.
        place: String,
        /// What it names.
        entry: String,
    },
    /// A path leads out of the module.
    #[error("{place}: {entry:?} leads out of the module's directory")]
    Outside {
        /// The kustomization.
        place: String,
        /// What it names.
        entry: String,
    },
    /// A way to render that needs a plugin.
    #[error("{place}: `{field}` is not carried out: plugins are off")]
    Plugin {
        /// The kustomization.
        place: String,
        /// The field.
        field: &'static str,
    },
    /// More than is looked at.
    #[error("{0}: more than {MAX_DIRECTORIES} directories belong to it")]
    TooMany(String),
}

impl ScanError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Remote { .. } => {
                "copy it into the module, or let the component fetch with `remote: true`"
            }
            Self::Outside { .. } => "copy it into the module",
            Self::Plugin { .. } => "a chart can be a component of its own, under `chart`",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// How far a tree may reach.
pub(crate) struct Reach<'a> {
    /// The directory that no path may leave.
    pub(crate) root: &'a Path,
    /// Whether it may name what has to be fetched.
    pub(crate) remote: bool,
}

/// Checks the kustomization in a directory, and all that it names. `shown` is what messages call
/// the directory.
pub(crate) fn check(directory: &Path, shown: &str, reach: &Reach<'_>) -> Result<(), ScanError> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(directory.to_owned(), PathBuf::from(shown))];
    while let Some((directory, shown)) = waiting.pop() {
        if !seen.insert(directory.clone()) {
            continue;
        }
        if seen.len() > MAX_DIRECTORIES {
            return Err(ScanError::TooMany(shown.display().to_string()));
        }
        let named = FILES.iter().find(|name| directory.join(name).exists());
        let Some(name) = named else {
            return Err(ScanError::NoKustomization(shown.display().to_string()));
        };
        let place = shown.join(name).display().to_string();
        let file = inside(&directory, name, reach.root, &place)?;
        let text = module_dir::read_text(&file, &place, MAX_FILE)?;
        let documents = yaml::documents(&text).map_err(|error| ScanError::Yaml {
            place: match error.position() {
                Some(at) => format!("{place}:{}:{}", at.line, at.column),
                None => place.clone(),
            },
            message: error.to_string(),
        })?;
        for document in documents {
            refuse_plugins(&document.value, &place)?;
            for entry in entries(&document.value) {
                if !directory.join(entry).exists() {
                    match (looks_remote(entry), reach.remote) {
                        (true, true) if is_safe(entry) => continue,
                        (true, true) => {
                            return Err(ScanError::Unsafe {
                                place,
                                entry: entry.to_owned(),
                            });
                        }
                        (true, false) => return Err(remote(&place, entry)),
                        (false, _) => {
                            return Err(ScanError::Missing {
                                place,
                                entry: entry.to_owned(),
                            });
                        }
                    }
                }
                let found = inside(&directory, entry, reach.root, &place)?;
                if found.is_dir() {
                    waiting.push((found, shown.join(entry)));
                }
            }
        }
    }
    Ok(())
}

fn remote(place: &str, entry: &str) -> ScanError {
    ScanError::Remote {
        place: place.to_owned(),
        entry: entry.to_owned(),
    }
}

/// The file or directory that an entry names, if no link or `..` leads out.
fn inside(directory: &Path, entry: &str, root: &Path, place: &str) -> Result<PathBuf, ScanError> {
    let outside = || ScanError::Outside {
        place: place.to_owned(),
        entry: entry.to_owned(),
    };
    let is_relative = Path::new(entry)
        .components()
        .all(|part| !matches!(part, Component::RootDir | Component::Prefix(_)));
    let found = directory.join(entry).canonicalize();
    let found = found.map_err(|_| ScanError::Missing {
        place: place.to_owned(),
        entry: entry.to_owned(),
    })?;
    match is_relative && found.starts_with(root) {
        true => Ok(found),
        false => Err(outside()),
    }
}

/// What is no path is taken for a URL, in one of many spellings.
pub(crate) fn looks_remote(entry: &str) -> bool {
    let host = entry.split(['/', ':']).next().unwrap_or_default();
    entry.contains("://")
        || entry.contains("?ref=")
        || entry.contains("//")
        || entry.contains("git@")
        || entry.contains(".git")
        || entry.starts_with("git::")
        || (entry.contains('/') && host.contains('.') && !host.starts_with('.'))
}

/// Whether something may be fetched: no repository or file of this machine, and nothing that anybody
/// between could change.
fn is_safe(entry: &str) -> bool {
    // An old way to say that it is git.
    let entry = entry.strip_prefix("git::").unwrap_or(entry);
    match entry.split_once("://") {
        Some(("https" | "ssh", _)) => true,
        Some(("http", place)) => is_on_loopback(place),
        Some(_) => false,
        // `host/path` goes by https, `git@host:path` by ssh.
        None => !entry.contains("::"),
    }
}

fn refuse_plugins(document: &Value, place: &str) -> Result<(), ScanError> {
    for field in ["helmCharts", "helmChartInflationGenerator"] {
        if document.get(field).is_some_and(|value| !value.is_null()) {
            return Err(ScanError::Plugin {
                place: place.to_owned(),
                field,
            });
        }
    }
    Ok(())
}

/// Everything that a kustomization names: directories, and files.
fn entries(document: &Value) -> Vec<&str> {
    let mut entries = Vec::new();
    for field in [
        "resources",
        "bases",
        "components",
        "crds",
        "configurations",
        "generators",
        "transformers",
        "validators",
        "patchesStrategicMerge",
    ] {
        let items = document.get(field).and_then(Value::as_array);
        let texts = items.into_iter().flatten().filter_map(Value::as_str);
        // Some may be written inline instead of named.
        entries.extend(texts.filter(|text| !text.contains('\n')));
    }
    for field in ["patches", "patchesJson6902", "replacements"] {
        let items = document.get(field).and_then(Value::as_array);
        let paths = items
            .into_iter()
            .flatten()
            .filter_map(|item| item.get("path"));
        entries.extend(paths.filter_map(Value::as_str));
    }
    for field in ["configMapGenerator", "secretGenerator"] {
        let items = document.get(field).and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let lists = ["files", "envs"].map(|list| item.get(list).and_then(Value::as_array));
            let files = lists
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(Value::as_str);
            // `key=file` names the key first.
            entries.extend(files.map(|file| file.split_once('=').map_or(file, |(_, file)| file)));
            entries.extend(item.get("env").and_then(Value::as_str));
        }
    }
    let schema = document
        .get("openapi")
        .and_then(|schema| schema.get("path"));
    entries.extend(schema.and_then(Value::as_str));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_in_many_spellings() {
        for (entry, expected) in [
            ("https://example.com/x.yaml", true),
            ("github.com/org/repo//path?ref=v1", true),
            ("git@example.com:org/repo.git", true),
            ("git::https://example.com/x", true),
            ("example.com/org/repo", true),
            ("../base", false),
            ("./a.yaml", false),
            ("a.yaml", false),
            ("dir/a.yaml", false),
        ] {
            assert_eq!(looks_remote(entry), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_fetched_is_not_of_this_machine() {
        for (entry, expected) in [
            ("https://example.com/x.yaml", true),
            ("github.com/org/repo//path?ref=v1", true),
            ("git@example.com:org/repo.git", true),
            ("ssh://git@example.com/org/repo", true),
            ("git::https://example.com/x", true),
            ("http://127.0.0.1:8080/x", true),
            ("http://example.com/x", false),
            ("git://example.com/x", false),
            ("file:///home/me/private", false),
            ("git::file:///home/me/private", false),
            ("ext::sh -c id//x", false),
            ("git::ext::sh -c id//x", false),
        ] {
            assert_eq!(is_safe(entry), expected, "{entry}");
        }
    }
}
