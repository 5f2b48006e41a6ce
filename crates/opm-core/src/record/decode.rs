//! From the data of a Secret to a record.
//!
//! What a plan rests on must be readable: metadata, index, the current change, pending, kept,
//! lock and log. Damage there is an error that names every damaged key, so that repair can
//! report it. Damage to older changes is tolerated: they are carried along untouched and
//! reported as findings, because a broken page of history must not stop a deployment.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::fields::{RecordFields, as_text, parse, wrong};
use super::{
    API_VERSION, API_VERSION_MOVED, Body, Change, Content, Extra, Finding, FindingKind, KIND, Kept,
    LogEntry, Metadata, Pending, ReadOnly, Record, SUMMARY_ANNOTATION, SecretParts, Slot, Stored,
    read,
};

/// A record, with the damage that did not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
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

impl RecordError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "`opm mod repair` shows what is left of the record and rebuilds it"
    }
}

/// Reads the record in a Secret.
pub fn decode(secret: &SecretParts) -> Result<Decoded, RecordError> {
    let mut reader = Reader::new(secret);
    let record = reader.record();
    let Reader {
        fatal, tolerated, ..
    } = reader;
    match record {
        Some((head, record)) if head.known() && fatal.is_empty() => Ok(Decoded {
            stored: Stored::Writable(record),
            findings: tolerated,
        }),
        // A newer format may differ anywhere: what can be read of it is shown.
        Some((head, record)) if !head.known() => {
            let Head { kind, api_version } = head;
            let stored = Stored::ReadOnly(ReadOnly {
                kind,
                api_version,
                record,
            });
            Ok(Decoded {
                stored,
                findings: fatal.into_iter().chain(tolerated).collect(),
            })
        }
        _ => Err(RecordError {
            findings: fatal.into_iter().chain(tolerated).collect(),
        }),
    }
}

/// Kind and apiVersion, which say whether this version may write the record.
pub(super) struct Head {
    pub(super) kind: String,
    pub(super) api_version: String,
}

impl Head {
    pub(super) fn known(&self) -> bool {
        self.kind == KIND && [API_VERSION, API_VERSION_MOVED].contains(&self.api_version.as_str())
    }
}

pub(super) struct Reader<'a> {
    secret: &'a SecretParts,
    pub(super) fatal: Vec<Finding>,
    pub(super) tolerated: Vec<Finding>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(secret: &'a SecretParts) -> Self {
        Self {
            secret,
            fatal: Vec::new(),
            tolerated: Vec::new(),
        }
    }
}

