//! Opening the file: only one that is ours, of a format that is known, and writable.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::file::{self, FileId};
use super::{BUSY_TIMEOUT, Options, StoreError};

/// "opms", so that `file` and we ourselves can tell.
const APPLICATION_ID: i64 = 0x6f70_6d73;
const FORMAT: i64 = 2;

/// What format 2 has beside format 1.
const DEFINITIONS: &str = "
CREATE TABLE definitions(name TEXT PRIMARY KEY, summary TEXT NOT NULL) WITHOUT ROWID;
";

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

/// Opens the file, and says which one it is: one that somebody deletes in that very moment is
/// not used.
pub(super) fn open(
    dir: &Path,
    path: &Path,
    options: &Options,
) -> Result<(Connection, FileId), StoreError> {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        file::make_dir(dir).map_err(|e| StoreError::from_io(path, &e))?;
        refuse_foreign(path)?;
        file::make_file(path).map_err(|e| StoreError::from_io(path, &e))?;
        let before = file::id(path);
        let connection = open_file(path, options)?;
        if file::id(path) == before {
            file::close_to_others(dir, path);
            return Ok((connection, before));
        }
    }
    Err(StoreError::Replaced {
        path: path.to_path_buf(),
    })
}

/// The file for oneself alone, to delete it. Busy when anybody else has it open.
pub(super) fn claim(path: &Path) -> Result<Connection, StoreError> {
    refuse_foreign(path)?;
    let sqlite = |e: rusqlite::Error| StoreError::from_sqlite(path, &e);
    let connection = connect(path)?;
    check_ours(&connection, path)?;
    // Leaving WAL mode needs the file for oneself, and this mode keeps it so until the end.
    connection
        .pragma_update(None, "locking_mode", "EXCLUSIVE")
        .map_err(sqlite)?;
    connection
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .map_err(sqlite)?;
    connection
        .execute_batch("BEGIN EXCLUSIVE")
        .map_err(sqlite)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|e| match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen) => StoreError::ReadOnly {
            path: path.to_path_buf(),
        },
        _ => StoreError::from_sqlite(path, &e),
    })
}

fn open_file(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    let sqlite = |e: rusqlite::Error| StoreError::from_sqlite(path, &e);
    let mut connection = connect(path)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    if connection.is_readonly("main").map_err(sqlite)? {
        return Err(StoreError::ReadOnly {
            path: path.to_path_buf(),
        });
    }
    keep_statements(&connection).map_err(sqlite)?;
    let fresh = identity(&connection).map_err(sqlite)? == NOTHING;
    if fresh {
        // There is nothing yet that could be lost: waiting for the disk would only cost time.
        connection
            .pragma_update(None, "synchronous", "OFF")
            .map_err(sqlite)?;
        enter_wal(&connection, path)?;
        create(&mut connection).map_err(sqlite)?;
    }
    upgrade(&mut connection).map_err(sqlite)?;
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

/// Statements are prepared once: what is bound to them does not change how they are carried out.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

pub(super) fn in_memory(path: &Path) -> Result<Connection, StoreError> {
    let sqlite = |e: rusqlite::Error| StoreError::from_sqlite(path, &e);
    let mut connection = Connection::open_in_memory().map_err(sqlite)?;
    keep_statements(&connection).map_err(sqlite)?;
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
        tx.execute_batch(DEFINITIONS)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", FORMAT)?;
    }
    tx.commit()
}

/// A file of an earlier format gets what it lacks; `life` fills it.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    if !matches!(identity(connection)?, (APPLICATION_ID, 1, _)) {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if matches!(identity(&tx)?, (APPLICATION_ID, 1, _)) {
        tx.execute_batch(DEFINITIONS)?;
        tx.pragma_update(None, "user_version", FORMAT)?;
    }
    tx.commit()
}

/// A file of any format up to the present one, or an empty one.
fn check_ours(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match identity(connection).map_err(|e| StoreError::from_sqlite(path, &e))? {
        NOTHING => Ok(()),
        (APPLICATION_ID, ..=FORMAT, _) => Ok(()),
        _ => check(connection, path),
    }
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
