//! `opm mod status --watch`: what changes is told as it changes, whatever the network does.

use opm_e2e::objects::{config_map, deployment};
use opm_e2e::{Module, OpmOutput, RequestFilter, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_watch_tells_what_changes,
    a_watch_survives_cut_connections,
    an_interrupt_ends_a_watch,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn a_watch_tells_what_changes(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let watch = ["mod", "status", "web", "--watch", "--exit-code"];
    let running = w.start(&watch);
    running.until_it_writes("ConfigMap/b").await;
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    let edited = format!(
        "{}?fieldManager=intruder",
        api::object("ConfigMap/b", &w.ns)
    );
    w.api.merge(&edited, json!({"data": {"k": "2"}})).await;
    running.until_it_writes("ConfigMap/a in namespace ").await;
    running.until_it_writes("Missing: it does not exist").await;
    running.until_it_writes("drifted: data.k by intruder").await;
    // The record may come to name other objects.
    w.apply(
        &web(&[config_map("b", "1"), deployment("new")]),
        &["--wait"],
    )
    .await
    .ok();
    running
        .until_it_writes("Deployment/new in namespace ")
        .await;
    running.until_it_writes("no longer tracked").await;
    running.interrupt();
    running.end().await.ends(130);
    // What ends with its time ends with the last status.
    let timed = [&watch[..], &["--timeout", "1s"]].concat();
    w.opm(&timed).await.ok();
}

async fn a_watch_survives_cut_connections(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let line = w.line().await;
    let watch = ["mod", "status", "web", "-n", &w.ns, "--watch", "-o", "json"];
    let running = w.start_over(&line, &watch);
    let watches = RequestFilter::verb("watch");
    line.until_it_carries(1, &watches).await;
    for _ in 0..3 {
        let before = line.carried(&watches);
        line.cut();
        line.until_it_carries(before + 1, &watches).await;
    }
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    running.until_it_writes("Missing: it does not exist").await;
    running.interrupt();
    let ran = running.end().await.ends(130);
    // Standard output is one document: the last status.
    let missing =
        |ran: &OpmOutput| ran.json()["components"][0]["resources"][0]["health"] == "Missing";
    assert!(missing(&ran), "{ran}");
    let timed = [&watch[..], &["--timeout", "1s", "--exit-code"]].concat();
    let ran = w.opm(&timed).await.ends(6);
    assert!(missing(&ran), "{ran}");
}

async fn an_interrupt_ends_a_watch(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let watch = ["mod", "status", "web", "-w", "-o", "json"];
    let run = w.start_relayed(&[], &watch).await;
    run.until_it_sends(1, &RequestFilter::verb("watch")).await;
    run.running().interrupt();
    let ran = run.end().await.ends(130);
    assert_eq!(ran.json()["error"]["kind"], "interrupted");
    assert_eq!(ran.json()["health"], "Ready", "what was seen last");
    w.opm(&["mod", "status", "web", "--timeout", "1s"])
        .await
        .ends(2);
}
