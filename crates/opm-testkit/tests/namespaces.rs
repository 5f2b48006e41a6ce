//! Namespaces of a test's own, and users with exactly given rights.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret};
use kube::Api;
use kube::api::{ListParams, PostParams};
use opm_testkit::{ControlPlane, Rights, until};
use serde_json::json;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "a": "b" } })).unwrap()
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("not an answer of the API server: {other}"),
    }
}

#[tokio::test]
async fn a_node_is_ready_when_the_control_plane_is() {
    let Some(plane) = ControlPlane::own_for_test().await else {
        return;
    };
    let nodes: Api<Node> = Api::all(plane.client().await.unwrap());
    let nodes = nodes.list(&ListParams::default()).await.unwrap();
    let is_ready = |node: &Node| {
        let status = node.status.clone().unwrap_or_default();
        let mut conditions = status.conditions.unwrap_or_default().into_iter();
        conditions.any(|one| one.type_ == "Ready" && one.status == "True")
    };
    assert!(nodes.iter().any(is_ready), "{:?}", nodes.items);
    println!("ready after {:.1} s", plane.seconds_to_ready().unwrap());
}

#[tokio::test]
async fn a_namespace_is_removed_when_it_is_dropped() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let client = plane.client().await.unwrap();
    let mut names = Vec::new();
    for _ in 0..10 {
        let namespace = plane.namespace("dropped").await;
        names.push(namespace.name().to_owned());
        namespace
            .api()
            .create(&PostParams::default(), &config_map("a"))
            .await
            .unwrap();
    }
    let api: Api<Namespace> = Api::all(client);
    for name in names {
        until("the namespace is gone", async || {
            api.get_opt(&name).await.unwrap().is_none()
        })
        .await;
    }
}

#[tokio::test]
async fn a_user_has_the_given_rights_and_no_others() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("rights").await;
    let other = plane.namespace("rights-other").await;
    let rights = Rights::none()
        .allow("", &["configmaps"], &["get", "create"])
        .allow_named("", &["secrets"], &["mine"], &["get"])
        .allow_in(other.name(), "", &["configmaps"], &["list"])
        .allow_everywhere("", &["namespaces"], &["get"]);
    let user = namespace.user("reader", &rights).await;
    let client = user.client().await;

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    maps.get("a").await.unwrap();
    let listed = maps.list(&ListParams::default()).await.unwrap_err();
    assert_eq!(code(&listed), 403);
    let deleted = maps.delete("a", &Default::default()).await.unwrap_err();
    assert_eq!(code(&deleted), 403);

    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    assert_eq!(code(&secrets.get("mine").await.unwrap_err()), 404);
    assert_eq!(code(&secrets.get("other").await.unwrap_err()), 403);

    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), other.name());
    elsewhere.list(&ListParams::default()).await.unwrap();
    assert_eq!(code(&elsewhere.get("a").await.unwrap_err()), 403);
    Api::<Namespace>::all(client.clone())
        .get(other.name())
        .await
        .unwrap();
    let created = Api::all(client)
        .create(&PostParams::default(), &Namespace::default())
        .await;
    assert_eq!(code(&created.unwrap_err()), 403);
}

#[tokio::test]
async fn an_admin_of_a_test_may_do_everything() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("admin").await;
    let client = namespace.admin().await.client().await;
    // On a given cluster the admin is the user of its kubeconfig, whose namespace may be any.
    if plane.directory().is_some() {
        assert_eq!(client.default_namespace(), namespace.name());
    }
    Api::<Secret>::all(client)
        .list(&ListParams::default())
        .await
        .unwrap();
}

/// The same tests on a cluster that the kit did not start: users are ServiceAccounts there.
#[tokio::test]
async fn a_given_cluster_will_do() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("given").await;
    // Away from the other files of the control plane, it is anybody's kubeconfig.
    let elsewhere = tempfile::tempdir().unwrap();
    let kubeconfig = elsewhere.path().join("kubeconfig");
    std::fs::copy(plane.kubeconfig(), &kubeconfig).unwrap();
    let tests = [
        "a_user_has_the_given_rights_and_no_others",
        "an_admin_of_a_test_may_do_everything",
    ];
    let output = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(tests)
        .arg("--exact")
        .env("OPM_TEST_KUBECONFIG", kubeconfig)
        .env("OPM_REQUIRE_CLUSTER", "1")
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "in {}: {said}", namespace.name());
    assert!(said.contains("2 passed"), "{said}");
}
