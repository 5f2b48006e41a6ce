//! `opm mod status` after runs that did not end well: what was sent last counts, and what is
//! pending has a health.

use opm_e2e::objects::{config_map, deployment, never_ready, unacceptable};
use opm_e2e::{Module, OpmOutput, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_failed_upgrade_is_told_from_what_is_recorded,
    a_failed_first_apply_shows_the_health_of_what_is_there,
    what_is_pending_counts_for_the_health,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn at(image: &str) -> Value {
    let mut object = deployment("d");
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    object
}

async fn status(w: &World, flags: &[&str]) -> OpmOutput {
    let arguments = [&["mod", "status", "web", "-o", "json"], flags].concat();
    w.opm(&arguments).await
}

fn object(status: &OpmOutput, name: &str) -> Value {
    let components = status.json()["components"].clone();
    let components = components.as_array().cloned().unwrap_or_default();
    let mut objects = components.iter().flat_map(|component| {
        let resources = component["resources"].as_array();
        resources.cloned().unwrap_or_default()
    });
    objects
        .find(|object| object["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {status}"))
}

async fn a_failed_upgrade_is_told_from_what_is_recorded(w: World) {
    let first = web(&[
        at("example.com/main:1"),
        config_map("a", "1"),
        config_map("b", "1"),
    ]);
    w.apply(&first, &["--wait"]).await.ok();
    status(&w, &["--exit-code"]).await.ok();
    let mut broken = opm_e2e::objects::job("broken");
    broken = unacceptable(broken);
    let upgrade = web(&[
        at("example.com/main:2"),
        config_map("a", "2"),
        config_map("b", "1"),
        broken,
    ]);
    let failed = w.apply(&upgrade, &[]).await.ends(1);
    let change = failed.json()["changeId"].clone();
    w.until("the new pods are ready", || async {
        let ran = status(&w, &[]).await;
        object(&ran, "d")["health"] == "Ready"
    })
    .await;
    let shown = status(&w, &["--exit-code"]).await.ends(6);
    for name in ["d", "a"] {
        let found = object(&shown, name);
        assert_eq!(found["unrecorded"], change, "{name}: {shown}");
        assert_eq!(found["drifted"], false, "{name}: {shown}");
    }
    assert!(object(&shown, "b")["unrecorded"].is_null(), "{shown}");
    w.opm(&["mod", "status", "web"])
        .await
        .says("as a run sent it that is not recorded");
    w.apply(&first, &["--wait"]).await.ok();
    let shown = status(&w, &["--exit-code"]).await.ok();
    assert!(object(&shown, "d")["unrecorded"].is_null(), "{shown}");
}

fn pending(status: &OpmOutput, name: &str) -> Value {
    let pending = status.json()["pending"].clone();
    let mut pending = pending.as_array().cloned().unwrap_or_default().into_iter();
    pending
        .find(|object| object["name"] == name)
        .unwrap_or_else(|| panic!("no pending {name}: {status}"))
}

async fn a_failed_first_apply_shows_the_health_of_what_is_there(w: World) {
    let module = web(&[
        never_ready(deployment("d")),
        config_map("a", "1"),
        unacceptable(opm_e2e::objects::job("broken")),
    ]);
    w.apply(&module, &[]).await.ends(1);
    let shown = status(&w, &["--exit-code"]).await.ends(8);
    assert_eq!(pending(&shown, "d")["health"], "Progressing", "{shown}");
    assert_eq!(pending(&shown, "a")["health"], "Ready", "{shown}");
    assert_ne!(shown.json()["health"], "Unknown", "{shown}");
    w.opm(&["mod", "status", "web"]).await.says("Progressing");
}

async fn what_is_pending_counts_for_the_health(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let upgrade = web(&[
        config_map("a", "1"),
        never_ready(deployment("d")),
        unacceptable(opm_e2e::objects::job("broken")),
    ]);
    w.apply(&upgrade, &[]).await.ends(1);
    let shown = status(&w, &["--exit-code"]).await.ends(8);
    assert_eq!(pending(&shown, "d")["health"], "Progressing", "{shown}");
    assert_ne!(shown.json()["health"], "Ready", "{shown}");
}
