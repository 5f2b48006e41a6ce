//! Workloads whose pods have a fate.

use serde_json::{Value, json};

/// The annotation on a pod (or pod template) that says what becomes of it.
pub const FATE_ANNOTATION: &str = "testkit.opmodel.dev/fate";
/// The annotation on a pod (or pod template) that holds its fate back, as in `500ms`.
pub const DELAY_ANNOTATION: &str = "testkit.opmodel.dev/delay";

/// What becomes of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It becomes ready; the pod of a Job completes.
    Ready,
    /// It stays pending.
    Pending,
    /// Its containers crash again and again.
    Crash,
    /// It fails for good.
    Fail,
    /// Its image cannot be pulled.
    BadImage,
}

impl Fate {
    /// The value of [`FATE_ANNOTATION`]; none for the usual fate.
    #[must_use]
    pub fn annotation(self) -> Option<&'static str> {
        match self {
            Self::Ready => None,
            Self::Pending => Some("pending"),
            Self::Crash => Some("crash"),
            Self::Fail => Some("fail"),
            Self::BadImage => Some("bad-image"),
        }
    }

    fn template(self, name: &str) -> Value {
        let annotations: Value = self
            .annotation()
            .map_or(json!({}), |value| json!({ FATE_ANNOTATION: value }));
        json!({
            "metadata": { "labels": { "app": name }, "annotations": annotations },
            "spec": { "containers": [{ "name": "main", "image": "registry.invalid/app:1" }] },
        })
    }
}

/// A Deployment whose pods have this fate.
#[must_use]
pub fn deployment(name: &str, replicas: u32, fate: Fate) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": fate.template(name),
        },
    })
}

/// A StatefulSet whose pods have this fate.
#[must_use]
pub fn stateful_set(name: &str, replicas: u32, fate: Fate) -> Value {
    let mut object = deployment(name, replicas, fate);
    object["kind"] = json!("StatefulSet");
    object["spec"]["serviceName"] = json!(name);
    object
}

/// A Job whose pod has this fate; a pod that fails is not tried again.
#[must_use]
pub fn job(name: &str, fate: Fate) -> Value {
    let mut template = fate.template(name);
    template["spec"]["restartPolicy"] = json!("Never");
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name },
        "spec": { "backoffLimit": 0, "template": template },
    })
}
