//! Drift: which field, by whom, and when.

use opm_e2e::objects::{config_map, deployment, secret};
use opm_e2e::{Module, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_hand_edit_is_told_with_field_manager_and_time,
    what_the_server_rewords_is_no_drift,
    what_an_autoscaler_does_is_no_drift,
    a_secret_s_drift_names_keys_and_no_values,
    an_object_made_again_by_somebody_else_has_drifted,
    without_manifests_later_writers_are_told,
    a_job_that_removed_itself_is_not_missing,
}

pub(crate) fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// Changes an object as somebody else would, under a name.
pub(crate) async fn edit(w: &World, spelled: &str, manager: &str, patch: Value) {
    let path = format!("{}?fieldManager={manager}", api::object(spelled, &w.ns));
    w.api.merge(&path, patch).await;
}

/// What a status says of one object, and how it ended.
async fn told(w: &World, code: i32, name: &str) -> Value {
    let ran = w
        .opm(&["mod", "status", "web", "-o", "json", "--exit-code"])
        .await;
    let shown = ran.json();
    let components = shown["components"].as_array().unwrap().clone();
    let all = || {
        let components = components.iter();
        components.flat_map(|c| c["resources"].as_array().unwrap())
    };
    // What is not ready beats drift.
    let unready = ["Progressing", "Degraded", "Failed"];
    let unready = all().any(|r| unready.contains(&r["health"].as_str().unwrap()));
    ran.ends(if unready { 8 } else { code });
    all().find(|r| r["name"] == name).unwrap().clone()
}

pub(crate) fn fields(resource: &Value) -> Vec<(String, Option<String>)> {
    let drift = resource["drift"].as_array().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    drift
        .iter()
        .map(|d| (text(&d["field"]).unwrap(), text(&d["by"])))
        .collect()
}

fn by(field: &str, manager: &str) -> (String, Option<String>) {
    (field.to_owned(), Some(manager.to_owned()))
}

async fn a_hand_edit_is_told_with_field_manager_and_time(w: World) {
    let module = web(&[
        config_map("a", "1"),
        config_map("b", "1"),
        deployment("web"),
    ]);
    w.apply(&module, &["--wait"]).await.ok();
    assert_eq!(told(&w, 0, "a").await["drifted"], false);

    edit(
        &w,
        "ConfigMap/a",
        "kubectl-edit",
        json!({"data": {"k": "2", "added": "x"}}),
    )
    .await;
    let a = told(&w, 6, "a").await;
    assert_eq!(fields(&a), [by("data.k", "kubectl-edit")]);
    assert!(a["drift"][0]["at"].as_str().unwrap().ends_with('Z'), "{a}");
    assert_eq!(a["health"], "Ready", "drift is not ill health");
    let table = w.opm(&["mod", "status", "web"]).await.ok();
    table
        .says("drifted: data.k by kubectl-edit ")
        .says(" ago")
        .says("1 drifted");

    edit(
        &w,
        "Deployment/web",
        "somebody",
        json!({"spec": {"replicas": 3}}),
    )
    .await;
    assert_eq!(
        fields(&told(&w, 6, "web").await),
        [by("spec.replicas", "somebody")]
    );
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example.com/evil:2"}]}}}});
    edit(&w, "Deployment/web", "somebody", image).await;
    let container = r#"spec.template.spec.containers[name="main"].image"#;
    assert_eq!(
        fields(&told(&w, 6, "web").await),
        [by("spec.replicas", "somebody"), by(container, "somebody")]
    );

    // A removal belongs to nobody.
    edit(
        &w,
        "ConfigMap/b",
        "kubectl-edit",
        json!({"metadata": {"labels": {"component.opmodel.dev/name": null}}}),
    )
    .await;
    let removed = r#"metadata.labels["component.opmodel.dev/name"]"#.to_owned();
    assert_eq!(fields(&told(&w, 6, "b").await), [(removed, None)]);

    // An apply brings everything back.
    w.apply(&module, &[]).await.ok();
    for name in ["a", "b", "web"] {
        assert_eq!(told(&w, 0, name).await["drifted"], false, "{name}");
    }
}

