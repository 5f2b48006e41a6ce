//! What a feature is, and what may be said about one.

use std::fmt;

use super::{FeatureError, FeatureName, FeatureVersion};

/// How mature a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// An experiment: off by default, may change or go in any version.
    Alpha,
    /// Complete and tested: usually on by default, changes only with a way over.
    Beta,
    /// Part of the product: on by default, changes with a major version only.
    Ga,
    /// On its way out: off by default, removed in a version that is named.
    Deprecated,
}

impl Stage {
    /// All stages, in the order of a feature's life.
    pub const ALL: [Self; 4] = [Self::Alpha, Self::Beta, Self::Ga, Self::Deprecated];

    /// The stage as one lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Ga => "ga",
            Self::Deprecated => "deprecated",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Who said something about a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// This version of the product.
    Default,
    /// The user.
    User,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::User => "user",
        })
    }
}

/// A feature as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// What it is called.
    pub name: FeatureName,
    /// What it does, in sentences for users. The first one stands alone in a table.
    pub description: String,
    /// Whether it is on unless the user chooses otherwise.
    pub enabled: bool,
    /// The version that first had it, in whatever stage.
    pub since: FeatureVersion,
    /// The version that no longer has it.
    pub until: Option<FeatureVersion>,
    /// How mature it is.
    pub stage: Stage,
    /// The role that answers for it.
    pub owner: String,
    /// Where it was proposed and discussed.
    pub proposal: Option<String>,
}

impl Feature {
    /// Whether it keeps the rules that hold for every declaration.
    pub fn validate(&self) -> Result<(), FeatureError> {
        let name = || self.name.clone();
        if self.description.trim().is_empty() {
            return Err(FeatureError::Undocumented(name()));
        }
        if self.owner.trim().is_empty() {
            return Err(FeatureError::Ownerless(name()));
        }
        if self.stage == Stage::Deprecated && self.until.is_none() {
            return Err(FeatureError::NoRemoval(name()));
        }
        if self.stage == Stage::Deprecated && self.enabled {
            return Err(FeatureError::DeprecatedOn(name()));
        }
        match &self.until {
            Some(until) if *until <= self.since => Err(FeatureError::RemovedTooEarly {
                name: name(),
                since: self.since.clone(),
                until: until.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether it should be gone in this version.
    pub fn is_expired(&self, current: &FeatureVersion) -> bool {
        self.until.as_ref().is_some_and(|until| until <= current)
    }

    /// The first sentence of its description.
    pub fn summary(&self) -> &str {
        let text = self.description.trim();
        text.find(". ").map_or(text, |end| &text[..=end])
    }
}
