//! From the data of a Secret to a record.
//!
//! What a plan rests on must be readable: metadata, index, the current change, pending, kept,
//! lock and log. Damage there is an error that names every damaged key, so that repair can
//! report it. Damage to older changes is tolerated: they are carried along untouched and
//! reported as findings, because a broken page of history must not stop a deployment.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use thiserror::Error;

use super::field::{StoredValue, read_key, stored_fields};
use super::{
    API_VERSION, API_VERSION_MOVED, Change, Content, Finding, FindingKind, HistorySlot, Inventory,
    KIND, Kept, KeptObject, LogEntry, Metadata, Pending, PendingObject, ReadOnlyRecord, Record,
    RecordPart, SUMMARY_ANNOTATION, SecretParts, Stored,
};

/// A record, with the damage that did not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedRecord {
    /// The record.
    pub stored: Stored,
    /// Damage that was tolerated.
    pub findings: Vec<Finding>,
}

/// A record that cannot be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the release's record is damaged: {}", list(.findings))]
pub struct RecordError {
    /// What is wrong, key by key.
    pub findings: Vec<Finding>,
}

fn list(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Reads the record in a Secret.
pub fn decode(secret: &SecretParts) -> Result<DecodedRecord, RecordError> {
    let mut reader = RecordReader::new(secret);
    let read = reader.record();
    let whole = reader.fatal.is_empty();
    let findings = reader.fatal.into_iter().chain(reader.tolerated).collect();
    let stored = match read {
        Some((format, record)) if format.is_writable() && whole => Stored::Writable(record),
        // A newer format may differ anywhere: what can be read of it is shown.
        Some((format, record)) if !format.is_writable() => Stored::ReadOnly(ReadOnlyRecord {
            kind: format.kind,
            api_version: format.api_version,
            record,
        }),
        _ => return Err(RecordError { findings }),
    };
    Ok(DecodedRecord { stored, findings })
}

/// The data key `metadata`: the format beside the release-level metadata.
pub(super) struct StoredMetadata {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) metadata: Metadata,
}

stored_fields!(StoredMetadata {
    kind: nonempty("kind"),
    api_version: nonempty("apiVersion"),
    metadata: flat(),
});

stored_fields!(Metadata {
    name: nonempty("name"),
    namespace: nonempty("namespace"),
    release_id: nonempty("releaseId"),
    last_transition_time: field("lastTransitionTime"),
    state: field("state"),
    extra: rest(),
});

impl StoredMetadata {
    /// Whether this version may write the record.
    pub(super) fn is_writable(&self) -> bool {
        self.kind == KIND && [API_VERSION, API_VERSION_MOVED].contains(&self.api_version.as_str())
    }
}

/// The data keys that are not changes.
const KEYS: [&str; 8] = [
    "metadata", "index", "past", "pending", "kept", "setAside", "lock", "log",
];

/// An id in the index. Change ids are data keys: they share the name space with `metadata` and
/// the others.
struct IndexedId(String);

impl StoredValue for IndexedId {
    fn read(value: Value) -> Result<Self, Finding> {
        let id = String::read(value)?;
        if is_change(&id) {
            return Ok(Self(id));
        }
        let expected = "the stored changes";
        Err(Finding::new("", "", FindingKind::UnknownWord { expected }))
    }

    fn write(&self) -> Value {
        self.0.write()
    }
}

pub(super) fn is_change(key: &str) -> bool {
    key.starts_with("change-")
}

/// Reads the data keys of a Secret, and gathers what is wrong with them.
pub(super) struct RecordReader<'a> {
    secret: &'a SecretParts,
    pub(super) fatal: Vec<Finding>,
    pub(super) tolerated: Vec<Finding>,
}

impl<'a> RecordReader<'a> {
    pub(super) fn new(secret: &'a SecretParts) -> Self {
        Self {
            secret,
            fatal: Vec::new(),
            tolerated: Vec::new(),
        }
    }

    fn record(&mut self) -> Option<(StoredMetadata, Record)> {
        let metadata = self.required::<StoredMetadata>("metadata");
        let history = self.history();
        let past = self.past(&history);
        let pending = self.part("pending").unwrap_or_default();
        let kept = self.part("kept").unwrap_or_default();
        let set_aside = self.part("setAside").unwrap_or_default();
        let lock = self.part("lock");
        let log = self.part("log").unwrap_or_default();
        let Some(metadata) = metadata else {
            self.one_of_each(&pending, &kept);
            return None;
        };
        let mut record = Record {
            metadata: metadata.metadata.clone(),
            unknown: self.unknown(&history, &past),
            history,
            past,
            pending,
            kept,
            set_aside,
            lock,
            log,
            labels: self.secret.labels.clone(),
            annotations: self.annotations(),
        };
        record.set_impossible_aside();
        self.one_of_each(&record.pending, &record.kept);
        Some((metadata, record))
    }

    /// A part that must be there.
    pub(super) fn required<T: StoredValue>(&mut self, key: &str) -> Option<T> {
        if !self.secret.data.contains_key(key) {
            self.fatal.push(Finding::new(key, "", FindingKind::Missing));
        }
        self.part(key)
    }

