//! What a version declares: features by name, every one of them valid.

use std::collections::BTreeMap;

use super::{Feature, FeatureError, FeatureName, Mode, declared};

/// Valid declarations, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults(BTreeMap<FeatureName, Feature>);

impl Defaults {
    /// Takes declarations if all of them are valid and no name comes twice.
    pub fn new(features: impl IntoIterator<Item = Feature>) -> Result<Self, FeatureError> {
        let mut by_name = BTreeMap::new();
        for feature in features {
            feature.validate()?;
            let name = feature.name.clone();
            if by_name.insert(name.clone(), feature).is_some() {
                let mode = Mode::Default;
                return Err(FeatureError::Duplicate { name, mode });
            }
        }
        Ok(Self(by_name))
    }

    /// No declarations at all.
    pub const fn empty() -> Self {
        Self(BTreeMap::new())
    }

    /// What this version of `opm` declares. A test shows that it is valid, so that callers need
    /// not handle an error that cannot happen.
    pub fn shipped() -> Self {
        let features = declared::features().into_iter();
        Self(features.map(|f| (f.name.clone(), f)).collect())
    }

    /// A declaration by name.
    pub fn get(&self, name: &str) -> Option<&Feature> {
        self.0.get(name)
    }

    /// All declarations, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Feature> {
        self.0.values()
    }

    /// The declarations as a map of one's own.
    pub fn to_map(&self) -> BTreeMap<FeatureName, Feature> {
        self.0.clone()
    }
}
