//! Which features are on, from what the three levels say: the first level that names a feature
//! decides about it, and about it alone.
//!
//! An unknown name on the command line is an error: somebody is there to mend it. From the
//! environment or a file it is a warning, because those outlive the binary, and a feature that
//! has gone must not keep a newer `opm` from running.

use std::collections::BTreeMap;

use opm_core::feature::{Choice, Defaults, Feature, FeatureName, FeatureSet, Stage};

use super::{Key, Layer, Origin};
use crate::error::{CliError, ErrorKind};
use opm_core::nearest::{did_you_mean, nearest};

/// The features that hold, who chose them, and what the user should know about the choices.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) features: FeatureSet,
    pub(super) origins: BTreeMap<FeatureName, Origin>,
    pub(super) warnings: Vec<String>,
}

/// Puts the levels together, the strongest first.
pub(super) fn resolve(
    defaults: Defaults,
    levels: &[(Origin, Layer)],
) -> Result<Resolved, CliError> {
    let mut chosen: BTreeMap<FeatureName, (bool, Origin)> = BTreeMap::new();
    let mut warnings = Vec::new();
    for (origin, layer) in levels {
        for (name, enabled) in level(&defaults, origin, layer, &mut warnings)? {
            chosen
                .entry(name)
                .or_insert_with(|| (enabled, origin.clone()));
        }
    }
    warnings.extend(chosen.iter().filter_map(|(name, (enabled, _))| {
        let feature = defaults.get(name.as_str())?;
        if *enabled { caution(feature) } else { None }
    }));
    let choices = chosen.iter().map(|(name, (enabled, _))| Choice {
        name: name.clone(),
        enabled: *enabled,
    });
    let features = FeatureSet::new(defaults, Default::default())
        .with_choices(choices)
        .map_err(|error| CliError::new(ErrorKind::Invalid, error.to_string()))?;
    let origins = chosen
        .into_iter()
        .map(|(name, (_, origin))| (name, origin))
        .collect();
    Ok(Resolved {
        features,
        origins,
        warnings,
    })
}

