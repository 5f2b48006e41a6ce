//! `opm mod status --watch`: what changes is told as it changes, whatever the network does.

use std::time::Duration;

use opm_e2e::objects::{config_map, deployment};
use opm_e2e::{Module, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_watch_tells_what_changes,
    a_watch_survives_cut_connections,
    an_interrupt_ends_a_watch,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn a_watch_tells_what_changes(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let arguments = [
        "mod",
        "status",
        "web",
        "--watch",
        "--timeout",
        "7s",
        "--exit-code",
    ];
    let running = w.start(&arguments);
    pause(2000).await;
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    let edited = format!(
        "{}?fieldManager=intruder",
        api::object("ConfigMap/b", &w.ns)
    );
    w.api.merge(&edited, json!({"data": {"k": "2"}})).await;
    pause(1500).await;
    // The record may come to name other objects.
    w.apply(&web(&[config_map("b", "1"), deployment("new")]), &[])
        .await
        .ok();
    let ran = running.end().await.ok();
    let ran = ran
        .says("ConfigMap/a in namespace ")
        .says("Missing: it does not exist")
        .says("drifted: data.k by intruder")
        .says("Deployment/new in namespace ");
    ran.says("no longer tracked");
}

async fn a_watch_survives_cut_connections(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let line = w.line().await;
    let arguments = [
        "mod",
        "status",
        "web",
        "-n",
        &w.ns,
        "--watch",
        "--timeout",
        "8s",
        "-o",
        "json",
        "--exit-code",
    ];
    let running = w.start_over(&line, &arguments);
    pause(2000).await;
    for _ in 0..3 {
        line.cut();
        pause(400).await;
    }
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    let ran = running
        .end()
        .await
        .ends(6)
        .says("Missing: it does not exist");
    // Standard output is one document: the last status.
    assert_eq!(
        ran.json()["components"][0]["resources"][0]["health"],
        "Missing"
    );
}

async fn an_interrupt_ends_a_watch(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let running = w.start(&["mod", "status", "web", "-w", "-o", "json"]);
    pause(2500).await;
    running.interrupt();
    let ran = running.end().await.ends(130);
    assert_eq!(ran.json()["error"]["kind"], "interrupted");
    assert_eq!(ran.json()["health"], "Ready", "what was seen last");
    w.opm(&["mod", "status", "web", "--timeout", "1s"])
        .await
        .ends(2);
}
