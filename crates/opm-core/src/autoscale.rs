//! Workloads whose number of replicas belongs to an autoscaler.
//!
//! `opm` sends the number that is live: leaving the field out would reset it when only `opm`
//! owned it, and sending the rendered one would fight the autoscaler.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::identity::{GroupKind, Identity};
use crate::labels::FIELD_MANAGER;

/// Whether an object is an autoscaler of replicas.
pub fn is_autoscaler(group_kind: &GroupKind) -> bool {
    group_kind.is("autoscaling", "HorizontalPodAutoscaler")
        || group_kind.is("keda.sh", "ScaledObject")
}

/// Whether an object says how many replicas it wants.
pub fn sets_replicas(object: &Map<String, Value>) -> bool {
    replicas(object).is_some()
}

fn replicas(object: &Map<String, Value>) -> Option<&Value> {
    object.get("spec")?.get("replicas")
}

/// The objects that autoscalers, rendered or live, target.
pub fn targets<'a>(
    autoscalers: impl IntoIterator<Item = &'a Map<String, Value>>,
) -> BTreeSet<Identity> {
    autoscalers.into_iter().filter_map(target).collect()
}

fn target(autoscaler: &Map<String, Value>) -> Option<Identity> {
    let metadata = autoscaler.get("metadata")?;
    let spec = autoscaler.get("spec")?;
    let reference = spec.get("scaleTargetRef")?;
    let text = |key: &str| reference.get(key).and_then(Value::as_str);
    // KEDA leaves kind and version out for the usual case.
    let api_version = text("apiVersion").unwrap_or("apps/v1");
    let kind = text("kind").unwrap_or("Deployment");
    let namespace = metadata.get("namespace").and_then(Value::as_str);
    let kind = GroupKind::of(api_version, kind);
    Some(Identity::new(kind, namespace, text("name")?))
}

/// Whether the number of replicas of a live object was applied by `opm`. Not rendering it any
/// more would then reset it.
pub fn applied_replicas(live: &Map<String, Value>) -> bool {
    let entries = live
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| {
        entry["manager"] == FIELD_MANAGER
            && entry["operation"] == "Apply"
            && entry.pointer("/fieldsV1/f:spec/f:replicas").is_some()
    })
}

/// The object as it is sent: with the replicas that are live. None if that changes nothing.
pub fn with_live_replicas(
    object: &Map<String, Value>,
    live: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let (rendered, number) = (replicas(object), replicas(live)?);
    if rendered == Some(number) || (rendered.is_none() && !applied_replicas(live)) {
        return None;
    }
    let live = number;
    let mut sent = object.clone();
    sent.get_mut("spec")?
        .as_object_mut()?
        .insert("replicas".to_owned(), live.clone());
    Some(sent)
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

    #[test]
    fn autoscalers_name_their_targets() {
        let hpa = object(json!({"metadata": {"name": "h", "namespace": "n"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}}}));
        let keda = object(json!({"metadata": {"name": "k", "namespace": "n"},
            "spec": {"scaleTargetRef": {"name": "web"}}}));
        let broken = object(json!({"metadata": {"name": "b"}, "spec": {}}));
        let names: Vec<String> = targets([&hpa, &keda, &broken])
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            names,
            [
                "Deployment/web in namespace n",
                "StatefulSet/db in namespace n"
            ]
        );
    }

    #[test]
    fn live_replicas_replace_rendered_ones_only() {
        let with = |replicas: Value| object(json!({"spec": {"replicas": replicas, "x": 1}}));
        let without = object(json!({"spec": {"x": 1}}));
        assert_eq!(
            with_live_replicas(&with(json!(2)), &with(json!(7))),
            Some(with(json!(7)))
        );
        assert_eq!(with_live_replicas(&with(json!(2)), &with(json!(2))), None);
        assert_eq!(with_live_replicas(&without, &with(json!(7))), None);
        assert_eq!(with_live_replicas(&with(json!(2)), &without), None);
        // Not rendered any more, and nobody but us has set it: left out, it would be reset.
        for (manager, operation, kept) in [
            ("opm", "Apply", true),
            ("opm", "Update", false),
            ("kube-controller-manager", "Update", false),
        ] {
            let mut live = with(json!(7));
            let entries = json!([{"manager": manager, "operation": operation,
                "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
            live.insert("metadata".to_owned(), json!({ "managedFields": entries }));
            let sent = with_live_replicas(&without, &live);
            assert_eq!(sent, kept.then(|| with(json!(7))), "{manager} {operation}");
        }
    }
}
