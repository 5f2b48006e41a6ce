//! One recorded state of a release.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::digest::ObjectHash;
use crate::entry::Entry;

/// JSON fields that this version does not know, carried along unread.
#[derive(Clone, PartialEq, Default)]
pub struct Extra(pub Map<String, Value>);

impl fmt::Debug for Extra {
    /// Names only: nobody knows what the values are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The resolved values of a change, as CUE text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Values(pub String);

impl fmt::Debug for Values {
    /// The length only: values may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({} bytes)", self.0.len())
    }
}

/// A part of the record that may have moved into a record Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<T> {
    /// It is in the release's own Secret.
    Here(T),
    /// It is in the record Secrets that the same change (or `pending`) names.
    InRecord,
}

impl<T> Body<T> {
    /// The value, if it is here.
    pub fn here(&self) -> Option<&T> {
        match self {
            Self::Here(value) => Some(value),
            Self::InRecord => None,
        }
    }
}

/// The module that a change applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleRef {
    /// Its path.
    pub path: String,
    /// Its version; none is written as `"local": true`.
    pub version: Option<String>,
    /// Its declared name.
    pub name: String,
    /// Fields that this version does not know.
    pub extra: Extra,
}

/// An entry of a change. Those of the current change know uid and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEntry {
    /// Which object, and what the apply learned about it.
    pub entry: Entry,
    /// Fields that this version does not know.
    pub extra: Extra,
}

impl From<Entry> for RecordedEntry {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            extra: Extra::default(),
        }
    }
}

/// The objects that a change applied, in apply order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inventory {
    /// The entries.
    pub entries: Vec<RecordedEntry>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

/// A part of a change that can live in record Secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordPart {
    /// The rendered manifests.
    Manifests,
    /// The values, when they were too large for the release's Secret.
    Values,
    /// The inventory, when it was too large for the release's Secret.
    Inventory,
    /// What the server answered to each object, for finding out what need not be sent.
    Applied,
}

impl RecordPart {
    /// All parts.
    pub const ALL: [Self; 4] = [
        Self::Manifests,
        Self::Values,
        Self::Inventory,
        Self::Applied,
    ];

    /// The word that stands for it in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Values => "values",
            Self::Inventory => "inventory",
            Self::Applied => "applied",
        }
    }
}

/// Where one part of a change is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartLocation {
    /// The ring places that hold it, in order.
    pub places: Vec<u8>,
    /// Its stored size, all places together.
    pub bytes: u64,
    /// The hash of its content as it was before it was compressed; none in a record that does
    /// not know it.
    pub hash: Option<ObjectHash>,
}

/// Which record Secrets hold which parts of a change, and what had to go.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordRef {
    /// Where each part is.
    pub parts: BTreeMap<RecordPart, PartLocation>,
    /// How many entries an inventory has that moved there.
    pub objects: Option<u64>,
    /// Parts that were dropped, with the reason in words.
    pub dropped: BTreeMap<RecordPart, String>,
    /// What else had to give way when this change was recorded.
    pub note: Option<String>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

impl RecordRef {
    /// The stored size of all parts together.
    pub fn bytes(&self) -> u64 {
        self.parts.values().map(|held| held.bytes).sum()
    }

    /// Every ring place that this change names.
    pub fn places(&self) -> BTreeSet<u8> {
        self.parts
            .values()
            .flat_map(|held| held.places.iter().copied())
            .collect()
    }
}

/// One recorded state of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id, which is also its data key.
    pub id: String,
    /// The module it applied.
    pub module: ModuleRef,
    /// The resolved values.
    pub values: Body<Values>,
    /// The digest of the rendered manifests.
    pub manifest_digest: String,
    /// When it was recorded last.
    pub timestamp: String,
    /// The objects it applied.
    pub inventory: Body<Inventory>,
    /// The selected optional components; none in a record that knows only RFC-0001.
    pub components: Option<Vec<String>>,
    /// The feature flags it was rendered with.
    pub features: Option<BTreeMap<String, bool>>,
    /// Which components come after which others, where any do: applying the change again keeps
    /// to it.
    pub order: BTreeMap<String, Vec<String>>,
    /// The change that was current before it.
    pub parent: Option<String>,
    /// Where the rest of it is.
    pub record: Option<RecordRef>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

impl Change {
    /// The entries, if they are here.
    pub fn entries(&self) -> &[RecordedEntry] {
        self.inventory
            .here()
            .map_or(&[], |inventory| &inventory.entries)
    }

    /// Whether the entries are known to stand in apply order: only records with our additions
    /// promise that.
    pub fn in_apply_order(&self) -> bool {
        self.components.is_some()
    }
}
