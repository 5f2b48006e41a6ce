//! What can still be read of a damaged record, key by key: what repair starts from.
//!
//! Nothing is guessed here. A key that cannot be read is named by a finding and left out;
//! `repair` decides what replaces it.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{RecordReader, StoredMetadata, is_change, read_change};
use super::{
    Change, Finding, HistorySlot, Kept, Lock, LogEntry, Metadata, Pending, SecretParts,
    SetAsideEntry,
};

/// The readable parts of a record. What is none was damaged, or had to be there and was not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SalvagedRecord {
    /// Release-level metadata.
    pub metadata: Option<Metadata>,
    /// The ids of the index, each once.
    pub index: Option<Vec<String>>,
    /// The ids that are listed beside the index, each once.
    pub past: Vec<String>,
    /// Every change that can be read, whether the index names it or not.
    pub changes: BTreeMap<String, Change>,
    /// Objects that may exist and are in no recorded change.
    pub pending: Option<Pending>,
    /// Objects that were left in the cluster on purpose.
    pub kept: Option<Kept>,
    /// Entries that cannot be objects.
    pub set_aside: Vec<SetAsideEntry>,
    /// The lock, if there is one that can be read.
    pub lock: Option<Lock>,
    /// Whether there is a lock that cannot be read.
    pub lock_damaged: bool,
    /// Deployments, newest first.
    pub log: Vec<LogEntry>,
    /// Data keys that this version does not know.
    pub unknown: BTreeMap<String, Vec<u8>>,
    /// Labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Secret, without the summary.
    pub annotations: BTreeMap<String, String>,
    /// Kind and apiVersion, if they are none that this version may write.
    pub foreign: Option<(String, String)>,
    /// What is wrong, key by key.
    pub findings: Vec<Finding>,
}

/// Reads what can be read.
pub fn salvage(secret: &SecretParts) -> SalvagedRecord {
    let mut reader = RecordReader::new(secret);
    let metadata: Option<StoredMetadata> = reader.required("metadata");
    let history = reader.history();
    let past = reader.past(&history);
    let index_is_broken = reader.fatal.iter().any(|finding| finding.key == "index");
    let changes = match index_is_broken {
        true => unindexed(secret, &mut reader),
        false => {
            let slots = history.iter().chain(&past);
            let changes = slots.filter_map(HistorySlot::change);
            changes
                .map(|change| (change.id.clone(), change.clone()))
                .collect()
        }
    };
    let pending: Option<Pending> = or_empty(secret, "pending", reader.part("pending"));
    let kept: Option<Kept> = or_empty(secret, "kept", reader.part("kept"));
    reader.one_of_each(
        &pending.clone().unwrap_or_default(),
        &kept.clone().unwrap_or_default(),
    );
    let set_aside = reader.part("setAside").unwrap_or_default();
    let lock = reader.part("lock");
    let log = reader.part("log").unwrap_or_default();
    let mut unknown = reader.unknown(&history, &past);
    unknown.retain(|key, _| !(index_is_broken && is_change(key)));
    let foreign = metadata.as_ref().filter(|stored| !stored.is_writable());
    SalvagedRecord {
        foreign: foreign.map(|stored| (stored.kind.clone(), stored.api_version.clone())),
        metadata: metadata.map(|stored| stored.metadata),
        index: (!index_is_broken).then(|| history.iter().map(|slot| slot.id.clone()).collect()),
        past: past.iter().map(|slot| slot.id.clone()).collect(),
        changes,
        pending: pending.map(each_once),
        kept: kept.map(kept_once),
        set_aside,
        lock_damaged: lock.is_none() && secret.data.contains_key("lock"),
        lock,
        log,
        unknown,
        labels: secret.labels.clone(),
        annotations: reader.annotations(),
        findings: reader.fatal.into_iter().chain(reader.tolerated).collect(),
    }
}

/// The changes of a record without an index, by their keys.
fn unindexed(secret: &SecretParts, reader: &mut RecordReader<'_>) -> BTreeMap<String, Change> {
    let mut changes = BTreeMap::new();
    for (key, bytes) in secret.data.iter().filter(|(key, _)| is_change(key)) {
        match read_change(key, bytes, false) {
            Ok(change) => {
                changes.insert(key.clone(), change);
            }
            Err(finding) => reader.fatal.push(finding),
        }
    }
    changes
}

/// A part that is absent is empty; one that is there and cannot be read is not known.
fn or_empty<T: Default>(secret: &SecretParts, key: &str, read: Option<T>) -> Option<T> {
    match secret.data.contains_key(key) {
        true => read,
        false => Some(T::default()),
    }
}

fn each_once(mut pending: Pending) -> Pending {
    let mut seen = BTreeSet::new();
    if let Some(objects) = pending.objects.here_mut() {
        objects.retain(|object| seen.insert(object.entry.identity.clone()));
    }
    pending
}

fn kept_once(mut kept: Kept) -> Kept {
    let mut seen = BTreeSet::new();
    kept.objects
        .retain(|object| seen.insert(object.entry.identity.clone()));
    kept
}
