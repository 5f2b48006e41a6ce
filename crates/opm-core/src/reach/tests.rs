use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{ClusterState, MissingRequirement, NamespacePlan, NamespaceState, OwnNamespace, check};
use crate::candidate::{Candidate, Selection};
use crate::failure::Remedy;
use crate::identity::GroupKind;
use crate::manifest::Manifest;
use crate::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};
use crate::rendered::{Component, Module, Rendered};
use crate::scope::Scopes;

fn candidate(objects: &[Value]) -> Candidate {
    made(rendered(objects))
}

fn rendered(objects: &[Value]) -> Rendered {
    let module = ModuleName::new("m").unwrap();
    Rendered::new(
        Module::local(module),
        vec![Component::new(
            ComponentName::new("app").unwrap(),
            objects
                .iter()
                .cloned()
                .map(|o| Manifest::parse(o).unwrap())
                .collect(),
        )],
    )
}

fn made(rendered: Rendered) -> Candidate {
    let release = ReleaseName::new("r").unwrap();
    let namespace = NamespaceName::new("own").unwrap();
    let selection = Selection::default();
    Candidate::new(rendered, release, namespace, &selection, Scopes::default()).unwrap()
}

fn config_map(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn cluster_state(namespaces: &[(&str, NamespaceState)]) -> ClusterState {
    let served = |group: &str, kind: &str, version: &str| {
        (GroupKind::new(group, kind), vec![version.to_owned()])
    };
    ClusterState {
        kinds: [
            served("", "ConfigMap", "v1"),
            served("", "Namespace", "v1"),
            served("networking.k8s.io", "Ingress", "v1"),
            served("apiextensions.k8s.io", "CustomResourceDefinition", "v1"),
        ]
        .into(),
        silent_groups: [("metrics.k8s.io".to_owned(), "503".to_owned())].into(),
        namespaces: namespaces
            .iter()
            .map(|(name, state)| ((*name).to_owned(), state.clone()))
            .collect(),
    }
}

#[test]
fn namespaces_must_be_there_or_brought_along() {
    use NamespaceState::{Absent, Active, Hidden, Terminating};
    let problem = |problem| Err(vec![problem]);
    let own = |own| {
        let homes = BTreeSet::new();
        Ok(NamespacePlan { own, homes })
    };
    for (objects, found, create, expected) in [
        (
            vec![config_map("own")],
            vec![("own", Active)],
            false,
            own(OwnNamespace::Exists),
        ),
        (
            vec![config_map("own")],
            vec![("own", Hidden)],
            false,
            own(OwnNamespace::Exists),
        ),
        (
            vec![config_map("own")],
            vec![("own", Absent)],
            false,
            problem(MissingRequirement::NoNamespace("own".into())),
        ),
        (
            vec![config_map("own")],
            vec![("own", Absent)],
            true,
            own(OwnNamespace::ToBeCreated),
        ),
        (
            vec![config_map("own"), namespace("own")],
            vec![("own", Absent)],
            true,
            own(OwnNamespace::BroughtAlong),
        ),
        (
            vec![config_map("own")],
            vec![("own", Terminating)],
            true,
            problem(MissingRequirement::TerminatingNamespace("own".into())),
        ),
        (
            vec![config_map("other")],
            vec![("own", Active), ("other", Absent)],
            true,
            problem(MissingRequirement::NoNamespace("other".into())),
        ),
        (
            vec![config_map("other"), namespace("other")],
            vec![("own", Active), ("other", Absent)],
            false,
            own(OwnNamespace::Exists),
        ),
        (
            vec![config_map("other"), namespace("other")],
            vec![("own", Active), ("other", Terminating)],
            false,
            problem(MissingRequirement::TerminatingNamespace("other".into())),
        ),
    ] {
        let got = check(&candidate(&objects), &cluster_state(&found), create);
        assert_eq!(got, expected, "{objects:?} {found:?} {create}");
    }
}

#[test]
fn namespaces_that_the_module_names_can_be_created() {
    let homeless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    let mut rendered = rendered(&[homeless, config_map("other")]);
    let home = NamespaceName::new("home").unwrap();
    let manifests = &mut rendered.components[0].manifests;
    manifests[0] = manifests[0].clone().at_home_in(home.clone());
    let candidate = |namespace: &str| {
        let mut rendered = rendered.clone();
        let manifests = &mut rendered.components[0].manifests;
        let other = Manifest::parse(config_map(namespace)).unwrap();
        manifests[1] = other.at_home_in(home.clone());
        made(rendered)
    };
    let state = |other: NamespaceState| {
        use NamespaceState::{Absent, Active};
        cluster_state(&[("own", Active), ("home", Absent), ("other", other)])
    };
    let homes = BTreeSet::from(["home".to_owned()]);
    let own = OwnNamespace::Exists;
    let there = state(NamespaceState::Active);
    let plan = check(&candidate("other"), &there, true);
    assert_eq!(plan, Ok(NamespacePlan { own, homes }));
    // What an object names itself may be a slip.
    let absent = state(NamespaceState::Absent);
    let missing = |name: &str| MissingRequirement::NoNamespace(name.to_owned());
    let refused = check(&candidate("other"), &absent, true);
    assert_eq!(refused, Err(vec![missing("other")]));
    let refused = check(&candidate("other"), &there, false).unwrap_err();
    assert_eq!(refused, [missing("home")]);
    assert_eq!(
        refused[0].remedy(&candidate("other")),
        Some(Remedy::CreateNamespace("home".to_owned()))
    );
}

#[test]
fn kinds_must_be_served_or_brought_along() {
    let active = [("own", NamespaceState::Active)];
    let object =
        |api: &str, kind: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Foo"}, "scope": "Namespaced",
                 "versions": [{"name": "v1", "served": true}, {"name": "v2", "served": false}]}});
    let foo = GroupKind::new("example.com", "Foo");
    for (objects, expected) in [
        (
            vec![object("example.com/v1", "Foo")],
            vec![MissingRequirement::UnknownKind(foo.clone())],
        ),
        (
            vec![object("example.com/v1", "Foo"), definition.clone()],
            vec![],
        ),
        (
            vec![object("example.com/v2", "Foo"), definition],
            vec![MissingRequirement::UnknownKind(foo)],
        ),
        (
            vec![object("networking.k8s.io/v1beta1", "Ingress")],
            vec![MissingRequirement::UnknownVersion {
                kind: GroupKind::new("networking.k8s.io", "Ingress"),
                version: "v1beta1".into(),
                served: vec!["v1".into()],
            }],
        ),
        (
            vec![object("metrics.k8s.io/v1", "Foo")],
            vec![MissingRequirement::SilentGroup {
                group: "metrics.k8s.io".into(),
                cause: "503".into(),
            }],
        ),
    ] {
        let got = check(&candidate(&objects), &cluster_state(&active), false);
        assert_eq!(got.err().unwrap_or_default(), expected, "{objects:?}");
    }
}

#[test]
fn a_namespace_that_nobody_could_look_at_is_no_refusal() {
    use crate::failure::FailureKind::{NotPermitted, Refused, Unreachable};
    let unknown = |kind| NamespaceState::Unreachable {
        kind,
        cause: "503".to_owned(),
    };
    for (own, other, expected) in [
        (
            unknown(Unreachable),
            NamespaceState::Active,
            vec![Unreachable],
        ),
        (
            unknown(NotPermitted),
            NamespaceState::Active,
            vec![NotPermitted],
        ),
        (
            unknown(Unreachable),
            NamespaceState::Absent,
            vec![Refused, Unreachable],
        ),
    ] {
        let state = cluster_state(&[("own", own), ("other", other)]);
        let problems = check(&candidate(&[config_map("other")]), &state, false).unwrap_err();
        let kinds: Vec<_> = problems.iter().map(MissingRequirement::kind).collect();
        assert_eq!(kinds, expected, "{problems:?}");
    }
}
