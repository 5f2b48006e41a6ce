//! From a record to the data of a Secret.
//!
//! A plain reader of RFC-0001 finds everything it knows, spelled as the RFC spells it. Empty
//! additions are left out.

use serde_json::{Value, json};

use super::decode::StoredMetadata;
use super::field::{StoredValue, write_key};
use super::{
    Change, Content, Inventory, KIND, Kept, KeptObject, Lock, LogEntry, Pending, PendingObject,
    Record, SUMMARY_ANNOTATION, SecretParts, Summary,
};

/// Writes a record as the parts of a Secret.
pub fn encode(record: &Record) -> SecretParts {
    let mut data = record.unknown.clone();
    let mut put = |key: &str, bytes| data.insert(key.to_owned(), bytes);
    let metadata = StoredMetadata {
        kind: KIND.to_owned(),
        api_version: record.api_version().to_owned(),
        metadata: record.metadata.clone(),
    };
    put("metadata", write_key(&metadata));
    let index: Value = record.history.iter().map(|slot| slot.id.as_str()).collect();
    put("index", index.to_string().into_bytes());
    if !record.past.is_empty() {
        let past: Value = record.past.iter().map(|slot| slot.id.as_str()).collect();
        put("past", past.to_string().into_bytes());
    }
    for slot in record.slots() {
        match &slot.content {
            Content::Read(change) => put(&slot.id, write_key(&**change)),
            Content::Damaged(bytes) => put(&slot.id, bytes.clone()),
            Content::Absent => None,
        };
    }
    if record.pending != Pending::default() {
        put("pending", write_key(&record.pending));
    }
    if record.kept != Kept::default() {
        put("kept", write_key(&record.kept));
    }
    if !record.set_aside.is_empty() {
        put("setAside", write_key(&record.set_aside));
    }
    if let Some(lock) = &record.lock {
        put("lock", write_key(lock));
    }
    if !record.log.is_empty() {
        put("log", write_key(&record.log));
    }
    let mut annotations = record.annotations.clone();
    annotations.insert(SUMMARY_ANNOTATION.to_owned(), Summary::of(record).to_text());
    SecretParts {
        data,
        labels: record.labels.clone(),
        annotations,
    }
}

/// The bytes of `data.lock`, for a renewal that writes nothing else.
pub fn encode_lock(lock: &Lock) -> Vec<u8> {
    write_key(lock)
}

/// The bytes of a log, for a copy in a record Secret. Where manifests of failed runs are is no
/// part of it: nothing keeps them there.
pub fn encode_log(log: &[LogEntry]) -> Vec<u8> {
    let entries = log.iter().map(|entry| LogEntry {
        record: None,
        ..entry.clone()
    });
    write_key(&entries.collect::<Vec<_>>())
}

/// A change on its own, as it is kept beside its manifests.
pub fn encode_change(change: &Change) -> Vec<u8> {
    write_key(change)
}

/// The bytes of a change's inventory, for a record Secret.
pub fn encode_inventory(inventory: &Inventory) -> Vec<u8> {
    write_key(inventory)
}

/// The bytes of pending objects, for a record Secret.
pub fn encode_pending(objects: &[PendingObject]) -> Vec<u8> {
    encode_objects(objects)
}

/// The bytes of kept objects, for a record Secret.
pub fn encode_kept(objects: &[KeptObject]) -> Vec<u8> {
    encode_objects(objects)
}

fn encode_objects(objects: &[impl StoredValue]) -> Vec<u8> {
    let objects: Value = objects.iter().map(StoredValue::write).collect();
    json!({ "objects": objects }).to_string().into_bytes()
}
