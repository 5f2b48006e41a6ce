//! Running the controller: what it tells, and what it leaves alone because somebody said so.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use opm_e2e::objects::{config_map, secret};
use opm_e2e::{RequestFilter, RunningOpm, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_dry_run_writes_nothing,
    drift_is_ignored_where_that_is_wanted,
    counters_and_probes_are_served,
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

/// Waits for a whole line that holds this.
async fn line_with(running: &RunningOpm, text: &str) -> String {
    opm_testkit::eventually("a line of the log", async || running.line_with(text)).await
}

/// The status and the text of an answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text)
}

async fn counters_and_probes_are_served(w: World) {
    w.define_resource().await;
    put(&w, "1").await;
    w.put_release("web", spec()).await;
    let running = w.start_controller(&["--listen", "127.0.0.1:0"]);
    let line = line_with(&running, "serving /metrics").await;
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split('"').next().unwrap().to_owned();
    assert_eq!(get(&address, "/healthz").0, 200);
    w.until("all resources are read", || async {
        get(&address, "/readyz").0 == 200
    })
    .await;
    assert_eq!(get(&address, "/other").0, 404);
    let applied = "opm_reconciles_total{result=\"Applied\"} 1";
    w.until("it is counted", || async {
        get(&address, "/metrics").1.contains(applied)
    })
    .await;
    let (_, text) = get(&address, "/metrics");
    for line in [
        "opm_resources 1",
        "opm_objects 2",
        "opm_reconciles_running 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    assert!(
        text.contains("opm_api_requests_total{verb=\"PATCH\""),
        "{text}"
    );
    assert!(!text.contains("hidden"), "{text}");
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
