//! The sandbox's one file: objects, the log of their changes, and what is due to happen.
//!
//! SQLite in WAL mode, so that several processes can share it. Every write is one IMMEDIATE
//! transaction: it either happened, with its revision and its event, or it did not. Nothing here
//! knows what an object means.

mod error;
mod file;
mod open;
mod tx;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::watch;

use crate::chance::Chance;
pub use error::StoreError;
use file::FileId;
pub(crate) use tx::{Due, Event, EventKind, Key, Tx};

/// How the file is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Refuse to grow past this many bytes.
    pub max_bytes: Option<u64>,
}

/// The open file. Shared by all requests of this process.
pub(crate) struct Store {
    path: PathBuf,
    /// The file that was opened, which may not be the one that is there later; none in memory.
    opened: Option<FileId>,
    connection: Mutex<Connection>,
    changed: watch::Sender<u64>,
    chance: Chance,
}

const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// The name of the file that holds a sandbox, inside its directory.
pub const FILE_NAME: &str = "sandbox.db";

impl Store {
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<Store, StoreError> {
        let path = dir.join(FILE_NAME);
        let (connection, opened) = open::open(dir, &path, options)?;
        let (changed, _) = watch::channel(0);
        Ok(Store {
            path,
            opened: Some(opened),
            connection: Mutex::new(connection),
            changed,
            chance: Chance::Machine,
        })
    }

    /// A store without a file.
    pub(crate) fn in_memory(chance: Chance) -> Result<Store, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = open::in_memory(&path)?;
        let (changed, _) = watch::channel(0);
        Ok(Store {
            path,
            opened: None,
            connection: Mutex::new(connection),
            changed,
            chance,
        })
    }

    /// Whether other processes may write it too.
    pub(crate) fn is_shared(&self) -> bool {
        self.opened.is_some()
    }

    /// Where time and random values come from.
    pub(crate) fn chance(&self) -> &Chance {
        &self.chance
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Wakes up when this process has written something.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic while the lock was held rolled its transaction back; the connection is sound.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, source: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, source)
    }

    /// Nothing is read from or written to a file that was deleted or replaced meanwhile. Whoever
    /// deletes it (`remove`) has it for himself, so within a transaction this stays true.
    fn check_file(&self) -> Result<(), StoreError> {
        if self
            .opened
            .is_none_or(|opened| file::id(&self.path) == opened)
        {
            return Ok(());
        }
        Err(StoreError::Replaced {
            path: self.path.clone(),
        })
    }

    /// A consistent view; nothing is written.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.lock();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Deferred)
            .map_err(|e| self.error(&e))?;
        self.check_file()?;
        work(&Tx::new(&transaction, self))
    }

    /// What a single statement tells: it needs no transaction around it.
    pub(crate) fn read_once<T>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.lock();
        self.check_file()?;
        work(&Tx::new(&connection, self))
    }

    /// One transaction that is kept if `work` succeeds, and leaves nothing behind if it does not.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.lock();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|e| self.error(&e))?;
        self.check_file()?;
        let tx = Tx::new(&transaction, self);
        let result = work(&tx)?;
        let revision = tx.written();
        transaction.commit().map_err(|e| self.error(&e))?;
        drop(connection);
        if let Some(revision) = revision {
            self.changed.send_replace(revision);
        }
        Ok(result)
    }
}

/// Deletes the file in `dir` if it is a sandbox's, or a damaged one. True if there was one.
pub(crate) fn remove(dir: &Path) -> Result<bool, StoreError> {
    let path = dir.join(FILE_NAME);
    if !path.exists() {
        return Ok(false);
    }
    let claimed = match open::claim(&path) {
        Ok(connection) => Some(connection),
        // What cannot be read or written any more is no use to whoever may have it open.
        Err(StoreError::Damaged { .. } | StoreError::Full { .. } | StoreError::Write { .. }) => {
            None
        }
        Err(StoreError::Busy { path }) => return Err(StoreError::InUse { path }),
        Err(error) => return Err(error),
    };
    for file in file::all(&path) {
        match std::fs::remove_file(&file) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(StoreError::from_io(&path, &e)),
        }
    }
    // Until here nobody else could begin to use it.
    drop(claimed);
    Ok(true)
}
