//! The defaults that the real server writes into built-in objects.
//!
//! Plain ones are a table of paths and values; the few that depend on the object are functions.
//! A `*` stands for every item of a list. A default is set only where its parent exists.

use serde_json::{Value, json};

use super::Resource;

type Table = &'static [(&'static str, &'static str)];

const POD: Table = &[
    ("restartPolicy", r#""Always""#),
    ("dnsPolicy", r#""ClusterFirst""#),
    ("schedulerName", r#""default-scheduler""#),
    ("terminationGracePeriodSeconds", "30"),
    ("securityContext", "{}"),
    ("volumes.*.configMap.defaultMode", "420"),
    ("volumes.*.secret.defaultMode", "420"),
    ("volumes.*.projected.defaultMode", "420"),
    (
        "volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds",
        "3600",
    ),
    ("volumes.*.downwardAPI.defaultMode", "420"),
    (
        "volumes.*.downwardAPI.items.*.fieldRef.apiVersion",
        r#""v1""#,
    ),
    ("volumes.*.hostPath.type", r#""""#),
    (
        "volumes.*.ephemeral.volumeClaimTemplate.spec.volumeMode",
        r#""Filesystem""#,
    ),
];

const CONTAINER: Table = &[
    ("terminationMessagePath", r#""/dev/termination-log""#),
    ("terminationMessagePolicy", r#""File""#),
    ("ports.*.protocol", r#""TCP""#),
    ("env.*.valueFrom.fieldRef.apiVersion", r#""v1""#),
    ("lifecycle.postStart.httpGet.path", r#""/""#),
    ("lifecycle.postStart.httpGet.scheme", r#""HTTP""#),
    ("lifecycle.preStop.httpGet.path", r#""/""#),
    ("lifecycle.preStop.httpGet.scheme", r#""HTTP""#),
];

const PROBE: Table = &[
    ("timeoutSeconds", "1"),
    ("periodSeconds", "10"),
    ("successThreshold", "1"),
    ("failureThreshold", "3"),
    ("httpGet.path", r#""/""#),
    ("httpGet.scheme", r#""HTTP""#),
    ("grpc.service", r#""""#),
];

const WEBHOOK: Table = &[
    ("webhooks.*.failurePolicy", r#""Fail""#),
    ("webhooks.*.matchPolicy", r#""Equivalent""#),
    ("webhooks.*.namespaceSelector", "{}"),
    ("webhooks.*.objectSelector", "{}"),
    ("webhooks.*.timeoutSeconds", "10"),
    ("webhooks.*.rules.*.scope", r#""*""#),
    ("webhooks.*.clientConfig.service.port", "443"),
];

/// Group, kind, table.
const KINDS: &[(&str, &str, Table)] = &[
    (
        "apiregistration.k8s.io",
        "APIService",
        &[("spec.service.port", "443")],
    ),
    (
        "apps",
        "Deployment",
        &[
            ("spec.replicas", "1"),
            ("spec.revisionHistoryLimit", "10"),
            ("spec.progressDeadlineSeconds", "600"),
            ("spec.strategy.type", r#""RollingUpdate""#),
        ],
    ),
    (
        "apps",
        "StatefulSet",
        &[
            ("spec.replicas", "1"),
            ("spec.revisionHistoryLimit", "10"),
            ("spec.podManagementPolicy", r#""OrderedReady""#),
            ("spec.updateStrategy.type", r#""RollingUpdate""#),
            ("spec.persistentVolumeClaimRetentionPolicy", "{}"),
            (
                "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
                r#""Retain""#,
            ),
            (
                "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
                r#""Retain""#,
            ),
            (
                "spec.volumeClaimTemplates.*.spec.volumeMode",
                r#""Filesystem""#,
            ),
            ("spec.volumeClaimTemplates.*.status.phase", r#""Pending""#),
            ("spec.volumeClaimTemplates.*.apiVersion", r#""v1""#),
            (
                "spec.volumeClaimTemplates.*.kind",
                r#""PersistentVolumeClaim""#,
            ),
        ],
    ),
    (
        "apps",
        "DaemonSet",
        &[
            ("spec.revisionHistoryLimit", "10"),
            ("spec.updateStrategy.type", r#""RollingUpdate""#),
        ],
    ),
    ("apps", "ReplicaSet", &[("spec.replicas", "1")]),
    ("", "ReplicationController", &[("spec.replicas", "1")]),
    (
        "batch",
        "Job",
        &[
            ("spec.parallelism", "1"),
            ("spec.backoffLimit", "6"),
            ("spec.completionMode", r#""NonIndexed""#),
            ("spec.suspend", "false"),
            ("spec.manualSelector", "false"),
        ],
    ),
    (
        "batch",
        "CronJob",
        &[
            ("spec.concurrencyPolicy", r#""Allow""#),
            ("spec.suspend", "false"),
            ("spec.successfulJobsHistoryLimit", "3"),
            ("spec.failedJobsHistoryLimit", "1"),
        ],
    ),
    (
        "",
        "Service",
        &[
            ("spec.type", r#""ClusterIP""#),
            ("spec.sessionAffinity", r#""None""#),
            ("spec.ports.*.protocol", r#""TCP""#),
        ],
    ),
    ("", "Secret", &[("type", r#""Opaque""#)]),
    (
        "",
        "PersistentVolumeClaim",
        &[
            ("spec.volumeMode", r#""Filesystem""#),
            ("status.phase", r#""Pending""#),
        ],
    ),
    (
        "",
        "PersistentVolume",
        &[
            ("spec.volumeMode", r#""Filesystem""#),
            ("spec.persistentVolumeReclaimPolicy", r#""Retain""#),
            ("spec.hostPath.type", r#""""#),
            ("status.phase", r#""Pending""#),
        ],
    ),
    ("", "Namespace", &[("status.phase", r#""Active""#)]),
    ("", "Pod", &[("spec.enableServiceLinks", "true")]),
    (
        "",
        "Endpoints",
        &[("subsets.*.ports.*.protocol", r#""TCP""#)],
    ),
    (
        "discovery.k8s.io",
        "EndpointSlice",
        &[("ports.*.name", r#""""#), ("ports.*.protocol", r#""TCP""#)],
    ),
    (
        "storage.k8s.io",
        "StorageClass",
        &[
            ("reclaimPolicy", r#""Delete""#),
            ("volumeBindingMode", r#""Immediate""#),
        ],
    ),
    (
        "networking.k8s.io",
        "NetworkPolicy",
        &[
            ("spec.ingress.*.ports.*.protocol", r#""TCP""#),
            ("spec.egress.*.ports.*.protocol", r#""TCP""#),
        ],
    ),
    (
        "networking.k8s.io",
        "IngressClass",
        &[("spec.parameters.scope", r#""Cluster""#)],
    ),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        &[("spec.minReplicas", "1")],
    ),
    (
        "scheduling.k8s.io",
        "PriorityClass",
        &[("preemptionPolicy", r#""PreemptLowerPriority""#)],
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        WEBHOOK,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        WEBHOOK,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &[("webhooks.*.reinvocationPolicy", r#""Never""#)],
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[
            ("spec.conversion", r#"{"strategy":"None"}"#),
            ("spec.conversion.webhook.clientConfig.service.port", "443"),
        ],
    ),
];

/// Where a kind keeps its pod specs.
const POD_SPECS: &[(&str, &str, &str)] = &[
    ("", "Pod", "spec"),
    ("", "PodTemplate", "template.spec"),
    ("", "ReplicationController", "spec.template.spec"),
    ("apps", "Deployment", "spec.template.spec"),
    ("apps", "StatefulSet", "spec.template.spec"),
    ("apps", "DaemonSet", "spec.template.spec"),
    ("apps", "ReplicaSet", "spec.template.spec"),
    ("batch", "Job", "spec.template.spec"),
    ("batch", "CronJob", "spec.jobTemplate.spec.template.spec"),
];

/// Sets every default of the object's kind.
pub(crate) fn set(resource: &Resource, object: &mut Value) {
    for (group, kind, table) in KINDS {
        if resource.is(group, kind) {
            fill(object, table);
        }
    }
    for (group, kind, path) in POD_SPECS {
        if resource.is(group, kind)
            && let Some(pod) = object.pointer_mut(&format!("/{}", path.replace('.', "/")))
        {
            set_pod(pod);
        }
    }
    if resource.is("", "Pod")
        && let Some(pod) = object.get_mut("spec")
    {
        requests_from_limits(pod);
    }
    super::strategy::set_dependent_defaults(resource, object);
}

fn fill(object: &mut Value, table: Table) {
    for (path, value) in table {
        let steps: Vec<_> = path.split('.').collect();
        if let Ok(value) = serde_json::from_str(value) {
            place(object, &steps, &value);
        }
    }
}

fn place(target: &mut Value, steps: &[&str], value: &Value) {
    match (steps, target) {
        (["*", rest @ ..], Value::Array(items)) => {
            items.iter_mut().for_each(|item| place(item, rest, value));
        }
        ([last], Value::Object(map)) => {
            map.entry(*last).or_insert_with(|| value.clone());
        }
        ([first, rest @ ..], Value::Object(map)) => {
            if let Some(below) = map.get_mut(*first) {
                place(below, rest, value);
            }
        }
        _ => {}
    }
}

fn set_pod(pod: &mut Value) {
    fill(pod, POD);
    for volume in pod
        .get_mut("volumes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(map) = volume
            && map.len() == 1
            && map.contains_key("name")
        {
            map.insert("emptyDir".into(), json!({}));
        }
    }
    for list in ["containers", "initContainers"] {
        for container in pod
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            set_container(container);
        }
    }
    if let Some(account) = pod.get("serviceAccountName").and_then(Value::as_str) {
        let account = json!(account);
        if let Value::Object(map) = pod {
            map.entry("serviceAccount").or_insert(account);
        }
    }
}

fn set_container(container: &mut Value) {
    fill(container, CONTAINER);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe) {
            fill(probe, PROBE);
        }
    }
    let image = container["image"].as_str().unwrap_or_default().to_string();
    let Value::Object(map) = container else {
        return;
    };
    if !image.is_empty() || !map.contains_key("imagePullPolicy") {
        let policy = if pulls_always(&image) {
            "Always"
        } else {
            "IfNotPresent"
        };
        map.entry("imagePullPolicy").or_insert(json!(policy));
    }
}

/// What a pod asks for at least is what it may have at most. Templates are left as they are.
fn requests_from_limits(pod: &mut Value) {
    let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let limits = container["resources"]["limits"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        if limits.is_empty() {
            continue;
        }
        let mut requests = container["resources"]["requests"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
        container["resources"]["requests"] = Value::Object(requests);
    }
}

/// An image without a tag, or with `latest`, is pulled every time.
fn pulls_always(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => true,
    }
}
