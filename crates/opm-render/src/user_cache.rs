//! Directories and files in the user's cache: what others could have written there is not believed.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

/// How much of one sort is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptFiles {
    /// How their names end.
    pub(crate) suffix: &'static str,
    /// All of them together, at most.
    pub(crate) bytes: u64,
    /// How many, at most.
    pub(crate) files: usize,
}

impl KeptFiles {
    /// Removes what was not used for the longest time, until no more is left than may be.
    pub(crate) fn drop_oldest(self, directory: &Path) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.metadata());
            let is_kept = path.extension() == Some(OsStr::new(self.suffix));
            if let (true, Ok(meta)) = (is_kept, meta) {
                let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push((used, meta.len(), path));
            }
        }
        files.sort_by_key(|file| Reverse(file.0));
        let mut bytes = 0;
        for (number, (_, size, path)) in files.into_iter().enumerate() {
            bytes += size;
            if bytes > self.bytes || number >= self.files {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The directory, made if need be; nothing if others could read it, or put something into it.
pub(crate) fn private_directory(path: &Path) -> Option<&Path> {
    if !path.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).ok()?;
    }
    let meta = path.symlink_metadata().ok()?;
    (meta.is_dir() && is_private(&meta)).then_some(path)
}

/// A regular file of this user's alone, to be read.
pub(crate) fn open_private(path: &Path) -> Option<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .ok()?;
    let meta = file.metadata().ok()?;
    (meta.is_file() && is_private(&meta)).then_some(file)
}

fn is_private(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o77 == 0
}
