//! Going back: to each change that is remembered, without its module, and from a hybrid.

use std::collections::BTreeMap;
use std::time::Instant;

use opm_e2e::objects::{config_map, deployment, secret, service, unacceptable, volume_claim};
use opm_e2e::{Module, OpmOutput, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    a_deleted_release_can_be_brought_back,
    any_of_fifteen_changes_that_remains_can_be_gone_back_to,
    a_hybrid_after_a_failed_apply_is_resolved,
    the_directory_of_the_module_is_not_needed,
    components_values_and_order_come_back,
    a_dry_run_of_it_touches_nothing,
    twenty_megabytes_of_five_thousand_objects_can_be_gone_back_to,
}

pub(crate) fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

pub(crate) async fn rollback(w: &World, flags: &[&str]) -> OpmOutput {
    w.opm(&[&["mod", "rollback", "web", "-o", "json"], flags].concat())
        .await
}

pub(crate) fn id(report: &Value) -> String {
    report["changeId"].as_str().unwrap().to_owned()
}

/// What the cluster has of these objects, without what the server makes of them.
async fn as_applied(w: &World, names: &[&str]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for name in names {
        if let Some(object) = w
            .get(name)
            .await
            .filter(|o| o["metadata"]["deletionTimestamp"].is_null())
        {
            let seen = json!({"data": object["data"], "labels": object["metadata"]["labels"],
                "spec": object["spec"]["ports"]});
            all.insert((*name).to_owned(), seen);
        }
    }
    all
}

async fn any_of_fifteen_changes_that_remains_can_be_gone_back_to(w: World) {
    let names = [
        "ConfigMap/a",
        "ConfigMap/odd",
        "ConfigMap/even",
        "Secret/key",
        "Service/third",
    ];
    let module = |n: usize| {
        let mut objects = vec![
            config_map("a", &n.to_string()),
            secret("key", &format!("s{n}")),
        ];
        objects.push(config_map(
            if n.is_multiple_of(2) { "even" } else { "odd" },
            "x",
        ));
        if n.is_multiple_of(3) {
            objects.push(service("third"));
        }
        web(&objects)
    };
    let mut seen = Vec::new();
    for n in 0..15 {
        let report = w.apply(&module(n), &[]).await.ok().json();
        seen.push((id(&report), as_applied(&w, &names).await));
    }
    w.has_no_stray_records("web").await;
    // Ten changes, and what the server answered to the last one.
    assert_eq!(w.record("web").await.places().len(), 11);
    let index = w.record("web").await.index();
    assert_eq!(
        index,
        seen.iter()
            .rev()
            .take(10)
            .map(|(id, _)| id.clone())
            .collect::<Vec<_>>()
    );
    // How any two differ.
    let step = if opm_e2e::full() { 1 } else { 4 };
    for from in index.iter().step_by(step) {
        for to in index.iter().step_by(step) {
            let range = format!("{from}..{to}");
            let told = w
                .opm(&["mod", "history", "web", "-o", "json", "--diff", &range])
                .await
                .ok()
                .json();
            assert_eq!(
                told["objects"].as_array().unwrap().is_empty(),
                from == to,
                "{range}"
            );
        }
    }
    // Back to each, oldest first, by a few of its digits.
    for (id, then) in &seen[5..] {
        let digits = &id["change-sha1-".len()..][..7];
        let report = rollback(&w, &["--revision", digits]).await.ok().json();
        assert_eq!(report["changeId"], json!(id));
        let now = w.record("web").await;
        assert_eq!(now.index()[0], *id);
        assert_eq!(now.index().len(), 10, "the same changes in another order");
        let present: Vec<&str> = names
            .into_iter()
            .filter(|n| then.contains_key(*n))
            .collect();
        w.holds_exactly("web", &present).await;
        assert_eq!(as_applied(&w, &names).await, *then, "{id}");
    }
    for (id, _) in &seen[..5] {
        rollback(&w, &["--revision", id])
            .await
            .ends(5)
            .says("there is no change");
    }
}

