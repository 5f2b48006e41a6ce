//! The fields that are known to be immutable, by group and kind, for warnings before an apply.
//!
//! What the new object does not state is left to the server, which keeps or defaults it; so only
//! stated fields are compared, and lists and mappings that the server fills with defaults only
//! in what is stated of them.

use serde_json::{Map, Value};

use crate::diff::{PathStep, holds_quantity, same_quantity};
use crate::identity::GroupKind;

/// How a stated field is compared with the live one.
#[derive(Clone, Copy)]
enum ImmutableRule {
    /// The two must be equal.
    Equal,
    /// Everything that is stated must be there and equal; the server may have added to it.
    Stated,
    /// Equal, but either may be empty: then the server chooses.
    UnlessEmpty,
    /// The first items must be equal.
    First,
}

use ImmutableRule::{Equal, First, Stated, UnlessEmpty};

/// The immutable fields of an object that differ between what is there and what would be
/// applied, as paths. An object whose `immutable` is set counts as a whole.
pub fn changed_immutable_fields(
    kind: &GroupKind,
    live: &Map<String, Value>,
    desired: &Map<String, Value>,
) -> Vec<&'static str> {
    if is_one_of(kind, "", &["ConfigMap", "Secret"]) && live.get("immutable") == Some(&true.into())
    {
        return frozen_fields(live, desired);
    }
    fields(kind)
        .iter()
        .filter(|(path, rule)| differs(path, lookup(live, path), lookup(desired, path), *rule))
        .map(|(path, _)| *path)
        .collect()
}

fn fields(kind: &GroupKind) -> &'static [(&'static str, ImmutableRule)] {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => &[("spec.selector", Equal)],
        ("apps", "StatefulSet") => &[
            ("spec.selector", Equal),
            ("spec.volumeClaimTemplates", Stated),
            ("spec.podManagementPolicy", Equal),
            ("spec.serviceName", Equal),
        ],
        ("batch", "Job") => &[
            ("spec.selector", Stated),
            ("spec.template", Stated),
            ("spec.completions", Equal),
            ("spec.completionMode", Equal),
        ],
        // RFC-0001 lists `spec.ipFamilyPolicy` too; the server (1.34) lets it change.
        ("", "Service") => &[
            ("spec.clusterIP", UnlessEmpty),
            ("spec.clusterIPs", First),
            ("spec.ipFamilies", First),
        ],
        ("", "PersistentVolumeClaim") => &[
            ("spec.storageClassName", Equal),
            ("spec.accessModes", Equal),
            ("spec.volumeMode", Equal),
            ("spec.volumeName", UnlessEmpty),
        ],
        ("", "PersistentVolume") => &[("spec.volumeMode", Equal)],
        ("", "Secret") => &[("type", Equal)],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            &[("roleRef", Stated)]
        }
        ("storage.k8s.io", "StorageClass") => &[
            ("provisioner", Equal),
            ("parameters", Equal),
            ("reclaimPolicy", Equal),
            ("volumeBindingMode", Equal),
        ],
        ("scheduling.k8s.io", "PriorityClass") => &[("value", Equal)],
        ("networking.k8s.io", "IngressClass") => &[("spec.controller", Equal)],
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &[
            ("spec.group", Equal),
            ("spec.scope", Equal),
            ("spec.names.kind", Equal),
            ("spec.names.plural", Equal),
        ],
        _ => &[],
    }
}

/// Whether a field is known to be immutable.
pub(crate) fn is_immutable(kind: &GroupKind, path: &str) -> bool {
    fields(kind).iter().any(|(field, _)| *field == path)
}

fn is_one_of(kind: &GroupKind, group: &str, kinds: &[&str]) -> bool {
    kind.group == group && kinds.contains(&kind.kind.as_str())
}

/// The fields of a ConfigMap or Secret that was made immutable: all of its data, and the mark.
fn frozen_fields(live: &Map<String, Value>, desired: &Map<String, Value>) -> Vec<&'static str> {
    let absent = Value::Object(Map::new());
    let data = ["data", "binaryData"].into_iter().filter(|field| {
        let of = |object: &Map<String, Value>| object.get(*field).unwrap_or(&absent).clone();
        of(live) != of(desired)
    });
    let mark = desired.get("immutable") != Some(&true.into());
    let kind = differs("type", live.get("type"), desired.get("type"), Equal);
    data.chain(mark.then_some("immutable"))
        .chain(kind.then_some("type"))
        .collect()
}

fn lookup<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut segments = path.split('.');
    let first = object.get(segments.next()?)?;
    segments.try_fold(first, |value, segment| value.get(segment))
}

/// Whether the stated value of a field is another than the live one. An absent live field is one
/// that may still be set.
fn differs(path: &str, live: Option<&Value>, desired: Option<&Value>, rule: ImmutableRule) -> bool {
    let (Some(live), Some(desired)) = (live, desired) else {
        return false;
    };
    let empty = |value: &Value| value.as_str() == Some("") || value.is_null();
    match rule {
        Equal => live != desired,
        Stated => !holds(
            &mut path.split('.').map(PathStep::Field).collect(),
            live,
            desired,
        ),
        UnlessEmpty => !empty(live) && !empty(desired) && live != desired,
        First => match (live.get(0), desired.get(0)) {
            (Some(live), Some(desired)) => live != desired,
            _ => false,
        },
    }
}

/// Whether `live` holds everything that `desired` states, quantities by value.
fn holds<'a>(trail: &mut Vec<PathStep<'a>>, live: &Value, desired: &'a Value) -> bool {
    let mut inner = |step: PathStep<'a>, live: Option<&Value>, desired: &'a Value| {
        trail.push(step);
        let holds = live.map_or(desired.is_null(), |live| holds(trail, live, desired));
        trail.pop();
        holds
    };
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => desired
            .iter()
            .all(|(key, value)| inner(PathStep::Field(key), live.get(key), value)),
        (Value::Array(live), Value::Array(desired)) => {
            live.len() == desired.len()
                && desired
                    .iter()
                    .enumerate()
                    .all(|(at, value)| inner(PathStep::Item(at.to_string()), live.get(at), value))
        }
        _ => live == desired || (holds_quantity(trail) && same_quantity(live, desired)),
    }
}
