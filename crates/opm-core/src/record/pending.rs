//! Objects outside the inventory that stay tracked: those that may exist (`pending`) and those
//! that were left in the cluster on purpose (`kept`).

use serde_json::Value;

use super::field::{FieldReader, FieldWriter, StoredObject, StoredValue, read_word, stored_fields};
use super::{Body, Extra, Finding, PartLocation};
use crate::entry::Entry;

/// Why an object is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PendingWhy {
    /// It is about to be created.
    Create,
    /// It existed untracked and is about to be adopted.
    Adopt,
    /// It was another release's and is about to be taken over.
    Take,
    /// It is stale, and deleting it did not work.
    PruneFailed,
    /// It was found by its labels, outside the record.
    Repair,
}

impl PendingWhy {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::Create,
        Self::Adopt,
        Self::Take,
        Self::PruneFailed,
        Self::Repair,
    ];

    /// The word that stands for it in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Adopt => "adopt",
            Self::Take => "take",
            Self::PruneFailed => "prune-failed",
            Self::Repair => "repair",
        }
    }

    /// Whether the object existed before this release touched it, so that a reverted attempt
    /// must not delete it.
    pub fn was_there_before(self) -> bool {
        matches!(self, Self::Adopt | Self::Take)
    }
}

impl StoredValue for PendingWhy {
    fn read(value: Value) -> Result<Self, Finding> {
        let words = "create, adopt, take, prune-failed, repair";
        read_word(value, &Self::ALL, Self::word, words)
    }

    fn write(&self) -> Value {
        self.word().into()
    }
}

/// Why an object was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeptWhy {
    /// Its kind is guarded, and the flag for it was not given.
    Guard,
    /// It carries `opmodel.dev/prune: "false"`.
    OptOut,
    /// The run was told not to prune.
    NoPrune,
    /// It is not this release's to delete.
    NotMine,
}

impl KeptWhy {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Guard, Self::OptOut, Self::NoPrune, Self::NotMine];

    /// The word that stands for it in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::OptOut => "opt-out",
            Self::NoPrune => "no-prune",
            Self::NotMine => "not-mine",
        }
    }
}

impl StoredValue for KeptWhy {
    fn read(value: Value) -> Result<Self, Finding> {
        let words = "guard, opt-out, no-prune, not-mine";
        read_word(value, &Self::ALL, Self::word, words)
    }

    fn write(&self) -> Value {
        self.word().into()
    }
}

/// An object that may exist and is in no recorded change.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingObject {
    /// Which object.
    pub entry: Entry,
    /// Why it is pending.
    pub why: PendingWhy,
    /// The change that brought it here.
    pub change: String,
    /// Since when it is pending.
    pub since: String,
    /// What went wrong, in words.
    pub reason: Option<String>,
    /// Pending under a lock that was taken over: cleaned up like the others, not counted as
    /// pending, and looked at once more by the next run.
    pub late: bool,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(PendingObject {
    entry: flat(),
    why: field("why"),
    change: field("change"),
    since: field("since"),
    reason: field("reason"),
    late: or_default("late"),
    extra: rest(),
});

/// The pending objects. A set: no two have the same identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The objects, in the order in which they became pending.
    pub objects: Body<Vec<PendingObject>>,
    /// Where the objects are when they are not here.
    pub held: Option<PartLocation>,
    /// Until when requests of earlier runs may still land: before that, an object that is not
    /// found may still be created.
    pub until: Option<String>,
    /// How many of them count as pending, when they are not here.
    pub count: Option<u64>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(Pending {
    held: field("record"),
    objects: field("objects"),
    until: field("until"),
    count: field("count"),
    extra: rest(),
} then Self::with_objects);

impl Default for Pending {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<PendingObject>> for Pending {
    fn from(objects: Vec<PendingObject>) -> Self {
        Self {
            objects: Body::Here(objects),
            held: None,
            until: None,
            count: None,
            extra: Extra::default(),
        }
    }
}

impl Pending {
    /// Objects that are neither here nor elsewhere are none.
    fn with_objects(mut self) -> Result<Self, Finding> {
        if self.held.is_none() && self.objects.moved() {
            self.objects = Body::Here(Vec::new());
        }
        Ok(self)
    }

    /// The objects, as far as they are here.
    pub fn objects(&self) -> &[PendingObject] {
        self.objects.here().map_or(&[], Vec::as_slice)
    }

    /// What counts as pending in output and exit codes: everything but late objects.
    pub fn counted(&self) -> impl Iterator<Item = &PendingObject> {
        self.objects().iter().filter(|object| !object.late)
    }
}

/// An object that was left in the cluster on purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptObject {
    /// Which object.
    pub entry: Entry,
    /// Why it was left.
    pub why: KeptWhy,
    /// The change that left it.
    pub change: String,
    /// Since when it is kept.
    pub since: String,
    /// More about it, in words.
    pub reason: Option<String>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(KeptObject {
    entry: flat(),
    why: field("why"),
    change: field("change"),
    since: field("since"),
    reason: field("reason"),
    extra: rest(),
});

/// The kept objects. A set: no two have the same identity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kept {
    /// The objects, in the order in which they were left; none when they are not here.
    pub objects: Vec<KeptObject>,
    /// Where the objects are when they are not here.
    pub held: Option<PartLocation>,
    /// How many they are, when they are not here.
    pub count: Option<u64>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

impl StoredObject for Kept {
    fn read_fields(fields: &mut FieldReader) -> Result<Self, Finding> {
        Ok(Self {
            objects: fields.field("objects")?,
            held: fields.field("record")?,
            count: fields.field("count")?,
            extra: fields.rest()?,
        })
    }

    fn write_fields(&self, fields: &mut FieldWriter) {
        if self.held.is_none() {
            fields.field("objects", &self.objects);
        }
        fields.field("record", &self.held);
        fields.field("count", &self.count);
        fields.rest(&self.extra);
    }
}
