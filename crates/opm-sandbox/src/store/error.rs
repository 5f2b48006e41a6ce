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
            StoreError::Full { .. } => "free some space, or choose another --sandbox-dir",
            StoreError::ReadOnly { .. } => "choose a --sandbox-dir that can be written",
            StoreError::Foreign { .. } => "choose another --sandbox-dir",
            StoreError::Newer { .. } => "use the newer version, or another --sandbox-dir",
            StoreError::Damaged { .. } => "`opm sandbox reset` starts over with an empty one",
            StoreError::Busy { .. } => {
                "wait for the other process, or choose another --sandbox-dir"
            }
            StoreError::Other { .. } => "choose another --sandbox-dir",
        }
    }

    pub(crate) fn from_sqlite(path: &Path, source: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let detail = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
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
