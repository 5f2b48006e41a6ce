//! From a render to a candidate: selection, namespaces, labels, normalisation, duplicates.

use std::collections::BTreeMap;

use opm_core::candidate::{Candidate, CandidateError, Selection};
use opm_core::digest::ManifestDigest;
use opm_core::identity::GroupKind;
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};
use opm_core::plan::{PlanOptions, plan};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::scope::{Scope, Scopes};
use proptest::prelude::{Just, Strategy as _, prop_assert_eq, proptest};
use serde_json::{Value, json};

use crate::{bare, manifest};

pub(crate) fn component(name: &str, manifests: Vec<Manifest>) -> Component {
    let name = ComponentName::new(name).unwrap();
    Component::new(name, manifests)
}

fn optional(name: &str, manifests: Vec<Manifest>) -> Component {
    Component {
        optional: true,
        ..component(name, manifests)
    }
}

pub(crate) fn module(components: Vec<Component>) -> Rendered {
    let name = ModuleName::new("minecraft").unwrap();
    Rendered {
        module: Module {
            path: ModulePath::new("opmodel.dev/modules/minecraft@v0").unwrap(),
            version: Some("0.1.0".to_owned()),
            ..Module::local(name)
        },
        values: "{}".to_owned(),
        set: Vec::new(),
        left_out: Vec::new(),
        components,
    }
}

pub(crate) fn try_candidate(
    components: Vec<Component>,
    selection: &Selection,
    scopes: Scopes,
) -> Result<Candidate, CandidateError> {
    let release = ReleaseName::new("mc").unwrap();
    let namespace = NamespaceName::new("games").unwrap();
    Candidate::new(module(components), release, namespace, selection, scopes)
}

pub(crate) fn candidate(components: Vec<Component>) -> Candidate {
    try_candidate(components, &Selection::default(), Scopes::default()).unwrap()
}

fn given(names: &[&str]) -> Selection {
    Selection::Given(names.iter().map(|name| (*name).to_owned()).collect())
}

fn names(candidate: &Candidate) -> Vec<String> {
    candidate
        .objects
        .iter()
        .map(|o| o.manifest.identity().to_string())
        .collect()
}

pub(crate) fn warnings(candidate: &Candidate) -> Vec<String> {
    candidate.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn objects_are_placed_labelled_and_sorted() {
    let made = candidate(vec![
        component(
            "app",
            vec![
                bare("apps/v1", "Deployment", "", "web"),
                bare("v1", "Service", "other", "web"),
                bare(
                    "rbac.authorization.k8s.io/v1",
                    "ClusterRole",
                    "games",
                    "reader",
                ),
            ],
        ),
        component("base", vec![bare("v1", "Namespace", "", "games")]),
    ]);
    assert_eq!(
        names(&made),
        [
            "Namespace/games",
            "ClusterRole/reader",
            "Service/web in namespace other",
            "Deployment/web in namespace games",
        ]
    );
    for object in &made.objects {
        let labels = &object.manifest.object()["metadata"]["labels"];
        assert_eq!(
            labels["module-release.opmodel.dev/uuid"],
            made.owner.id.to_string()
        );
        assert_eq!(
            labels["component.opmodel.dev/name"],
            object.component.as_str()
        );
    }
    let reader = made.objects[1].manifest.object();
    assert_eq!(reader["metadata"].get("namespace"), None);
    assert_eq!(
        warnings(&made),
        [
            "ClusterRole/reader in namespace games: its kind lives in no namespace; the namespace is left out"
        ]
    );
    let entries = made.entries();
    assert_eq!(entries[3].identity, *made.objects[3].manifest.identity());
    assert_eq!(
        (entries[3].version.as_str(), entries[3].component.as_str()),
        ("v1", "app")
    );
}

#[test]
fn an_unknown_kind_is_taken_to_be_namespaced_and_said_once() {
    let objects = || {
        vec![
            bare("a.b/v1", "Foo", "", "x"),
            bare("a.b/v1", "Foo", "", "y"),
        ]
    };
    let made = candidate(vec![component("app", objects())]);
    assert_eq!(
        names(&made),
        ["Foo/x in namespace games", "Foo/y in namespace games"]
    );
    assert_eq!(
        warnings(&made),
        ["nothing says whether Foo.a.b lives in namespaces; it is taken to"]
    );
    let known = Scopes::new(BTreeMap::from([(
        GroupKind::new("a.b", "Foo"),
        Scope::Cluster,
    )]));
    let made = try_candidate(
        vec![component("app", objects())],
        &Selection::default(),
        known,
    )
    .unwrap();
    assert_eq!(names(&made), ["Foo/x", "Foo/y"]);
    assert_eq!(warnings(&made), [] as [String; 0]);
}

#[test]
fn a_definition_in_a_component_that_is_not_selected_still_says_the_scope() {
    let crd = manifest(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.a.b"},
        "spec": {"group": "a.b", "scope": "Cluster", "names": {"kind": "Foo"}},
    }));
    let made = candidate(vec![
        optional("crds", vec![crd]),
        component("app", vec![bare("a.b/v1", "Foo", "", "x")]),
    ]);
    assert_eq!(names(&made), ["Foo/x"]);
}

