//! Opening the file: only one that is ours, of a format that is known, and writable.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{BUSY_TIMEOUT, Options, StoreError};

/// "opms", so that `file` and we ourselves can tell.
const APPLICATION_ID: i64 = 0x6f70_6d73;
const FORMAT: i64 = 1;

const TABLES: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE objects(
    grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    uid TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY(grp, resource, namespace, name)) WITHOUT ROWID;
CREATE INDEX objects_by_uid ON objects(uid);
CREATE INDEX objects_by_namespace ON objects(namespace);
CREATE TABLE owners(
    owner TEXT NOT NULL,
    grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY(owner, grp, resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE events(
    revision INTEGER PRIMARY KEY,
    grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL, before TEXT);
CREATE INDEX events_by_resource ON events(grp, resource, revision);
CREATE TABLE due(
    at INTEGER NOT NULL, grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL,
    name TEXT NOT NULL, step TEXT NOT NULL,
    PRIMARY KEY(at, grp, resource, namespace, name, step)) WITHOUT ROWID;
INSERT INTO meta VALUES('revision', 1), ('compacted', 0), ('definitions', 0), ('started', 0);
";

pub(super) fn open(dir: &Path, path: &Path, options: &Options) -> Result<Connection, StoreError> {
    fs::create_dir_all(dir).map_err(|e| StoreError::from_io(path, &e))?;
    refuse_foreign(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = |e: rusqlite::Error| StoreError::from_sqlite(path, &e);
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(|e| match fs::metadata(dir) {
            Ok(_) if matches!(e.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen)) => {
                StoreError::ReadOnly {
                    path: path.to_path_buf(),
                }
            }
            _ => sqlite(e),
        })?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    if connection.is_readonly("main").map_err(sqlite)? {
        return Err(StoreError::ReadOnly {
            path: path.to_path_buf(),
        });
    }
    connection.set_prepared_statement_cache_capacity(64);
    let fresh = identity(&connection).map_err(sqlite)? == NOTHING;
    if fresh {
        // There is nothing yet that could be lost: waiting for the disk would only cost time.
        connection
            .pragma_update(None, "synchronous", "OFF")
            .map_err(sqlite)?;
        enter_wal(&connection, path)?;
        create(&mut connection).map_err(sqlite)?;
    }
    check(&connection, path)?;
    enter_wal(&connection, path)?;
    // In WAL mode NORMAL survives the end of a process at any moment; only a power cut may take
    // the last transactions, never the file's integrity.
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .map_err(sqlite)?;
    if let Some(bytes) = options.max_bytes {
        let page: i64 = connection
            .pragma_query_value(None, "page_size", |r| r.get(0))
            .map_err(sqlite)?;
        let pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1)).max(1);
        connection
            .pragma_update(None, "max_page_count", pages)
            .map_err(sqlite)?;
    }
    Ok(connection)
}

pub(super) fn in_memory(path: &Path) -> Result<Connection, StoreError> {
    let sqlite = |e: rusqlite::Error| StoreError::from_sqlite(path, &e);
    let mut connection = Connection::open_in_memory().map_err(sqlite)?;
    connection.set_prepared_statement_cache_capacity(64);
    create(&mut connection).map_err(sqlite)?;
    Ok(connection)
}

/// A file that SQLite did not write is never touched.
fn refuse_foreign(path: &Path) -> Result<(), StoreError> {
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(StoreError::from_io(path, &e)),
    };
    let mut head = Vec::new();
    let read = file.by_ref().take(16).read_to_end(&mut head);
    read.map_err(|e| StoreError::from_io(path, &e))?;
    if head.is_empty() || head == b"SQLite format 3\0" {
        return Ok(());
    }
    Err(StoreError::Foreign {
        path: path.to_path_buf(),
    })
}

/// Application, format, and number of tables.
type Identity = (i64, i64, i64);
const NOTHING: Identity = (0, 0, 0);

fn identity(connection: &Connection) -> rusqlite::Result<Identity> {
    let pragma = |name| connection.pragma_query_value(None, name, |r| r.get(0));
    let tables = "SELECT count(*) FROM sqlite_schema";
    Ok((
        pragma("application_id")?,
        pragma("user_version")?,
        connection.query_row(tables, [], |r| r.get(0))?,
    ))
}

/// Two processes may get here at once; the second finds the work done.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if identity(&tx)? == NOTHING {
        tx.execute_batch(TABLES)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", FORMAT)?;
    }
    tx.commit()
}

fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let path = path.to_path_buf();
    match identity(connection).map_err(|e| StoreError::from_sqlite(&path, &e))? {
        (APPLICATION_ID, FORMAT, _) => Ok(()),
        (APPLICATION_ID, found, _) => Err(StoreError::Newer {
            path,
            found,
            known: FORMAT,
        }),
        _ => Err(StoreError::Foreign { path }),
    }
}

/// Changing the mode needs the file for itself for a moment, and does not wait by itself.
fn enter_wal(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        let mode: rusqlite::Result<String> =
            connection.query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0));
        match mode.map_err(|e| StoreError::from_sqlite(path, &e)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                return Err(StoreError::ReadOnly {
                    path: path.to_path_buf(),
                });
            }
            Err(StoreError::Busy { .. }) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}
