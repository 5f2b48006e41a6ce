//! From a record to the data of a Secret.
//!
//! A plain reader of RFC-0001 finds everything it knows, spelled as the RFC spells it. Empty
//! additions are left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Body, Change, Content, Extra, KIND, Kept, KeptObject, Lock, LogEntry, ModuleRef, PartLocation,
    Pending, PendingObject, Record, RecordPart, RecordRef, RecordedEntry, SUMMARY_ANNOTATION,
    SecretParts, Summary,
};
use crate::digest::ObjectHash;
use crate::entry::Entry;

/// Writes a record as the parts of a Secret.
pub fn encode(record: &Record) -> SecretParts {
    let mut data = record.unknown.clone();
    let mut put = |key: &str, value: &Value| data.insert(key.to_owned(), bytes(value));
    put("metadata", &metadata(record));
    put(
        "index",
        &record.history.iter().map(|slot| slot.id.as_str()).collect(),
    );
    for slot in &record.history {
        if let Content::Read(current) = &slot.content {
            put(&slot.id, &change(current));
        }
    }
    if record.pending != Pending::default() {
        put("pending", &pending(&record.pending));
    }
    if record.kept != Kept::default() {
        put("kept", &kept(&record.kept));
    }
    if let Some(held) = &record.lock {
        put("lock", &lock(held));
    }
    if !record.log.is_empty() {
        put("log", &record.log.iter().map(log_entry).collect());
    }
    for slot in &record.history {
        if let Content::Damaged(raw) = &slot.content {
            data.insert(slot.id.clone(), raw.clone());
        }
    }
    let mut annotations = record.annotations.clone();
    annotations.insert(SUMMARY_ANNOTATION.to_owned(), Summary::of(record).to_text());
    SecretParts {
        data,
        labels: record.labels.clone(),
        annotations,
    }
}

/// A JSON value as text. Maps print with sorted keys; nothing in here can fail to print.
fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Known fields over unknown ones. A null stands for "left out".
fn with<const N: usize>(extra: &Extra, known: [(&str, Value); N]) -> Value {
    let mut map = extra.0.clone();
    for (name, value) in known {
        put(&mut map, name, value);
    }
    Value::Object(map)
}

fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    if value.is_null() {
        map.remove(name);
    } else {
        map.insert(name.to_owned(), value);
    }
}

fn metadata(record: &Record) -> Value {
    let metadata = &record.metadata;
    with(
        &metadata.extra,
        [
            ("kind", json!(KIND)),
            ("apiVersion", json!(record.api_version())),
            ("name", json!(metadata.name)),
            ("namespace", json!(metadata.namespace)),
            ("releaseId", json!(metadata.release_id)),
            ("lastTransitionTime", json!(metadata.last_transition_time)),
        ],
    )
}

pub(super) fn change(change: &Change) -> Value {
    let values = change.values.here().map(|values| &values.0);
    with(
        &change.extra,
        [
            ("module", module(&change.module)),
            ("values", json!(values)),
            ("manifestDigest", json!(change.manifest_digest)),
            ("timestamp", json!(change.timestamp)),
            (
                "inventory",
                change.inventory.here().map_or(Value::Null, inventory),
            ),
            ("components", json!(change.components)),
            ("features", json!(change.features)),
            ("order", order(&change.order)),
            ("parent", json!(change.parent)),
            (
                "record",
                change.record.as_ref().map_or(Value::Null, record_ref),
            ),
        ],
    )
}

fn order(order: &BTreeMap<String, Vec<String>>) -> Value {
    match order.is_empty() {
        true => Value::Null,
        false => json!(order),
    }
}

fn module(module: &ModuleRef) -> Value {
    let local = if module.version.is_none() {
        json!(true)
    } else {
        Value::Null
    };
    with(
        &module.extra,
        [
            ("path", json!(module.path)),
            ("version", json!(module.version)),
            ("local", local),
            ("name", json!(module.name)),
        ],
    )
}

/// An inventory by itself, as it moves into a record Secret.
pub(super) fn inventory(inventory: &super::Inventory) -> Value {
    let entries: Value = inventory.entries.iter().map(recorded_entry).collect();
    with(&inventory.extra, [("entries", entries)])
}

fn recorded_entry(recorded: &RecordedEntry) -> Value {
    let mut map = recorded.extra.0.clone();
    entry(&mut map, &recorded.entry);
    Value::Object(map)
}

fn entry(map: &mut Map<String, Value>, entry: &Entry) {
    let identity = &entry.identity;
    put(map, "group", json!(identity.group()));
    put(map, "kind", json!(identity.kind()));
    put(
        map,
        "namespace",
        json!(identity.namespace.as_deref().unwrap_or_default()),
    );
    put(map, "name", json!(identity.name));
    put(map, "v", json!(entry.version));
    put(map, "component", json!(entry.component));
    put(map, "uid", json!(entry.uid));
    put(
        map,
        "hash",
        json!(entry.hash.as_ref().map(ObjectHash::as_str)),
    );
}

