//! What can be done inside one transaction.

use std::cell::Cell;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Store, StoreError};
use crate::chance::Chance;
use crate::work;

/// How many changes a watch can be behind before it has to start over.
const KEPT_EVENTS: i64 = 5_000;

/// Where an object lives. All versions of a resource share its objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

impl EventKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        }
    }
}

/// One change of one object.
pub(crate) struct Event {
    pub(crate) revision: i64,
    pub(crate) kind: EventKind,
    pub(crate) body: Value,
    pub(crate) before: Option<Value>,
}

/// Something that is to happen to an object at a time.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) at: i64,
    pub(crate) key: Key,
    pub(crate) step: String,
}

pub(crate) struct Tx<'a> {
    connection: &'a Connection,
    path: &'a Path,
    chance: &'a Chance,
    written: Cell<Option<u64>>,
}

type Result<T> = std::result::Result<T, StoreError>;

impl<'a> Tx<'a> {
    pub(super) fn new(connection: &'a Connection, store: &'a Store) -> Self {
        Tx {
            connection,
            path: &store.path,
            chance: &store.chance,
            written: Cell::new(None),
        }
    }

    pub(super) fn written(&self) -> Option<u64> {
        self.written.get()
    }

    /// Where time and random values come from.
    pub(crate) fn chance(&self) -> &'a Chance {
        self.chance
    }

    fn error(&self, source: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path, source)
    }

    fn parse<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        work::step(body.len());
        serde_json::from_str(body).map_err(|e| StoreError::Damaged {
            path: self.path.to_path_buf(),
            detail: format!("an object is not JSON: {e}"),
        })
    }

    fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        work::step(1);
        let mut statement = self
            .connection
            .prepare_cached(sql)
            .map_err(|e| self.error(&e))?;
        statement.execute(params).map_err(|e| self.error(&e))
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        work::step(1);
        let mut statement = self
            .connection
            .prepare_cached(sql)
            .map_err(|e| self.error(&e))?;
        statement
            .query_row(params, read)
            .optional()
            .map_err(|e| self.error(&e))
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self
            .connection
            .prepare_cached(sql)
            .map_err(|e| self.error(&e))?;
        let rows = statement
            .query_map(params, read)
            .map_err(|e| self.error(&e))?;
        let all: rusqlite::Result<Vec<T>> = rows.collect();
        let all = all.map_err(|e| self.error(&e))?;
        work::step(1 + all.len());
        Ok(all)
    }

    pub(crate) fn meta(&self, key: &str) -> Result<i64> {
        let value = self.one("SELECT value FROM meta WHERE key = ?1", [key], |r| r.get(0))?;
        Ok(value.unwrap_or(0))
    }

    pub(crate) fn set_meta(&self, key: &str, value: i64) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO meta VALUES(?1, ?2)",
            params![key, value],
        )
        .map(drop)
    }

    pub(crate) fn revision(&self) -> Result<i64> {
        self.meta("revision")
    }

    /// The revision that the next write of this transaction gets.
    pub(crate) fn next_revision(&self) -> Result<i64> {
        let revision = self.revision()? + 1;
        self.set_meta("revision", revision)?;
        if revision % 500 == 0 && revision > KEPT_EVENTS {
            let oldest = revision - KEPT_EVENTS;
            self.execute("DELETE FROM events WHERE revision < ?1", [oldest])?;
            self.set_meta("compacted", oldest)?;
        }
        Ok(revision)
    }

    pub(crate) fn get(&self, key: &Key) -> Result<Option<Value>> {
        let body = self.one(
            "SELECT body FROM objects WHERE grp=?1 AND resource=?2 AND namespace=?3 AND name=?4",
            params![key.group, key.resource, key.namespace, key.name],
            |r| r.get::<_, String>(0),
        )?;
        body.map(|b| self.parse(&b)).transpose()
    }

    /// Objects of a resource in order of namespace and name, after a position.
    pub(crate) fn list(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<Value>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        // A sum, because SQLite plans a query anew whenever a bare limit is bound.
        let text = |r: &Row<'_>| r.get::<_, String>(0);
        let bodies = match namespace {
            Some(namespace) => self.all(
                "SELECT body FROM objects WHERE grp=?1 AND resource=?2 AND namespace=?3 \
                 AND name>?4 ORDER BY name LIMIT ?5+0",
                params![group, resource, namespace, after.1, limit],
                text,
            )?,
            None => self.all(
                "SELECT body FROM objects WHERE grp=?1 AND resource=?2 \
                 AND (namespace, name) > (?3, ?4) ORDER BY namespace, name LIMIT ?5+0",
                params![group, resource, after.0, after.1, limit],
                text,
            )?,
        };
        bodies.iter().map(|b| self.parse(b)).collect()
    }

    /// How many objects of a resource there are after a position.
    pub(crate) fn count(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
        after: (&str, &str),
    ) -> Result<i64> {
        let number = |r: &Row<'_>| r.get::<_, i64>(0);
        let count = match namespace {
            Some(namespace) => self.one(
                "SELECT count(*) FROM objects WHERE grp=?1 AND resource=?2 AND namespace=?3 \
                 AND name>?4",
                params![group, resource, namespace, after.1],
                number,
            )?,
            None => self.one(
                "SELECT count(*) FROM objects WHERE grp=?1 AND resource=?2 \
                 AND (namespace, name) > (?3, ?4)",
                params![group, resource, after.0, after.1],
                number,
            )?,
        };
        Ok(count.unwrap_or(0))
    }

    /// Writes an object and its event at `revision`.
    pub(crate) fn put(
        &self,
        key: &Key,
        revision: i64,
        body: &Value,
        before: Option<&Value>,
    ) -> Result<()> {
        let uid = body["metadata"]["uid"].as_str().unwrap_or_default();
        let text = written(body);
        self.execute(
            "INSERT OR REPLACE INTO objects VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                key.group,
                key.resource,
                key.namespace,
                key.name,
                uid,
                revision,
                text
            ],
        )?;
        let kind = if before.is_some() {
            EventKind::Modified
        } else {
            EventKind::Added
        };
        self.note(key, revision, kind, &text, before)?;
        self.set_owners(key, body, before)
    }

    /// Removes an object; its event carries its last state.
    pub(crate) fn delete(&self, key: &Key, revision: i64, last: &Value) -> Result<()> {
        self.execute(
            "DELETE FROM objects WHERE grp=?1 AND resource=?2 AND namespace=?3 AND name=?4",
            params![key.group, key.resource, key.namespace, key.name],
        )?;
        self.note(
            key,
            revision,
            EventKind::Deleted,
            &written(last),
            Some(last),
        )?;
        self.set_owners(key, &Value::Null, Some(last))
    }

    fn note(
        &self,
        key: &Key,
        revision: i64,
        kind: EventKind,
        body: &str,
        before: Option<&Value>,
    ) -> Result<()> {
        self.written.set(u64::try_from(revision).ok());
        let before = before.map(written);
        self.execute(
            "INSERT INTO events VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                revision,
                key.group,
                key.resource,
                key.namespace,
                key.name,
                kind.as_str(),
                body,
                before
            ],
        )
        .map(drop)
    }

    fn set_owners(&self, key: &Key, body: &Value, before: Option<&Value>) -> Result<()> {
        let uids = |v: &Value| -> Vec<String> {
            let references = v["metadata"]["ownerReferences"].as_array();
            let uids = references
                .into_iter()
                .flatten()
                .filter_map(|r| r["uid"].as_str());
            uids.map(str::to_string).collect()
        };
        let (now, old) = (uids(body), before.map(uids).unwrap_or_default());
        if now == old {
            return Ok(());
        }
        for owner in old {
            self.execute(
                "DELETE FROM owners WHERE owner=?1 AND grp=?2 AND resource=?3 AND namespace=?4 AND name=?5",
                params![owner, key.group, key.resource, key.namespace, key.name],
            )?;
        }
        for owner in now {
            self.execute(
                "INSERT OR REPLACE INTO owners VALUES(?1, ?2, ?3, ?4, ?5)",
                params![owner, key.group, key.resource, key.namespace, key.name],
            )?;
        }
        Ok(())
    }

    /// The objects that name `uid` as an owner.
    pub(crate) fn owned_by(&self, uid: &str) -> Result<Vec<Key>> {
        let sql = "SELECT grp, resource, namespace, name FROM owners WHERE owner=?1";
        self.all(sql, [uid], read_key)
    }

    pub(crate) fn uid_exists(&self, uid: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM objects WHERE uid=?1 LIMIT 1";
        Ok(self.one(sql, [uid], |_| Ok(()))?.is_some())
    }

    pub(crate) fn keys_in_namespace(&self, namespace: &str) -> Result<Vec<Key>> {
        let sql = "SELECT grp, resource, namespace, name FROM objects WHERE namespace=?1";
        self.all(sql, [namespace], read_key)
    }

    /// What is served of a definition.
    pub(crate) fn definition<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let sql = "SELECT summary FROM definitions WHERE name=?1";
        let summary = self.one(sql, [name], |r| r.get::<_, String>(0))?;
        summary.map(|s| self.parse(&s)).transpose()
    }

    pub(crate) fn definitions<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let sql = "SELECT summary FROM definitions ORDER BY name";
        let all = self.all(sql, [], |r| r.get::<_, String>(0))?;
        all.iter().map(|s| self.parse(s)).collect()
    }

    pub(crate) fn set_definition(&self, name: &str, summary: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(summary).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO definitions VALUES(?1, ?2)";
        self.execute(sql, params![name, text]).map(drop)
    }

    pub(crate) fn remove_definition(&self, name: &str) -> Result<()> {
        let sql = "DELETE FROM definitions WHERE name=?1";
        self.execute(sql, [name]).map(drop)
    }

    /// How many objects there are, by group and resource.
    pub(crate) fn counts(&self) -> Result<Vec<(String, String, i64)>> {
        let sql = "SELECT grp, resource, count(*) FROM objects GROUP BY grp, resource";
        self.all(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
    }

    /// Changes of a resource after a revision, oldest first.
    pub(crate) fn events_after(
        &self,
        group: &str,
        resource: &str,
        revision: i64,
    ) -> Result<Vec<Event>> {
        type Raw = (i64, String, String, Option<String>);
        let raw: Vec<Raw> = self.all(
            "SELECT revision, kind, body, before FROM events \
             WHERE grp=?1 AND resource=?2 AND revision>?3 ORDER BY revision",
            params![group, resource, revision],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
        )?;
        let events = raw.into_iter().map(|(revision, kind, body, before)| {
            let kind = match kind.as_str() {
                "ADDED" => EventKind::Added,
                "DELETED" => EventKind::Deleted,
                _ => EventKind::Modified,
            };
            let before = before.map(|b| self.parse(&b)).transpose()?;
            Ok(Event {
                revision,
                kind,
                body: self.parse(&body)?,
                before,
            })
        });
        events.collect()
    }

    pub(crate) fn schedule(&self, due: &Due) -> Result<()> {
        let Due { at, key, step } = due;
        self.execute(
            "INSERT OR REPLACE INTO due VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            params![at, key.group, key.resource, key.namespace, key.name, step],
        )
        .map(drop)
    }

    /// When the next step is due.
    pub(crate) fn next_due(&self) -> Result<Option<i64>> {
        Ok(self
            .one("SELECT min(at) FROM due", [], |r| {
                r.get::<_, Option<i64>>(0)
            })?
            .flatten())
    }

    /// Takes the steps that are due out of the schedule.
    pub(crate) fn take_due(&self, now: i64) -> Result<Vec<Due>> {
        let sql = "SELECT at, grp, resource, namespace, name, step FROM due WHERE at<=?1 ORDER BY at LIMIT 200";
        let taken = self.all(sql, [now], |r| {
            let key = Key {
                group: r.get(1)?,
                resource: r.get(2)?,
                namespace: r.get(3)?,
                name: r.get(4)?,
            };
            Ok(Due {
                at: r.get(0)?,
                key,
                step: r.get(5)?,
            })
        })?;
        for Due { at, key, step } in &taken {
            self.execute(
                "DELETE FROM due WHERE at=?1 AND grp=?2 AND resource=?3 AND namespace=?4 AND name=?5 AND step=?6",
                params![at, key.group, key.resource, key.namespace, key.name, step],
            )?;
        }
        Ok(taken)
    }
}

fn read_key(r: &Row<'_>) -> rusqlite::Result<Key> {
    Ok(Key {
        group: r.get(0)?,
        resource: r.get(1)?,
        namespace: r.get(2)?,
        name: r.get(3)?,
    })
}

/// An object as it is stored: without going through a formatter, which takes several times as long.
fn written(object: &Value) -> String {
    serde_json::to_string(object).unwrap_or_default()
}
