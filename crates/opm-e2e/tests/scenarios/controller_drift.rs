//! What starts a reconcile, and what does not.

use opm_e2e::objects::{config_map, deployment, service};
use opm_e2e::{World, scenarios};
use serde_json::{Value, json};

scenarios! {
    what_others_change_is_put_right_and_what_is_theirs_stays,
    drift_is_only_reported_where_that_is_wanted,
    nothing_is_written_where_nothing_has_to_be,
    own_writes_start_nothing,
}

fn files(objects: &[Value]) -> Value {
    let mut data = json!({});
    for (number, object) in objects.iter().enumerate() {
        data[format!("{number}.yaml")] = json!(object.to_string());
    }
    data
}

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

fn path(w: &World, spelled: &str) -> String {
    opm_e2e::api::object(spelled, &w.ns)
}

async fn what_others_change_is_put_right_and_what_is_theirs_stays(w: World) {
    w.define_resource().await;
    w.put_files("source", files(&[config_map("a", "1"), service("web")]))
        .await;
    w.put_release("web", spec()).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    let edit = json!({"data": {"k": "2", "theirs": "x"}});
    w.api.merge(&path(&w, "ConfigMap/a"), edit).await;
    w.until_value("ConfigMap/a", "/data", json!({"k": "1", "theirs": "x"}))
        .await;
    w.api
        .merge(&path(&w, "ConfigMap/a"), json!({"data": {"k": null}}))
        .await;
    w.until_value("ConfigMap/a", "/data", json!({"k": "1", "theirs": "x"}))
        .await;
    let uid = w.uid("Service/web").await;
    w.api.delete(&path(&w, "Service/web")).await;
    w.until("the Service is back", || async {
        let service = w.get("Service/web").await;
        service.is_some_and(|service| service["metadata"]["uid"] != json!(uid))
    })
    .await;
    let labels = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}});
    w.api.merge(&path(&w, "ConfigMap/a"), labels).await;
    let managed = "/metadata/labels/app.kubernetes.io~1managed-by";
    w.until_value("ConfigMap/a", managed, json!("open-platform-model"))
        .await;
    let told = w.events_of("web").await;
    assert!(
        told.iter().any(|(reason, _)| reason == "DriftCorrected"),
        "{told:?}"
    );
}

async fn drift_is_only_reported_where_that_is_wanted(w: World) {
    w.define_resource().await;
    w.put_files("source", files(&[config_map("a", "1")])).await;
    let mut report = spec();
    report["driftPolicy"] = json!("report");
    w.put_release("web", report).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    w.api
        .merge(&path(&w, "ConfigMap/a"), json!({"data": {"k": "2"}}))
        .await;
    let drifted = w.until_condition("web", "Drifted", "True").await;
    assert!(
        drifted["message"].as_str().unwrap().contains("ConfigMap/a"),
        "{drifted}"
    );
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "2");
    w.put_files("source", files(&[config_map("a", "3")])).await;
    w.until_value("ConfigMap/a", "/data/k", json!("3")).await;
    w.until_condition("web", "Drifted", "False").await;
}

async fn nothing_is_written_where_nothing_has_to_be(w: World) {
    w.define_resource().await;
    w.put_files("source", files(&[config_map("a", "1"), service("web")]))
        .await;
    let mut often = spec();
    often["interval"] = json!("1s");
    w.put_release("web", often).await;
    let controller = w.start_relayed_controller(&[]).await;
    w.until_ready("web").await;
    // The event comes last.
    w.until("the event is there", || async {
        !w.events_of("web").await.is_empty()
    })
    .await;
    let reads = || {
        let requests = controller.requests();
        let reads = requests
            .iter()
            .filter(|one| one.verb == "get" && one.uri.contains("secrets/opm.web."));
        reads.count()
    };
    let writes = || {
        let requests = controller.requests();
        let writes = requests
            .iter()
            .filter(|one| !["get", "list", "watch"].contains(&one.verb.as_str()));
        writes
            .map(|one| format!("{} {}", one.verb, one.uri))
            .collect::<Vec<_>>()
    };
    let (read, written) = (reads(), writes().len());
    w.until("it has looked three times more", || async {
        reads() >= read + 6
    })
    .await;
    assert_eq!(writes().split_off(written), Vec::<String>::new());
}

async fn own_writes_start_nothing(w: World) {
    w.define_resource().await;
    w.put_files(
        "source",
        files(&[config_map("a", "1"), service("web"), deployment("web")]),
    )
    .await;
    w.put_release("web", spec()).await;
    let controller = w.start_relayed_controller(&[]).await;
    w.until_ready("web").await;
    w.until_value("Deployment/web", "/status/readyReplicas", json!(1))
        .await;
    // Every attempt reads what the module is made of, once.
    let attempts = || {
        let requests = controller.requests();
        let reads = requests
            .iter()
            .filter(|one| one.verb == "get" && one.uri.contains("configmaps/source"));
        reads.count()
    };
    w.put_files("other", files(&[config_map("b", "1")])).await;
    let mut other = spec();
    other["module"] = json!({"configMap": {"name": "other"}});
    w.put_release("other", other).await;
    w.until_ready("other").await;
    assert_eq!(
        attempts(),
        1,
        "nothing but the resource itself has started anything"
    );
    w.api
        .merge(&path(&w, "ConfigMap/a"), json!({"data": {"k": "2"}}))
        .await;
    w.until_value("ConfigMap/a", "/data/k", json!("1")).await;
    w.put_release(
        "another",
        json!({"module": {"configMap": {"name": "none"}}}),
    )
    .await;
    w.until_condition("another", "Stalled", "True").await;
    assert_eq!(attempts(), 2, "one edit, one correction");
}