/// What one level says about the features that exist.
fn level(
    defaults: &Defaults,
    origin: &Origin,
    layer: &Layer,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<FeatureName, bool>, CliError> {
    let enable = layer
        .feature_enable
        .iter()
        .map(|name| (Key::FeatureEnable, name.trim()));
    let disable = layer
        .feature_disable
        .iter()
        .map(|name| (Key::FeatureDisable, name.trim()));
    let mut said = BTreeMap::new();
    for (key, name) in enable.chain(disable).filter(|(_, name)| !name.is_empty()) {
        let enabled = key == Key::FeatureEnable;
        match defaults.get(name) {
            None => unknown(defaults, origin, key, name, warnings)?,
            Some(feature) => match said.insert(feature.name.clone(), enabled) {
                None => {}
                Some(before) if before == enabled => return Err(repetition(origin, key, name)),
                Some(_) => return Err(contradiction(origin, name)),
            },
        }
    }
    Ok(said)
}

fn unknown(
    defaults: &Defaults,
    origin: &Origin,
    key: Key,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    let known = defaults.iter().map(|feature| feature.name.as_str());
    let suggestion = did_you_mean(&nearest(name, known))
        .unwrap_or_else(|| "`opm feature list` shows the features of this version".to_owned());
    let message = format!("{} names an unknown feature `{name}`", origin.name_of(key));
    if *origin == Origin::Flag {
        return Err(CliError::new(ErrorKind::Usage, message).hint(suggestion));
    }
    warnings.push(format!("{message}, which is ignored; {suggestion}"));
    Ok(())
}

/// ZEP-0035: a feature that is set twice is an error.
fn repetition(origin: &Origin, key: Key, name: &str) -> CliError {
    let list = origin.name_of(key);
    let message = format!("the feature `{name}` stands twice in {list}");
    CliError::new(kind_of(origin), message).hint("name it once")
}

fn kind_of(origin: &Origin) -> ErrorKind {
    match origin {
        Origin::Flag => ErrorKind::Usage,
        _ => ErrorKind::Config,
    }
}

fn contradiction(origin: &Origin, name: &str) -> CliError {
    let kind = kind_of(origin);
    let (enable, disable) = (
        origin.name_of(Key::FeatureEnable),
        origin.name_of(Key::FeatureDisable),
    );
    CliError::new(
        kind,
        format!("the feature `{name}` is both enabled and disabled"),
    )
    .hint(format!("take it out of {enable} or out of {disable}"))
}

/// What to say to a user who enabled a feature that may not be there tomorrow.
fn caution(feature: &Feature) -> Option<String> {
    let name = &feature.name;
    let removal = feature
        .until
        .as_ref()
        .map(|until| format!("will be removed in {until}"));
    match (feature.stage, removal) {
        (Stage::Alpha, None) => Some(format!(
            "the feature `{name}` is alpha: it may change or go in any version"
        )),
        (Stage::Beta | Stage::Ga, None) => None,
        (stage, Some(removal)) => Some(format!("the feature `{name}` is {stage} and {removal}")),
        (Stage::Deprecated, None) => Some(format!("the feature `{name}` is deprecated")),
    }
}

#[cfg(test)]
mod tests {
    use opm_core::feature::{Defaults, Feature, FeatureName, FeatureVersion, Stage};

    use super::{Resolved, resolve};
    use crate::error::CliError;
    use crate::settings::{Layer, Origin};

    /// Features that exist for these tests only.
    fn defaults() -> Defaults {
        let feature = |name: &str, stage, enabled, until| Feature {
            name: FeatureName::new(name).unwrap(),
            description: format!("Does {name}."),
            enabled,
            since: FeatureVersion::new(0, 1, 0),
            until,
            stage,
            owner: "the tests".to_owned(),
            proposal: None,
        };
        let removal = Some(FeatureVersion::new(0, 9, 0));
        let all = [
            feature("young-idea", Stage::Alpha, false, None),
            feature("in-trial", Stage::Beta, true, None),
            feature("settled", Stage::Ga, true, None),
            feature("old-habit", Stage::Deprecated, false, removal.clone()),
            feature("short-lived", Stage::Beta, false, removal),
        ];
        Defaults::new(all).unwrap()
    }

    /// A level that enables some names and disables others.
    fn level(origin: Origin, enable: &str, disable: &str) -> (Origin, Layer) {
        let list = |names: &str| names.split(',').map(str::to_owned).collect();
        let layer = Layer {
            feature_enable: list(enable),
            feature_disable: list(disable),
            ..Layer::default()
        };
        (origin, layer)
    }

    fn file() -> Origin {
        Origin::File("opm-config.yaml".into())
    }

    fn check(levels: &[(Origin, Layer)]) -> Result<Resolved, CliError> {
        resolve(defaults(), levels)
    }

    #[test]
    fn each_feature_is_decided_by_the_strongest_level_that_names_it() {
        let levels = [
            level(Origin::Flag, "in-trial", ""),
            level(Origin::Environment, "settled", "in-trial"),
            level(file(), "", "settled,in-trial,short-lived"),
        ];
        let resolved = check(&levels).unwrap();
        let origins: Vec<_> = resolved
            .origins
            .iter()
            .map(|(n, o)| (n.as_str(), o))
            .collect();
        let expected = [
            ("in-trial", &Origin::Flag),
            ("settled", &Origin::Environment),
            ("short-lived", &file()),
        ];
        assert_eq!(origins, expected);
        for name in ["in-trial", "settled"] {
            assert!(resolved.features.is_enabled(name), "{name}");
        }
        assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
    }

    #[test]
    fn blanks_and_empty_names_do_no_harm() {
        let levels = [level(Origin::Environment, " settled , ,,", ",")];
        let resolved = check(&levels).unwrap();
        assert_eq!(resolved.features.all_user().len(), 1);
        assert!(resolved.warnings.is_empty());
    }

    #[test]
    fn twice_at_one_level_is_an_error_and_at_two_is_not() {
        for origin in [Origin::Flag, Origin::Environment, file()] {
            for (enable, disable) in [("settled, settled", ""), ("", "settled,,settled")] {
                let error = check(&[level(origin.clone(), enable, disable)]).unwrap_err();
                let message = &error.message;
                assert!(message.contains("`settled` stands twice"), "{message}");
            }
        }
        let two = [
            level(Origin::Flag, "settled", ""),
            level(file(), "settled", ""),
        ];
        assert!(check(&two).is_ok());
    }

    #[test]
    fn both_at_one_level_is_an_error_and_at_two_is_not() {
        for origin in [Origin::Flag, Origin::Environment, file()] {
            let error = check(&[level(origin, "settled", "settled")]).unwrap_err();
            assert!(
                error.message.contains("`settled` is both"),
                "{}",
                error.message
            );
        }
        let two = [
            level(Origin::Flag, "settled", ""),
            level(file(), "", "settled"),
        ];
        assert!(check(&two).is_ok());
    }

    #[test]
    fn an_unknown_name_stops_a_command_line_but_not_a_file() {
        let error = check(&[level(Origin::Flag, "setled", "")]).unwrap_err();
        assert_eq!(error.hints, ["did you mean `settled`?"]);
        for origin in [Origin::Environment, file()] {
            let resolved = check(&[level(origin, "settled", "setled,gone,gone-too")]).unwrap();
            assert!(resolved.features.is_enabled("settled"));
            assert_eq!(resolved.features.all_user().len(), 1);
            assert_eq!(resolved.warnings.len(), 3, "{:?}", resolved.warnings);
            assert!(resolved.warnings[0].contains("did you mean `settled`?"));
            assert!(resolved.warnings[1].contains("`opm feature list` shows"));
        }
    }

    #[test]
    fn using_what_may_go_gives_one_line_that_names_the_version() {
        let cases = [
            (
                "young-idea",
                Some("the feature `young-idea` is alpha: it may change or go in any version"),
            ),
            ("in-trial", None),
            ("settled", None),
            (
                "old-habit",
                Some("the feature `old-habit` is deprecated and will be removed in 0.9.0"),
            ),
            (
                "short-lived",
                Some("the feature `short-lived` is beta and will be removed in 0.9.0"),
            ),
        ];
        for (name, expected) in cases {
            let on = check(&[level(Origin::Flag, name, ""), level(file(), name, "")]).unwrap();
            assert_eq!(
                on.warnings.iter().map(String::as_str).collect::<Vec<_>>(),
                Vec::from_iter(expected)
            );
            let off = check(&[level(Origin::Flag, "", name)]).unwrap();
            assert!(off.warnings.is_empty(), "{name}");
        }
    }
}