#[test]
fn optional_components_are_off_unless_selected() {
    let components = || {
        vec![
            component("app", vec![bare("v1", "ConfigMap", "", "app")]),
            optional("metrics", vec![bare("v1", "ConfigMap", "", "metrics")]),
            optional("empty", vec![]),
        ]
    };
    let chosen = |selection: &Selection| {
        let made = try_candidate(components(), selection, Scopes::default()).unwrap();
        let selected: Vec<String> = made.selected.iter().map(ToString::to_string).collect();
        (
            names(&made).len(),
            selected.join(","),
            made.components.iter().filter(|c| c.included).count(),
            warnings(&made),
        )
    };
    assert_eq!(chosen(&Selection::default()), (1, String::new(), 1, vec![]));
    assert_eq!(
        chosen(&given(&["metrics"])),
        (2, "metrics".to_owned(), 2, vec![])
    );
    assert_eq!(
        chosen(&given(&["metrics", "empty", "app"])),
        (2, "empty,metrics".to_owned(), 3, vec![])
    );
    let recorded = Selection::Recorded(vec!["metrics".to_owned(), "gone".to_owned()]);
    let gone = "component \"gone\" was selected before; the module no longer has it".to_owned();
    assert_eq!(chosen(&recorded), (2, "metrics".to_owned(), 2, vec![gone]));
}

#[test]
fn a_selection_of_what_is_not_there_suggests_what_is() {
    let components = || vec![component("app", vec![]), optional("metrics", vec![])];
    let error =
        try_candidate(components(), &given(&["metrisc", "zzz"]), Scopes::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module has no component \"metrisc\" (did you mean metrics?), \"zzz\""
    );
    assert_eq!(
        error.hint().unwrap(),
        "its optional components are: metrics"
    );
    let error = try_candidate(
        vec![component("app", vec![])],
        &given(&["x"]),
        Scopes::default(),
    );
    assert_eq!(
        error.unwrap_err().hint().unwrap(),
        "it has no optional components; leave the selection out"
    );
}

#[test]
fn components_keep_their_order_through_those_that_are_not_included() {
    let mut app = component("app", vec![bare("v1", "ConfigMap", "", "app")]);
    app.after = vec![ComponentName::new("cache").unwrap()];
    let mut cache = optional("cache", vec![]);
    cache.after = vec![ComponentName::new("db").unwrap()];
    let db = component("db", vec![bare("v1", "ConfigMap", "", "db")]);
    let made = candidate(vec![app.clone(), cache, db]);
    let included: Vec<bool> = made.components.iter().map(|c| c.included).collect();
    assert_eq!(included, [true, false, true]);
    let plan = plan(&made.desired(), None, PlanOptions::default()).unwrap();
    let phases: Vec<&[String]> = plan
        .phases
        .iter()
        .map(|p| p.components.as_slice())
        .collect();
    assert_eq!(phases, [["db"], ["app"]]);

    let error = try_candidate(
        vec![app, component("store", vec![])],
        &Selection::default(),
        Scopes::default(),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "component app comes after a component that the module does not have: \"cache\""
    );
    let twice = vec![component("app", vec![]), component("app", vec![])];
    let error = try_candidate(twice, &Selection::default(), Scopes::default()).unwrap_err();
    assert_eq!(error.to_string(), "the module has two components named app");
}

#[test]
fn all_duplicates_are_listed_across_components_and_api_versions() {
    let components = vec![
        component(
            "app",
            vec![
                bare("networking.k8s.io/v1beta1", "Ingress", "", "web"),
                bare("v1", "ConfigMap", "", "web"),
                bare("v1", "ConfigMap", "games", "web"),
                bare("v1", "Secret", "", "web"),
            ],
        ),
        component(
            "edge",
            vec![bare("networking.k8s.io/v1", "Ingress", "games", "web")],
        ),
    ];
    let error = try_candidate(components, &Selection::default(), Scopes::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module renders the same object more than once:\
         \n  ConfigMap/web in namespace games: component app as v1, component app as v1\
         \n  Ingress/web in namespace games: component app as networking.k8s.io/v1beta1, \
         component edge as networking.k8s.io/v1"
    );
    assert!(error.hint().is_some());
}

