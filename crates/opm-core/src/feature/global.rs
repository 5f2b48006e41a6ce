//! The features of this process, for programs that use `opm` as a library: ask from anywhere,
//! with no value to pass around and nothing to set up.
//!
//! Until [`set_default`] is called, the defaults are what this version of `opm` declares.
//! Nothing of `opm` itself reads these features: it is handed a [`FeatureSet`], such as
//! [`snapshot`] gives.

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

/// What the user chose for a feature. See [`FeatureSet::get_user`].
pub fn get_user(name: impl AsRef<str>) -> Result<bool, FeatureError> {
    snapshot().get_user(name)
}

/// The states by who said so. See [`FeatureSet::all`].
pub fn all() -> BTreeMap<Mode, BTreeMap<FeatureName, bool>> {
    snapshot().all()
}

/// All declarations.
pub fn all_default() -> BTreeMap<FeatureName, Feature> {
    snapshot().all_default()
}

/// All choices.
pub fn all_user() -> BTreeMap<FeatureName, bool> {
    snapshot().all_user()
}

/// What holds now, as a value to pass on.
pub fn snapshot() -> FeatureSet {
    STORE.snapshot()
}
