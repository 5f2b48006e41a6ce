//! Running the controller: what it tells, and what it leaves alone because somebody said so.

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Module, RequestFilter, World, scenarios};
use serde_json::{Value, json};

use crate::counters::{self, line_with};

scenarios! {
    a_dry_run_writes_nothing,
    drift_is_ignored_where_that_is_wanted,
    counters_and_probes_are_served,
    a_kind_is_watched_while_a_release_has_it,
    every_line_of_the_log_says_what_it_is_about,
}

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

async fn put(w: &World, value: &str) {
    let files = json!({"a.yaml": config_map("a", value).to_string(),
        "b.yaml": secret("key", "hidden").to_string()});
    w.put_files("source", files).await;
}

async fn a_dry_run_writes_nothing(w: World) {
    w.define_resource().await;
    put(&w, "1").await;
    w.put_release("web", spec()).await;
    let controller = w.start_relayed_controller(&["--dry-run"]).await;
    controller
        .running()
        .until_it_writes("2 objects applied")
        .await;
    let requests = controller.requests();
    let written = requests.iter().filter(|one| {
        let reads = ["get", "list", "watch"].contains(&one.verb.as_str());
        !reads && !one.uri.contains("dryRun=All") && !one.uri.contains("reviews")
    });
    let written: Vec<String> = written
        .map(|one| format!("{} {}", one.verb, one.uri))
        .collect();
    assert_eq!(written, Vec::<String>::new());
    assert!(w.find_record("web").await.is_none());
    assert!(!w.exists("ConfigMap/a").await);
    let resource = w.get_release("web").await.unwrap();
    assert!(resource["status"].is_null() && resource["metadata"]["finalizers"].is_null());
}

async fn drift_is_ignored_where_that_is_wanted(w: World) {
    w.define_resource().await;
    put(&w, "1").await;
    let mut ignore = spec();
    ignore["driftPolicy"] = json!("ignore");
    w.put_release("web", ignore).await;
    let controller = w.start_relayed_controller(&[]).await;
    w.until_ready("web").await;
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    let reads = RequestFilter::verb("get").and_path("configmaps/source");
    let before = controller.sent(&reads);
    w.api.merge(&path, json!({"data": {"k": "theirs"}})).await;
    w.until("it has looked", || async {
        controller.sent(&reads) > before
    })
    .await;
    // Another release is reconciled after it: had the look corrected something, it would be done.
    w.put_files("other", json!({"b.yaml": config_map("b", "1").to_string()}))
        .await;
    w.put_release("other", json!({"module": {"configMap": {"name": "other"}}}))
        .await;
    w.until_ready("other").await;
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "theirs");
    let resource = w.get_release("web").await.unwrap();
    let conditions = resource["status"]["conditions"].as_array().unwrap();
    let drifted = conditions.iter().find(|one| one["type"] == "Drifted");
    assert!(
        drifted.is_none_or(|one| one["status"] != "True"),
        "{resource}"
    );
    put(&w, "2").await;
    w.until_value("ConfigMap/a", "/data/k", json!("2")).await;
}

async fn counters_and_probes_are_served(w: World) {
    w.define_resource().await;
    put(&w, "1").await;
    w.put_release("web", spec()).await;
    let running = w.start_controller(&["--listen", "127.0.0.1:0"]);
    let address = counters::address(&running).await;
    assert_eq!(counters::get(&address, "/healthz").0, 200);
    w.until("all resources are read", || async {
        counters::get(&address, "/readyz").0 == 200
    })
    .await;
    assert_eq!(counters::get(&address, "/other").0, 404);
    let sample = |name: &str| counters::samples(&address).get(name).copied();
    let applied = "opm_reconciles_total{result=\"Applied\"}";
    w.until("it is counted", || async { sample(applied) == Some(1.0) })
        .await;
    for (name, value) in [
        ("opm_reconcile_seconds_count", 1.0),
        ("opm_resources", 1.0),
        ("opm_objects", 2.0),
        ("opm_reconciles_running", 0.0),
        ("opm_queue_depth", 0.0),
        ("opm_drift_corrections_total", 0.0),
    ] {
        assert_eq!(sample(name), Some(value), "{name}");
    }
    assert!(sample("opm_api_requests_total{verb=\"PATCH\",code=\"200\"}") > Some(0.0));
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "2"}})).await;
    w.until("the correction is counted", || async {
        sample("opm_drift_corrections_total") == Some(1.0)
    })
    .await;
    let (_, _, text) = counters::get(&address, "/metrics");
    assert!(!text.contains("hidden") && !text.contains(&w.ns), "{text}");
}

/// A watch for each kind that releases have, and none for others.
async fn a_kind_is_watched_while_a_release_has_it(w: World) {
    w.define_resource().await;
    let module = |objects: &[Value]| Module::new("web").component("app", objects);
    w.put_module("source", &module(&[config_map("a", "1")]))
        .await;
    w.put_release("web", spec()).await;
    let flags = ["--listen", "127.0.0.1:0"];
    let controller = w.start_relayed_controller(&flags).await;
    let address = counters::address(controller.running()).await;
    w.until_ready("web").await;
    // Two for ConfigMaps: those that releases have, by their label, and those that they refer to.
    let watches = || counters::samples(&address)["opm_watches"];
    let of_services = RequestFilter::verb("watch").and_path("/services");
    assert_eq!((watches(), controller.sent(&of_services)), (2.0, 0));
    w.put_module("source", &module(&[config_map("a", "1"), service("web")]))
        .await;
    w.until("Services are watched", || async {
        watches() == 3.0 && controller.sent(&of_services) > 0
    })
    .await;
    // Another one has a Service, too: it is the same watch.
    let other = json!({"b.yaml": service("other").to_string()});
    w.put_files("other", other).await;
    w.put_release("other", json!({"module": {"configMap": {"name": "other"}}}))
        .await;
    w.until_ready("other").await;
    assert_eq!((watches(), controller.sent(&of_services)), (3.0, 1));
    w.put_module("source", &module(&[config_map("a", "1")]))
        .await;
    w.until("the Service is gone", || async {
        w.gone("Service/web").await
    })
    .await;
    w.until_ready("web").await;
    assert_eq!(watches(), 3.0, "the other one still has one");
    w.remove_release("other").await;
    w.until_release_is_gone("other").await;
    w.until("nobody has one any more", || async { watches() == 2.0 })
        .await;
}

async fn every_line_of_the_log_says_what_it_is_about(w: World) {
    w.define_resource().await;
    put(&w, "1").await;
    w.put_release("web", spec()).await;
    let running = w.start_controller(&[]);
    let line = line_with(&running, "\"Applied\"").await;
    let first: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(first["release"], "web", "{first}");
    assert_eq!(first["namespace"], json!(w.ns));
    assert_eq!(first["level"], "info");
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "2"}})).await;
    let line = line_with(&running, "DriftCorrected").await;
    let second: Value = serde_json::from_str(&line).unwrap();
    let run = |line: &Value| line["run"].as_str().unwrap().to_owned();
    assert_ne!(
        run(&first),
        run(&second),
        "each attempt has a name of its own"
    );
    running.interrupt();
    running.end().await.ends(130).never_says("hidden");
}
