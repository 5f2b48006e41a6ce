//! An APIService whose server does not answer: it holds up the removal of a namespace only if it
//! is not this release's own. On an API server of its own, because it is in everybody's way.

use opm_e2e::objects::{config_map, in_namespace, namespace};
use opm_e2e::{Module, World};
use opm_testkit::{ApiServer, ControlPlane};
use serde_json::{Value, json};

/// What says that nobody serves a group.
fn unserved(group: &str, namespace: &str) -> Value {
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{group}")},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": {"name": "nobody", "namespace": namespace}}})
}

#[tokio::test]
async fn a_silent_group_holds_a_namespace_unless_it_goes_too() {
    // Whoever cannot have a control plane cannot have an API server of their own either.
    let Some(_) = ControlPlane::for_test().await else {
        return;
    };
    let server = ApiServer::start().await.unwrap();
    let w = World::real(server.plane()).await;
    let (own, spare) = (w.name("own"), w.name("spare"));
    let group = w.group();
    let with = |more: Vec<Value>| {
        let objects = [
            namespace(&spare),
            in_namespace(config_map("a", "1"), &spare),
        ];
        Module::new("served").component("app", &[objects.to_vec(), more].concat())
    };
    w.apply(&with(vec![unserved(&group, &own)]), &[]).await.ok();
    let silent = || async {
        let path = "/apis/apiregistration.k8s.io/v1/apiservices";
        let found = w.api.get(&format!("{path}/v1.{group}")).await;
        let found = found.unwrap_or_default();
        found["status"]["conditions"][0]["status"] == "False"
    };
    w.until("nobody serves the group", silent).await;
    // Kept, it would stay in the way: the hint names it.
    w.apply(&with(vec![]), &["--no-prune"]).await.ok();
    let other = Module::new("served").component("app", &[config_map("b", "1")]);
    let ran = w.apply(&other, &["--prune-namespaces"]).await.ends(2);
    ran.says(&format!("API group {group} does not answer"))
        .says(&format!("Repair or delete APIService/v1.{group}"))
        .says("--prune-namespaces");
    // Together with the release it goes, and nobody asks its server.
    let ran = w.delete("served", &["--prune-namespaces"]).await.ok();
    ran.did("deleted", &format!("APIService/v1.{group}"))
        .did("deleted", &format!("Namespace/{spare}"));
    assert!(w.gone(&format!("Namespace/{spare}")).await);
    assert!(w.find_record("served").await.is_none());
}
