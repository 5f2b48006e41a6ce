//! Labels: put on metadata only, and read back.

use opm_core::labels::{self, Owner, OwnerLabels};
use opm_core::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};
use serde_json::json;

use crate::manifest;

const ID: &str = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";

fn owner() -> Owner {
    Owner {
        module: ModuleName::new("minecraft").unwrap(),
        namespace: NamespaceName::new("games").unwrap(),
        release: ReleaseName::new("mc").unwrap(),
        id: ID.parse().unwrap(),
    }
}

#[test]
fn six_labels_go_onto_metadata_and_nowhere_else() {
    let given = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "labels": {"app": "a", "app.kubernetes.io/managed-by": "Helm"}},
        "spec": {"template": {"metadata": {"labels": {"app": "a"}}}},
    });
    let mut deployment = manifest(given.clone());
    owner().inject(&mut deployment, &ComponentName::new("app").unwrap());
    assert_eq!(deployment.object()["spec"], given["spec"]);
    assert_eq!(
        deployment.object()["metadata"]["labels"],
        json!({
            "app": "a",
            "app.kubernetes.io/managed-by": "open-platform-model",
            "module.opmodel.dev/name": "minecraft",
            "module.opmodel.dev/namespace": "games",
            "module-release.opmodel.dev/name": "mc",
            "module-release.opmodel.dev/uuid": ID,
            "component.opmodel.dev/name": "app",
        })
    );
    let read = OwnerLabels::read(&deployment.object());
    assert!(read.managed);
    assert_eq!(read.id.as_deref(), Some(ID));
    assert_eq!(read.release.as_deref(), Some("mc"));
    assert_eq!(read.namespace.as_deref(), Some("games"));
    assert_eq!(read.module.as_deref(), Some("minecraft"));
    assert_eq!(read.component.as_deref(), Some("app"));
    assert_eq!(read.shared, []);
}

#[test]
fn labels_that_were_null_become_ours() {
    let given =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": null}});
    let mut map = manifest(given);
    owner().inject(&mut map, &ComponentName::new("app").unwrap());
    assert_eq!(map.label(labels::RELEASE_ID), Some(ID));
}

#[test]
fn a_shared_object_names_its_releases_and_no_single_owner() {
    let mut role = manifest(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "a", "annotations": {"opmodel.dev/shared": "true"}},
    }));
    owner().inject(&mut role, &ComponentName::new("app").unwrap());
    assert_eq!(
        role.object()["metadata"]["labels"],
        json!({
            "app.kubernetes.io/managed-by": "open-platform-model",
            "shared.opmodel.dev/ba7ef080-f6d7-5049-9ee5-a5e34cd652de": "mc",
        })
    );
    let read = OwnerLabels::read(&role.object());
    assert_eq!(read.shared, [(ID.to_owned(), "mc".to_owned())]);
    assert_eq!(read.id, None);
    assert_eq!(
        labels::shared_field_manager(&owner().id),
        format!("opm-{ID}")
    );
}

#[test]
fn an_object_without_labels_says_nothing() {
    let bare = json!({"metadata": {"labels": {"app": 1}}});
    assert_eq!(
        OwnerLabels::read(bare.as_object().unwrap()),
        OwnerLabels::default()
    );
}
