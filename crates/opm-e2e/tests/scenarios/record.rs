//! The record as it is stored: what a reader of plain RFC-0001 sees, and what survives.

use opm_e2e::objects::{config_map, service, stateful_set, volume_claim};
use opm_e2e::{Module, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    the_secret_means_what_the_rfc_example_means,
    a_secret_in_the_rfcs_exact_form_is_read_and_upgraded,
    unknown_keys_and_fields_survive,
    max_history_drops_the_oldest_and_their_keys,
    a_record_of_an_unknown_version_is_shown_but_never_written,
    damaged_records_are_refused_by_key_and_left_alone,
    entries_that_name_other_peoples_objects_do_no_harm,
}

fn minecraft(name: &str) -> Module {
    Module::minecraft("0.1.0").component(
        "app",
        &[stateful_set(name), service(name), volume_claim("config")],
    )
}

fn web(names: &[&str]) -> Module {
    let objects: Vec<Value> = names.iter().map(|n| config_map(n, "1")).collect();
    Module::new("web").component("app", &objects)
}

async fn the_secret_means_what_the_rfc_example_means(w: World) {
    w.apply(&minecraft("minecraft"), &[]).await.ok();
    w.apply(&minecraft("minecraft-server"), &[]).await.ok();
    let record = w.record("minecraft").await;
    let id = record.data["metadata"]["releaseId"]
        .as_str()
        .unwrap()
        .to_owned();

    assert_eq!(
        record.secret["metadata"]["name"],
        format!("opm.minecraft.{id}")
    );
    assert_eq!(record.secret["type"], "opmodel.dev/release");
    let labels = &record.secret["metadata"]["labels"];
    for (key, value) in [
        ("app.kubernetes.io/managed-by", "open-platform-model"),
        ("module.opmodel.dev/name", "minecraft"),
        ("module.opmodel.dev/namespace", w.ns.as_str()),
        ("module-release.opmodel.dev/uuid", id.as_str()),
        ("opmodel.dev/component", "inventory"),
    ] {
        assert_eq!(labels[key], value, "{key}");
    }
    let metadata = &record.data["metadata"];
    assert_eq!(metadata["kind"], "ModuleRelease");
    assert_eq!(metadata["apiVersion"], "core.opmodel.dev/v1alpha1");
    assert_eq!(metadata["name"], "minecraft");
    assert_eq!(metadata["namespace"], w.ns);
    assert!(
        metadata["lastTransitionTime"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );

    let index = record.index();
    assert_eq!(index.len(), 2);
    let oldest = &record.data[&index[1]];
    assert_eq!(
        oldest["module"],
        json!({"path": "opmodel.dev/modules/minecraft@v0", "version": "0.1.0", "name": "minecraft"})
    );
    assert!(
        oldest["manifestDigest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    assert!(oldest["values"].is_string() && oldest["timestamp"].is_string());
    let mut entries = oldest["inventory"]["entries"].as_array().unwrap().clone();
    entries.iter_mut().for_each(|e| {
        e.as_object_mut()
            .unwrap()
            .retain(|k, _| k != "uid" && k != "hash")
    });
    let entry = |group: &str, kind: &str, name: &str| json!({"group": group, "kind": kind, "namespace": w.ns, "name": name, "v": "v1", "component": "app"});
    for expected in [
        entry("apps", "StatefulSet", "minecraft"),
        entry("", "Service", "minecraft"),
        entry("", "PersistentVolumeClaim", "config"),
    ] {
        assert!(entries.contains(&expected), "{expected} in {entries:?}");
    }
    assert_eq!(entries.len(), 3);
}

async fn a_secret_in_the_rfcs_exact_form_is_read_and_upgraded(w: World) {
    // What an implementation of the plain RFC left behind: an applied release and its Secret.
    w.apply(&minecraft("minecraft"), &[]).await.ok();
    w.edit_record("minecraft", |data| {
        data.retain(|key, _| {
            key == "metadata" || key == "index" || key.starts_with("change-sha1-")
        });
        for (_, change) in data
            .iter_mut()
            .filter(|(key, _)| key.starts_with("change-sha1-"))
        {
            let known = [
                "module",
                "values",
                "manifestDigest",
                "timestamp",
                "inventory",
            ];
            change
                .as_object_mut()
                .unwrap()
                .retain(|key, _| known.contains(&key.as_str()));
            for entry in change["inventory"]["entries"].as_array_mut().unwrap() {
                entry
                    .as_object_mut()
                    .unwrap()
                    .retain(|key, _| key != "uid" && key != "hash");
            }
        }
    })
    .await;
    let ran = w.apply(&minecraft("minecraft-server"), &[]).await.ok();
    assert_eq!(
        ran.action("StatefulSet/minecraft").as_deref(),
        Some("pruned")
    );
    w.holds_exactly(
        "minecraft",
        &[
            "PersistentVolumeClaim/config",
            "Service/minecraft-server",
            "StatefulSet/minecraft-server",
        ],
    )
    .await;
    assert_eq!(w.record("minecraft").await.index().len(), 2);
}

async fn unknown_keys_and_fields_survive(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    let first = w.record("web").await.index()[0].clone();
    w.edit_record("web", |data| {
        data.insert("notes".to_owned(), json!({"from": "somebody else"}));
        data.get_mut("metadata").unwrap()["colour"] = json!("green");
        data.get_mut(&first).unwrap()["ticket"] = json!(4711);
    })
    .await;
    w.apply(&web(&["a", "b"]), &[]).await.ok();
    let record = w.record("web").await;
    assert_eq!(record.data["notes"], json!({"from": "somebody else"}));
    assert_eq!(record.data["metadata"]["colour"], "green");
    assert_eq!(record.data[&first]["ticket"], 4711);
}

async fn max_history_drops_the_oldest_and_their_keys(w: World) {
    for names in [&["a"][..], &["b"], &["c"], &["d"]] {
        w.apply(&web(names), &["--max-history", "2"]).await.ok();
    }
    let record = w.record("web").await;
    assert_eq!(record.index().len(), 2);
    let keys = record
        .data
        .keys()
        .filter(|k| k.starts_with("change-sha1-"))
        .count();
    assert_eq!(keys, 2);
    assert_eq!(record.inventory(), set(["ConfigMap/d"]));
}

async fn a_record_of_an_unknown_version_is_shown_but_never_written(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    w.edit_record("web", |data| {
        data.get_mut("metadata").unwrap()["apiVersion"] = json!("core.opmodel.dev/v9");
    })
    .await;
    let before = w.record("web").await.secret["metadata"]["resourceVersion"].clone();
    w.apply(&web(&["b"]), &[])
        .await
        .ends(2)
        .says("core.opmodel.dev/v9");
    w.delete("web", &[]).await.ends(2);
    assert_eq!(
        w.record("web").await.secret["metadata"]["resourceVersion"],
        before
    );
    assert!(w.exists("ConfigMap/a").await && !w.exists("ConfigMap/b").await);
}

async fn damaged_records_are_refused_by_key_and_left_alone(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    let change = w.record("web").await.index()[0].clone();
    let good = w.raw_record("web").await;
    for (key, bytes) in [
        ("metadata", &b"{\"kind\": \"Modu"[..]),
        ("index", b"{}"),
        ("index", b"[\"change-sha1-00000000\"]"),
        (change.as_str(), b"nonsense"),
        ("pending", b"[1, 2"),
        ("kept", b"7"),
    ] {
        let mut damaged = good.clone();
        damaged.insert(key.to_owned(), bytes.to_vec());
        w.write_raw_record("web", &damaged).await;
        w.apply(&web(&["b"]), &[]).await.ends(2).says(key);
        assert!(!w.exists("ConfigMap/b").await, "{key}");
        assert_eq!(
            w.raw_record("web").await,
            damaged,
            "{key}: left as it was found"
        );
    }
    let mut without = good.clone();
    without.remove("index");
    w.write_raw_record("web", &without).await;
    w.apply(&web(&["b"]), &[]).await.ends(2).says("index");
    w.write_raw_record("web", &good).await;
    w.apply(&web(&["b"]), &[]).await.ok();
}

async fn entries_that_name_other_peoples_objects_do_no_harm(w: World) {
    w.api.create(&w.ns, &config_map("theirs", "1")).await;
    w.apply(
        &Module::new("other").component("app", &[config_map("others", "1")]),
        &[],
    )
    .await
    .ok();
    w.apply(&web(&["a"]), &[]).await.ok();
    w.edit_record("web", |data| {
        for change in data.values_mut().filter(|v| v.get("inventory").is_some()) {
            let entries = change["inventory"]["entries"].as_array_mut().unwrap();
            for name in ["theirs", "others"] {
                let mut entry = entries[0].clone();
                entry["name"] = json!(name);
                entry.as_object_mut().unwrap().remove("uid");
                entries.push(entry);
            }
        }
    })
    .await;
    let ran = w.apply(&web(&["a"]), &[]).await.ok();
    assert_eq!(
        ran.action("ConfigMap/theirs").as_deref(),
        Some("kept"),
        "{ran}"
    );
    for spared in ["ConfigMap/theirs", "ConfigMap/others"] {
        assert!(w.exists(spared).await, "{spared}");
    }
    w.delete("web", &[]).await.ok();
    for spared in ["ConfigMap/theirs", "ConfigMap/others"] {
        assert!(w.exists(spared).await, "{spared}");
    }
}
