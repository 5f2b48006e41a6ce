//! A `kube::Client` on the sandbox, in-process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Discovery, ResourceExt};
use opm_sandbox::Sandbox;
use opm_testkit::{eventually, unless_it_hangs, until};
use serde_json::json;

fn client(dir: &std::path::Path) -> Client {
    Client::new(Sandbox::open(dir).unwrap(), "default")
}

#[tokio::test]
async fn objects_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(dir.path());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let object =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).unwrap();
    let made = maps.create(&PostParams::default(), &object).await.unwrap();
    assert!(made.resource_version().is_some() && made.uid().is_some());
    let again = maps
        .create(&PostParams::default(), &object)
        .await
        .unwrap_err();
    assert!(matches!(again, kube::Error::Api(s) if s.code == 409 && s.reason == "AlreadyExists"));
    let all = maps.list(&ListParams::default()).await.unwrap();
    let names: Vec<_> = all.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["a", "kube-root-ca.crt"]);
    assert_eq!(
        maps.list_metadata(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        2
    );
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn apply_conflicts_and_force() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(dir.path());
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let config = |value: &str| {
        Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": value}
        }))
    };
    maps.patch("a", &PatchParams::apply("one"), &config("1"))
        .await
        .unwrap();
    let error = maps
        .patch("a", &PatchParams::apply("two"), &config("2"))
        .await
        .unwrap_err();
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\": .data.x"
    );
    let forced = maps
        .patch("a", &PatchParams::apply("two").force(), &config("2"))
        .await
        .unwrap();
    assert_eq!(forced.data.unwrap()["x"], "2");
}

#[tokio::test]
async fn a_deployment_becomes_ready_under_a_watch() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(dir.path());
    let api: Api<Deployment> = Api::namespaced(client, "default");
    let stream = api.watch(&WatchParams::default(), "0").await.unwrap();
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}
        }
    });
    api.patch("web", &PatchParams::apply("t"), &Patch::Apply(object))
        .await
        .unwrap();
    let ready = async {
        use futures::TryStreamExt;
        let mut stream = std::pin::pin!(stream);
        while let Some(event) = stream.try_next().await.unwrap() {
            if let WatchEvent::Modified(d) = event
                && d.status.and_then(|s| s.ready_replicas) == Some(2)
            {
                return;
            }
        }
    };
    unless_it_hangs("it becomes ready", ready).await;
}

#[tokio::test]
async fn an_autoscaler_says_that_it_is_content() {
    let dir = tempfile::tempdir().unwrap();
    let api: Api<HorizontalPodAutoscaler> = Api::namespaced(client(dir.path()), "default");
    let object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"minReplicas": 2, "maxReplicas": 4,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    });
    api.patch("web", &PatchParams::apply("t"), &Patch::Apply(object))
        .await
        .unwrap();
    eventually("it is content", async || {
        let status = api.get("web").await.unwrap().status?;
        let conditions = status.conditions.unwrap_or_default();
        let active = conditions.iter().find(|c| c.type_ == "ScalingActive")?;
        (status.desired_replicas == 2 && active.status == "True").then_some(())
    })
    .await;
}

#[tokio::test]
async fn definitions_are_served_and_discovered() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(dir.path());
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object",
                    "properties": {"size": {"type": "integer", "default": 3}}}}}}}]
        }
    }))
    .unwrap();
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let gvk = GroupVersionKind::gvk("example.com", "v1", "Widget");
    eventually("it is served", async || {
        let discovery = Discovery::new(client.clone()).run().await.unwrap();
        discovery.resolve_gvk(&gvk)
    })
    .await;
    let aggregated = Discovery::new(client.clone())
        .run_aggregated()
        .await
        .unwrap();
    assert!(aggregated.resolve_gvk(&gvk).is_some());
    let widgets: Api<DynamicObject> =
        Api::namespaced_with(client, "default", &ApiResource::from_gvk(&gvk));
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
    let made = widgets
        .patch("w", &PatchParams::apply("t"), &Patch::Apply(widget))
        .await
        .unwrap();
    assert_eq!(made.data["spec"]["size"], 3);
}

#[tokio::test]
async fn a_namespace_takes_everything_along() {
    let dir = tempfile::tempdir().unwrap();
    let client = client(dir.path());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let object = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "n");
    let secret =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}}))
            .unwrap();
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    namespaces
        .delete("n", &DeleteParams::default())
        .await
        .unwrap();
    let late = secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap_err();
    assert!(matches!(late, kube::Error::Api(s) if s.code == 403 || s.code == 404));
    until("it is gone", async || {
        namespaces.get_opt("n").await.unwrap().is_none()
    })
    .await;
    assert!(secrets.get_opt("s").await.unwrap().is_none());
}
