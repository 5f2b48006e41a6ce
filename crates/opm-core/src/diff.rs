//! The difference between two objects, field by field.
//!
//! Lists whose items have a merge key are matched by it; fields that the server makes are left
//! out; quantities are compared by value where quantities stand; what a Secret holds is masked,
//! and its changed keys are named. Texts are not compared line by line: that is a matter of how
//! a change is shown.

mod lists;
mod place;
mod quantity;
mod shown;
mod stated;
mod walk;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::identity::GroupKind;

pub use shown::ShownValue;
pub use stated::stated;

pub(crate) use place::{PathStep, holds_quantity, path};
pub(crate) use quantity::{same_quantity, same_value};
pub(crate) use shown::{MASK, scrub};

/// What happened to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It is no longer there.
    Removed,
    /// It has another value.
    Changed,
}

/// One field in which two objects differ.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Where, such as `spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Its value before, if it had one.
    pub old: Option<ShownValue>,
    /// Its value after, if it has one.
    pub new: Option<ShownValue>,
}

/// A value that is not there is left out, and one that must not be seen is masked.
impl Serialize for FieldChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |shown: &ShownValue| shown.value().cloned().unwrap_or_else(|| MASK.into());
        let mut fields = serializer.serialize_struct("FieldChange", 4)?;
        fields.serialize_field("path", &self.path)?;
        for (key, side) in [("before", &self.old), ("after", &self.new)] {
            if let Some(side) = side {
                fields.serialize_field(key, &shown(side))?;
            }
        }
        let sides = [&self.old, &self.new];
        if sides.into_iter().flatten().any(ShownValue::is_masked) {
            fields.serialize_field("masked", &true)?;
        }
        fields.end()
    }
}

/// The fields in which two objects of a kind differ, in a stable order. A null counts as absent.
pub fn diff(
    kind: &GroupKind,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<FieldChange> {
    walk::changes(kind, old, new)
}
