//! What a line of the table means.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Steps that share a namespace and saved values.
#[derive(Debug, Deserialize)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// One request. `{ns}`, `{id}` and saved values are filled in everywhere.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Verb, resource (a short name or a path), and name with query.
    #[serde(rename = "do")]
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) body: Option<Value>,
    /// A body that is no JSON.
    #[serde(default)]
    pub(crate) text: Option<String>,
    /// Send the body as it is, without kind and name filled in.
    #[serde(default)]
    pub(crate) raw: bool,
    /// The content type, where it is not the verb's own; `none` sends none.
    #[serde(default, rename = "type")]
    pub(crate) media: Option<String>,
    #[serde(default)]
    pub(crate) accept: Option<String>,
    /// Ask again until this code comes.
    #[serde(default)]
    pub(crate) until: Option<u16>,
    /// Ask again until the answer has this text.
    #[serde(default)]
    pub(crate) until_text: Option<String>,
    /// Values of the answer to keep, as JSON pointers.
    #[serde(default)]
    pub(crate) save: BTreeMap<String, String>,
    /// JSON pointers into the answer that may differ.
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
    /// Compare `status` too; controllers write it at their own pace.
    #[serde(default)]
    pub(crate) status: bool,
    /// `code`: only the status code is compared.
    #[serde(default)]
    pub(crate) compare: Option<String>,
}

/// Short name, apiVersion, kind, collection.
const RESOURCES: &[(&str, &str, &str, &str)] = &[
    (
        "api",
        "apiregistration.k8s.io/v1",
        "APIService",
        "/apis/apiregistration.k8s.io/v1/apiservices",
    ),
    (
        "vap",
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    ),
    ("pv", "v1", "PersistentVolume", "/api/v1/persistentvolumes"),
    (
        "rs",
        "apps/v1",
        "ReplicaSet",
        "/apis/apps/v1/namespaces/{ns}/replicasets",
    ),
    (
        "pc",
        "scheduling.k8s.io/v1",
        "PriorityClass",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
    ),
    (
        "ic",
        "networking.k8s.io/v1",
        "IngressClass",
        "/apis/networking.k8s.io/v1/ingressclasses",
    ),
    (
        "crb",
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ),
    (
        "pt",
        "v1",
        "PodTemplate",
        "/api/v1/namespaces/{ns}/podtemplates",
    ),
    (
        "cm",
        "v1",
        "ConfigMap",
        "/api/v1/namespaces/{ns}/configmaps",
    ),
    ("secret", "v1", "Secret", "/api/v1/namespaces/{ns}/secrets"),
    ("svc", "v1", "Service", "/api/v1/namespaces/{ns}/services"),
    (
        "sa",
        "v1",
        "ServiceAccount",
        "/api/v1/namespaces/{ns}/serviceaccounts",
    ),
    (
        "pvc",
        "v1",
        "PersistentVolumeClaim",
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
    ),
    ("ns", "v1", "Namespace", "/api/v1/namespaces"),
    (
        "deploy",
        "apps/v1",
        "Deployment",
        "/apis/apps/v1/namespaces/{ns}/deployments",
    ),
    (
        "sts",
        "apps/v1",
        "StatefulSet",
        "/apis/apps/v1/namespaces/{ns}/statefulsets",
    ),
    (
        "ds",
        "apps/v1",
        "DaemonSet",
        "/apis/apps/v1/namespaces/{ns}/daemonsets",
    ),
    (
        "job",
        "batch/v1",
        "Job",
        "/apis/batch/v1/namespaces/{ns}/jobs",
    ),
    (
        "cron",
        "batch/v1",
        "CronJob",
        "/apis/batch/v1/namespaces/{ns}/cronjobs",
    ),
    (
        "role",
        "rbac.authorization.k8s.io/v1",
        "Role",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    ),
    (
        "rb",
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
    ),
    (
        "np",
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
    ),
    (
        "ing",
        "networking.k8s.io/v1",
        "Ingress",
        "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
    ),
    (
        "hpa",
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
    ),
    (
        "pdb",
        "policy/v1",
        "PodDisruptionBudget",
        "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    ),
    (
        "lease",
        "coordination.k8s.io/v1",
        "Lease",
        "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    ),
    (
        "sc",
        "storage.k8s.io/v1",
        "StorageClass",
        "/apis/storage.k8s.io/v1/storageclasses",
    ),
    (
        "crd",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ),
];

/// A step as it goes over the wire.
pub(crate) struct Wire {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) media: Option<String>,
    pub(crate) body: Option<String>,
}

impl Step {
    pub(crate) fn wire(&self, values: &BTreeMap<String, String>) -> Wire {
        let mut words = self.run.splitn(3, ' ');
        let verb = words.next().unwrap_or_default();
        let place = words.next().unwrap_or_default();
        let rest = words.next().unwrap_or_default();
        let mut body = self.body.clone();
        let mut path = place.to_string();
        if let Some((_, version, kind, collection)) = RESOURCES.iter().find(|r| r.0 == place) {
            let slash = if rest.is_empty() || rest.starts_with('?') {
                ""
            } else {
                "/"
            };
            path = format!("{collection}{slash}{rest}");
            let name = rest.split(['?', '/']).next().unwrap_or_default();
            if let (true, Some(Value::Object(map))) = (self.completes(verb), &mut body) {
                complete(map, version, kind, name);
            }
        }
        let media = self.media.clone().or_else(|| {
            let media = match verb {
                "APPLY" => "application/apply-patch+yaml",
                "MERGE" => "application/merge-patch+json",
                "JSON" => "application/json-patch+json",
                "STRATEGIC" => "application/strategic-merge-patch+json",
                _ => "application/json",
            };
            (body.is_some() || self.text.is_some()).then(|| media.to_string())
        });
        let media = media.filter(|m| m != "none");
        let method = match verb {
            "GET" => http::Method::GET,
            "POST" => http::Method::POST,
            "PUT" => http::Method::PUT,
            "DELETE" => http::Method::DELETE,
            _ => http::Method::PATCH,
        };
        let body = self.text.clone().or_else(|| body.map(|b| b.to_string()));
        Wire {
            method,
            path: fill(&path, values),
            media,
            body: body.map(|b| fill(&b, values)),
        }
    }

    fn completes(&self, verb: &str) -> bool {
        !self.raw && matches!(verb, "APPLY" | "POST" | "PUT")
    }
}

fn complete(map: &mut Map<String, Value>, version: &str, kind: &str, name: &str) {
    map.entry("apiVersion").or_insert(json!(version));
    map.entry("kind").or_insert(json!(kind));
    if !name.is_empty() {
        let meta = map.entry("metadata").or_insert(json!({}));
        if let Value::Object(meta) = meta {
            meta.entry("name").or_insert(json!(name));
        }
    }
}

fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_string(), |t, (k, v)| {
        t.replace(&format!("{{{k}}}"), v)
    })
}
