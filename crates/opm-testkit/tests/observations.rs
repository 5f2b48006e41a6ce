//! Counts of requests, admission rules, snapshots and stored releases.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::process::Stdio;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use opm_testkit::programs::Program;
use opm_testkit::relay::{Protocol, Relay, client};
use opm_testkit::{ControlPlane, Snapshot, StoredRelease, TestNamespace, Writes, tally};
use serde_json::{Value, json};

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

async fn apply(namespace: &TestNamespace, manager: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let resource = kube::core::discovery::ApiResource::from_gvk(
        &kube::core::GroupVersionKind::gvk("", "v1", object["kind"].as_str().unwrap()),
    );
    let api: Api<kube::api::DynamicObject> =
        Api::namespaced_with(namespace.client(), namespace.name(), &resource);
    api.patch(name, &PatchParams::apply(manager), &Patch::Apply(object))
        .await
        .unwrap();
}

#[tokio::test]
async fn counts_of_the_audit_log_and_of_the_relay_are_equal() {
    let Some(plane) = ControlPlane::own_for_test().await else {
        return;
    };
    let audit = plane.audit().unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let namespace = plane.namespace("audit").await;
        let admin = namespace.admin().await;
        let relay = Relay::start_with(admin.kubeconfig(), protocol)
            .await
            .unwrap();
        let path = relay
            .write_kubeconfig(&namespace.files().join("relay"))
            .unwrap();
        let client = client(&path, protocol).await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let mark = audit.mark();
        for n in 0..5 {
            let name = format!("a-{n}");
            maps.create(&PostParams::default(), &config_map(&name))
                .await
                .unwrap();
            maps.get(&name).await.unwrap();
        }
        maps.get_opt("none").await.unwrap();
        maps.list(&ListParams::default()).await.unwrap();
        let mut watch = maps
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap()
            .boxed();
        watch.next().await.unwrap().unwrap();
        maps.delete("a-0", &DeleteParams::default()).await.unwrap();
        maps.delete_collection(&DeleteParams::default(), &ListParams::default())
            .await
            .unwrap();
        client.apiserver_version().await.unwrap();

        let logged = audit.requests(mark, admin.name()).await;
        let expected = [
            ("create configmaps", 5),
            ("delete configmaps", 1),
            ("deletecollection configmaps", 1),
            ("get /version", 1),
            ("get configmaps", 6),
            ("list configmaps", 1),
            ("watch configmaps", 1),
        ];
        let expected = expected
            .map(|(what, count)| (what.to_owned(), count))
            .into();
        assert_eq!(logged.tally(), expected, "{protocol:?}");
        assert_eq!(tally(&relay.requests()), logged.tally(), "{protocol:?}");
        let codes = |seen: &[opm_testkit::relay::RequestInfo]| {
            let mut codes: Vec<_> = seen.iter().map(|one| (one.uri.clone(), one.code)).collect();
            codes.sort();
            codes
        };
        assert_eq!(
            codes(&relay.requests()),
            codes(logged.all()),
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn requests_are_told_apart_by_user_and_by_user_agent() {
    let Some(plane) = ControlPlane::own_for_test().await else {
        return;
    };
    let audit = plane.audit().unwrap();
    let namespace = plane.namespace("agent").await;
    let admin = namespace.admin().await;
    let mark = audit.mark();
    let kubectl = tokio::process::Command::new(Program::Kubectl.find().unwrap())
        .args(["get", "configmaps", "--kubeconfig"])
        .arg(admin.kubeconfig())
        .env("HOME", namespace.files())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(kubectl.await.unwrap().success());
    let maps: Api<ConfigMap> = Api::default_namespaced(admin.client().await);
    maps.list(&ListParams::default()).await.unwrap();
    // Not by this user, so not counted.
    namespace
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();

    let requests = audit.requests(mark, admin.name()).await;
    assert_eq!(requests.tally()["list configmaps"], 2);
    assert_eq!(requests.of_agent("kubectl/").tally()["list configmaps"], 1);
}

#[tokio::test]
async fn a_rule_denies_until_it_is_lifted() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("deny").await;
    let other = plane.namespace("deny-not").await;
    let maps: Api<ConfigMap> = namespace.api();
    for name in ["held", "free"] {
        maps.create(&PostParams::default(), &config_map(name))
            .await
            .unwrap();
        let elsewhere: Api<ConfigMap> = other.api();
        elsewhere
            .create(&PostParams::default(), &config_map(name))
            .await
            .unwrap();
    }
    let writes = Writes::of("", "configmaps", &["DELETE"]).named("held");
    let rule = namespace.deny(&writes, "not this one").await;
    let error = maps
        .delete("held", &DeleteParams::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not this one"), "{error}");
    maps.delete("free", &DeleteParams::default()).await.unwrap();
    other
        .api::<ConfigMap>()
        .delete("held", &DeleteParams::default())
        .await
        .unwrap();
    maps.create(&PostParams::default(), &config_map("new"))
        .await
        .unwrap();
    namespace.lift(rule).await;
    maps.delete("held", &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_rule_mutates_until_it_is_lifted() {
    let Some(plane) = ControlPlane::own_for_test().await else {
        return;
    };
    let namespace = plane.namespace("mutate").await;
    let maps: Api<ConfigMap> = namespace.api();
    let writes = Writes::of("", "configmaps", &["CREATE"]).when("!request.name.startsWith('not-')");
    let change = "Object{metadata: Object.metadata{labels: {\"colour\": \"red\"}}}";
    let rule = namespace.mutate(&writes, change).await;
    let label = |map: &ConfigMap| {
        map.metadata
            .labels
            .clone()
            .unwrap_or_default()
            .remove("colour")
    };
    let created = maps
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    assert_eq!(label(&created).as_deref(), Some("red"));
    let created = maps
        .create(&PostParams::default(), &config_map("not-b"))
        .await
        .unwrap();
    assert_eq!(label(&created), None);
    namespace.lift(rule).await;
    let created = maps
        .create(&PostParams::default(), &config_map("c"))
        .await
        .unwrap();
    assert_eq!(label(&created), None);
}

#[tokio::test]
async fn a_snapshot_finds_labelled_objects_of_all_kinds() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("snapshot").await;
    let labels = json!({
        "app.kubernetes.io/managed-by": "open-platform-model",
        "module.opmodel.dev/namespace": namespace.name(),
    });
    for kind in ["ConfigMap", "ServiceAccount", "Service", "Secret"] {
        let mut object = json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "name": "one", "labels": labels },
        });
        if kind == "Service" {
            object["spec"] = json!({ "ports": [{ "port": 80 }], "selector": { "app": "x" } });
        }
        apply(&namespace, "opm", &object).await;
    }
    namespace
        .api::<ConfigMap>()
        .create(&PostParams::default(), &config_map("two"))
        .await
        .unwrap();
    let taken = Snapshot::of_namespace(&namespace.client(), namespace.name())
        .await
        .unwrap();
    let applied = taken.applied();
    let place = namespace.name();
    let expected = ["ConfigMap", "Secret", "Service", "ServiceAccount"]
        .map(|kind| format!("{kind} {place}/one"));
    assert_eq!(applied.identities(), expected);

    let services: Api<Service> = namespace.api();
    let uid = services.get("one").await.unwrap().metadata.uid.unwrap();
    assert_eq!(applied.uids()[format!("Service {place}/one").as_str()], uid);
    let all = Snapshot::take(&namespace.client()).await.unwrap();
    assert!(expected.iter().all(|identity| all.get(identity).is_some()));
}

