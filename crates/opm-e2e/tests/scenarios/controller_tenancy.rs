//! A release can do what its service account may do, and nothing else.

use opm_e2e::objects::{cluster_role, config_map, in_namespace};
use opm_e2e::{World, scenarios};
use serde_json::{Value, json};

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    what_the_account_may_not_do_does_not_happen,
    references_stay_in_their_namespace,
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// A service account that may do this in its namespace.
async fn account(w: &World, name: &str, rules: Value) {
    w.api
        .create(
            &w.ns,
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        )
        .await;
    w.api
        .create(
            &w.ns,
            &json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role",
        "metadata": {"name": name}, "rules": rules}),
        )
        .await;
    w.api
        .create(
            &w.ns,
            &json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": {"name": name}, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": w.ns}]}),
        )
        .await;
}

fn everything_about(resources: &[&str]) -> Value {
    json!([{"apiGroups": ["", "apps"], "resources": resources, "verbs": ["*"]}])
}

fn spec(source: &str, account: &str) -> Value {
    json!({"module": {"configMap": {"name": source}}, "serviceAccountName": account})
}

async fn what_the_account_may_not_do_does_not_happen(w: World) {
    w.define_resource().await;
    account(&w, "deployer", everything_about(&["configmaps", "secrets"])).await;
    account(
        &w,
        "reader",
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]),
    )
    .await;
    let elsewhere = w.other_namespace("elsewhere").await;
    let role = w.name("role");
    for (name, object) in [
        ("fine", config_map("fine", "1")),
        ("away", in_namespace(config_map("away", "1"), &elsewhere)),
        (
            "system",
            in_namespace(config_map(&w.name("system"), "1"), "kube-system"),
        ),
        ("cluster", cluster_role(&role)),
    ] {
        let mut files = json!({});
        files["a.yaml"] = json!(object.to_string());
        w.put_files(&format!("{name}-source"), files).await;
        w.put_release(name, spec(&format!("{name}-source"), "deployer"))
            .await;
    }
    w.put_release("none", spec("fine-source", "nobody")).await;
    w.put_release("less", spec("fine-source", "reader")).await;
    let _running = w.start_controller(&[]);
    w.until_ready("fine").await;
    let user = format!("system:serviceaccount:{}:deployer", w.ns);
    for (name, missing) in [
        ("away", "configmaps"),
        ("system", "configmaps"),
        ("cluster", "clusterroles"),
    ] {
        let stalled = w.until_condition(name, "Stalled", "True").await;
        let told = stalled["message"].as_str().unwrap();
        assert_eq!(stalled["reason"], "NotPermitted", "{told}");
        assert!(told.contains(&user) && told.contains(missing), "{told}");
        assert!(
            w.find_record(name).await.is_none(),
            "nothing was begun for {name}"
        );
    }
    for (name, missing) in [("none", "configmaps"), ("less", "secrets")] {
        let stalled = w.until_condition(name, "Stalled", "True").await;
        let told = stalled["message"].as_str().unwrap();
        assert_eq!(stalled["reason"], "NotPermitted", "{told}");
        assert!(told.contains(missing), "{told}");
    }
    assert!(!w.exists(&format!("{elsewhere}:ConfigMap/away")).await);
    assert!(!w.exists(&format!("ClusterRole/{role}")).await);
    assert!(
        !w.exists(&format!("kube-system:ConfigMap/{}", w.name("system")))
            .await
    );
    // Given the right, it goes on by itself.
    w.api
        .merge(
            &format!("/apis/{RBAC}/v1/namespaces/{}/roles/reader", w.ns),
            json!({"rules": everything_about(&["configmaps", "secrets"])}),
        )
        .await;
    w.remove_release("fine").await;
    w.until_release_is_gone("fine").await;
    w.until_ready("less").await;
}

async fn references_stay_in_their_namespace(w: World) {
    w.define_resource().await;
    let elsewhere = w.other_namespace("elsewhere").await;
    let source = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "source"},
        "data": {"a.yaml": config_map("a", "1").to_string()}});
    w.api.create(&elsewhere, &source).await;
    let module = json!({"module": {"configMap": {"name": "source", "namespace": elsewhere}}});
    w.put_release("web", module).await;
    let mut depends = json!({"module": {"configMap": {"name": "source"}}});
    depends["dependsOn"] = json!([{"name": "x", "namespace": elsewhere}]);
    w.put_release("late", depends).await;
    w.put_release("file", json!({"module": {"reference": "/etc/passwd"}}))
        .await;
    let running = w.start_controller(&[]);
    for (name, reason) in [
        ("web", "CrossNamespaceReference"),
        ("late", "CrossNamespaceReference"),
        ("file", "InvalidSpec"),
    ] {
        let stalled = w.until_condition(name, "Stalled", "True").await;
        assert_eq!(stalled["reason"], reason, "{stalled}");
    }
    running.interrupt();
    running.end().await;
    let _running = w.start_controller(&["--allow-cross-namespace"]);
    w.until_ready("web").await;
}
