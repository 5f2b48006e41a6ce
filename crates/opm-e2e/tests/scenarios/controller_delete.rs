//! The end of a release whose resource is deleted, when something is in the way.

use opm_e2e::objects::{config_map, in_namespace, service};
use opm_e2e::{Module, RequestFilter, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    somebody_elses_lock_is_waited_for,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_right_that_is_missing_holds_it_until_it_is_given,
    #[real_only("the sandbox has no controller that empties namespaces, and no access control")]
    a_namespace_that_goes_is_not_held_up,
}

const RBAC: &str = "rbac.authorization.k8s.io";

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

fn condition(resource: &Value, kind: &str) -> Value {
    let all = resource["status"]["conditions"].as_array().cloned();
    let mut all = all.unwrap_or_default().into_iter();
    all.find(|one| one["type"] == kind).unwrap_or_default()
}

/// A command that was begun while the resource was suspended still goes on when it is deleted.
async fn somebody_elses_lock_is_waited_for(w: World) {
    w.define_resource().await;
    let module = Module::new("web").component("app", &[config_map("a", "1"), service("web")]);
    w.put_module("source", &module).await;
    w.put_release("web", spec()).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    w.edit_release("web", json!({"suspend": true})).await;
    running.until_it_writes("Suspended").await;
    let more = [config_map("a", "2"), service("web")];
    let directory = w.write(&Module::new("web").component("app", &more));
    let patch = RequestFilter::verb("patch").and_path("/configmaps/a");
    let command = w.start_stalled(&patch, &["mod", "apply", &directory]).await;
    command.until_it_sends(1, &patch).await;

    w.remove_release("web").await;
    running.until_it_writes("\"Locked\"").await;
    // The log tells it before the status does.
    w.until("the status says that it waits", || async {
        let resource = w.get_release("web").await.expect("it waits");
        let is = |kind: &str, status: &str| condition(&resource, kind)["status"] == status;
        is("Reconciling", "True") && is("Stalled", "False")
    })
    .await;
    assert!(w.exists("ConfigMap/a").await && w.exists("Service/web").await);
    command.release();
    command.end().await.ok();
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    let events = w.events_of("web").await;
    let failed = events.iter().find(|(reason, _)| reason == "DeleteFailed");
    assert_eq!(failed, None, "it is a wait, not a failure");
    running.interrupt();
    running.end().await.ends(130);
}

/// A service account that may do this with ConfigMaps, Secrets and Services of a namespace.
async fn account(w: &World, namespace: &str, verbs: &[&str]) {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}});
    w.api.create(namespace, &account).await;
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role",
        "metadata": {"name": "deployer"}, "rules": rules(verbs)});
    w.api.create(namespace, &role).await;
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "deployer"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": w.ns}]});
    w.api.create(namespace, &binding).await;
}

fn rules(verbs: &[&str]) -> Value {
    let resources = ["configmaps", "secrets", "services"];
    json!([{"apiGroups": [""], "resources": resources, "verbs": verbs}])
}

async fn a_right_that_is_missing_holds_it_until_it_is_given(w: World) {
    w.define_resource().await;
    let all = [
        "get", "list", "watch", "create", "patch", "update", "delete",
    ];
    account(&w, &w.ns, &all).await;
    let files = json!({"a.yaml": config_map("a", "1").to_string()});
    w.put_files("source", files).await;
    let mut spec = spec();
    spec["serviceAccountName"] = json!("deployer");
    w.put_release("web", spec).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    let role = format!("/apis/{RBAC}/v1/namespaces/{}/roles/deployer", w.ns);
    let without = json!({"rules": rules(&all[..6])});
    w.api.merge(&role, without).await;
    w.remove_release("web").await;
    w.until("the condition says which right is missing", || async {
        let resource = w.get_release("web").await.unwrap();
        let ready = condition(&resource, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        message.contains("cannot delete resource \"configmaps\"")
    })
    .await;
    assert!(w.exists("ConfigMap/a").await);
    w.api.merge(&role, json!({"rules": rules(&all)})).await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    running.interrupt();
    running.end().await.ends(130);
}

/// Kubernetes deletes what is in a namespace in whatever order: the account's rights may go first,
/// and the record. The resource goes with them, and what the release has elsewhere is told.
async fn a_namespace_that_goes_is_not_held_up(w: World) {
    w.define_resource().await;
    let all = [
        "get", "list", "watch", "create", "patch", "update", "delete",
    ];
    account(&w, &w.ns, &all).await;
    let elsewhere = w.other_namespace("elsewhere").await;
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role",
        "metadata": {"name": "deployer"}, "rules": rules(&all)});
    w.api.create(&elsewhere, &role).await;
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "deployer"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": w.ns}]});
    w.api.create(&elsewhere, &binding).await;
    let files = json!({"a.yaml": config_map("a", "1").to_string(),
        "b.yaml": in_namespace(config_map("away", "1"), &elsewhere).to_string()});
    w.put_files("source", files).await;
    let mut spec = spec();
    spec["serviceAccountName"] = json!("deployer");
    w.put_release("web", spec).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    w.api.delete(&format!("/api/v1/namespaces/{}", w.ns)).await;
    w.until("the namespace is gone", || async {
        let namespace = format!("/api/v1/namespaces/{}", w.ns);
        w.api.get(&namespace).await.is_none()
    })
    .await;
    running.interrupt();
    let ended = running.end().await.ends(130);
    // Either it was fast enough, or it says what stays.
    let away = w.exists(&format!("{elsewhere}:ConfigMap/away")).await;
    let told = ended.to_string().contains("its namespace is being deleted");
    assert!(!away || told, "{ended}");
}
