//! A module's directory: the only place that rendering reads a module's files from.
//!
//! No path leaves it, neither by `..` nor by a symbolic link; only regular files are opened, and
//! never more of them than a limit. It knows nothing of what the files mean.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// The largest file that is read.
pub(crate) const MAX_FILE: u64 = 32 << 20;
/// The most files and directories that a module may have.
pub(crate) const MAX_ENTRIES: usize = 50_000;

/// Why a file of a module cannot be read.
#[derive(Debug, Error)]
pub enum DirError {
    /// There is nothing at that path.
    #[error("{path}: no such file or directory")]
    Missing {
        /// The path as given.
        path: String,
    },
    /// The module's own path is no directory.
    #[error("{path}: not a directory")]
    NotADirectory {
        /// The path as given.
        path: String,
    },
    /// The path leads out of the module's directory.
    #[error("{path}: leads out of the module's directory")]
    Outside {
        /// The path as given.
        path: String,
    },
    /// A device, a socket, a pipe.
    #[error("{path}: not a regular file")]
    Irregular {
        /// The path as given.
        path: String,
    },
    /// The file is larger than is read.
    #[error("{path}: larger than {} MiB", limit >> 20)]
    TooLarge {
        /// The path as given.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The module has more entries than are looked at.
    #[error("{path}: holds more than {MAX_ENTRIES} files and directories")]
    TooMany {
        /// The module's path.
        path: String,
    },
    /// The file is not UTF-8.
    #[error("{path}: not UTF-8 text")]
    NotText {
        /// The path as given.
        path: String,
    },
    /// The operating system refuses.
    #[error("failed to read {path}: {source}")]
    Io {
        /// The path as given.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl DirError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.display().to_string();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }
}

/// A module's directory, with its links resolved.
#[derive(Debug, Clone)]
pub(crate) struct ModuleDir {
    root: PathBuf,
    /// How far a kustomization in it may reach.
    reach: PathBuf,
    given: PathBuf,
    /// The directory that the user named, from the root, where that is a wider one.
    base: PathBuf,
}

impl ModuleDir {
    /// Opens the directory at `given`.
    pub(crate) fn open(given: &Path) -> Result<Self, DirError> {
        let root = given.canonicalize().map_err(|e| DirError::io(given, e))?;
        match root.is_dir() {
            true => Ok(Self {
                reach: root.clone(),
                root,
                given: given.to_owned(),
                base: PathBuf::new(),
            }),
            false => Err(DirError::NotADirectory {
                path: given.display().to_string(),
            }),
        }
    }

    /// The directory without links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The same for a directory that the user names as it is, without a module file: what it names
    /// may be anywhere in the repository around it, or anywhere if there is none.
    pub(crate) fn within_repository(self) -> Self {
        let around = self.root.ancestors().find(is_repository);
        let reach = around.or(self.root.ancestors().last()).map(Path::to_owned);
        Self {
            reach: reach.unwrap_or_else(|| self.root.clone()),
            ..self
        }
    }

    /// The repository around a directory, with that directory's path in it; the directory itself
    /// if there is none. Paths in it are still shown as the user would name them.
    pub(crate) fn widened(&self) -> (Self, PathBuf) {
        let around = self.root.ancestors().find(is_repository);
        let root = around.unwrap_or(&self.root).to_owned();
        let base = self.root.strip_prefix(&root).unwrap_or(Path::new(""));
        // What lies beside a link is not what lies beside the directory.
        let name = self.given.file_name();
        let is_link = name.is_some() && name != self.root.file_name();
        let wide = Self {
            reach: root.clone(),
            base: base.to_owned(),
            given: if is_link { &self.root } else { &self.given }.clone(),
            root: root.clone(),
        };
        (wide, base.to_owned())
    }

    /// The directory that nothing in it may leave.
    pub(crate) fn reach(&self) -> &Path {
        &self.reach
    }

    /// The directory as the user named it.
    pub(crate) fn given(&self) -> &Path {
        &self.given
    }

    /// A path inside the directory, as the user would name it.
    pub(crate) fn shown(&self, relative: &Path) -> String {
        let mut given = self.given.clone();
        let relative = match relative.strip_prefix(&self.base) {
            Ok(inside) => inside.to_owned(),
            Err(_) => {
                let steps = self.base.components().zip(relative.components());
                let common = steps.take_while(|(one, other)| one == other).count();
                let above = self.base.components().count() - common;
                let below: PathBuf = relative.components().skip(common).collect();
                // Steps up are taken off the name that was given, as far as it has any.
                let named = |path: &Path| {
                    matches!(path.components().next_back(), Some(Component::Normal(_)))
                };
                let cut = (0..above)
                    .take_while(|_| named(&given) && given.pop())
                    .count();
                let up: PathBuf = std::iter::repeat_n("..", above - cut).collect();
                up.join(below)
            }
        };
        // The directory itself has no name below it.
        let relative: PathBuf = relative
            .components()
            .filter(|step| *step != Component::CurDir)
            .collect();
        match relative.as_os_str().is_empty() {
            true => given.display().to_string(),
            false if given.as_os_str() == "." => relative.display().to_string(),
            false => given.join(relative).display().to_string(),
        }
    }

    /// Whether a file or directory of that name is there (or a link, wherever it leads).
    pub(crate) fn has(&self, relative: &str) -> bool {
        self.root.join(relative).symlink_metadata().is_ok()
    }

    /// The file or directory behind a path that a module names, links resolved.
    pub(crate) fn resolve(&self, relative: &Path) -> Result<PathBuf, DirError> {
        let path = self.shown(relative);
        let inward = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inward {
            return Err(DirError::Outside { path });
        }
        let resolved = self
            .root
            .join(relative)
            .canonicalize()
            .map_err(|e| DirError::io(Path::new(&path), e))?;
        match resolved.starts_with(&self.root) {
            true => Ok(resolved),
            false => Err(DirError::Outside { path }),
        }
    }

    /// The text of a file of the module.
    pub(crate) fn read(&self, relative: &Path) -> Result<String, DirError> {
        let resolved = self.resolve(relative)?;
        read_text(&resolved, &self.shown(relative), MAX_FILE)
    }

    /// What a file of the module holds, text or not.
    pub(crate) fn read_bytes(&self, relative: &Path, limit: u64) -> Result<Vec<u8>, DirError> {
        let resolved = self.resolve(relative)?;
        let shown = self.shown(relative);
        capped(open_regular(&resolved, &shown)?, &shown, limit)
    }

    /// The entries of a directory of the module, in the order of their names' bytes.
    pub(crate) fn list(&self, relative: &Path) -> Result<Vec<PathBuf>, DirError> {
        let resolved = self.resolve(relative)?;
        let failed = |e| DirError::io(Path::new(&self.shown(relative)), e);
        let mut names = Vec::new();
        for entry in fs::read_dir(&resolved).map_err(failed)? {
            names.push(relative.join(entry.map_err(failed)?.file_name()));
            if names.len() > MAX_ENTRIES {
                return Err(DirError::TooMany {
                    path: self.given.display().to_string(),
                });
            }
        }
        names.sort();
        Ok(names)
    }

    /// Every file below a directory of the module, hidden ones left out, sorted by path.
    /// Links to directories are not followed; links to files are, when they stay inside.
    pub(crate) fn walk(&self, relative: &Path) -> Result<Vec<PathBuf>, DirError> {
        let mut files = Vec::new();
        let mut waiting = vec![relative.to_owned()];
        while let Some(directory) = waiting.pop() {
            for path in self.list(&directory)? {
                if is_hidden(&path) {
                    continue;
                }
                let kind = self.file_type(&path)?;
                if kind.is_dir() {
                    waiting.push(path);
                } else {
                    files.push(path);
                }
                if files.len() + waiting.len() > MAX_ENTRIES {
                    return Err(DirError::TooMany {
                        path: self.given.display().to_string(),
                    });
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Refuses links that lead out of the module's directory and everything that is neither a
    /// regular file nor a directory, wherever it stands below a path: for programs that follow links
    /// on their own.
    pub(crate) fn check_confined(&self, below: &Path) -> Result<(), DirError> {
        let mut seen = 0;
        let mut waiting = vec![below.to_owned()];
        while let Some(directory) = waiting.pop() {
            for path in self.list(&directory)? {
                seen += 1;
                if seen > MAX_ENTRIES {
                    return Err(DirError::TooMany {
                        path: self.given.display().to_string(),
                    });
                }
                if path == Path::new(".git") {
                    continue;
                }
                let kind = self.file_type(&path)?;
                if kind.is_dir() {
                    waiting.push(path);
                } else if !self
                    .resolved_kind(&path, kind)?
                    .is_some_and(|k| k.is_file() || k.is_dir())
                {
                    return Err(DirError::Irregular {
                        path: self.shown(&path),
                    });
                }
            }
        }
        Ok(())
    }

    fn file_type(&self, relative: &Path) -> Result<fs::FileType, DirError> {
        let entry = self.root.join(relative);
        let found = entry.symlink_metadata();
        found
            .map(|m| m.file_type())
            .map_err(|e| DirError::io(&entry, e))
    }

    /// What a path is once its links are followed.
    fn resolved_kind(
        &self,
        relative: &Path,
        kind: fs::FileType,
    ) -> Result<Option<fs::FileType>, DirError> {
        if !kind.is_symlink() {
            return Ok(Some(kind));
        }
        let resolved = self.resolve(relative)?;
        Ok(resolved.metadata().ok().map(|m| m.file_type()))
    }
}

fn is_repository(path: &&Path) -> bool {
    path.join(".git").symlink_metadata().is_ok()
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Reads a regular file up to a limit, and never waits for one that is none: a pipe, a device.
pub fn read_regular_file(path: &Path, limit: u64) -> Result<String, DirError> {
    read_text(path, &path.display().to_string(), limit)
}

/// Reads a regular file up to a limit. `shown` is what errors call it.
pub(crate) fn read_text(path: &Path, shown: &str, limit: u64) -> Result<String, DirError> {
    read_capped(open_regular(path, shown)?, shown, limit)
}

fn open_regular(path: &Path, shown: &str) -> Result<File, DirError> {
    let failed = |e| DirError::io(Path::new(shown), e);
    let file = open_without_waiting(path).map_err(failed)?;
    match file.metadata().map_err(failed)?.is_file() {
        true => Ok(file),
        false => Err(DirError::Irregular {
            path: shown.to_owned(),
        }),
    }
}

/// Reads any stream up to a limit.
pub(crate) fn read_capped(stream: impl Read, shown: &str, limit: u64) -> Result<String, DirError> {
    String::from_utf8(capped(stream, shown, limit)?).map_err(|_| DirError::NotText {
        path: shown.to_owned(),
    })
}

fn capped(stream: impl Read, shown: &str, limit: u64) -> Result<Vec<u8>, DirError> {
    let mut bytes = Vec::new();
    let taken = stream.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    let taken = taken.map_err(|e| DirError::io(Path::new(shown), e))?;
    match taken as u64 > limit {
        false => Ok(bytes),
        true => Err(DirError::TooLarge {
            path: shown.to_owned(),
            limit,
        }),
    }
}

/// Opening a pipe would wait for its other end: with this flag it does not, and what is opened
/// can be looked at before it is read.
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_repository_are_shown_as_the_user_would_name_them() {
        for (given, base, path, expected) in [
            ("pkgs/web", "pkgs/web", "pkgs/web/a.yaml", "pkgs/web/a.yaml"),
            (
                "pkgs/web",
                "pkgs/web",
                "pkgs/common/a.yaml",
                "pkgs/common/a.yaml",
            ),
            ("pkgs/web", "pkgs/web", "", ""),
            ("web", "pkgs/web", "common/a.yaml", "../common/a.yaml"),
            (".", "pkgs/web", "pkgs/web/a.yaml", "a.yaml"),
            (".", "pkgs/web", "pkgs/common/a.yaml", "../common/a.yaml"),
            (
                "../web",
                "pkgs/web",
                "pkgs/common/a.yaml",
                "../common/a.yaml",
            ),
            ("web", "", "a.yaml", "web/a.yaml"),
            ("web", "", "", "web"),
            (".", "", "", "."),
        ] {
            let dir = ModuleDir {
                root: "/repo".into(),
                reach: "/repo".into(),
                given: given.into(),
                base: base.into(),
            };
            assert_eq!(
                dir.shown(Path::new(path)),
                expected,
                "{given} {base} {path}"
            );
        }
    }
}
