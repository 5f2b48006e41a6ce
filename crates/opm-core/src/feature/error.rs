//! What can be wrong with a feature, a choice or a question about one.

use thiserror::Error;

use super::{FeatureName, FeatureVersion, Mode};

/// A feature that cannot be declared, set or found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FeatureError {
    /// A name that is not kebab-case.
    #[error("feature name {given:?} is not valid: {rule}")]
    Name {
        /// What was given.
        given: String,
        /// The rule it breaks, in words.
        rule: &'static str,
    },
    /// A version that is not a semantic one.
    #[error("version {given:?} is not valid: {reason}")]
    Version {
        /// What was given.
        given: String,
        /// Why it is none.
        reason: String,
    },
    /// A description that says nothing.
    #[error("feature {0} has no description")]
    Undocumented(FeatureName),
    /// Nobody answers for it.
    #[error("feature {0} has no owner")]
    Ownerless(FeatureName),
    /// A deprecated feature that does not say when it goes.
    #[error("feature {0} is deprecated and does not say in which version it is removed")]
    NoRemoval(FeatureName),
    /// A feature that goes before it came.
    #[error("feature {name} is removed in {until}, which is not later than {since}")]
    RemovedTooEarly {
        /// Which feature.
        name: FeatureName,
        /// The version that brought it.
        since: FeatureVersion,
        /// The version that removes it.
        until: FeatureVersion,
    },
    /// A deprecated feature that is on without being asked for.
    #[error("feature {0} is deprecated and must be off by default")]
    DeprecatedOn(FeatureName),
    /// The same name twice, in one call or in two. Nothing of the call was set.
    #[error("feature {name} is set twice ({mode})")]
    Duplicate {
        /// Which feature.
        name: FeatureName,
        /// Where.
        mode: Mode,
    },
    /// The defaults are set once, whether with many features or with none.
    #[error("the default features have been set already")]
    DefaultsSet,
    /// Nobody knows a feature of that name.
    #[error("there is no feature {0:?}")]
    NotFound(String),
    /// A feature that may exist, but not where it was asked for.
    #[error("there is no feature {name:?} in the {mode} set")]
    NotFoundIn {
        /// What was asked for.
        name: String,
        /// Where.
        mode: Mode,
    },
}
