//! The stored record of a release: the Secret of RFC-0001 with the additions of `pending`,
//! `kept`, `lock` and `log`.
//!
//! This is the one module that knows the stored format. The types are plain; [`decode()`] and
//! [`encode()`] translate between them and the data of a Secret. What a reader does not know
//! (data keys, JSON fields, labels, annotations) survives a read-modify-write. Nothing here
//! compresses, base64-encodes or sends anything.

mod applied;
mod change;
mod decode;
mod encode;
mod field;
mod finding;
pub mod history;
mod location;
mod lock;
pub(crate) mod log;
pub mod moved;
mod pending;
pub mod ring;
pub mod room;
mod salvage;
mod secret;
mod set_aside;
pub mod size;
mod state;
mod summary;
pub mod unpack;

use std::collections::BTreeMap;

use crate::entry::Entry;
use crate::identity::Identity;

pub use applied::{AppliedNotes, decode_notes, encode_notes};
pub use change::{Body, Change, Extra, Inventory, ModuleRef, RecordedEntry, Values};
pub use decode::{
    DecodedRecord, RecordError, decode, decode_change, decode_inventory, decode_kept, decode_log,
    decode_pending,
};
pub use encode::{
    encode, encode_change, encode_inventory, encode_kept, encode_lock, encode_log, encode_pending,
};
pub use finding::{Finding, FindingKind};
pub use history::{Content, HistorySlot};
pub use location::{PartLocation, RecordPart, RecordRef};
pub use lock::Lock;
pub use log::{
    Counts, DEFAULT_LOG_ENTRIES, LogEntry, LogResult, is_repeated_refusal, last_run, number_of,
};
pub use pending::{Kept, KeptObject, KeptWhy, Pending, PendingObject, PendingWhy};
pub use salvage::{SalvagedRecord, salvage};
pub use secret::{RECORD_TYPE, RELEASE_TYPE, SecretParts, labels_beside, release_labels};
pub use set_aside::SetAsideEntry;
pub use state::ReleaseState;
pub use summary::{SUMMARY_ANNOTATION, Summary};

/// The kind that RFC-0001 writes.
pub const KIND: &str = "ModuleRelease";
/// The format that RFC-0001 writes and every reader of it understands.
pub const API_VERSION: &str = "core.opmodel.dev/v1alpha1";
/// The format whose current inventory lives in a record Secret: a plain reader must refuse it.
pub const API_VERSION_MOVED: &str = "core.opmodel.dev/v1alpha2";

/// Release-level metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// The release name.
    pub name: String,
    /// The release's namespace.
    pub namespace: String,
    /// The release id.
    pub release_id: String,
    /// When a change was last recorded; none while there is only an intent.
    pub last_transition_time: Option<String>,
    /// Whether it is there, or deleted with something left of it.
    pub state: ReleaseState,
    /// Fields that this version does not know.
    pub extra: Extra,
}

/// The record of a release, in a format that this version may write.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Release-level metadata.
    pub metadata: Metadata,
    /// The changes in the order of the index, newest first; the first is the current one.
    pub history: Vec<HistorySlot>,
    /// Changes that were found again after the record was lost, newest first, while nobody can
    /// tell which one is current. They can be shown and gone back to.
    pub past: Vec<HistorySlot>,
    /// Objects that may exist and are in no recorded change.
    pub pending: Pending,
    /// Objects that were left in the cluster on purpose.
    pub kept: Kept,
    /// Entries that cannot be objects: no plan sees them.
    pub set_aside: Vec<SetAsideEntry>,
    /// The lock, while somebody writes.
    pub lock: Option<Lock>,
    /// Deployments, newest first.
    pub log: Vec<LogEntry>,
    /// Data keys that this version does not know.
    pub unknown: BTreeMap<String, Vec<u8>>,
    /// Labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Secret, without the summary.
    pub annotations: BTreeMap<String, String>,
}

impl Record {
    /// A record with nothing in it but who it belongs to.
    pub fn new(metadata: Metadata, labels: BTreeMap<String, String>) -> Self {
        Self {
            metadata,
            history: Vec::new(),
            past: Vec::new(),
            pending: Pending::default(),
            kept: Kept::default(),
            set_aside: Vec::new(),
            lock: None,
            log: Vec::new(),
            unknown: BTreeMap::new(),
            labels,
            annotations: BTreeMap::new(),
        }
    }

    /// The current change: the first one of the index.
    pub fn current(&self) -> Option<&Change> {
        self.history.first()?.change()
    }

