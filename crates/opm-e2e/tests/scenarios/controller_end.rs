//! An interrupted controller ends, whatever it waits for, and the next one goes on.

use opm_e2e::objects::{config_map, deployment, never_ready};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, scenarios};
use opm_testkit::HANG;
use serde_json::{Value, json};

scenarios! {
    it_ends_before_it_has_read_anything,
    it_ends_while_the_server_is_silent,
    what_it_had_begun_the_next_one_goes_on_with,
}

const LATE: &str = "not all reconciles ended in time";

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

async fn it_ends_before_it_has_read_anything(w: World) {
    w.define_resource().await;
    for nth in [1, 2] {
        let lists = RequestFilter::verb("list").and_path("/modulereleases");
        let stalled = Fault::Stall(Moment::Before, HANG);
        let at = lists.clone().from_nth(nth);
        let controller = w.start_struck_controller(&at, stalled, &[]).await;
        controller.until_it_sends(nth, &lists).await;
        controller.running().interrupt();
        controller.end().await.ends(130).never_says(LATE);
    }
}

async fn it_ends_while_the_server_is_silent(w: World) {
    w.define_resource().await;
    let files = json!({"a.yaml": config_map("a", "1").to_string()});
    w.put_files("source", files).await;
    for (name, verb, path) in [
        // The controller's own requests, and those for the release.
        ("first", "patch", "/modulereleases/first"),
        ("second", "patch", "/modulereleases/second/status"),
        ("third", "get", "/configmaps/source"),
        ("fourth", "get", "/secrets/opm.fourth."),
    ] {
        opm_e2e::trying(&format!("{verb} {path}"));
        w.put_release(name, spec()).await;
        let at = RequestFilter::verb(verb).and_path(path);
        let stalled = Fault::Stall(Moment::Before, HANG);
        let controller = w
            .start_struck_controller(&at.clone().always(), stalled, &[])
            .await;
        controller.until_it_sends(1, &at).await;
        controller.running().interrupt();
        controller.end().await.ends(130).never_says(LATE);
    }
}

async fn what_it_had_begun_the_next_one_goes_on_with(w: World) {
    w.define_resource().await;
    let web = |objects: &[Value]| Module::new("web").component("app", objects);
    w.put_module("source", &web(&[config_map("a", "1")])).await;
    let mut atomic = spec();
    atomic["atomic"] = json!(true);
    w.put_release("web", atomic).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    let broken = [config_map("a", "2"), never_ready(deployment("web"))];
    w.put_module("source", &web(&broken)).await;
    w.until("it waits for the Deployment", || w.exists("Deployment/web"))
        .await;
    w.until_value("ConfigMap/a", "/data/k", json!("2")).await;
    running.interrupt();
    running.end().await.ends(130).never_says(LATE);
    assert!(!w.record("web").await.locked(), "it has let go of its lock");
    assert_eq!(
        w.get("ConfigMap/a").await.unwrap()["data"]["k"],
        "2",
        "a controller that ends takes nothing back"
    );
    w.put_module("source", &web(&[config_map("a", "2"), deployment("web")]))
        .await;
    let _running = w.start_controller(&[]);
    w.until("it is recorded", || async {
        w.is_recorded("web", &["ConfigMap/a", "Deployment/web"])
            .await
    })
    .await;
    w.until_ready("web").await;
}
