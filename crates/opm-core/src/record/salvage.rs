//! What can still be read of a damaged record, key by key: what repair starts from.
//!
//! Nothing is guessed here. A key that cannot be read is named by a finding and left out; what
//! to put in its place is `repair`'s to say.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{Reader, pairs, read_change};
use super::{
    Change, Content, Finding, Kept, Lock, LogEntry, Metadata, Pending, SUMMARY_ANNOTATION,
    SecretParts, encode, read,
};

/// The readable parts of a record. What is none was damaged, or had to be there and was not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Salvaged {
    /// Release-level metadata.
    pub metadata: Option<Metadata>,
    /// The ids of the index, each once.
    pub index: Option<Vec<String>>,
    /// Every change that can be read, whether the index names it or not.
    pub changes: BTreeMap<String, Change>,
    /// Objects that may exist and are in no recorded change.
    pub pending: Option<Pending>,
    /// Objects that were deliberately left standing.
    pub kept: Option<Kept>,
    /// Who is writing, if anybody is and that can be read.
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
pub fn salvage(secret: &SecretParts) -> Salvaged {
    let mut reader = Reader::new(secret);
    let metadata = reader.metadata();
    let index = reader.fatal.len();
    let slots = reader.history();
    let broken_index = reader.fatal[index..]
        .iter()
        .any(|finding| finding.key == "index");
    let mut changes: BTreeMap<String, Change> = slots
        .iter()
        .filter_map(|slot| match &slot.content {
            Content::Read(change) => Some((slot.id.clone(), (**change).clone())),
            Content::Damaged(_) | Content::Absent => None,
        })
        .collect();
    if broken_index {
        changes = unindexed(secret, &mut reader);
    }
    let pending = whole(secret, "pending", reader.part("pending", read::pending));
    let kept = whole(secret, "kept", reader.part("kept", read::kept));
    let (none, nothing) = (Pending::default(), Kept::default());
    reader.one_of_each(
        pending.as_ref().unwrap_or(&none),
        kept.as_ref().unwrap_or(&nothing),
    );
    let lock = reader.part("lock", read::lock);
    let log = reader.log();
    let known: BTreeSet<&str> = slots
        .iter()
        .map(|slot| slot.id.as_str())
        .chain(["metadata", "index", "pending", "kept", "lock", "log"])
        .collect();
    let read = |key: &str| known.contains(key) || (broken_index && is_change(key));
    let foreign = metadata.as_ref().filter(|(head, _)| !head.known());
    Salvaged {
        foreign: foreign.map(|(head, _)| (head.kind.clone(), head.api_version.clone())),
        metadata: metadata.map(|(_, metadata)| metadata),
        index: (!broken_index).then(|| slots.iter().map(|slot| slot.id.clone()).collect()),
        changes,
        pending: pending.map(each_once),
        kept: kept.map(kept_once),
        lock_damaged: lock.is_none() && secret.data.contains_key("lock"),
        lock,
        log,
        unknown: pairs(&secret.data, |key| !read(key)),
        labels: secret.labels.clone(),
        annotations: pairs(&secret.annotations, |name| name != SUMMARY_ANNOTATION),
        findings: reader.fatal.into_iter().chain(reader.tolerated).collect(),
    }
}

/// The changes of a record without an index, by their keys.
fn unindexed(secret: &SecretParts, reader: &mut Reader<'_>) -> BTreeMap<String, Change> {
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

fn is_change(key: &str) -> bool {
    key.starts_with("change-")
}

/// A part that is absent is empty; one that is there and cannot be read is not known.
fn whole<T: Default>(secret: &SecretParts, key: &str, read: Option<T>) -> Option<T> {
    match secret.data.contains_key(key) {
        true => read,
        false => Some(T::default()),
    }
}

fn each_once(mut pending: Pending) -> Pending {
    let mut seen = BTreeSet::new();
    if let super::Body::Here(objects) = &mut pending.objects {
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

/// A change on its own, as it is kept beside its manifests.
pub fn encode_change(change: &Change) -> Vec<u8> {
    encode::change(change).to_string().into_bytes()
}

/// Reads such a change.
pub fn decode_change(id: &str, bytes: &[u8]) -> Result<Change, Finding> {
    read_change(id, bytes, false)
}
