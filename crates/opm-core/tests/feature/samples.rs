//! Features that exist for the tests only.

use opm_core::feature::{Choice, Feature, FeatureName, FeatureVersion, Stage};

pub(crate) fn name(text: &str) -> FeatureName {
    FeatureName::new(text).unwrap()
}

pub(crate) fn on(text: &str) -> Choice {
    Choice::enable(name(text))
}

pub(crate) fn off(text: &str) -> Choice {
    Choice::disable(name(text))
}

/// A valid declaration.
pub(crate) fn feature(text: &str, enabled: bool) -> Feature {
    Feature {
        name: name(text),
        description: format!("Does {text}. And more."),
        enabled,
        since: FeatureVersion::new(0, 1, 0),
        until: None,
        stage: Stage::Beta,
        owner: "the tests".to_owned(),
        proposal: None,
    }
}