#[test]
fn alternatives_may_render_the_same_object_as_long_as_one_is_selected() {
    let components = || {
        vec![
            optional("large", vec![bare("v1", "ConfigMap", "", "size")]),
            optional("small", vec![bare("v1", "ConfigMap", "", "size")]),
        ]
    };
    assert!(try_candidate(components(), &given(&["large"]), Scopes::default()).is_ok());
    assert!(try_candidate(components(), &given(&["large", "small"]), Scopes::default()).is_err());
}

#[test]
fn a_candidate_of_what_was_recorded_is_the_same_change() {
    let first = candidate(vec![component(
        "app",
        vec![
            bare("v1", "Secret", "", "s"),
            bare("v1", "Service", "", "w"),
        ],
    )]);
    let recorded: Vec<Manifest> = first.objects.iter().map(|o| o.manifest.clone()).collect();
    assert_eq!(first.digest, ManifestDigest::of(&recorded));
    let again = candidate(vec![component("app", recorded)]);
    assert_eq!((again.digest, again.change), (first.digest, first.change));
}

#[test]
fn labels_of_another_owner_do_not_survive() {
    let foreign = manifest(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"shared.opmodel.dev/x": "y", "keep": "me"}},
    }));
    let made = candidate(vec![component("app", vec![foreign])]);
    let object = made.objects[0].manifest.object();
    let labels = object["metadata"]["labels"].as_object().unwrap();
    assert_eq!(
        (labels.len(), labels.contains_key("shared.opmodel.dev/x")),
        (7, false)
    );
}

#[test]
fn a_plan_is_told_what_is_shared_and_what_removes_itself() {
    let job = |spec: Value| {
        manifest(
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}),
        )
    };
    let shared = manifest(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "annotations": {"opmodel.dev/shared": "true"}},
    }));
    let table = [
        (job(json!({"ttlSecondsAfterFinished": 0})), (false, true)),
        (job(json!({})), (false, false)),
        (shared, (true, false)),
    ];
    for (object, expected) in table {
        let made = candidate(vec![component("app", vec![object])]);
        let desired = made.desired();
        assert_eq!(
            (desired.objects[0].shared, desired.objects[0].expires),
            expected
        );
        assert_eq!(
            desired.objects[0].entry.hash.as_ref(),
            Some(&made.objects[0].hash)
        );
    }
}

fn many() -> Vec<Manifest> {
    let kinds = [
        ("v1", "ConfigMap"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("a.b/v1", "Foo"),
    ];
    kinds
        .iter()
        .flat_map(|(version, kind)| ["x", "y", ""].map(|namespace| (version, kind, namespace)))
        .flat_map(|(version, kind, ns)| ["a", "b"].map(|name| bare(version, kind, ns, name)))
        .collect()
}

proptest! {
    #[test]
    fn any_input_order_gives_one_digest(shuffled in Just(many()).prop_shuffle(), split in 0_usize..24) {
        let expected = candidate(vec![component("app", many())]);
        prop_assert_eq!(ManifestDigest::of(&shuffled), ManifestDigest::of(&many()));
        let made = candidate(vec![component("app", shuffled.clone())]);
        prop_assert_eq!(&made.digest, &expected.digest);
        prop_assert_eq!(&made.objects, &expected.objects);
        for object in &made.objects {
            prop_assert_eq!(made.object(object.manifest.identity()), Some(object));
        }
        // Objects of two components, in either order of the components.
        let (a, b) = shuffled.split_at(split);
        let one = candidate(vec![component("a", a.to_vec()), component("b", b.to_vec())]);
        let two = candidate(vec![component("b", b.to_vec()), component("a", a.to_vec())]);
        prop_assert_eq!(one.digest, two.digest);
    }
}

#[test]
fn hooks_of_a_helm_chart_are_named_once() {
    let hook = |name: &str, hook: &str| {
        manifest(json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"helm.sh/hook": hook}}}))
    };
    let objects = vec![hook("migrate", "post-install"), hook("check", "test")];
    let built = try_candidate(
        vec![component("app", objects)],
        &Selection::default(),
        Scopes::default(),
    );
    let warnings = built.unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    let warning = warnings[0].to_string();
    assert!(
        warning.contains("Job/check") && warning.contains("Job/migrate"),
        "{warning}"
    );
}
