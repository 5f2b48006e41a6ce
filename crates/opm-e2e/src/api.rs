//! Plain requests to the cluster under test, past everything that `opm` is made of.

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

/// Where the kinds that scenarios use live: kind, API root, plural, namespaced.
const KINDS: &[(&str, &str, &str, bool)] = &[
    ("ConfigMap", "/api/v1", "configmaps", true),
    ("Event", "/api/v1", "events", true),
    ("Pod", "/api/v1", "pods", true),
    ("Secret", "/api/v1", "secrets", true),
    ("Service", "/api/v1", "services", true),
    ("ServiceAccount", "/api/v1", "serviceaccounts", true),
    (
        "PersistentVolumeClaim",
        "/api/v1",
        "persistentvolumeclaims",
        true,
    ),
    ("Namespace", "/api/v1", "namespaces", false),
    ("Deployment", "/apis/apps/v1", "deployments", true),
    ("StatefulSet", "/apis/apps/v1", "statefulsets", true),
    ("DaemonSet", "/apis/apps/v1", "daemonsets", true),
    ("Job", "/apis/batch/v1", "jobs", true),
    ("CronJob", "/apis/batch/v1", "cronjobs", true),
    (
        "NetworkPolicy",
        "/apis/networking.k8s.io/v1",
        "networkpolicies",
        true,
    ),
    (
        "ValidatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        false,
    ),
    (
        "PodDisruptionBudget",
        "/apis/policy/v1",
        "poddisruptionbudgets",
        true,
    ),
    ("Role", "/apis/rbac.authorization.k8s.io/v1", "roles", true),
    (
        "RoleBinding",
        "/apis/rbac.authorization.k8s.io/v1",
        "rolebindings",
        true,
    ),
    ("Ingress", "/apis/networking.k8s.io/v1", "ingresses", true),
    (
        "HorizontalPodAutoscaler",
        "/apis/autoscaling/v2",
        "horizontalpodautoscalers",
        true,
    ),
    (
        "ClusterRole",
        "/apis/rbac.authorization.k8s.io/v1",
        "clusterroles",
        false,
    ),
    (
        "CustomResourceDefinition",
        "/apis/apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        false,
    ),
];

/// The API of the cluster under test.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
}

impl Api {
    /// Over any client.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Sends one request, and returns status and body.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json")
            .body(Body::from(bytes.into_bytes()))
            .unwrap();
        let response = self
            .client
            .send(request)
            .await
            .expect("the cluster under test answers");
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (
            status,
            serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        )
    }

    /// Reads one object by its path.
    pub async fn get(&self, path: &str) -> Option<Value> {
        let (status, body) = self.send(Method::GET, path, "application/json", None).await;
        match status {
            200 => Some(body),
            404 => None,
            _ => panic!("GET {path}: {status} {body}"),
        }
    }

    /// Creates an object as somebody else would.
    pub async fn create(&self, namespace: &str, object: &Value) -> Value {
        let path = collection(object["kind"].as_str().unwrap(), Some(namespace));
        let (status, body) = self
            .send(Method::POST, &path, "application/json", Some(object))
            .await;
        assert_eq!(status, 201, "POST {path}: {body}");
        body
    }

    /// Creates an object as a tool of this name does that knows no server-side apply.
    pub async fn create_by(&self, manager: &str, namespace: &str, object: &Value) -> Value {
        let path = collection(object["kind"].as_str().unwrap(), Some(namespace));
        let path = format!("{path}?fieldManager={manager}");
        let (status, body) = self
            .send(Method::POST, &path, "application/json", Some(object))
            .await;
        assert_eq!(status, 201, "POST {path}: {body}");
        body
    }

    /// Applies an object on the server as a tool of this name does.
    pub async fn apply_by(&self, manager: &str, path: &str, object: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let apply = "application/apply-patch+yaml";
        let (status, body) = self.send(Method::PATCH, &path, apply, Some(object)).await;
        assert!(matches!(status, 200 | 201), "APPLY {path}: {status} {body}");
        body
    }

    /// Changes an object as somebody else would.
    pub async fn merge(&self, path: &str, patch: Value) -> Value {
        let patch_type = "application/merge-patch+json";
        let (status, body) = self
            .send(Method::PATCH, path, patch_type, Some(&patch))
            .await;
        assert_eq!(status, 200, "PATCH {path}: {body}");
        body
    }

    /// Deletes an object; that it is gone already is fine.
    pub async fn delete(&self, path: &str) {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let (status, body) = self
            .send(Method::DELETE, path, "application/json", Some(&options))
            .await;
        assert!(
            matches!(status, 200 | 202 | 404),
            "DELETE {path}: {status} {body}"
        );
    }

    /// `Kind/name` (with `namespace:` in front if it is not the expected one) of everything that
    /// carries this label, in the kinds that scenarios use, Secrets of `opm` itself left out.
    pub async fn labelled(&self, label: &str, value: &str, home: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (kind, root, plural, _) in KINDS {
            let path = format!("{root}/{plural}?labelSelector={label}%3D{value}");
            let list = self.get(&path).await.expect("built-in kinds are served");
            for item in list["items"].as_array().unwrap() {
                if !item["metadata"]["labels"]["opmodel.dev/component"].is_null() {
                    continue;
                }
                found.push(spelled(kind, item, home));
            }
        }
        found.sort();
        found
    }
}

fn spelled(kind: &str, item: &Value, home: &str) -> String {
    let name = item["metadata"]["name"].as_str().unwrap();
    match item["metadata"]["namespace"].as_str() {
        Some(namespace) if namespace != home => format!("{namespace}:{kind}/{name}"),
        _ => format!("{kind}/{name}"),
    }
}

/// The path of the objects of a kind.
pub fn collection(kind: &str, namespace: Option<&str>) -> String {
    let (_, root, plural, namespaced) = KINDS
        .iter()
        .find(|(known, ..)| *known == kind)
        .unwrap_or_else(|| panic!("tell KINDS where {kind} lives"));
    match namespace {
        Some(namespace) if *namespaced => format!("{root}/namespaces/{namespace}/{plural}"),
        _ => format!("{root}/{plural}"),
    }
}

/// The path of one object, given as `Kind/name`, with `namespace:` in front if it does not live
/// in `home`.
pub fn object(spelled: &str, home: &str) -> String {
    let (namespace, rest) = spelled.split_once(':').unwrap_or((home, spelled));
    let (kind, name) = rest.split_once('/').expect("Kind/name");
    format!("{}/{name}", collection(kind, Some(namespace)))
}
