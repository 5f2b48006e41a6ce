//! Temporary directories that nobody else can read, and that do not pile up.
//!
//! They live in the user's runtime directory where there is one, else where temporary files go.
//! Each holds a lock for as long as its process lives; one whose lock is free belongs to nobody
//! and is removed when the next one is made.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::TempDir;

const PREFIX: &str = "opm-render-";
/// The file that is locked in each.
pub(crate) const LOCK: &str = ".opm_lock";
/// The same file before it is locked.
const NEW_LOCK: &str = ".opm_lock.new";
/// A directory without a lock may be one that is just being made, but not for as long as this.
const BEING_MADE: Duration = Duration::from_secs(600);

/// A temporary directory of this process.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    directory: TempDir,
    /// Held until the directory is gone.
    _lock: File,
}

impl PrivateDir {
    /// Makes a directory, and removes those that dead processes left behind.
    pub(crate) fn create(runtime: Option<&Path>) -> io::Result<Self> {
        let base = base(runtime);
        sweep(&base);
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        // Under its name only when it is held: who sees it free removes the directory.
        let new = directory.path().join(NEW_LOCK);
        let lock = new_file(&new)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(new, directory.path().join(LOCK))?;
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a new file that nobody else can read.
    pub(crate) fn write(&self, relative: &str, text: &str) -> io::Result<()> {
        new_file(&self.path().join(relative))?.write_all(text.as_bytes())
    }

    pub(crate) fn create_dir(&self, relative: &str) -> io::Result<()> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(self.path().join(relative))
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// The runtime directory counts only if it is the user's alone.
fn base(runtime: Option<&Path>) -> PathBuf {
    let private = |path: &&Path| {
        path.is_absolute()
            && path.metadata().is_ok_and(|m| {
                m.is_dir() && m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o77 == 0
            })
    };
    runtime
        .filter(private)
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// Removes directories of this user that nobody holds any more. What cannot be removed stays.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(directory: &Path) -> bool {
    let Ok(metadata) = directory.symlink_metadata() else {
        return false;
    };
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return false;
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let lock = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(directory.join(LOCK));
    match lock {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = metadata
                .modified()
                .ok()
                .and_then(|made| SystemTime::now().duration_since(made).ok());
            age.is_some_and(|age| age > BEING_MADE)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn nobody_else_can_read_what_is_in_it() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o700)).unwrap();
        let made = PrivateDir::create(Some(base.path())).unwrap();
        made.create_dir("d").unwrap();
        made.write("d/f", "secret").unwrap();
        assert!(made.path().starts_with(base.path()));
        assert_eq!(mode(made.path()), 0o700);
        assert_eq!(mode(&made.path().join("d")), 0o700);
        assert_eq!(mode(&made.path().join("d/f")), 0o600);
        let path = made.path().to_owned();
        drop(made);
        assert!(!path.exists());
    }

    #[test]
    fn what_nobody_holds_is_swept_and_the_rest_is_not() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o700)).unwrap();
        let held = PrivateDir::create(Some(base.path())).unwrap();
        let dead = base.path().join("opm-render-dead");
        let being_made = base.path().join("opm-render-new");
        let foreign = base.path().join("other");
        for directory in [&dead, &being_made, &foreign] {
            fs::create_dir(directory).unwrap();
        }
        new_file(&dead.join(LOCK)).unwrap();
        fs::write(dead.join("values"), "secret").unwrap();
        let target = base.path().join("kept");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, dead.join("link")).unwrap();

        let _next = PrivateDir::create(Some(base.path())).unwrap();
        assert!(!dead.exists() && target.exists());
        assert!(held.path().exists() && being_made.exists() && foreign.exists());
    }

    /// Several processes make theirs at the same time, and sweep what they take for abandoned.
    #[test]
    fn directories_that_are_being_made_are_not_swept() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o700)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let made = PrivateDir::create(Some(base.path())).unwrap();
                        made.write("f", "text").unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn a_runtime_directory_of_others_is_not_used() {
        let open = tempfile::tempdir().unwrap();
        fs::set_permissions(open.path(), Permissions::from_mode(0o755)).unwrap();
        for runtime in [Some(open.path()), Some(Path::new("relative")), None] {
            assert_eq!(base(runtime), std::env::temp_dir());
        }
    }
}
