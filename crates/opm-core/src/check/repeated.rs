//! Items of a list that have the same merge key. The server takes no such object in an apply, and
//! says so only when it is sent.
//!
//! Only lists of built-in kinds are looked at, whose keys are known.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::diff::{PathStep, path};
use crate::identity::GroupKind;
use crate::manifest::Manifest;

/// The keys of a list's items, with what stands in for a key that is left out.
type ItemKeys = &'static [(&'static str, Option<&'static str>)];

/// The lists of one place in an object, by their field, and their keys.
type KeyedLists = &'static [(&'static str, ItemKeys)];

const NAME: ItemKeys = &[("name", None)];

/// The lists of a pod's specification.
const OF_POD: KeyedLists = &[
    ("containers", NAME),
    ("initContainers", NAME),
    ("ephemeralContainers", NAME),
    ("volumes", NAME),
    ("imagePullSecrets", NAME),
    ("hostAliases", &[("ip", None)]),
    (
        "topologySpreadConstraints",
        &[("topologyKey", None), ("whenUnsatisfiable", None)],
    ),
];

/// The lists of a container.
const OF_CONTAINER: KeyedLists = &[
    ("env", NAME),
    (
        "ports",
        &[("containerPort", None), ("protocol", Some("TCP"))],
    ),
    ("volumeMounts", &[("mountPath", None)]),
    ("volumeDevices", &[("devicePath", None)]),
];

/// The items that a rendered object has more than once, each as its path.
pub fn repeated_items(manifest: &Manifest) -> Vec<String> {
    let kind = &manifest.identity().group_kind;
    let object = manifest.object();
    let mut found = Repeated::default();
    if let Some(at) = pod_spec(kind) {
        found.below(&object, at, |found, spec| {
            found.lists(spec, OF_POD);
            for containers in ["containers", "initContainers", "ephemeralContainers"] {
                found.each(spec, containers, |found, container| {
                    found.lists(container, OF_CONTAINER);
                });
            }
        });
    }
    for (group, of_kind, at, lists) in OTHERS {
        if kind.is(group, of_kind) {
            found.below(&object, at, |found, here| found.lists(here, lists));
        }
    }
    found.paths
}

/// Where a kind has its pod's specification.
fn pod_spec(kind: &GroupKind) -> Option<&'static [&'static str]> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => Some(&["spec"]),
        ("", "PodTemplate") => Some(&["template", "spec"]),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job") => Some(&["spec", "template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}

/// Lists of other kinds: group, kind, where they are, and their keys.
const OTHERS: &[(&str, &str, &[&str], KeyedLists)] = &[
    (
        "",
        "Service",
        &["spec"],
        &[("ports", &[("port", None), ("protocol", Some("TCP"))])],
    ),
    ("", "ServiceAccount", &[], &[("secrets", NAME)]),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        &[],
        &[("webhooks", NAME)],
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &[],
        &[("webhooks", NAME)],
    ),
];

#[derive(Default)]
struct Repeated<'a> {
    trail: Vec<PathStep<'a>>,
    paths: Vec<String>,
}

impl<'a> Repeated<'a> {
    /// Goes into a mapping, if it is there.
    fn below(
        &mut self,
        object: &'a Map<String, Value>,
        at: &'static [&'static str],
        visit: impl FnOnce(&mut Self, &'a Map<String, Value>),
    ) {
        let mut here = object;
        for field in at {
            match here.get(*field).and_then(Value::as_object) {
                Some(below) => here = below,
                None => return,
            }
        }
        let before = self.trail.len();
        self.trail
            .extend(at.iter().map(|field| PathStep::Field(field)));
        visit(self, here);
        self.trail.truncate(before);
    }

    /// Goes into every item of a list.
    fn each(
        &mut self,
        object: &'a Map<String, Value>,
        list: &'static str,
        mut visit: impl FnMut(&mut Self, &'a Map<String, Value>),
    ) {
        let items = object.get(list).and_then(Value::as_array);
        for item in items.into_iter().flatten().filter_map(Value::as_object) {
            let name = item.get("name").unwrap_or(&Value::Null);
            self.trail.push(PathStep::Field(list));
            self.trail.push(PathStep::Item(format!("name={name}")));
            visit(self, item);
            self.trail.truncate(self.trail.len() - 2);
        }
    }

    fn lists(&mut self, object: &'a Map<String, Value>, lists: KeyedLists) {
        for (list, keys) in lists {
            let items = object.get(*list).and_then(Value::as_array);
            let mut seen = BTreeSet::new();
            for label in items
                .into_iter()
                .flatten()
                .filter_map(|item| label(item, keys))
            {
                if seen.insert(label.clone()) {
                    continue;
                }
                self.trail.push(PathStep::Field(list));
                self.trail.push(PathStep::Item(label));
                let at = path(&self.trail);
                if !self.paths.contains(&at) {
                    self.paths.push(at);
                }
                self.trail.truncate(self.trail.len() - 2);
            }
        }
    }
}

/// The keys of an item; none for one that lacks one, which the server refuses for that.
fn label(item: &Value, keys: ItemKeys) -> Option<String> {
    let part = |(key, default): &(&str, Option<&str>)| match (item.get(key), default) {
        (Some(Value::Null) | None, Some(default)) => Some(format!("{key}={default:?}")),
        (Some(value @ (Value::String(_) | Value::Number(_))), _) => Some(format!("{key}={value}")),
        _ => None,
    };
    let parts: Option<Vec<String>> = keys.iter().map(part).collect();
    parts.map(|parts| parts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(object: Value) -> Vec<String> {
        repeated_items(&Manifest::parse(object).unwrap())
    }

    fn workload(kind: &str, container: &Value) -> Value {
        let pod = json!({"spec": {"containers": [container]}});
        let spec = match kind {
            "CronJob" => json!({"jobTemplate": {"spec": {"template": pod}}}),
            _ => json!({"template": pod}),
        };
        let version = match kind {
            "Job" | "CronJob" => "batch/v1",
            _ => "apps/v1",
        };
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn items_that_stand_in_a_list_twice() {
        let twice = json!({"name": "c", "env": [
            {"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}, {"name": "A"}]});
        let path = r#"spec.template.spec.containers[name="c"].env[name="A"]"#;
        for kind in ["Deployment", "StatefulSet", "DaemonSet", "Job"] {
            assert_eq!(found(workload(kind, &twice)), [path], "{kind}");
        }
        assert_eq!(found(workload("CronJob", &twice)).len(), 1);

        let ports = |ports: Value| {
            found(
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                "spec": {"ports": ports}}),
            )
        };
        let tcp_twice = json!([{"port": 80}, {"port": 80, "protocol": "TCP"}]);
        assert_eq!(ports(tcp_twice), [r#"spec.ports[port=80,protocol="TCP"]"#]);
        let both = json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]);
        assert!(ports(both).is_empty());
        assert!(ports(json!("not a list")).is_empty());

        // Nobody knows the keys of somebody else's lists.
        let custom = json!({"apiVersion": "example.com/v1", "kind": "Service",
            "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}, {"port": 1}]}});
        assert!(found(custom).is_empty());
    }
}
