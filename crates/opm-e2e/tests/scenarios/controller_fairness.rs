//! Many releases and one controller: what is slow or fails holds up nobody else.

use opm_e2e::objects::{config_map, deployment, never_ready};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, scenarios};
use opm_testkit::HANG;
use serde_json::{Value, json};

use crate::counters;

scenarios! {
    what_is_slow_or_fails_holds_up_nobody_else,
    a_namespace_takes_no_more_than_its_share,
}

fn spec(source: &str) -> Value {
    json!({"module": {"configMap": {"name": source}}})
}

async fn put(w: &World, name: &str) {
    let files = json!({"a.yaml": config_map(name, "1").to_string()});
    w.put_files(&format!("{name}-source"), files).await;
    w.put_release(name, spec(&format!("{name}-source"))).await;
}

async fn what_is_slow_or_fails_holds_up_nobody_else(w: World) {
    w.define_resource().await;
    // One waits for what never becomes ready, one for an answer, and some fail in different ways.
    let never = Module::new("waits").component("app", &[never_ready(deployment("waits"))]);
    w.put_module("waits-source", &never).await;
    let mut waits = spec("waits-source");
    waits["atomic"] = json!(true);
    w.put_release("waits", waits).await;
    w.put_release("nowhere", spec("nowhere")).await;
    w.put_files("bad-source", json!({"a.yaml": "kind: ["}))
        .await;
    w.put_release("bad", spec("bad-source")).await;
    put(&w, "silent").await;
    let controller = w
        .start_struck_controller(
            &RequestFilter::verb("get").and_path("/secrets/opm.silent."),
            Fault::Stall(Moment::Before, HANG),
            &["--concurrency", "3", "--concurrency-per-namespace", "3"],
        )
        .await;
    w.until("the one waits", || w.exists("Deployment/waits"))
        .await;
    for n in 0..6 {
        put(&w, &format!("app-{n}")).await;
    }
    for n in 0..6 {
        w.until_ready(&format!("app-{n}")).await;
    }
    for name in ["nowhere", "bad"] {
        w.until_condition(name, "Stalled", "True").await;
    }
    for name in ["waits", "silent"] {
        let resource = w.get_release(name).await.unwrap();
        let conditions = resource["status"]["conditions"].to_string();
        assert!(!conditions.contains("Applied"), "{conditions}");
    }
    controller.release();
    w.until_ready("silent").await;
    controller.running().interrupt();
    controller.end().await.ends(130);
}

/// Two namespaces, one of which has more to do than may go on in it at a time.
async fn a_namespace_takes_no_more_than_its_share(w: World) {
    w.define_resource().await;
    let names = ["one", "two", "three"];
    for name in names {
        put(&w, name).await;
    }
    let reads = |name: &str| RequestFilter::verb("get").and_path(&format!("/secrets/opm.{name}."));
    let records = RequestFilter::verb("get").and_path("/secrets/opm.");
    let flags = [
        "--concurrency",
        "4",
        "--concurrency-per-namespace",
        "2",
        "--listen",
        "127.0.0.1:0",
    ];
    let controller = w
        .start_struck_controller(
            &records.clone().always(),
            Fault::Stall(Moment::Before, HANG),
            &flags,
        )
        .await;
    w.until("two of them go on", || async {
        let sent = |name| {
            controller
                .requests()
                .iter()
                .any(|one| reads(name).fits(one))
        };
        names.iter().filter(|name| sent(name)).count() == 2
    })
    .await;
    let address = counters::address(controller.running()).await;
    let gauges = || {
        let samples = counters::samples(&address);
        (
            samples["opm_reconciles_running"],
            samples["opm_queue_depth"],
        )
    };
    w.until("one waits", || async { gauges() == (2.0, 1.0) })
        .await;
    controller.mend();
    controller.release();
    for name in names {
        w.until_ready(name).await;
    }
    w.until("nobody waits", || async { gauges() == (0.0, 0.0) })
        .await;
    controller.running().interrupt();
    controller.end().await.ends(130);
}