async fn a_hybrid_after_a_failed_apply_is_resolved(w: World) {
    let old = [
        config_map("a", "1"),
        config_map("gone", "1"),
        service("web"),
    ];
    let first = w.apply(&web(&old), &[]).await.ok().json();
    let broken = [
        config_map("a", "2"),
        config_map("new", "2"),
        unacceptable(service("web")),
    ];
    w.apply(&web(&broken), &[]).await.ends(1);
    let hybrid = w.get("ConfigMap/a").await.unwrap();
    assert_eq!(hybrid["data"]["k"], "2");
    assert!(w.exists("ConfigMap/new").await && w.exists("ConfigMap/gone").await);

    let ran = rollback(&w, &["-m", "back to normal"])
        .await
        .ok()
        .says("did not succeed");
    assert_eq!(ran.json()["changeId"], first["changeId"]);
    assert_eq!(ran.action("ConfigMap/new").as_deref(), Some("pruned"));
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/gone", "Service/web"])
        .await;
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    let record = w.record("web").await;
    assert_eq!(record.index(), [id(&first)], "equal input, equal change");
    assert_eq!(record.results(), ["succeeded", "failed", "succeeded"]);
    assert_eq!(record.data["log"][0]["command"], "rollback");
    assert_eq!(record.data["log"][0]["message"], "back to normal");
    // Now the last deployment succeeded, and there is no change before this one.
    rollback(&w, &[])
        .await
        .ends(2)
        .says("the only one in the history");
}

async fn a_deleted_release_can_be_brought_back(w: World) {
    let web = |value: &str| {
        let objects = [config_map("a", value), volume_claim("data")];
        Module::new("web").component("app", &objects)
    };
    w.apply(&web("1"), &[]).await.ok();
    w.apply(&web("2"), &["-m", "the second"]).await.ok();
    let before = w.record("web").await;
    w.delete("web", &["--keep-history"]).await.ok();
    assert!(w.gone("ConfigMap/a").await);
    assert!(w.exists("PersistentVolumeClaim/data").await);
    let record = w.record("web").await;
    assert_eq!(record.data["metadata"]["state"], "deleted");
    assert_eq!(record.index(), before.index());
    assert_eq!(record.kept(), set(["PersistentVolumeClaim/data"]));
    assert_eq!(record.results()[0], "succeeded");
    assert!(!record.locked());
    w.has_no_stray_records("web").await;

    let list = async |flags: &[&str]| {
        let arguments = [&["mod", "list", "-o", "json"], flags].concat();
        let ran = w.opm(&arguments).await.ok();
        ran.json()["releases"].clone()
    };
    // It still keeps a claim, so it stays in sight.
    assert_eq!(list(&[]).await[0]["kept"], 1);
    assert_eq!(list(&["--deleted"]).await[0]["name"], "web");
    let history = w.opm(&["mod", "history", "web", "-o", "json"]).await.ok();
    let changes = history.json()["changes"].as_array().unwrap().clone();
    assert_eq!(changes.len(), 2, "{history}");
    assert!(changes.iter().all(|change| change["current"] == false));
    w.opm(&["mod", "status", "web"])
        .await
        .says("the release was deleted");

    rollback(&w, &["--yes"])
        .await
        .ok()
        .says("the change that was current when the release was deleted");
    let record = w.record("web").await;
    assert_eq!(record.data["metadata"]["state"], Value::Null);
    assert_eq!(record.index(), before.index());
    assert_eq!(record.inventory(), before.inventory());
    assert_eq!(record.kept(), set([]));
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "2");
    assert_eq!(list(&[]).await[0]["name"], "web");
    assert_eq!(list(&["--deleted"]).await, json!([]));

    // Deleted again, and then without a trace.
    w.delete("web", &["--keep-history"]).await.ok();
    w.delete("web", &["--force-prune-pvcs"]).await.ok();
    assert!(w.find_record("web").await.is_none());
    assert!(w.gone("PersistentVolumeClaim/data").await);
    w.has_no_stray_records("web").await;
}

