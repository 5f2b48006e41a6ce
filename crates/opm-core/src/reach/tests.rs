use serde_json::{Value, json};

use super::{NamespaceState, OwnNamespace, Surroundings, Unreachable, check};
use crate::candidate::{Candidate, Selection};
use crate::identity::GroupKind;
use crate::manifest::Manifest;
use crate::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};
use crate::rendered::{Component, Module, Rendered};
use crate::scope::Scopes;

fn candidate(objects: &[Value]) -> Candidate {
    let module = ModuleName::new("m").unwrap();
    let rendered = Rendered {
        module: Module {
            path: ModulePath::local(&module),
            name: module,
            version: None,
            default_namespace: None,
            description: None,
        },
        values: "{}".to_owned(),
        components: vec![Component {
            name: ComponentName::new("app").unwrap(),
            after: Vec::new(),
            optional: false,
            manifests: objects
                .iter()
                .cloned()
                .map(|o| Manifest::parse(o).unwrap())
                .collect(),
        }],
    };
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

fn surroundings(namespaces: &[(&str, NamespaceState)]) -> Surroundings {
    let served = |group: &str, kind: &str, version: &str| {
        (GroupKind::new(group, kind), vec![version.to_owned()])
    };
    Surroundings {
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
    for (objects, found, create, expected) in [
        (
            vec![config_map("own")],
            vec![("own", Active)],
            false,
            Ok(OwnNamespace::Exists),
        ),
        (
            vec![config_map("own")],
            vec![("own", Hidden)],
            false,
            Ok(OwnNamespace::Exists),
        ),
        (
            vec![config_map("own")],
            vec![("own", Absent)],
            false,
            problem(Unreachable::NoNamespace("own".into())),
        ),
        (
            vec![config_map("own")],
            vec![("own", Absent)],
            true,
            Ok(OwnNamespace::ToBeCreated),
        ),
        (
            vec![config_map("own"), namespace("own")],
            vec![("own", Absent)],
            true,
            Ok(OwnNamespace::BroughtAlong),
        ),
        (
            vec![config_map("own")],
            vec![("own", Terminating)],
            true,
            problem(Unreachable::TerminatingNamespace("own".into())),
        ),
        (
            vec![config_map("other")],
            vec![("own", Active), ("other", Absent)],
            true,
            problem(Unreachable::NoNamespace("other".into())),
        ),
        (
            vec![config_map("other"), namespace("other")],
            vec![("own", Active), ("other", Absent)],
            false,
            Ok(OwnNamespace::Exists),
        ),
        (
            vec![config_map("other"), namespace("other")],
            vec![("own", Active), ("other", Terminating)],
            false,
            problem(Unreachable::TerminatingNamespace("other".into())),
        ),
    ] {
        let got = check(&candidate(&objects), &surroundings(&found), create);
        assert_eq!(got, expected, "{objects:?} {found:?} {create}");
    }
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
            vec![Unreachable::UnknownKind(foo.clone())],
        ),
        (
            vec![object("example.com/v1", "Foo"), definition.clone()],
            vec![],
        ),
        (
            vec![object("example.com/v2", "Foo"), definition],
            vec![Unreachable::UnknownKind(foo)],
        ),
        (
            vec![object("networking.k8s.io/v1beta1", "Ingress")],
            vec![Unreachable::UnknownVersion {
                kind: GroupKind::new("networking.k8s.io", "Ingress"),
                version: "v1beta1".into(),
                served: vec!["v1".into()],
            }],
        ),
        (
            vec![object("metrics.k8s.io/v1", "Foo")],
            vec![Unreachable::SilentGroup {
                group: "metrics.k8s.io".into(),
                cause: "503".into(),
            }],
        ),
    ] {
        let got = check(&candidate(&objects), &surroundings(&active), false);
        assert_eq!(got.err().unwrap_or_default(), expected, "{objects:?}");
    }
}
