//! The features of this process, for programs that use `opm` as a library: ask from anywhere,
//! with no value to pass around and nothing to set up.
//!
//! Until [`set_default`] is called, the defaults are what this version of `opm` declares.
//! Nothing of `opm` reads these features by itself: it is handed a [`FeatureSet`], such as
//! [`snapshot`] gives. A program that wants the engine to go by them says so, with
//! `opm_engine::Settings::from_global_features`.
//!
//! ```
//! use opm_core::feature::{Choice, FeatureName, Mode, SANDBOX, Stage, global};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let orphans = FeatureName::new("label-orphan-pruning")?;
//! assert!(!global::is_enabled(&orphans));
//! global::set([Choice::enable(orphans.clone()), Choice::disable(SANDBOX.clone())])?;
//! assert!(global::is_enabled(&orphans));
//! assert!(global::set([Choice::enable(SANDBOX.clone())]).is_err(), "nothing is set twice");
//!
//! // Whole features, by who said so: what was chosen hides nothing that is declared.
//! let all = global::all();
//! assert!(!all[&Mode::Default][&orphans].enabled);
//! assert!(all[&Mode::User][&orphans].enabled);
//! let chosen = global::get_user(&orphans)?;
//! assert_eq!(chosen.mode, Mode::User);
//! assert_eq!(chosen.declared.map(|declared| declared.stage), Some(Stage::Alpha));
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;

use super::{
    Choice, Feature, FeatureError, FeatureName, FeatureSet, FeatureState, FeatureStore, Mode,
};

static STORE: FeatureStore = FeatureStore::shipped();

/// Whether a feature is on. See [`FeatureStore::is_enabled`].
pub fn is_enabled(name: impl AsRef<str>) -> bool {
    STORE.is_enabled(name)
}

/// Adds choices of the user. See [`FeatureStore::set`].
pub fn set(choices: impl IntoIterator<Item = Choice>) -> Result<(), FeatureError> {
    STORE.set(choices)
}

/// Sets the defaults, once. See [`FeatureStore::set_default`].
pub fn set_default(features: impl IntoIterator<Item = Feature>) -> Result<(), FeatureError> {
    STORE.set_default(features)
}

/// All that is known about a feature. See [`FeatureSet::get`].
pub fn get(name: impl AsRef<str>) -> Result<FeatureState, FeatureError> {
    snapshot().get(name)
}

/// What is declared about a feature. See [`FeatureSet::get_default`].
pub fn get_default(name: impl AsRef<str>) -> Result<Feature, FeatureError> {
    snapshot().get_default(name)
}

/// A feature as the user set it. See [`FeatureSet::get_user`].
pub fn get_user(name: impl AsRef<str>) -> Result<FeatureState, FeatureError> {
    snapshot().get_user(name)
}

/// All features by who said so. See [`FeatureSet::all`].
pub fn all() -> BTreeMap<Mode, BTreeMap<FeatureName, FeatureState>> {
    snapshot().all()
}

/// All declarations.
pub fn all_default() -> BTreeMap<FeatureName, Feature> {
    snapshot().all_default()
}

/// All features that the user set. See [`FeatureSet::all_user`].
pub fn all_user() -> BTreeMap<FeatureName, FeatureState> {
    snapshot().all_user()
}

/// What holds now, as a value to pass on.
pub fn snapshot() -> FeatureSet {
    STORE.snapshot()
}