async fn the_directory_of_the_module_is_not_needed(w: World) {
    let first = w
        .apply(&web(&[config_map("a", "1")]), &[])
        .await
        .ok()
        .json();
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    std::fs::remove_dir_all(w.dir().join("web")).unwrap();
    let report = rollback(&w, &[])
        .await
        .ok()
        .says("the change before the current one")
        .json();
    assert_eq!(report["changeId"], first["changeId"]);
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

async fn components_values_and_order_come_back(w: World) {
    let module = |n: &str| {
        Module::new("web")
            .component_after("app", &["db"], &[deployment("app"), config_map("a", n)])
            .component("db", &[config_map("db", n)])
            .optional("metrics", &[config_map("metrics", n)])
    };
    let flags = [
        "--components",
        "metrics",
        "--feature-enable",
        "label-orphan-pruning",
    ];
    let first = w.apply(&module("1"), &flags).await.ok().json();
    let then = w.record("web").await.current().clone();
    assert_eq!(then["order"], json!({"app": ["db"]}));
    w.apply(&module("2"), &["--components", ""]).await.ok();
    assert!(w.gone("ConfigMap/metrics").await);
    let ran = rollback(&w, &["--wait", "--events"]).await.ok();
    ran.clone().says(
        "feature label-orphan-pruning was enabled when this change was made, and is disabled now",
    );
    assert_eq!(ran.json()["changeId"], first["changeId"]);
    let now = w.record("web").await.current().clone();
    for key in [
        "components",
        "features",
        "order",
        "values",
        "manifestDigest",
        "module",
    ] {
        assert_eq!(now[key], then[key], "{key}");
    }
    assert_eq!(now["record"]["manifests"], then["record"]["manifests"]);
    // The selection that came back holds for the next apply.
    w.apply(&module("3"), &[]).await.ok();
    assert!(w.exists("ConfigMap/metrics").await);
}

async fn a_dry_run_of_it_touches_nothing(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("gone", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("a", "2")]), &[]).await.ok();
    let before = w.raw_record("web").await;
    let ran = rollback(&w, &["--dry-run"]).await.ok();
    assert_eq!(ran.json()["dryRun"], true);
    assert_eq!(ran.action("ConfigMap/gone").as_deref(), Some("created"));
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("configured"));
    assert_eq!(w.raw_record("web").await, before);
    assert!(!w.exists("ConfigMap/gone").await);
}

/// Text of a size, as settings and manifests have it: words that repeat, numbers that do not.
fn settings(n: usize, bytes: usize) -> String {
    let mut text = String::new();
    let mut line = 0;
    while text.len() < bytes {
        let number = (n * 7919 + line * 104_729) % 1_000_003;
        text.push_str(&format!(
            "server.pool-{line}.endpoint = https://node-{number}.example.com:8443/api/v1/{n}\n"
        ));
        line += 1;
    }
    text
}

async fn twenty_megabytes_of_five_thousand_objects_can_be_gone_back_to(w: World) {
    let count: usize = if opm_e2e::scale() { 5000 } else { 60 };
    let module = |round: usize| {
        let objects: Vec<Value> = (0..count)
            .map(|n| {
                let seed = if n.is_multiple_of(10) { n + round } else { n };
                config_map(&format!("settings-{n:04}"), &settings(seed, 4000))
            })
            .collect();
        web(&objects)
    };
    let first = w.apply(&module(1), &["-q"]).await.ok().json();
    w.apply(&module(2), &["-q"]).await.ok();
    let record = w.record("web").await;
    let index = record.index();
    let held = &record.data[&index[1]]["record"]["manifests"];
    opm_e2e::note(&format!(
        "{count} objects of 4,000 bytes: {} bytes in {} record Secrets per change, {} in the \
         release's Secret for two",
        held["bytes"],
        held["places"].as_array().unwrap().len(),
        record.bytes()
    ));
    let began = Instant::now();
    let range = format!("{}..{}", index[1], index[0]);
    let told = w
        .opm(&["mod", "history", "web", "-o", "json", "--diff", &range])
        .await
        .ok()
        .json();
    assert_eq!(told["objects"].as_array().unwrap().len(), count / 10);
    opm_e2e::note(&format!("compared in {:?}", began.elapsed()));
    let began = Instant::now();
    let back = rollback(&w, &["-q"]).await.ok().json();
    opm_e2e::note(&format!("gone back in {:?}", began.elapsed()));
    assert_eq!(back["changeId"], first["changeId"]);
    assert_eq!(w.record("web").await.inventory().len(), count);
    let some = w.get("ConfigMap/settings-0010").await.unwrap();
    assert_eq!(some["data"]["k"], settings(11, 4000));
    w.has_no_stray_records("web").await;
    w.delete("web", &["-q"]).await.ok();
}
