//! Scopes: from the table, from CRDs in the render, from the cluster, or unknown.

use std::collections::BTreeMap;

use opm_core::identity::GroupKind;
use opm_core::manifest::Manifest;
use opm_core::scope::{Scope, Scopes};
use serde_json::json;

use crate::manifest;

fn crd(group: &str, kind: &str, scope: &str) -> Manifest {
    manifest(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("x.{group}")},
        "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": "x"}},
    }))
}

#[test]
fn each_source_knows_its_kinds() {
    let discovered = BTreeMap::from([
        (
            GroupKind::new("cert-manager.io", "ClusterIssuer"),
            Scope::Cluster,
        ),
        (GroupKind::new("example.com", "Foo"), Scope::Cluster),
    ]);
    let crds = [
        crd("example.com", "Foo", "Namespaced"),
        crd("example.com", "Bar", "Cluster"),
    ];
    let scopes = Scopes::new(discovered).with_rendered(&crds);
    let table = [
        ("", "Namespace", Some(Scope::Cluster)),
        ("", "Service", Some(Scope::Namespaced)),
        (
            "rbac.authorization.k8s.io",
            "ClusterRole",
            Some(Scope::Cluster),
        ),
        ("rbac.authorization.k8s.io", "Role", Some(Scope::Namespaced)),
        ("networking.k8s.io", "IngressClass", Some(Scope::Cluster)),
        (
            "storage.k8s.io",
            "CSIStorageCapacity",
            Some(Scope::Namespaced),
        ),
        ("example.com", "Bar", Some(Scope::Cluster)),
        ("example.com", "Foo", Some(Scope::Namespaced)),
        ("cert-manager.io", "ClusterIssuer", Some(Scope::Cluster)),
        ("serving.knative.dev", "Service", None),
        ("example.com", "Namespace", None),
    ];
    for (group, kind, expected) in table {
        assert_eq!(
            scopes.of(&GroupKind::new(group, kind)),
            expected,
            "{kind} of {group:?}"
        );
    }
}

#[test]
fn a_malformed_definition_defines_nothing() {
    let scopes = Scopes::default().with_rendered(&[crd("example.com", "Foo", "Somewhere")]);
    assert_eq!(scopes.of(&GroupKind::new("example.com", "Foo")), None);
}
