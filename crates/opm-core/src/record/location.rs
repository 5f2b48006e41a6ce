//! Where the parts of a record are that live in record Secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::field::{
    FieldReader, FieldWriter, StoredObject, StoredValue, stored_fields, wrong_type,
};
use super::{Extra, Finding};
use crate::digest::ObjectHash;
use crate::ids::RECORD_SLOTS;

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

impl<T: StoredValue> StoredObject for BTreeMap<RecordPart, T> {
    fn read_fields(fields: &mut FieldReader) -> Result<Self, Finding> {
        let mut parts = Self::new();
        for part in RecordPart::ALL {
            let found: Option<T> = fields.field(part.word())?;
            parts.extend(found.map(|found| (part, found)));
        }
        Ok(parts)
    }

    fn write_fields(&self, fields: &mut FieldWriter) {
        for (part, value) in self {
            fields.field(part.word(), value);
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

stored_fields!(PartLocation {
    places: present("places"),
    bytes: field("bytes"),
    hash: hash("hash"),
});

/// A place on the ring of record Secrets, spelled as in their names.
impl StoredValue for u8 {
    fn read(value: Value) -> Result<Self, Finding> {
        let text = value.as_str().filter(|text| text.len() == 2);
        let place = text.and_then(|text| text.parse().ok());
        let known = place.filter(|place| *place < RECORD_SLOTS);
        known.ok_or_else(|| wrong_type("a place such as \"07\", up to \"63\"", &value))
    }

    fn write(&self) -> Value {
        format!("{self:02}").into()
    }
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
    /// What else was dropped when this change was recorded.
    pub note: Option<String>,
    /// Places that nothing names since this change was recorded: what is left there goes.
    pub given_up: Vec<u8>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(RecordRef {
    parts: flat(),
    dropped: or_default("dropped"),
    objects: field("objects"),
    note: field("note"),
    given_up: or_default("givenUp"),
    extra: rest(),
});

impl RecordRef {
    /// Whether the record Secrets have this part, or had it once.
    pub(super) fn mentions(&self, part: RecordPart) -> bool {
        self.parts.contains_key(&part) || self.dropped.contains_key(&part)
    }

    /// Every ring place that this change names.
    pub fn places(&self) -> BTreeSet<u8> {
        self.parts
            .values()
            .flat_map(|held| held.places.iter().copied())
            .collect()
    }
}
