//! What of an object's metadata tells that somebody has touched it.
//!
//! Whoever changes a field takes it from the manager that had it, so the managed fields tell a
//! change of any field without a look at the object itself. What is written to subresources (how
//! an object is doing) does not count, and neither does when something was written.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// One state of an object, as far as drift is concerned.
pub(crate) fn fingerprint(metadata: &ObjectMeta) -> u64 {
    let mut hasher = DefaultHasher::new();
    metadata.uid.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    for entry in metadata.managed_fields.iter().flatten() {
        if entry
            .subresource
            .as_deref()
            .is_some_and(|name| name != "scale")
        {
            continue;
        }
        entry.manager.hash(&mut hasher);
        entry.operation.hash(&mut hasher);
        let fields = entry.fields_v1.as_ref().map(|fields| fields.0.to_string());
        fields.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(metadata: Value) -> u64 {
        fingerprint(&serde_json::from_value(metadata).unwrap())
    }

    fn managed(manager: &str, fields: &Value, more: &Value) -> Value {
        let mut entry = json!({"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1",
            "apiVersion": "v1", "fieldsV1": fields, "time": "2026-01-01T00:00:00Z"});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        entry
    }

    #[test]
    fn a_change_of_a_field_counts_and_a_change_of_status_does_not() {
        let ours = managed("opm", &json!({"f:data": {"f:a": {}}}), &json!({}));
        let before = of(json!({"uid": "1", "resourceVersion": "1", "managedFields": [ours]}));
        let later = managed(
            "opm",
            &json!({"f:data": {"f:a": {}}}),
            &json!({"time": "2026-01-01T09:00:00Z"}),
        );
        let status = managed(
            "kubelet",
            &json!({"f:status": {}}),
            &json!({"subresource": "status"}),
        );
        let theirs = managed("kubectl-edit", &json!({"f:data": {"f:a": {}}}), &json!({}));
        let scaled = managed(
            "kubectl",
            &json!({"f:spec": {"f:replicas": {}}}),
            &json!({"subresource": "scale"}),
        );
        let lost = managed("opm", &json!({"f:data": {}}), &json!({}));
        for (metadata, same) in [
            (
                json!({"uid": "1", "resourceVersion": "2", "managedFields": [ours]}),
                true,
            ),
            (json!({"uid": "1", "managedFields": [later]}), true),
            (json!({"uid": "1", "managedFields": [ours, status]}), true),
            (
                json!({"uid": "1", "generation": 2, "managedFields": [ours]}),
                true,
            ),
            (json!({"uid": "1", "managedFields": [lost, theirs]}), false),
            (json!({"uid": "1", "managedFields": [lost]}), false),
            (json!({"uid": "1", "managedFields": [ours, scaled]}), false),
            (json!({"uid": "2", "managedFields": [ours]}), false),
            (
                json!({"uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z", "managedFields": [ours]}),
                false,
            ),
        ] {
            assert_eq!(of(metadata.clone()) == before, same, "{metadata}");
        }
    }
}
