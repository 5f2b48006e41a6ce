//! The edge cases that RFC-0001 lists, by their numbers.

use opm_e2e::api;
use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, scenarios, set};
use serde_json::json;

scenarios! {
    edge_1_labels_stripped_by_hand,
    edge_2_change_ids_overwrite_on_collision,
    edge_3_inventory_secret_is_no_workload,
    edge_4_delete_after_partial_delete,
    edge_5_concurrent_applies,
    edge_6_stale_entry_of_a_version_that_is_gone,
    edge_7_finalizers_do_not_block_pruning,
    edge_8_two_modules_with_one_object,
    edge_9_component_and_object_renamed_at_once,
    edge_10_large_values_and_many_objects,
}

fn web(objects: &[serde_json::Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn edge_1_labels_stripped_by_hand(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let path = api::object("ConfigMap/a", &w.ns);
    w.api
        .merge(&path, json!({"metadata": {"labels": null}}))
        .await;
    // The inventory is the record: the object is still this release's, by its uid.
    let ran = w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("pruned"));
    w.holds_exactly("web", &["ConfigMap/b"]).await;
    assert!(!w.exists("ConfigMap/a").await);
}

async fn edge_2_change_ids_overwrite_on_collision(w: World) {
    // A real collision takes four billion tries; the same id twice is the same write.
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let first = w.record("web").await;
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let second = w.record("web").await;
    assert_eq!(first.index(), second.index());
    let keys = second
        .data
        .keys()
        .filter(|k| k.starts_with("change-sha1-"))
        .count();
    assert_eq!(keys, 1);
}

async fn edge_3_inventory_secret_is_no_workload(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.delete_record("web").await;
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let record = w.record("web").await;
    assert_eq!(
        record.secret["metadata"]["labels"]["opmodel.dev/component"],
        "inventory"
    );
    assert_eq!(record.inventory(), set(["ConfigMap/a"]));
    // Without a record, delete finds objects by label, and not the Secrets of opm themselves.
    w.delete_record("web").await;
    let ran = w
        .opm(&["mod", "delete", "web", "--yes", "-o", "json"])
        .await;
    let ran = ran.ok().says("label");
    assert_eq!(
        ran.json()["resources"].as_array().map(Vec::len),
        Some(1),
        "{ran}"
    );
    assert!(!w.exists("ConfigMap/a").await);
}

async fn edge_4_delete_after_partial_delete(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    // Applying with a stale inventory, and deleting what is gone, both just work.
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    w.api.delete(&api::object("ConfigMap/b", &w.ns)).await;
    w.delete("web", &[]).await.ok();
    assert!(w.find_record("web").await.is_none());
    w.delete("web", &[]).await.ends(5);
    w.delete("web", &["--ignore-not-found"]).await.ok();
}

async fn edge_5_concurrent_applies(w: World) {
    let runs = (0..4).map(|i| {
        let module = Module::new("web").component("app", &[config_map(&format!("c{i}"), "1")]);
        let dir = w.dir().join(format!("v{i}"));
        std::fs::create_dir_all(&dir).unwrap();
        let dir = module.write(&dir).display().to_string();
        let w = &w;
        async move {
            let replaces = "--replace-all"; // each is another module to the others
            w.opm(&["mod", "apply", &dir, replaces, "-o", "json"]).await
        }
    });
    let ran = futures::future::join_all(runs).await;
    for run in &ran {
        assert!(matches!(run.code(), 0 | 7), "{run}");
    }
    assert!(
        ran.iter().any(|run| run.code() == 0),
        "one of them gets through"
    );
    let record = w.record("web").await;
    let live = w.live("web").await;
    assert_eq!(
        live.into_iter().collect::<std::collections::BTreeSet<_>>(),
        record.inventory()
    );
    assert!(record.pending().is_empty());
}

async fn edge_6_stale_entry_of_a_version_that_is_gone(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    // As if it had been applied when the API still had a version that is gone now.
    w.edit_record("web", |data| {
        for change in data.values_mut().filter(|v| v.get("inventory").is_some()) {
            for entry in change["inventory"]["entries"].as_array_mut().unwrap() {
                entry["v"] = json!("v1beta1");
            }
        }
    })
    .await;
    let ran = w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("pruned"));
    assert!(!w.exists("ConfigMap/a").await);
}

async fn edge_7_finalizers_do_not_block_pruning(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    w.api.merge(&api::object("ConfigMap/a", &w.ns), held).await;
    let ran = w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("pruned"));
    let record = w.record("web").await;
    assert!(record.pending().is_empty(), "accepted counts as gone");
    assert_eq!(record.inventory(), set(["ConfigMap/b"]));
    w.let_go("ConfigMap/a").await;
}

async fn edge_8_two_modules_with_one_object(w: World) {
    let mine = Module::new("mine").component("app", &[config_map("a", "1")]);
    let other = |objects: &[serde_json::Value]| Module::new("other").component("app", objects);
    w.apply(&mine, &[]).await.ok();
    w.apply(&other(&[config_map("b", "1")]), &[]).await.ok();
    // Not only on the first apply: on every one.
    let both = other(&[config_map("a", "2"), config_map("b", "1")]);
    w.apply(&both, &["--adopt", "--force"])
        .await
        .ends(2)
        .says("ConfigMap/a")
        .says("mine");
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    w.delete("other", &[]).await.ok();
    w.holds_exactly("mine", &["ConfigMap/a"]).await;
}

async fn edge_9_component_and_object_renamed_at_once(w: World) {
    let with = |component: &str, name: &str| {
        Module::new("web").component(component, &[config_map(name, "1")])
    };
    w.apply(&with("app", "old"), &[]).await.ok();
    let ran = w.apply(&with("server", "new"), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/old").as_deref(), Some("pruned"));
    w.holds_exactly("web", &["ConfigMap/new"]).await;
}

async fn edge_10_large_values_and_many_objects(w: World) {
    let many = |value: &str| {
        let objects: Vec<_> = (0..300)
            .map(|i| config_map(&format!("object-{i:04}"), value))
            .collect();
        web(&objects)
    };
    for value in ["1", "2", "3"] {
        w.apply(&many(value), &[]).await.ok();
    }
    let record = w.record("web").await;
    assert_eq!(record.inventory().len(), 300);
    assert!(record.secret.to_string().len() < 1 << 20);
    w.delete("web", &[]).await.ok();
    assert!(w.live("web").await.is_empty());
}
