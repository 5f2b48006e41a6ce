//! What a user chose. Only states: a choice cannot hide or change what a declaration says.

use std::collections::BTreeMap;

use super::{FeatureError, FeatureName, Mode};

/// A feature, on or off by the user's wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which feature. It need not be one that this version declares.
    pub name: FeatureName,
    /// Whether it shall be on.
    pub enabled: bool,
}

impl Choice {
    /// Switches a feature on.
    pub fn enable(name: FeatureName) -> Self {
        Self {
            name,
            enabled: true,
        }
    }

    /// Switches a feature off.
    pub fn disable(name: FeatureName) -> Self {
        Self {
            name,
            enabled: false,
        }
    }
}

/// Choices, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices(BTreeMap<FeatureName, bool>);

impl Choices {
    /// Takes choices if no name comes twice, be it with the same state or another.
    pub fn new(choices: impl IntoIterator<Item = Choice>) -> Result<Self, FeatureError> {
        let mut by_name = BTreeMap::new();
        for Choice { name, enabled } in choices {
            if by_name.insert(name.clone(), enabled).is_some() {
                return Err(FeatureError::Duplicate {
                    name,
                    mode: Mode::User,
                });
            }
        }
        Ok(Self(by_name))
    }

    /// The state that was chosen for a name.
    pub fn get(&self, name: &str) -> Option<bool> {
        self.0.get(name).copied()
    }

    /// All choices, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&FeatureName, bool)> {
        self.0.iter().map(|(name, enabled)| (name, *enabled))
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Choices that share no name, as one.
    pub(super) fn joined<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let all = all.flat_map(|choices| &choices.0);
        Self(all.map(|(name, on)| (name.clone(), *on)).collect())
    }

    /// A name that is in both.
    pub(super) fn shared_with(&self, other: &Self) -> Option<&FeatureName> {
        self.0.keys().find(|name| other.0.contains_key(*name))
    }
}
