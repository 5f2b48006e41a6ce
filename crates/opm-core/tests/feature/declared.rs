//! The features that ship: complete, current, and documented.

use opm_core::feature::{CHANGE_RECORDS, LABEL_ORPHAN_PRUNING, SANDBOX};
use opm_core::feature::{Defaults, Feature, FeatureSet, FeatureVersion, Stage, markdown};

use crate::samples::feature;

/// Why a declaration may not ship in a version, if it may not.
fn objection(feature: &Feature, current: &FeatureVersion) -> Option<String> {
    if let Err(error) = feature.validate() {
        return Some(error.to_string());
    }
    if feature.is_expired(current) {
        let name = &feature.name;
        return Some(format!(
            "{name} was to be removed by now: remove it and its code"
        ));
    }
    if feature.since > *current {
        return Some(format!(
            "{} says that it comes in a later version",
            feature.name
        ));
    }
    if feature.stage == Stage::Alpha && feature.enabled {
        return Some(format!(
            "{} is an experiment and must be off by default",
            feature.name
        ));
    }
    if feature.description.len() < 40 || !feature.description.ends_with('.') {
        return Some(format!("{} is hardly described", feature.name));
    }
    None
}

fn current() -> FeatureVersion {
    env!("CARGO_PKG_VERSION").parse().unwrap()
}

#[test]
fn what_ships_is_documented_owned_and_not_expired() {
    let shipped = FeatureSet::shipped();
    let objections: Vec<String> = shipped
        .declared()
        .filter_map(|feature| objection(feature, &current()))
        .collect();
    assert_eq!(objections, Vec::<String>::new());
    let declared = shipped.declared().cloned();
    assert_eq!(Defaults::new(declared).unwrap(), Defaults::shipped());
}

#[test]
fn what_may_not_ship_is_found() {
    let good = Feature {
        description: "Does something that is worth the words that describe it.".to_owned(),
        since: FeatureVersion::new(0, 0, 1),
        ..feature("sample", false)
    };
    assert_eq!(objection(&good, &current()), None);
    let bad = [
        Feature {
            description: String::new(),
            ..good.clone()
        },
        Feature {
            description: "Short.".to_owned(),
            ..good.clone()
        },
        Feature {
            owner: String::new(),
            ..good.clone()
        },
        Feature {
            until: Some(current()),
            ..good.clone()
        },
        Feature {
            since: FeatureVersion::new(99, 0, 0),
            ..good.clone()
        },
        Feature {
            stage: Stage::Deprecated,
            until: None,
            ..good.clone()
        },
        Feature {
            stage: Stage::Alpha,
            enabled: true,
            ..good
        },
    ];
    for feature in bad {
        assert!(objection(&feature, &current()).is_some(), "{feature:?}");
    }
}

#[test]
fn the_shipped_states() {
    let shipped = FeatureSet::shipped();
    let cases = [
        (&LABEL_ORPHAN_PRUNING, Stage::Alpha, false),
        (&CHANGE_RECORDS, Stage::Beta, true),
        (&SANDBOX, Stage::Beta, true),
    ];
    for (name, stage, enabled) in cases {
        assert_eq!(shipped.get_default(name).unwrap().stage, stage, "{name}");
        assert_eq!(shipped.is_enabled(name), enabled, "{name}");
    }
    assert_eq!(
        shipped.declared().count(),
        cases.len(),
        "a new feature is tested here too"
    );
}

#[test]
fn the_page_in_docs_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/features.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let generated = markdown::page(&FeatureSet::shipped());
    assert!(
        page == generated,
        "docs/features.md is stale: run `cargo xtask docs`"
    );
}

#[test]
fn the_page_tells_all_about_every_feature() {
    let page = markdown::page(&FeatureSet::shipped());
    for feature in FeatureSet::shipped().declared() {
        assert!(page.contains(&format!(
            "\n## {}\n\n{}\n",
            feature.name, feature.description
        )));
        assert!(page.contains(&format!("| {} |", feature.stage)));
    }
    let until = Some(FeatureVersion::new(0, 9, 0));
    let gone = Feature {
        until,
        stage: Stage::Deprecated,
        ..feature("gone", false)
    };
    let set = FeatureSet::new(Defaults::new([gone]).unwrap(), Default::default());
    let row = "| [`gone`](#gone) | deprecated | off | 0.1.0 | 0.9.0 | the tests |";
    assert!(
        markdown::page(&set).contains(row),
        "{}",
        markdown::page(&set)
    );
}
