//! The objects that the decision is tried on, and what is done to them.

use serde_json::{Map, Value, json};

/// Chance, by seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, case: usize) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (case as u64 + 1));
        for _ in 0..8 {
            let _ = dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The group of the kind that the test defines: one group for all namespaces.
const GROUP: &str = "effect.example.com";

/// A kind with every type of list, defaults, values of any form, and two versions.
pub(crate) fn definition() -> Value {
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"},
        "protocol": {"type": "string", "default": "TCP"},
        "port": {"x-kubernetes-int-or-string": true},
        "inner": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {
            "atomic": {"type": "array", "items": item},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
            "keyed": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "protocol"], "items": item},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic",
                "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "defaulted": {"type": "object", "default": {}, "properties": {
                "on": {"type": "boolean", "default": true}, "count": {"type": "integer"}}},
            "maybe": {"type": "string", "nullable": true},
            "amount": {"x-kubernetes-int-or-string": true},
            "ratio": {"type": "number"}}}}}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version("v1", true), version("v2", false)]}})
}

fn pod() -> Value {
    json!({"metadata": {"labels": {"app": "x"}, "creationTimestamp": null},
        "spec": {"terminationGracePeriodSeconds": 0, "hostNetwork": false, "securityContext": {},
            "dnsPolicy": null, "affinity": null,
            "nodeSelector": {"no": "where"},
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "volumes": [{"name": "tmp", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}],
            "containers": [
                {"name": "main", "image": "example.com/main:1", "args": ["a", "b"],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}],
                    "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
                    "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"},
                        "requests": {"cpu": 0.5}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "initialDelaySeconds": 0,
                        "periodSeconds": null},
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]},
                {"name": "side", "image": "example.com/side:1", "env": null, "resources": null}]}})
}

fn job() -> Value {
    let mut pod = pod();
    pod["spec"]["restartPolicy"] = json!("Never");
    json!({"suspend": true, "backoffLimit": 0, "template": pod})
}

/// What is applied: the plural, and the object without its name.
pub(crate) fn templates() -> Vec<(&'static str, Value)> {
    let selector = json!({"matchLabels": {"app": "x"}});
    let all = [
        (
            "configmaps",
            "v1",
            "ConfigMap",
            json!({"data": {"a": "1", "b": ""}, "binaryData": {"c": "AAA="}}),
        ),
        (
            "secrets",
            "v1",
            "Secret",
            json!({"type": "Opaque", "data": {"a": "MQ==", "b": ""}}),
        ),
        (
            "services",
            "v1",
            "Service",
            json!({"spec": {"selector": {"app": "x"}, "ports": [
            {"name": "http", "port": 80, "targetPort": "http"}, {"name": "dns", "port": 53, "protocol": "UDP"}]}}),
        ),
        (
            "serviceaccounts",
            "v1",
            "ServiceAccount",
            json!({"automountServiceAccountToken": false,
            "imagePullSecrets": [{"name": "pull"}]}),
        ),
        (
            "persistentvolumeclaims",
            "v1",
            "PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "storageClassName": "", "resources": {"requests": {"storage": "1024Mi"}}}}),
        ),
        (
            "limitranges",
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "PersistentVolumeClaim",
            "max": {"storage": "2000Gi"}}]}}),
        ),
        (
            "resourcequotas",
            "v1",
            "ResourceQuota",
            json!({"spec": {"hard": {"pods": "100000", "limits.cpu": "1000000m"}}}),
        ),
        (
            "podtemplates",
            "v1",
            "PodTemplate",
            json!({"template": pod()}),
        ),
        (
            "replicationcontrollers",
            "v1",
            "ReplicationController",
            json!({"spec": {"replicas": 0,
            "selector": {"app": "x"}, "template": pod()}}),
        ),
        (
            "deployments",
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": null, "paused": false,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "selector": selector, "template": pod()}}),
        ),
        (
            "statefulsets",
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"replicas": 0, "serviceName": "x",
            "selector": selector, "template": pod()}}),
        ),
        (
            "daemonsets",
            "apps/v1",
            "DaemonSet",
            json!({"spec": {"selector": selector, "template": pod()}}),
        ),
        (
            "replicasets",
            "apps/v1",
            "ReplicaSet",
            json!({"spec": {"replicas": 0, "minReadySeconds": 0,
            "selector": selector, "template": pod()}}),
        ),
        ("jobs", "batch/v1", "Job", json!({"spec": job()})),
        (
            "cronjobs",
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "0 0 1 1 *", "suspend": true,
            "jobTemplate": {"spec": job()}}}),
        ),
        (
            "ingresses",
            "networking.k8s.io/v1",
            "Ingress",
            json!({"spec": {"tls": [{"hosts": ["b", "a"], "secretName": "t"}],
            "rules": [{"host": "a", "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "x", "port": {"number": 80}}}}]}}]}}),
        ),
        (
            "networkpolicies",
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"podSelector": {},
            "policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}]}}),
        ),
        (
            "networkpolicies",
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}},
            "policyTypes": ["Ingress"], "ingress": []}}),
        ),
        (
            "roles",
            "rbac.authorization.k8s.io/v1",
            "Role",
            json!({"rules": [{"apiGroups": [""],
            "resources": ["pods", "secrets"], "verbs": ["get", "list"]}]}),
        ),
        (
            "rolebindings",
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"},
                {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}),
        ),
        (
            "horizontalpodautoscalers",
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 3,
            "minReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "AverageValue", "averageValue": "1000m"}}}]}}),
        ),
        (
            "poddisruptionbudgets",
            "policy/v1",
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": "50%", "selector": selector}}),
        ),
        (
            "leases",
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {"holderIdentity": "me", "leaseDurationSeconds": 10,
            "renewTime": "2026-01-01T00:00:00.000000Z"}}),
        ),
        (
            "endpointslices",
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({"addressType": "IPv4",
            "ports": [{"name": "", "port": 80}], "endpoints": [{"addresses": ["10.1.1.1"]}]}),
        ),
        (
            "csistoragecapacities",
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            json!({"storageClassName": "x", "capacity": "1024Mi"}),
        ),
    ];
    let widget = json!({"spec": {"atomic": [{"name": "a"}, {"name": "b", "port": "http"}],
        "set": ["b", "a"], "numbers": [2, 1], "keyed": [{"name": "x", "port": 80, "inner": ["1", "2"]},
            {"name": "x", "protocol": "UDP"}, {"name": "y"}],
        "whole": {"a": "1"}, "open": {"deep": {"list": [1, {"a": 1}], "none": {}}, "empty": []},
        "defaulted": {"count": 0}, "maybe": "x", "amount": "1000m", "ratio": 1.0}});
    let widgets = ["v1", "v2"].map(|version| {
        (
            "widgets",
            format!("{GROUP}/{version}"),
            "Widget",
            widget.clone(),
        )
    });
    let all = all
        .into_iter()
        .map(|(plural, version, kind, rest)| (plural, version.to_owned(), kind, rest));
    let whole = all.chain(widgets).map(|(plural, version, kind, rest)| {
        let mut object = rest;
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"labels": {"app": "x"}, "annotations": {"note": "1"}});
        (plural, object)
    });
    whole.collect()
}