fn record_ref(record: &RecordRef) -> Value {
    let mut map = record.extra.0.clone();
    for part in RecordPart::ALL {
        put(&mut map, part.word(), held(record.parts.get(&part)));
    }
    put(&mut map, "objects", json!(record.objects));
    put(&mut map, "note", json!(record.note));
    let dropped = record
        .dropped
        .iter()
        .map(|(part, reason)| (part.word().to_owned(), json!(reason)));
    let dropped = if record.dropped.is_empty() {
        Value::Null
    } else {
        dropped.collect()
    };
    put(&mut map, "dropped", dropped);
    Value::Object(map)
}

/// Where something is that moved out.
fn held(held: Option<&PartLocation>) -> Value {
    let Some(held) = held else {
        return Value::Null;
    };
    let places: Value = held.places.iter().map(|p| format!("{p:02}")).collect();
    let hash = held.hash.as_ref().map(ObjectHash::as_str);
    with(
        &Extra::default(),
        [
            ("places", places),
            ("bytes", json!(held.bytes)),
            ("hash", json!(hash)),
        ],
    )
}

/// The pending objects by themselves, as they move into a record Secret.
pub(super) fn pending(pending: &Pending) -> Value {
    let objects = pending
        .objects
        .here()
        .map(|all| all.iter().map(pending_object).collect());
    let objects = objects.unwrap_or(Value::Null);
    with(
        &pending.extra,
        [
            ("objects", objects),
            ("record", held(pending.held.as_ref())),
            ("until", json!(pending.until)),
            ("count", json!(pending.count)),
        ],
    )
}

fn pending_object(object: &PendingObject) -> Value {
    let mut map = object.extra.0.clone();
    entry(&mut map, &object.entry);
    put(&mut map, "why", json!(object.why.word()));
    put(&mut map, "change", json!(object.change));
    put(&mut map, "since", json!(object.since));
    put(&mut map, "reason", json!(object.reason));
    put(
        &mut map,
        "late",
        if object.late {
            json!(true)
        } else {
            Value::Null
        },
    );
    Value::Object(map)
}

fn kept(kept: &Kept) -> Value {
    let objects = match kept.held {
        Some(_) => Value::Null,
        None => kept.objects.iter().map(kept_object).collect(),
    };
    with(
        &kept.extra,
        [
            ("objects", objects),
            ("record", held(kept.held.as_ref())),
            ("count", json!(kept.count)),
        ],
    )
}

fn kept_object(object: &KeptObject) -> Value {
    let mut map = object.extra.0.clone();
    entry(&mut map, &object.entry);
    put(&mut map, "why", json!(object.why.word()));
    put(&mut map, "change", json!(object.change));
    put(&mut map, "since", json!(object.since));
    put(&mut map, "reason", json!(object.reason));
    Value::Object(map)
}

/// The lock by itself: a renewal writes nothing else.
pub(super) fn lock(lock: &Lock) -> Value {
    with(
        &lock.extra,
        [
            ("id", json!(lock.id)),
            ("holder", json!(lock.holder)),
            ("host", json!(lock.host)),
            ("pid", json!(lock.pid)),
            ("boot", json!(lock.boot)),
            ("pidNamespace", json!(lock.pid_namespace)),
            ("command", json!(lock.command)),
            ("since", json!(lock.since)),
            ("beat", json!(lock.beat)),
        ],
    )
}

fn log_entry(entry: &LogEntry) -> Value {
    with(
        &entry.extra,
        [
            ("id", json!(entry.id)),
            ("command", json!(entry.command)),
            ("time", json!(entry.time)),
            ("seconds", json!(entry.seconds)),
            ("who", json!(entry.who)),
            ("from", json!(entry.from)),
            ("opm", json!(entry.opm)),
            ("message", json!(entry.message)),
            ("change", json!(entry.change)),
            ("result", json!(entry.result.word())),
            ("reason", json!(entry.reason)),
            ("counts", json!(entry.counts)),
        ],
    )
}

/// The bytes of `data.lock`, for a renewal that writes nothing else.
pub fn encode_lock(held: &Lock) -> Vec<u8> {
    bytes(&lock(held))
}

/// The bytes of a change's inventory, for a record Secret.
pub fn encode_inventory(body: &super::Inventory) -> Vec<u8> {
    bytes(&inventory(body))
}

/// The bytes of pending objects, for a record Secret.
pub fn encode_pending(objects: &[PendingObject]) -> Vec<u8> {
    let objects: Value = objects.iter().map(pending_object).collect();
    bytes(&json!({ "objects": objects }))
}

/// The bytes of kept objects, for a record Secret.
pub fn encode_kept(objects: &[KeptObject]) -> Vec<u8> {
    let objects: Value = objects.iter().map(kept_object).collect();
    bytes(&json!({ "objects": objects }))
}

impl<T> Body<T> {
    /// Whether the part has moved into record Secrets.
    pub fn moved(&self) -> bool {
        matches!(self, Self::InRecord)
    }
}
