//! The value that is passed around, and the precedence of user over default.

use std::collections::BTreeMap;

use opm_core::feature::{Choice, Choices, Defaults, Feature, FeatureError, FeatureSet, Mode};
use opm_core::feature::{FeatureState, FeatureStore};

use crate::samples::{feature, name, off, on};

/// Default × user, each absent, on or off: what holds.
const PRECEDENCE: [(Option<bool>, Option<bool>, bool); 9] = [
    (None, None, false),
    (None, Some(true), true),
    (None, Some(false), false),
    (Some(true), None, true),
    (Some(true), Some(true), true),
    (Some(true), Some(false), false),
    (Some(false), None, false),
    (Some(false), Some(true), true),
    (Some(false), Some(false), false),
];

fn declaration(state: Option<bool>) -> Option<Feature> {
    state.map(|enabled| feature("x", enabled))
}

fn choice(state: Option<bool>) -> Option<Choice> {
    state.map(|enabled| Choice {
        name: name("x"),
        enabled,
    })
}

#[test]
fn the_user_beats_the_default_in_all_nine_combinations() {
    for (default, user, expected) in PRECEDENCE {
        let case = format!("default {default:?}, user {user:?}");
        let defaults = Defaults::new(declaration(default)).unwrap();
        let set = FeatureSet::new(defaults, Choices::new(choice(user)).unwrap());
        assert_eq!(set.is_enabled("x"), expected, "{case}");

        let store = FeatureStore::empty();
        store.set_default(declaration(default)).unwrap();
        store.set(choice(user)).unwrap();
        assert_eq!(store.is_enabled("x"), expected, "{case}");
        assert_eq!(store.snapshot(), set, "{case}");

        // The order in which the two are set does not matter.
        let store = FeatureStore::empty();
        store.set(choice(user)).unwrap();
        store.set_default(declaration(default)).unwrap();
        assert_eq!(store.is_enabled("x"), expected, "{case}");

        let state = set.get("x");
        let known = default.is_some() || user.is_some();
        assert_eq!(
            state.as_ref().is_ok_and(|s| s.enabled == expected),
            known,
            "{case}"
        );
        let recorded = BTreeMap::from([("x".to_owned(), expected)]);
        assert_eq!(
            set.states(),
            if known { recorded } else { BTreeMap::new() },
            "{case}"
        );
    }
}

fn sample() -> FeatureSet {
    let defaults = Defaults::new([feature("a", true), feature("b", false)]).unwrap();
    FeatureSet::new(defaults, Choices::new([on("b"), off("own")]).unwrap())
}

#[test]
fn get_tells_all_and_a_choice_hides_no_metadata() {
    let both = FeatureState {
        name: name("b"),
        mode: Mode::User,
        enabled: true,
        user: Some(true),
        declared: Some(feature("b", false)),
    };
    assert_eq!(sample().get("b"), Ok(both));
    let default_only = FeatureState {
        name: name("a"),
        mode: Mode::Default,
        enabled: true,
        user: None,
        declared: Some(feature("a", true)),
    };
    assert_eq!(sample().get(name("a")), Ok(default_only));
    let user_only = FeatureState {
        name: name("own"),
        mode: Mode::User,
        enabled: false,
        user: Some(false),
        declared: None,
    };
    assert_eq!(sample().get("own"), Ok(user_only));
    for unknown in ["nobody", "", "Not A Name"] {
        assert_eq!(
            sample().get(unknown),
            Err(FeatureError::NotFound(unknown.to_owned()))
        );
        assert!(!sample().is_enabled(unknown));
    }
}

#[test]
fn get_default_and_get_user_look_at_one_side_only() {
    let absent = |name: &str, mode| FeatureError::NotFoundIn {
        name: name.to_owned(),
        mode,
    };
    let set = sample();
    assert_eq!(set.get_default("b"), Ok(feature("b", false)));
    assert_eq!(set.get_default("own"), Err(absent("own", Mode::Default)));
    assert_eq!(set.get_user("b"), set.get("b"), "with what is declared");
    assert!(!set.get_user("own").unwrap().enabled);
    assert_eq!(set.get_user("a"), Err(absent("a", Mode::User)));
}

#[test]
fn all_of_them() {
    let set = sample();
    let default = [feature("a", true), feature("b", false)].map(|declared| FeatureState {
        name: declared.name.clone(),
        mode: Mode::Default,
        enabled: declared.enabled,
        user: None,
        declared: Some(declared),
    });
    let user = [("b", true), ("own", false)].map(|(text, enabled)| FeatureState {
        name: name(text),
        mode: Mode::User,
        enabled,
        user: Some(enabled),
        declared: set.get_default(text).ok(),
    });
    let by_name = |states: [FeatureState; 2]| -> BTreeMap<_, _> {
        states.into_iter().map(|s| (s.name.clone(), s)).collect()
    };
    let (default, user) = (by_name(default), by_name(user));
    assert_eq!(
        set.all(),
        BTreeMap::from([(Mode::Default, default), (Mode::User, user.clone())])
    );
    assert_eq!(set.all_user(), user);
    let declared = [feature("a", true), feature("b", false)].map(|f| (f.name.clone(), f));
    assert_eq!(set.all_default(), BTreeMap::from(declared));
    let recorded = [("a", true), ("b", true), ("own", false)].map(|(n, on)| (n.to_owned(), on));
    assert_eq!(set.states(), BTreeMap::from(recorded));
}

#[test]
fn nothing_set_is_empty_and_no_error() {
    let set = FeatureSet::default();
    let empty = BTreeMap::from([
        (Mode::Default, BTreeMap::new()),
        (Mode::User, BTreeMap::new()),
    ]);
    assert_eq!(set.all(), empty);
    assert!(set.all_default().is_empty() && set.all_user().is_empty());
    assert!(set.states().is_empty());
}

#[test]
fn the_same_name_twice_is_an_error() {
    let twice = |mode| FeatureError::Duplicate {
        name: name("a"),
        mode,
    };
    let same = [feature("a", true), feature("b", true), feature("a", true)];
    assert_eq!(Defaults::new(same), Err(twice(Mode::Default)));
    for choices in [[on("a"), on("a")], [on("a"), off("a")], [off("a"), on("a")]] {
        assert_eq!(Choices::new(choices.clone()), Err(twice(Mode::User)));
        assert_eq!(sample().with_choices(choices), Err(twice(Mode::User)));
    }
}

#[test]
fn another_choice_is_another_set() {
    let set = sample();
    let other = set.clone().with_choices([off("a")]).unwrap();
    assert!(set.is_enabled("a") && set.is_enabled("b"));
    assert!(!other.is_enabled("a") && !other.is_enabled("b"));
}
