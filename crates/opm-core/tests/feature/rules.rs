//! What may be declared.

use opm_core::feature::{Defaults, Feature, FeatureError, FeatureName, FeatureVersion, Stage};

use crate::samples::{feature, name};

#[test]
fn names_are_kebab_case() {
    let longest = "a".repeat(63);
    for good in [
        "a",
        "sandbox",
        "label-orphan-pruning",
        "v2-codec",
        "x9",
        &longest,
    ] {
        assert_eq!(FeatureName::new(good).unwrap().as_str(), good);
    }
    let too_long = "a".repeat(64);
    let bad = [
        ("", "empty"),
        (too_long.as_str(), "63 characters"),
        ("Sandbox", "start with a lower-case letter"),
        ("9lives", "start with a lower-case letter"),
        ("-a", "start with a lower-case letter"),
        ("a-", "between two words"),
        ("a--b", "between two words"),
        ("sandBox", "only lower-case"),
        ("a_b", "only lower-case"),
        ("a b", "only lower-case"),
        ("a,b", "only lower-case"),
        ("größe", "only lower-case"),
    ];
    for (given, rule) in bad {
        let error = FeatureName::new(given).unwrap_err();
        assert!(error.to_string().contains(rule), "{given:?}: {error}");
        assert_eq!(given.parse::<FeatureName>(), Err(error));
    }
}

#[test]
fn versions_are_semantic_with_or_without_v() {
    let same = ["1.2.3", "v1.2.3"].map(|given| given.parse::<FeatureVersion>().unwrap());
    assert_eq!(same[0], same[1]);
    assert_eq!(same[0], FeatureVersion::new(1, 2, 3));
    assert_eq!(same[1].to_string(), "1.2.3");
    let ordered = ["0.2.0-alpha.1", "v0.2.0-rc.1", "0.2.0", "v0.10.0", "1.0.0"];
    let ordered = ordered.map(|given| given.parse::<FeatureVersion>().unwrap());
    assert!(ordered.is_sorted());
    for bad in [
        "", "v", "1", "1.2", "vv1.2.3", "V1.2.3", "1.2.3.4", "01.2.3", "next",
    ] {
        let error = bad.parse::<FeatureVersion>().unwrap_err();
        assert!(
            error.to_string().contains("is not valid"),
            "{bad:?}: {error}"
        );
    }
}

/// A declaration with one thing changed.
fn but(change: impl FnOnce(&mut Feature)) -> Feature {
    let mut feature = feature("sample", false);
    change(&mut feature);
    feature
}

#[test]
fn declarations_keep_the_rules() {
    let version = FeatureVersion::new;
    let sample = || name("sample");
    let early = |until: FeatureVersion| FeatureError::RemovedTooEarly {
        name: sample(),
        since: version(0, 1, 0),
        until,
    };
    let deprecated = |f: &mut Feature| {
        f.stage = Stage::Deprecated;
        f.until = Some(version(0, 2, 0));
    };
    let cases = [
        (but(|_| ()), Ok(())),
        (but(|f| f.until = Some(version(0, 2, 0))), Ok(())),
        (but(deprecated), Ok(())),
        (but(|f| f.stage = Stage::Ga), Ok(())),
        (
            but(|f| f.description.clear()),
            Err(FeatureError::Undocumented(sample())),
        ),
        (
            but(|f| f.description = " \n".into()),
            Err(FeatureError::Undocumented(sample())),
        ),
        (
            but(|f| f.owner.clear()),
            Err(FeatureError::Ownerless(sample())),
        ),
        (
            but(|f| f.stage = Stage::Deprecated),
            Err(FeatureError::NoRemoval(sample())),
        ),
        (
            but(|f| f.until = Some(version(0, 1, 0))),
            Err(early(version(0, 1, 0))),
        ),
        (
            but(|f| f.until = Some(version(0, 0, 9))),
            Err(early(version(0, 0, 9))),
        ),
        (
            but(|f| {
                deprecated(f);
                f.enabled = true;
            }),
            Err(FeatureError::DeprecatedOn(sample())),
        ),
    ];
    for (declaration, expected) in cases {
        assert_eq!(declaration.validate(), expected, "{declaration:?}");
        let set = Defaults::new([declaration.clone()]).map(|_| ());
        assert_eq!(set, expected, "{declaration:?}");
    }
}

#[test]
fn a_feature_expires_with_the_version_that_removes_it() {
    let feature = but(|f| f.until = Some(FeatureVersion::new(0, 3, 0)));
    let cases = [
        ("0.2.9", false),
        ("0.3.0-rc.1", false),
        ("0.3.0", true),
        ("0.4.0-alpha", true),
        ("1.0.0", true),
    ];
    for (current, expired) in cases {
        assert_eq!(
            feature.is_expired(&current.parse().unwrap()),
            expired,
            "{current}"
        );
    }
    assert!(!but(|_| ()).is_expired(&FeatureVersion::new(99, 0, 0)));
}

#[test]
fn the_summary_is_the_first_sentence() {
    let cases = [
        ("One. Two.", "One."),
        ("Only one.", "Only one."),
        ("Uses v1.2 of it. More.", "Uses v1.2 of it."),
        ("  No end ", "No end"),
    ];
    for (description, summary) in cases {
        let feature = but(|f| f.description = description.to_owned());
        assert_eq!(feature.summary(), summary);
    }
}