#[tokio::test]
async fn a_stored_release_is_read_back() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("record").await;
    let client = namespace.client();
    let found = StoredRelease::find(&client, namespace.name(), "app")
        .await
        .unwrap();
    assert!(found.is_none());
    let metadata = json!({
        "kind": "ModuleRelease",
        "apiVersion": "core.opmodel.dev/v1alpha1",
        "name": "app",
        "namespace": namespace.name(),
        "releaseId": "6b5d3e4e-94b5-5a5c-8c3d-8f6ad2c4ad11",
    });
    let secret: Secret = serde_json::from_value(json!({
        "metadata": { "name": "opm.app.6b5d3e4e-94b5-5a5c-8c3d-8f6ad2c4ad11", "labels": {
            "app.kubernetes.io/managed-by": "open-platform-model",
            "module-release.opmodel.dev/name": "app",
            "opmodel.dev/component": "inventory",
        } },
        "type": "opmodel.dev/release",
        "stringData": { "metadata": metadata.to_string(), "index": "[]" },
    }))
    .unwrap();
    namespace
        .api()
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let found = StoredRelease::find(&client, namespace.name(), "app")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.keys(), ["index", "metadata"]);
    assert_eq!(found.json("metadata").unwrap(), metadata);
    let record = found.record();
    assert_eq!(record.metadata.name, "app");
    assert!(record.inventory().is_empty());
}