impl Reader<'_> {
    fn record(&mut self) -> Option<(Head, Record)> {
        let read = self.metadata();
        let history = self.history();
        let pending = self.part("pending", read::pending).unwrap_or_default();
        let kept = self.part("kept", read::kept).unwrap_or_default();
        self.one_of_each(&pending, &kept);
        let lock = self.part("lock", read::lock);
        let log = self.log();
        let (head, metadata) = read?;
        let known: BTreeSet<&str> = history
            .iter()
            .map(|slot| slot.id.as_str())
            .chain(["metadata", "index", "pending", "kept", "lock", "log"])
            .collect();
        let unknown = pairs(&self.secret.data, |key| !known.contains(key));
        let labels = self.secret.labels.clone();
        let annotations = pairs(&self.secret.annotations, |name| name != SUMMARY_ANNOTATION);
        let record = Record {
            metadata,
            history,
            pending,
            kept,
            lock,
            log,
            unknown,
            labels,
            annotations,
        };
        Some((head, record))
    }

    pub(super) fn metadata(&mut self) -> Option<(Head, Metadata)> {
        let read = self.part("metadata", metadata);
        if read.is_none() && !self.secret.data.contains_key("metadata") {
            self.fatal
                .push(Finding::new("metadata", "", FindingKind::Missing));
        }
        read
    }

    /// A part whose damage is fatal; absent is nothing.
    pub(super) fn part<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(RecordFields<'static>) -> Result<T, Finding>,
    ) -> Option<T> {
        let bytes = self.secret.data.get(key)?;
        let part = parse(key, bytes)
            .and_then(|value| RecordFields::of(key, value))
            .and_then(read);
        part.map_err(|finding| self.fatal.push(finding)).ok()
    }

    pub(super) fn log(&mut self) -> Vec<LogEntry> {
        let Some(bytes) = self.secret.data.get("log") else {
            return Vec::new();
        };
        let log = parse("log", bytes).and_then(|value| list_of("log", value, read::log_entry));
        log.unwrap_or_else(|finding| {
            self.fatal.push(finding);
            Vec::new()
        })
    }

    pub(super) fn history(&mut self) -> Vec<Slot> {
        let Some(bytes) = self.secret.data.get("index") else {
            self.fatal
                .push(Finding::new("index", "", FindingKind::Missing));
            return Vec::new();
        };
        let index = parse("index", bytes).and_then(|value| list_of("index", value, change_id));
        let ids = match index {
            Ok(ids) => ids,
            Err(finding) => {
                self.fatal.push(finding);
                return Vec::new();
            }
        };
        let mut seen = BTreeSet::new();
        let mut slots = Vec::new();
        for (at, id) in ids.into_iter().enumerate() {
            if seen.insert(id.clone()) {
                slots.push(self.slot(id, at == 0));
            } else {
                self.tolerated.push(Finding::new(
                    "index",
                    format!("[{at}]"),
                    FindingKind::Duplicate,
                ));
            }
        }
        slots
    }

    fn slot(&mut self, id: String, current: bool) -> Slot {
        let read = match self.secret.data.get(&id) {
            None => Err((
                Content::Absent,
                Finding::new(&id, "", FindingKind::AbsentChange),
            )),
            Some(bytes) => read_change(&id, bytes, current)
                .map_err(|finding| (Content::Damaged(bytes.clone()), finding)),
        };
        let content = match read {
            Ok(change) => Content::Read(Box::new(change)),
            Err((content, finding)) => {
                if current {
                    &mut self.fatal
                } else {
                    &mut self.tolerated
                }
                .push(finding);
                content
            }
        };
        Slot { id, content }
    }

    /// Pending and kept are sets; a second mention would be pruned twice or forgotten once.
    pub(super) fn one_of_each(&mut self, pending: &Pending, kept: &Kept) {
        let mut seen = BTreeSet::new();
        for (at, object) in pending.objects().iter().enumerate() {
            if !seen.insert(&object.entry.identity) {
                let path = format!("objects[{at}]");
                self.fatal
                    .push(Finding::new("pending", path, FindingKind::Duplicate));
            }
        }
        for (at, object) in kept.objects.iter().enumerate() {
            if !seen.insert(&object.entry.identity) {
                let path = format!("objects[{at}]");
                self.fatal
                    .push(Finding::new("kept", path, FindingKind::Duplicate));
            }
        }
    }
}

pub(super) fn pairs<V: Clone>(
    from: &BTreeMap<String, V>,
    wanted: impl Fn(&str) -> bool,
) -> BTreeMap<String, V> {
    let wanted = from.iter().filter(|(name, _)| wanted(name));
    wanted
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

pub(super) fn read_change(id: &str, bytes: &[u8], current: bool) -> Result<Change, Finding> {
    let change = read::change(id, RecordFields::of(id, parse(id, bytes)?)?)?;
    if current && change.inventory == Body::InRecord && !change.holds(super::RecordPart::Inventory)
    {
        return Err(Finding::new(id, "inventory", FindingKind::Missing));
    }
    Ok(change)
}

fn list_of<T>(
    key: &'static str,
    value: serde_json::Value,
    read: impl Fn(&'static str, serde_json::Value) -> Result<T, Finding>,
) -> Result<Vec<T>, Finding> {
    let serde_json::Value::Array(items) = value else {
        return Err(wrong(key, "", "a list", &value));
    };
    let each = items.into_iter().enumerate();
    each.map(|(at, item)| read(key, item).map_err(|f| f.within(&format!("[{at}]"))))
        .collect()
}

/// Change ids are data keys: they share the name space with `metadata` and the others.
fn change_id(key: &str, value: serde_json::Value) -> Result<String, Finding> {
    let id = as_text(key, value)?;
    match id.starts_with("change-") {
        true => Ok(id),
        false => Err(Finding::new(
            key,
            "",
            FindingKind::UnknownWord {
                expected: "the stored changes",
            },
        )),
    }
}

fn metadata(mut fields: RecordFields<'_>) -> Result<(Head, Metadata), Finding> {
    let head = Head {
        kind: fields.nonempty("kind")?,
        api_version: fields.nonempty("apiVersion")?,
    };
    let metadata = Metadata {
        name: fields.nonempty("name")?,
        namespace: fields.nonempty("namespace")?,
        release_id: fields.nonempty("releaseId")?,
        last_transition_time: fields.text("lastTransitionTime")?,
        extra: Extra::default(),
    };
    Ok((
        head,
        Metadata {
            extra: fields.rest(),
            ..metadata
        },
    ))
}