async fn what_the_server_rewords_is_no_drift(w: World) {
    let mut workload = deployment("web");
    let container = &mut workload["spec"]["template"]["spec"]["containers"][0];
    container["resources"] = json!({"limits": {"cpu": "1000m", "memory": "1024Mi"}});
    container["ports"] = json!([{"containerPort": 80}]);
    container["env"] = json!([{"name": "EMPTY", "value": ""}]);
    w.apply(&web(&[workload]), &[]).await.ok();
    assert_eq!(told(&w, 0, "web").await["drift"], json!([]));
    // The same in other words is still the same, whoever says it.
    let same = json!({"spec": {"template": {"metadata": {"annotations": {"note": "restarted"}}}}});
    edit(&w, "Deployment/web", "kubectl-rollout", same).await;
    assert_eq!(
        told(&w, 0, "web").await["drift"],
        json!([]),
        "an addition is no drift"
    );
    edit(
        &w,
        "Deployment/web",
        "somebody",
        json!({"spec": {"replicas": 2}}),
    )
    .await;
    assert_eq!(told(&w, 6, "web").await["drifted"], true);
    edit(
        &w,
        "Deployment/web",
        "somebody",
        json!({"spec": {"replicas": 1}}),
    )
    .await;
    assert_eq!(told(&w, 0, "web").await["drifted"], false, "changed back");
}

async fn a_secret_s_drift_names_keys_and_no_values(w: World) {
    let (applied, edited) = ("canary-applied", "canary-edited");
    w.apply(&web(&[secret("creds", applied)]), &[]).await.ok();
    edit(
        &w,
        "Secret/creds",
        "intruder",
        json!({"stringData": {"password": edited}}),
    )
    .await;
    assert_eq!(
        fields(&told(&w, 6, "creds").await),
        [by("data.password", "intruder")]
    );
    for format in ["table", "wide", "json", "yaml"] {
        let ran = w
            .opm(&["mod", "status", "web", "--scan", "-vv", "-o", format])
            .await
            .ok();
        let ran = ran
            .says("data.password")
            .never_says(applied)
            .never_says(edited);
        // Nor as they are stored.
        ran.never_says("Y2FuYXJ5");
    }
}

async fn an_object_made_again_by_somebody_else_has_drifted(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    w.api.create(&w.ns, &config_map("a", "1")).await;
    let a = told(&w, 6, "a").await;
    assert_eq!(fields(&a), [("metadata.uid".to_owned(), None)]);
    w.opm(&["mod", "status", "web"])
        .await
        .ok()
        .says("created again by somebody else");
}

async fn without_manifests_later_writers_are_told(w: World) {
    w.apply(
        &web(&[config_map("a", "1"), config_map("b", "1")]),
        &["--no-record"],
    )
    .await
    .ok();
    assert_eq!(told(&w, 0, "a").await["drifted"], false);
    // Who wrote later is told by the server's times, whose granularity is a second.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    edit(
        &w,
        "ConfigMap/a",
        "kubectl-edit",
        json!({"data": {"k": "2"}}),
    )
    .await;
    assert_eq!(
        fields(&told(&w, 6, "a").await),
        [by("data.k", "kubectl-edit")]
    );
    assert_eq!(told(&w, 6, "b").await["drifted"], false);
}

async fn a_job_that_removed_itself_is_not_missing(w: World) {
    let mut job = opm_e2e::objects::job("once");
    job["spec"]["ttlSecondsAfterFinished"] = json!(0);
    w.apply(&web(&[config_map("a", "1"), job]), &[]).await.ok();
    w.until("the Job is gone", || async { !w.exists("Job/once").await })
        .await;
    let once = told(&w, 0, "once").await;
    assert_eq!(once["health"], "Ready");
    assert!(
        once["message"].as_str().unwrap().contains("complete"),
        "{once}"
    );
    let ran = w.opm(&["mod", "list", "--health", "-o", "json"]).await.ok();
    assert_eq!(ran.json()["releases"][0]["health"], "Ready");
}

async fn what_an_autoscaler_does_is_no_drift(w: World) {
    w.apply(&web(&[deployment("web")]), &[]).await.ok();
    let scale = format!("{}/scale", api::object("Deployment/web", &w.ns));
    // As the autoscaler writes it, and then as a person would.
    for (manager, expected) in [
        ("kube-controller-manager", vec![]),
        ("kubectl", vec![by("spec.replicas", "kubectl")]),
    ] {
        let wanted = if expected.is_empty() { 3 } else { 4 };
        let path = format!("{scale}?fieldManager={manager}");
        w.api
            .merge(&path, json!({"spec": {"replicas": wanted}}))
            .await;
        let code = if expected.is_empty() { 0 } else { 6 };
        assert_eq!(fields(&told(&w, code, "web").await), expected, "{manager}");
    }
}
