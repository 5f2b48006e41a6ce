//! What the adapter says of a real API server's answers, and that the server answers so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests say what they expect by failing loudly"
)]

mod apply;
mod connect;
mod delete;
mod disown;
mod effect;
mod effect_objects;
mod faults;
mod look;
mod messages;
mod network;
mod secrets;
mod served;
mod watch;

use std::time::Duration;

use opm_cluster::{ClientSettings, ClusterClient, RetryPolicy};
use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::{
    ApiError, ApplyObject, ApplyResponse, Cluster as _, DeleteObject, Permit, Precondition,
    Propagation,
};
use opm_testkit::{ControlPlane, TestNamespace};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// A namespace of the test's own with a client, or nothing where there can be no server.
macro_rules! on_a_server {
    ($hint:literal) => {
        match crate::setup($hint).await {
            Some(setup) => setup,
            None => return,
        }
    };
}
pub(crate) use on_a_server;

/// One test's namespace and a client that may do everything there.
struct Setup {
    namespace: TestNamespace,
    client: ClusterClient,
}

async fn setup(hint: &str) -> Option<Setup> {
    let namespace = ControlPlane::for_test().await?.namespace(hint).await;
    let client = patient(namespace.client());
    Some(Setup { namespace, client })
}

/// A client that does not make a failing test wait.
fn patient(client: kube::Client) -> ClusterClient {
    ClusterClient::from_client(client).with_settings(ClientSettings {
        retry: RetryPolicy {
            first_wait: Duration::from_millis(20),
            budget: Duration::from_secs(5),
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    })
}

fn id(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Identity {
    Identity::new(GroupKind::new(group, kind), namespace, name)
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).expect("an object")
}

impl Setup {
    fn ns(&self) -> &str {
        self.namespace.name()
    }

    fn map_id(&self, name: &str) -> Identity {
        id("", "ConfigMap", Some(self.ns()), name)
    }

    /// A ConfigMap with a label of this test's.
    fn map(&self, name: &str, data: Value) -> Object {
        object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.ns(), "labels": {"release": "one"}},
            "data": data,
        }))
    }

    async fn create(&self, object: &Object) -> Result<ApplyResponse, ApiError> {
        self.apply(object, Precondition::Absent).await
    }

    async fn apply(
        &self,
        object: &Object,
        precondition: Precondition,
    ) -> Result<ApplyResponse, ApiError> {
        apply(&self.client, object, precondition, true).await
    }

    async fn create_map(&self, name: &str) -> String {
        let sent = self.create(&self.map(name, json!({"a": "1"}))).await;
        uid(&sent.expect("created").object)
    }

    /// The object as the server has it, asked by other means than those under test.
    async fn live(&self, path: &str) -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).expect("a path");
        self.namespace.client().request(request).await.ok()
    }

    async fn live_map(&self, name: &str) -> Option<Value> {
        self.live(&format!(
            "/api/v1/namespaces/{}/configmaps/{name}",
            self.ns()
        ))
        .await
    }
}

async fn apply(
    client: &ClusterClient,
    object: &Object,
    precondition: Precondition,
    force: bool,
) -> Result<ApplyResponse, ApiError> {
    let identity = identity_of(object);
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let request = ApplyObject {
        identity: &identity,
        version: version.rsplit('/').next().unwrap_or_default(),
        object,
        precondition,
        field_manager: "opm",
        force,
        dry_run: false,
    };
    client.apply(request, Permit::default()).await
}

fn identity_of(object: &Object) -> Identity {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let api_version = text(&object["apiVersion"]).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let metadata = &object["metadata"];
    id(
        group,
        object["kind"].as_str().unwrap_or_default(),
        text(&metadata["namespace"]).as_deref(),
        metadata["name"].as_str().unwrap_or_default(),
    )
}

fn deletion<'a>(identity: &'a Identity, uid: &'a str) -> DeleteObject<'a> {
    DeleteObject {
        identity,
        uid,
        resource_version: None,
        propagation: Propagation::Background,
        dry_run: false,
    }
}

fn uid(object: &Object) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn version(object: &Object) -> String {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.unwrap_or_default().to_owned()
}
