//! Feature flags: parts of the product that can be switched on and off, each with a stage, an
//! owner and a documented life from alpha to removal (ZEP-0035).
//!
//! A [`FeatureSet`] is an immutable value: what this version declares, and what the user chose
//! instead. It is passed as an argument to whatever depends on it, so that two runs in one
//! process, or two tests, never see each other's flags. [`global`] is the same for programs
//! that use `opm` as a library and want to ask from anywhere; nothing of `opm` itself reads it.
//!
//! A user chooses a state and nothing else: what a feature means, how mature it is and when it
//! goes is said once, in [`declared`]. Checks that keep a cluster safe are no features.

mod choice;
pub mod declared;
mod defaults;
mod error;
pub mod global;
pub mod markdown;
mod model;
mod name;
mod set;
mod store;
mod version;

pub use choice::{Choice, Choices};
pub use declared::{CHANGE_RECORDS, LABEL_ORPHAN_PRUNING, SANDBOX};
pub use defaults::Defaults;
pub use error::FeatureError;
pub use model::{Feature, Mode, Stage};
pub use name::FeatureName;
pub use set::{FeatureSet, FeatureState};
pub use store::FeatureStore;
pub use version::FeatureVersion;
