//! Versions in a feature's life: semantic ones, written with or without a leading `v`.

use std::fmt;
use std::str::FromStr;

use super::FeatureError;

/// A version of the product. Ordered as semantic versions are: `0.2.0-rc.1` is before `0.2.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureVersion(semver::Version);

impl FeatureVersion {
    /// A version from its three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }
}

impl FromStr for FeatureVersion {
    type Err = FeatureError;

    fn from_str(given: &str) -> Result<Self, FeatureError> {
        let bare = given.strip_prefix('v').unwrap_or(given);
        semver::Version::parse(bare)
            .map(Self)
            .map_err(|error| FeatureError::Version {
                given: given.chars().take(80).collect(),
                reason: error.to_string(),
            })
    }
}

impl fmt::Display for FeatureVersion {
    /// Without the `v`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