    /// The newest deployment that touched anything.
    pub fn last_run(&self) -> Option<&LogEntry> {
        last_run(&self.log)
    }

    fn current_mut(&mut self) -> Option<&mut Change> {
        self.history.first_mut()?.change_mut()
    }

    /// The entries of the current change, empty before the first one and while the release is
    /// deleted.
    pub fn inventory(&self) -> &[RecordedEntry] {
        match self.is_deleted() {
            true => &[],
            false => self.current().map_or(&[], Change::entries),
        }
    }

    /// The same, to be changed.
    pub(crate) fn current_inventory_mut(&mut self) -> Option<&mut Vec<RecordedEntry>> {
        if self.is_deleted() {
            return None;
        }
        let inventory = self.current_mut()?.inventory.here_mut()?;
        Some(&mut inventory.entries)
    }

    /// Every place of the history, newest first: those of the index, then those of the past.
    pub fn slots(&self) -> impl Iterator<Item = &HistorySlot> {
        self.history.iter().chain(&self.past)
    }

    /// The changes that can be read, newest first.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.slots().filter_map(HistorySlot::change)
    }

    /// The change with this id, if it is in the history and can be read.
    pub fn change(&self, id: &str) -> Option<&Change> {
        self.changes().find(|change| change.id == id)
    }

    fn change_mut(&mut self, id: &str) -> Option<&mut Change> {
        let slots = self.history.iter_mut().chain(&mut self.past);
        let mut changes = slots.filter_map(HistorySlot::change_mut);
        changes.find(|change| change.id == id)
    }

    /// Where each part is that lives in record Secrets.
    fn locations(&self) -> impl Iterator<Item = &PartLocation> {
        let changes = self.changes().filter_map(|change| change.record.as_ref());
        let failed = self.log.iter().filter_map(|entry| entry.record.as_ref());
        changes
            .chain(failed)
            .flat_map(|record| record.parts.values())
            .chain(&self.pending.held)
            .chain(&self.kept.held)
    }

    /// The same record, tracking nothing and naming no part that lives in record Secrets: what
    /// is left of a release that is gone, until the record itself goes.
    pub fn emptied(self) -> Self {
        let mut log = self.log;
        log.iter_mut().for_each(|entry| entry.record = None);
        Self {
            lock: self.lock,
            log,
            unknown: self.unknown,
            annotations: self.annotations,
            ..Self::new(self.metadata, self.labels)
        }
    }

    /// Stops tracking objects, wherever they are: in the current inventory, pending, kept or set
    /// aside.
    /// Returns what was tracked.
    pub fn forget(&mut self, forgotten: impl Fn(&Identity) -> bool) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut forget = |entry: &Entry| {
            let forgotten = forgotten(&entry.identity);
            entries.extend(forgotten.then(|| entry.clone()));
            !forgotten
        };
        if let Some(entries) = self.current_inventory_mut() {
            entries.retain(|recorded| forget(&recorded.entry));
        }
        if let Some(objects) = self.pending.objects.here_mut() {
            objects.retain(|object| forget(&object.entry));
        }
        self.kept.objects.retain(|object| forget(&object.entry));
        self.set_aside.retain(|aside| forget(&aside.entry));
        entries
    }

    /// The format in which this record has to be written.
    pub fn api_version(&self) -> &'static str {
        match self
            .current()
            .is_some_and(|change| change.inventory.moved())
        {
            true => API_VERSION_MOVED,
            false => API_VERSION,
        }
    }

    /// Whether parts of what plans need have to be fetched from record Secrets first.
    pub fn needs_bodies(&self) -> bool {
        self.api_version() == API_VERSION_MOVED
            || self.pending.objects.moved()
            || self.kept.held.is_some()
    }
}

/// A record as it was found: one that may be written back, or one that may only be shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// A format that this version knows.
    Writable(Record),
    /// A kind or apiVersion that this version does not know.
    ReadOnly(ReadOnlyRecord),
}

impl Stored {
    /// The record, to be looked at.
    pub fn shown(&self) -> &Record {
        match self {
            Self::Writable(record) => record,
            Self::ReadOnly(newer) => newer.shown(),
        }
    }
}

/// A record in an unknown format: its parts can be looked at, there is no way to write it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOnlyRecord {
    kind: String,
    api_version: String,
    record: Record,
}

impl ReadOnlyRecord {
    /// The kind it says it has.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The apiVersion it says it has.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// All of it that can be read, to be looked at.
    pub fn shown(&self) -> &Record {
        &self.record
    }
}
