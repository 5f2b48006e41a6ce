//! Setting step by step: what may be set when, and that an error sets nothing.

use std::collections::BTreeMap;

use opm_core::feature::{Feature, FeatureError, FeatureName, FeatureSet, FeatureStore};
use opm_core::feature::{Mode, SANDBOX, global};

use crate::samples::{feature, name, off, on};

fn twice(text: &str, mode: Mode) -> FeatureError {
    FeatureError::Duplicate {
        name: name(text),
        mode,
    }
}

#[test]
fn defaults_are_set_once() {
    let store = FeatureStore::empty();
    assert_eq!(store.set_default([feature("a", true)]), Ok(()));
    assert_eq!(
        store.set_default([feature("b", true)]),
        Err(FeatureError::DefaultsSet)
    );
    assert_eq!(store.set_default([]), Err(FeatureError::DefaultsSet));
    assert!(store.is_enabled("a") && !store.is_enabled("b"));
}

#[test]
fn an_empty_set_of_defaults_counts() {
    let store = FeatureStore::shipped();
    assert_eq!(store.set_default([]), Ok(()));
    assert_eq!(
        store.set_default([feature("a", true)]),
        Err(FeatureError::DefaultsSet)
    );
    assert_eq!(store.snapshot(), FeatureSet::default());
}

#[test]
fn defaults_that_are_refused_can_be_set_right_afterwards() {
    let store = FeatureStore::empty();
    let ownerless = Feature {
        owner: String::new(),
        ..feature("b", true)
    };
    let refused = store.set_default([feature("a", true), ownerless]);
    assert_eq!(refused, Err(FeatureError::Ownerless(name("b"))));
    assert!(store.snapshot().all_default().is_empty(), "half set");
    let same = [feature("a", true), feature("a", false)];
    assert_eq!(store.set_default(same), Err(twice("a", Mode::Default)));
    assert!(store.snapshot().all_default().is_empty(), "half set");
    assert_eq!(store.set_default([feature("a", true)]), Ok(()));
    assert!(store.is_enabled("a"));
}

/// What the user chose, by name.
fn chosen(store: &FeatureStore) -> BTreeMap<FeatureName, bool> {
    let set = store.snapshot().all_user().into_iter();
    set.map(|(name, state)| (name, state.enabled)).collect()
}

#[test]
fn choices_can_be_added_but_not_changed() {
    let store = FeatureStore::empty();
    assert_eq!(store.set([on("a"), off("b")]), Ok(()));
    assert_eq!(store.set([on("c")]), Ok(()));
    for again in [on("a"), off("a"), on("b"), off("c")] {
        let text = again.name.as_str().to_owned();
        assert_eq!(store.set([on("new"), again]), Err(twice(&text, Mode::User)));
    }
    assert_eq!(store.set([on("d"), off("d")]), Err(twice("d", Mode::User)));
    let expected = [("a", true), ("b", false), ("c", true)].map(|(n, on)| (name(n), on));
    assert_eq!(chosen(&store), BTreeMap::from(expected), "half set");
}

#[test]
fn setting_nothing_changes_nothing() {
    let store = FeatureStore::empty();
    assert_eq!(store.set([]), Ok(()));
    assert_eq!(store.set([on("a")]), Ok(()));
    assert_eq!(store.set([]), Ok(()));
    assert_eq!(chosen(&store), BTreeMap::from([(name("a"), true)]));
}

#[test]
fn asking_first_takes_nothing_away() {
    let store = FeatureStore::shipped();
    assert!(store.is_enabled(&SANDBOX));
    assert_eq!(store.snapshot(), FeatureSet::shipped());
    assert_eq!(store.set_default([feature("a", true)]), Ok(()));
    assert!(store.is_enabled("a") && !store.is_enabled(&SANDBOX));
}

#[test]
fn a_store_answers_as_its_snapshot_does() {
    let store = FeatureStore::empty();
    store
        .set_default([feature("a", true), feature("b", false)])
        .unwrap();
    store.set([on("b")]).unwrap();
    store.set([off("own")]).unwrap();
    let set = store.snapshot();
    for text in ["a", "b", "own", "nobody"] {
        assert_eq!(store.is_enabled(text), set.is_enabled(text), "{text}");
    }
}

/// The only test of the process-wide store: it lives as long as this process, and tests run in
/// parallel.
#[test]
fn the_global_store_offers_the_same() {
    assert!(global::is_enabled(&SANDBOX), "no ceremony needed");
    assert_eq!(global::all_user(), BTreeMap::new());
    assert_eq!(global::snapshot(), FeatureSet::shipped());

    assert_eq!(global::set([off("sandbox"), on("own")]), Ok(()));
    assert_eq!(
        global::set([on("sandbox")]),
        Err(twice("sandbox", Mode::User))
    );
    assert!(!global::is_enabled(&SANDBOX) && global::is_enabled("own"));
    assert_eq!(global::get("sandbox").unwrap().user, Some(false));
    assert!(global::get_user("own").unwrap().enabled);
    assert!(global::get_default("own").is_err());
    assert_eq!(global::get_default("sandbox").unwrap().name, SANDBOX);
    assert_eq!(global::all()[&Mode::User].len(), 2);
    assert_eq!(
        global::all_default().len(),
        FeatureSet::shipped().all_default().len()
    );

    assert_eq!(global::set_default([feature("mine", true)]), Ok(()));
    assert_eq!(global::set_default([]), Err(FeatureError::DefaultsSet));
    assert!(global::is_enabled("mine") && !global::is_enabled("change-records"));
}
