//! Which configuration files of checkouts the user trusts: remembered by path and content, in the
//! user's own state directory, one small file each.
//!
//! A file that changes is no longer trusted, and neither is one whose kubeconfig changes: that
//! names programs to run.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use opm_core::digest::sha256;
use opm_render::read_regular_file;

use crate::settings::Layer;

/// The largest entry that can be one.
const MAX_ENTRY: u64 = 1 << 16;
/// The largest kubeconfig that is looked at.
const MAX_KUBECONFIG: u64 = 1 << 20;

/// What the user trusts.
#[derive(Debug, Clone)]
pub(crate) struct TrustStore {
    directory: PathBuf,
}

/// A file that the user trusted, in the state that it had then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustedFile {
    /// The file, without links in its directories.
    pub(crate) path: PathBuf,
    /// The digest of its content.
    pub(crate) content: String,
}

/// The content of a configuration file, and of the kubeconfig that it names, in one digest.
pub(super) fn digest(text: &str, layer: &Layer) -> String {
    let named = layer.kubeconfig.as_ref().map(|path| {
        let content = read_regular_file(path, MAX_KUBECONFIG);
        content.map_or("unreadable".to_owned(), |text| sha256(text.as_bytes()))
    });
    let parts = [sha256(text.as_bytes()), named.unwrap_or_default()];
    sha256(parts.join("\n").as_bytes())
}

/// A file's place, however the user got there. The file itself may be a link: what it leads to is
/// told by its content.
pub(super) fn place(path: &Path) -> io::Result<PathBuf> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new(".")).canonicalize()?;
    Ok(directory.join(path.file_name().unwrap_or_default()))
}

impl TrustStore {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Whether the user trusts this very content in this place.
    pub(super) fn holds(&self, file: &TrustedFile) -> bool {
        let known = self.read(&self.entry(&file.path));
        known.is_some_and(|known| known == *file)
    }

    /// Remembers a file.
    pub(super) fn add(&self, file: &TrustedFile) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        let entry = self.entry(&file.path);
        let draft = entry.with_extension(format!("{}.new", std::process::id()));
        let mut opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let text = format!("{}\n{}\n", file.content, file.path.display());
        let written = opened.write_all(text.as_bytes());
        written
            .and_then(|()| fs::rename(&draft, &entry))
            .inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    /// Forgets a file; says whether it was trusted.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<bool> {
        match fs::remove_file(self.entry(path)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Every file that is trusted, by path.
    pub(crate) fn list(&self) -> io::Result<Vec<TrustedFile>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<TrustedFile> = paths.filter_map(|path| self.read(&path)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn entry(&self, path: &Path) -> PathBuf {
        self.directory
            .join(sha256(path.as_os_str().as_encoded_bytes()))
    }

    fn read(&self, entry: &Path) -> Option<TrustedFile> {
        let text = read_regular_file(entry, MAX_ENTRY).ok()?;
        let (content, path) = text.trim_end_matches('\n').split_once('\n')?;
        let file = TrustedFile {
            path: PathBuf::from(path),
            content: content.to_owned(),
        };
        (self.entry(&file.path) == entry).then_some(file)
    }
}