    /// A part whose damage is fatal; absent is nothing.
    pub(super) fn part<T: StoredValue>(&mut self, key: &str) -> Option<T> {
        let read = read_key(key, self.secret.data.get(key)?);
        read.map_err(|finding| self.fatal.push(finding)).ok()
    }

    pub(super) fn history(&mut self) -> Vec<HistorySlot> {
        let ids: Vec<IndexedId> = self.required("index").unwrap_or_default();
        self.slots("index", ids, BTreeSet::new(), true)
    }

    /// Changes that are listed beside the index. One that it names too is named once.
    pub(super) fn past(&mut self, history: &[HistorySlot]) -> Vec<HistorySlot> {
        let ids: Vec<IndexedId> = self.part("past").unwrap_or_default();
        let seen = history.iter().map(|slot| slot.id.clone()).collect();
        self.slots("past", ids, seen, false)
    }

    fn slots(
        &mut self,
        key: &str,
        ids: Vec<IndexedId>,
        mut seen: BTreeSet<String>,
        has_current: bool,
    ) -> Vec<HistorySlot> {
        let mut slots = Vec::new();
        for (at, IndexedId(id)) in ids.into_iter().enumerate() {
            if seen.insert(id.clone()) {
                slots.push(self.slot(id, has_current && at == 0));
            } else {
                let path = format!("[{at}]");
                self.tolerated
                    .push(Finding::new(key, path, FindingKind::Duplicate));
            }
        }
        slots
    }

    fn slot(&mut self, id: String, current: bool) -> HistorySlot {
        let (content, finding) = match self.secret.data.get(&id) {
            None => {
                let finding = Finding::new(&id, "", FindingKind::AbsentChange);
                (Content::Absent, Some(finding))
            }
            Some(bytes) => match read_change(&id, bytes, current) {
                Ok(change) => (Content::Read(Box::new(change)), None),
                Err(finding) => (Content::Damaged(bytes.clone()), Some(finding)),
            },
        };
        match current {
            true => self.fatal.extend(finding),
            false => self.tolerated.extend(finding),
        }
        HistorySlot { id, content }
    }

    /// Pending and kept are sets; a second mention would be pruned twice or forgotten once.
    pub(super) fn one_of_each(&mut self, pending: &Pending, kept: &Kept) {
        let pending = pending.objects().iter().map(|object| &object.entry);
        let kept = kept.objects.iter().map(|object| &object.entry);
        let pending = pending
            .enumerate()
            .map(|(at, entry)| ("pending", at, entry));
        let kept = kept.enumerate().map(|(at, entry)| ("kept", at, entry));
        let mut seen = BTreeSet::new();
        for (key, at, entry) in pending.chain(kept) {
            if !seen.insert(&entry.identity) {
                let path = format!("objects[{at}]");
                self.fatal
                    .push(Finding::new(key, path, FindingKind::Duplicate));
            }
        }
    }

    /// The data keys that this version does not know, given the changes that it does.
    pub(super) fn unknown(
        &self,
        history: &[HistorySlot],
        past: &[HistorySlot],
    ) -> BTreeMap<String, Vec<u8>> {
        let mut unknown = self.secret.data.clone();
        unknown.retain(|key, _| !KEYS.contains(&key.as_str()));
        for slot in history.iter().chain(past) {
            unknown.remove(&slot.id);
        }
        unknown
    }

    /// The annotations without the summary, which is written anew.
    pub(super) fn annotations(&self) -> BTreeMap<String, String> {
        let mut annotations = self.secret.annotations.clone();
        annotations.remove(SUMMARY_ANNOTATION);
        annotations
    }
}

pub(super) fn read_change(id: &str, bytes: &[u8], current: bool) -> Result<Change, Finding> {
    let mut change: Change = read_key(id, bytes)?;
    change.id = id.to_owned();
    if current && change.inventory.moved() && !change.holds(RecordPart::Inventory) {
        return Err(Finding::new(id, "inventory", FindingKind::Missing));
    }
    Ok(change)
}

/// Reads a change that was kept beside its manifests.
pub fn decode_change(id: &str, bytes: &[u8]) -> Result<Change, Finding> {
    read_change(id, bytes, false)
}

/// Reads the copy of a log.
pub fn decode_log(bytes: &[u8]) -> Result<Vec<LogEntry>, Finding> {
    read_key("log", bytes)
}

/// Reads a change's inventory that had moved into record Secrets.
pub fn decode_inventory(bytes: &[u8]) -> Result<Inventory, Finding> {
    read_key("inventory", bytes)
}

/// Reads pending objects that had moved into record Secrets.
pub fn decode_pending(bytes: &[u8]) -> Result<Vec<PendingObject>, Finding> {
    let pending: Pending = read_key("pending", bytes)?;
    Ok(pending.objects().to_vec())
}

/// Reads kept objects that had moved into record Secrets.
pub fn decode_kept(bytes: &[u8]) -> Result<Vec<KeptObject>, Finding> {
    let kept: Kept = read_key("kept", bytes)?;
    Ok(kept.objects)
}
