//! Who else lives in a Namespace, or under a CustomResourceDefinition, that is about to go.
//!
//! Deleting either deletes everything in it. So neither goes while it holds objects that are
//! not this release's, whatever flags were given.

use serde_json::{Map, Value};

use crate::identity::{GroupKind, Identity};
use crate::ids::ReleaseId;
use crate::labels::{self, OwnerLabels};

/// Kinds whose objects appear in every namespace by themselves, or belong to others there.
pub fn is_bystander_kind(kind: &GroupKind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("" | "events.k8s.io", "Event")
            | ("coordination.k8s.io", "Lease")
            | ("", "Endpoints")
            | ("discovery.k8s.io", "EndpointSlice")
    )
}

/// The objects that keep a Namespace or CustomResourceDefinition from going: not this
/// release's, and not made by the cluster itself. `going` says which objects go with it anyway.
pub fn strangers<'a>(
    objects: impl IntoIterator<Item = (Identity, &'a Map<String, Value>)>,
    release: &ReleaseId,
    going: impl Fn(&Identity) -> bool,
) -> Vec<Identity> {
    objects
        .into_iter()
        .filter(|(identity, object)| {
            !going(identity)
                && !is_bystander_kind(&identity.group_kind)
                && !has_owner(object)
                && !made_by_cluster(identity)
                && !is_releases(object, release)
        })
        .map(|(identity, _)| identity)
        .collect()
}

fn has_owner(object: &Map<String, Value>) -> bool {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("ownerReferences"))
        .and_then(Value::as_array)
        .is_some_and(|owners| !owners.is_empty())
}

fn made_by_cluster(identity: &Identity) -> bool {
    let name = identity.name.as_str();
    (identity.group_kind.is("", "ConfigMap") && name == "kube-root-ca.crt")
        || (identity.group_kind.is("", "ServiceAccount") && name == "default")
}

/// The release's own objects and Secrets carry its id.
fn is_releases(object: &Map<String, Value>, release: &ReleaseId) -> bool {
    let labels = OwnerLabels::read(object);
    let id = release.to_string();
    labels.id.as_deref() == Some(id.as_str())
        || (!labels.shared.is_empty() && labels.shared.iter().all(|(shared, _)| *shared == id))
}

/// Whether an object was applied by this release: labelled, and with an Apply entry of `opm`.
/// Endpoints and EndpointSlices inherit a Service's labels; nobody applied them.
pub fn was_applied_by(object: &Map<String, Value>, release: &ReleaseId) -> bool {
    let entries = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .and_then(Value::as_array);
    let shared = labels::shared_field_manager(release);
    let applied = entries.into_iter().flatten().any(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        text("operation") == Some("Apply")
            && text("manager").is_some_and(|name| name == labels::FIELD_MANAGER || name == shared)
    });
    let labels = OwnerLabels::read(object);
    let id = release.to_string();
    let named = labels.id.as_deref() == Some(id.as_str())
        || labels.shared.iter().any(|(shared, _)| *shared == id);
    applied && named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("not an object: {other}"),
        }
    }

    fn id() -> ReleaseId {
        "11111111-2222-5333-8444-555555555555".parse().unwrap()
    }

    #[test]
    fn only_strangers_keep_a_namespace() {
        let mine =
            json!({"metadata": {"labels": {"module-release.opmodel.dev/uuid": id().to_string()}}});
        let theirs = json!({"metadata": {"labels": {"module-release.opmodel.dev/uuid": "x"}}});
        let plain = json!({"metadata": {}});
        let owned = json!({"metadata": {"ownerReferences": [{"uid": "u"}]}});
        for (group, kind, name, value, stays) in [
            ("", "ConfigMap", "a", &plain, true),
            ("", "ConfigMap", "a", &theirs, true),
            ("", "ConfigMap", "a", &mine, false),
            ("", "ConfigMap", "going", &plain, false),
            ("", "ConfigMap", "kube-root-ca.crt", &plain, false),
            ("", "Secret", "kube-root-ca.crt", &plain, true),
            ("", "ServiceAccount", "default", &plain, false),
            ("", "ServiceAccount", "other", &plain, true),
            ("", "Event", "e", &plain, false),
            ("discovery.k8s.io", "EndpointSlice", "e", &plain, false),
            ("", "Pod", "p", &owned, false),
            ("", "Pod", "p", &plain, true),
        ] {
            let identity = Identity::new(GroupKind::new(group, kind), Some("n"), name);
            let live = object(value.clone());
            let found = strangers([(identity.clone(), &live)], &id(), |i| i.name == "going");
            assert_eq!(!found.is_empty(), stays, "{identity} {value}");
        }
    }

    #[test]
    fn inherited_labels_do_not_count_as_applied() {
        let with = |operation: &str, manager: &str| {
            object(json!({"metadata": {
            "labels": {"module-release.opmodel.dev/uuid": id().to_string()},
            "managedFields": [{"operation": operation, "manager": manager}]}}))
        };
        assert!(was_applied_by(&with("Apply", "opm"), &id()));
        assert!(!was_applied_by(&with("Update", "opm"), &id()));
        assert!(!was_applied_by(
            &with("Update", "kube-controller-manager"),
            &id()
        ));
        assert!(!was_applied_by(&with("Apply", "kubectl"), &id()));
        let other: ReleaseId = "11111111-2222-5333-8444-666666666666".parse().unwrap();
        assert!(!was_applied_by(&with("Apply", "opm"), &other));
    }
}
