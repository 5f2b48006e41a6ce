//! Going back: which change is meant, what it was made of, and how two changes differ.
//!
//! All of it is said of records and manifests that somebody else has read and verified. What the
//! history holds, and what falls off its end, is [`crate::record::history`]'s.

mod between;
mod dropped;
mod masked;
mod republished;
mod restore;
mod target;
mod values;

pub use between::{ObjectChange, ObjectChangeKind, between};
pub use dropped::dropped_values;
pub use masked::masked;
pub(crate) use masked::masked_object;
pub use republished::republished_charts;
pub use restore::{RestoreError, restore};
pub use target::{ChangeNameError, TargetReason, default_target, failed_run, named};
pub use values::values_between;
