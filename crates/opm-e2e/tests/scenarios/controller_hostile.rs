//! Resources that were made to hold the controller up: it goes on with all others.

use opm_e2e::objects::config_map;
use opm_e2e::{World, scenarios};
use serde_json::{Value, json};

scenarios! {
    endless_times_end_nothing,
    a_resource_that_cannot_be_read_holds_up_no_other,
    values_beyond_all_measure_are_not_read,
}

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

async fn prepare(w: &World) {
    w.define_resource().await;
    let files = json!({"a.yaml": config_map("a", "1").to_string()});
    w.put_files("source", files).await;
}

/// Another release, of an object of its own.
async fn another_is_reconciled(w: &World) {
    let files = json!({"b.yaml": config_map("b", "1").to_string()});
    w.put_files("other", files).await;
    w.put_release("other", json!({"module": {"configMap": {"name": "other"}}}))
        .await;
    w.until_ready("other").await;
}

async fn endless_times_end_nothing(w: World) {
    prepare(&w).await;
    let endless = format!("{}s", i64::MAX);
    let mut spec = spec();
    for field in ["interval", "retryInterval", "timeout"] {
        spec[field] = json!(endless);
    }
    let _running = w.start_controller(&[]);
    w.put_release("web", spec).await;
    w.until_ready("web").await;
    another_is_reconciled(&w).await;
}

async fn a_resource_that_cannot_be_read_holds_up_no_other(w: World) {
    prepare(&w).await;
    let running = w.start_controller(&[]);
    w.put_release("web", spec()).await;
    w.until_ready("web").await;
    // The definition takes any whole number.
    let objects = |count: u64| json!({"counts": {"objects": count, "pending": 0, "kept": 0}});
    w.edit_status("web", objects(5_000_000_000)).await;
    running.until_it_writes("cannot be read").await;
    another_is_reconciled(&w).await;
    // And one that begins with it.
    running.interrupt();
    running.end().await;
    let running = w.start_controller(&[]);
    running.until_it_writes("cannot be read").await;
    w.edit_release("other", json!({"interval": "3m"})).await;
    w.until_ready("other").await;
    // Somebody puts it right.
    w.edit_status("web", objects(1)).await;
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
}

async fn values_beyond_all_measure_are_not_read(w: World) {
    prepare(&w).await;
    let text = format!("text: {}\n", "x".repeat(1 << 19));
    let mut from = Vec::new();
    for number in 0..10 {
        let name = format!("values-{number}");
        w.put_files(&name, json!({"values.yaml": text})).await;
        from.push(json!({"kind": "ConfigMap", "name": name}));
    }
    let mut spec = spec();
    spec["valuesFrom"] = json!(from);
    let _running = w.start_controller(&[]);
    w.put_release("web", spec).await;
    let told = w.until_condition("web", "Stalled", "True").await;
    assert_eq!(told["reason"], "InvalidSpec");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("more than 4 MiB of text"), "{message}");
    another_is_reconciled(&w).await;
}