/// What may be edited: everything but which object it is.
fn places(object: &Value) -> Vec<String> {
    fn below(value: &Value, at: &str, places: &mut Vec<String>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, value)| (at.to_string(), value))
                .collect(),
            _ => Vec::new(),
        };
        for (key, child) in children {
            let place = format!("{at}/{key}");
            let identity = [
                "/apiVersion",
                "/kind",
                "/metadata",
                "/metadata/name",
                "/metadata/namespace",
            ];
            if !identity.contains(&place.as_str()) {
                places.push(place.clone());
            }
            below(child, &place, places);
        }
    }
    let mut places = Vec::new();
    below(object, "", &mut places);
    places
}

/// The same with so many edits: values, fields and items changed, removed, added or moved, nulls,
/// empty mappings and lists, other words for the same, another version.
pub(crate) fn edited(object: &Value, dice: &mut Dice, edits: usize) -> Value {
    let mut object = object.clone();
    for _ in 0..edits {
        let places = places(&object);
        let place = dice.pick(&places).clone();
        let (parent, key) = place.rsplit_once('/').expect("a place");
        let new = another(object.pointer(&place).expect("it is there"), dice);
        match object.pointer_mut(parent).expect("it is there") {
            Value::Object(fields) => edit_field(
                fields,
                &key.replace("~1", "/").replace("~0", "~"),
                new,
                dice,
            ),
            Value::Array(items) => {
                let at: usize = key.parse().expect("a number");
                match dice.below(4) {
                    0 => drop(items.remove(at)),
                    1 => items.insert(at, new),
                    2 => items.reverse(),
                    _ => items[at] = new,
                }
            }
            _ => {}
        }
        if object["kind"] == "Widget" && dice.below(8) == 0 {
            object["apiVersion"] = json!(format!("{GROUP}/v{}", 1 + dice.below(2)));
        }
        if object["kind"] == "Secret" && dice.below(4) == 0 {
            object["stringData"] = json!({"a": "1"});
        }
    }
    object
}

fn edit_field(fields: &mut Map<String, Value>, key: &str, new: Value, dice: &mut Dice) {
    match dice.below(5) {
        0 => drop(fields.remove(key)),
        1 => drop(fields.insert(format!("{key}x"), new)),
        _ => drop(fields.insert(key.to_owned(), new)),
    }
}

fn another(value: &Value, dice: &mut Dice) -> Value {
    match (dice.below(10), value) {
        (0, _) => Value::Null,
        (1, _) => json!({}),
        (2, _) => json!([]),
        (_, Value::Bool(on)) => json!(!on),
        (3, Value::Number(number)) => json!(number.to_string()),
        (4, Value::Number(number)) => json!(number.as_f64()),
        (_, Value::Number(number)) => json!(number.as_i64().unwrap_or(0) + 1),
        (3, Value::String(_)) => json!(""),
        (4, Value::String(text)) if text.ends_with("000m") => json!(text.trim_end_matches("000m")),
        (5, Value::String(text)) if text == "1024Mi" => json!("1Gi"),
        (_, Value::String(text)) => json!(format!("{text}1")),
        (_, other) => other.clone(),
    }
}

/// What somebody else writes: fields that were applied, fields that were not, and status.
pub(crate) fn foreign(object: &Value, dice: &mut Dice) -> (&'static str, Value) {
    let manager = *dice.pick(&["kubectl-edit", "kubectl-patch", "opm", "controller"]);
    if dice.below(4) == 0 {
        return (
            manager,
            json!({"metadata": {"annotations": {"theirs": "1"}}}),
        );
    }
    let places = places(object);
    let fields: Vec<&String> = places
        .iter()
        .filter(|place| !place.split('/').any(|key| key.parse::<usize>().is_ok()))
        .collect();
    let place = (*dice.pick(&fields)).clone();
    let mut value = match dice.below(3) {
        0 => object.pointer(&place).cloned().expect("it is there"),
        _ => another(object.pointer(&place).expect("it is there"), dice),
    };
    for key in place
        .split('/')
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        value = json!({key.replace("~1", "/").replace("~0", "~"): value});
    }
    (manager, value)
}
