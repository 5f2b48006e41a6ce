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

/// The fields in which two objects of a kind differ, in a stable order. A null counts as absent.
pub fn diff(
    kind: &GroupKind,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<FieldChange> {
    walk::changes(kind, old, new)
}
