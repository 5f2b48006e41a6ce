//! The file among other files: readable by its owner alone, and still the one that was opened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::FILE_NAME;

/// What SQLite keeps beside the file.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// The file and what belongs to it, the file itself last.
pub(super) fn all(path: &Path) -> impl Iterator<Item = PathBuf> {
    let with = |suffix: &str| {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        PathBuf::from(file)
    };
    BESIDE.into_iter().chain([""]).map(with)
}

/// Which file it is that a path leads to; none when there is no telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(Option<(u64, u64)>);

#[cfg(unix)]
pub(super) fn id(path: &Path) -> FileId {
    use std::os::unix::fs::MetadataExt;
    FileId(fs::metadata(path).ok().map(|m| (m.dev(), m.ino())))
}

#[cfg(not(unix))]
pub(super) fn id(_: &Path) -> FileId {
    FileId(None)
}

/// Makes the directory, for its owner alone, if it is not there.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes an empty file, for its owner alone, if there is none. What SQLite adds gets its mode.
pub(super) fn make_file(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Takes from others what an earlier version let them have. A directory that holds anything but
/// the sandbox is not ours to close.
#[cfg(unix)]
pub(super) fn close_to_others(dir: &Path, path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let close = |path: &Path, mode: u32| {
        if let Ok(found) = fs::metadata(path)
            && found.permissions().mode() & 0o077 != 0
        {
            // Whose file it is decides; somebody else's stays as they want it.
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
        }
    };
    all(path).for_each(|file| close(&file, 0o600));
    let ours = |name: &str| name == "kubeconfig" || name.starts_with(FILE_NAME);
    let only_ours = fs::read_dir(dir).is_ok_and(|mut entries| {
        entries.all(|e| e.is_ok_and(|e| e.file_name().to_str().is_some_and(ours)))
    });
    if only_ours {
        close(dir, 0o700);
    }
}

#[cfg(not(unix))]
pub(super) fn close_to_others(_: &Path, _: &Path) {}
