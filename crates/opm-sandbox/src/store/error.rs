//! What can go wrong with the file, in words that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The sandbox's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no room for the write. Nothing of it was kept.
    #[error("the sandbox file {path} cannot grow: the disk is full or its size limit is reached")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A write failed otherwise. Nothing of it was kept.
    #[error(
        "the sandbox file {path} cannot be written: {detail}; the disk may be full, or a quota or \
         size limit reached"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        detail: String,
    },
    /// The file or its directory does not allow writing.
    #[error("the sandbox file {path} cannot be written: the file or its directory is read-only")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to something else; it is left alone.
    #[error("{path} is not a sandbox file; it was left alone")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version.
    #[error("the sandbox file {path} has format {found}; this version knows up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format found in it.
        found: i64,
        /// The newest known format.
        known: i64,
    },
    /// The file's content is broken.
    #[error("the sandbox file {path} is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        detail: String,
    },
    /// Another process kept the file locked for too long.
    #[error("the sandbox file {path} is locked by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has the file open, so it cannot be deleted.
    #[error("the sandbox file {path} is in use by another process; nothing was deleted")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is no longer the one that was opened.
    #[error("the sandbox file {path} was deleted or replaced while it was in use")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("the sandbox file {path} cannot be used: {detail}")]
    Other {
        /// The file.
        path: PathBuf,
        /// What happened.
        detail: String,
    },
}

impl StoreError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Full { .. } | StoreError::Write { .. } => {
                "free some space, or choose another --sandbox-dir"
            }
            StoreError::ReadOnly { .. } => "choose a --sandbox-dir that can be written",
            StoreError::Foreign { .. } => "choose another --sandbox-dir",
            StoreError::Newer { .. } => "use the newer version, or another --sandbox-dir",
            StoreError::Damaged { .. } => "`opm sandbox reset` starts over with an empty one",
            StoreError::Busy { .. } => {
                "wait for the other process, or choose another --sandbox-dir"
            }
            StoreError::InUse { .. } => {
                "end `opm sandbox serve` and whatever else uses it, then try again"
            }
            StoreError::Replaced { .. } => "start again: there is a new sandbox now, or none yet",
            StoreError::Other { .. } => "choose another --sandbox-dir",
        }
    }

    pub(crate) fn from_sqlite(path: &Path, source: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let detail = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) if is_write(source) => {
                StoreError::Write { path, detail }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                StoreError::ReadOnly { path }
            }
            Some(ErrorCode::NotADatabase) => StoreError::Foreign { path },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            _ => StoreError::Other { path, detail },
        }
    }

    pub(crate) fn from_io(path: &Path, source: &std::io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { path }
            }
            std::io::ErrorKind::StorageFull => StoreError::Full { path },
            _ => StoreError::Other {
                path,
                detail: source.to_string(),
            },
        }
    }
}

/// Growing the file, its log or its index failed. A quota and a size limit show as this.
fn is_write(source: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
    let code = source.sqlite_error().map(|e| e.extended_code);
    let growing = [
        SQLITE_IOERR_WRITE,
        SQLITE_IOERR_TRUNCATE,
        SQLITE_IOERR_SHMSIZE,
    ];
    code.is_some_and(|code| growing.contains(&code))
}
