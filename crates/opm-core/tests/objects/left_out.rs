//! What a module would have by default, where its objects are at home, and what it asks for and is
//! not carried out.

use opm_core::candidate::{Candidate, CandidateError, Selection};
use opm_core::name::{ComponentName, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, LeftOut};
use opm_core::scope::Scopes;

use crate::bare;
use crate::candidate::{component, module};

fn optional(name: &str, by_default: bool) -> Component {
    Component {
        optional: true,
        by_default,
        ..component(name, vec![bare("v1", "ConfigMap", "", name)])
    }
}

fn left_out(component: Option<&str>, what: &str) -> LeftOut {
    LeftOut {
        component: component.map(|name| ComponentName::new(name).unwrap()),
        what: what.to_owned(),
    }
}

fn made(selection: &Selection) -> Candidate {
    let mut rendered = module(vec![
        component("app", vec![]),
        optional("extra", true),
        optional("more", false),
    ]);
    rendered.left_out = vec![
        left_out(None, "colour"),
        left_out(Some("extra"), "images"),
        left_out(Some("more"), "files"),
    ];
    let release = ReleaseName::new("mc").unwrap();
    let namespace = NamespaceName::new("games").unwrap();
    Candidate::new(rendered, release, namespace, selection, Scopes::default()).unwrap()
}

#[test]
fn a_default_holds_until_somebody_chooses() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (selection, expected, told) in [
        (
            Selection::ByDefault,
            &["extra"][..],
            &["colour", "images"][..],
        ),
        (Selection::Given(owned(&[])), &[], &["colour"]),
        (
            Selection::Given(owned(&["more"])),
            &["more"],
            &["colour", "files"],
        ),
        (Selection::Recorded(owned(&[])), &[], &["colour"]),
        (
            Selection::Recorded(owned(&["extra", "more"])),
            &["extra", "more"],
            &["colour", "images", "files"],
        ),
    ] {
        let made = made(&selection);
        let selected: Vec<&str> = made.selected.iter().map(ComponentName::as_str).collect();
        assert_eq!(selected, expected, "{selection:?}");
        let warnings: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, told, "{selection:?}");
        let left_out = CandidateError::LeftOut(warnings);
        assert_eq!(made.complete().unwrap_err(), left_out);
        assert!(left_out.to_string().ends_with(&told.join("\n  ")));
    }
}

#[test]
fn objects_without_a_namespace_go_home() {
    let home = NamespaceName::new("home").unwrap();
    let objects = [
        bare("v1", "ConfigMap", "", "one"),
        bare("v1", "ConfigMap", "else", "two"),
        bare("v1", "Namespace", "", "three"),
    ];
    let at_home = objects.map(|one| one.at_home_in(home.clone()));
    let lost = bare("v1", "ConfigMap", "", "four");
    let manifests = at_home.into_iter().chain([lost]).collect();
    let made = crate::candidate::candidate(vec![component("app", manifests)]);
    let mut placed: Vec<(&str, Option<&str>)> = made
        .objects
        .iter()
        .map(|one| one.manifest.identity())
        .map(|one| (one.name.as_str(), one.namespace.as_deref()))
        .collect();
    placed.sort_unstable();
    assert_eq!(
        placed,
        [
            ("four", Some("games")),
            ("one", Some("home")),
            ("three", None),
            ("two", Some("else"))
        ]
    );
    assert!(made.complete().is_ok());
}
