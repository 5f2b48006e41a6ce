//! Records that somebody made up who may write the release's Secrets: what that costs, and what
//! it cannot do.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use opm_e2e::objects::{config_map, in_namespace};
use opm_e2e::{Module, World, api, scenarios};
use serde_json::{Value, json};

use crate::damages::record_path;

scenarios! {
    a_lock_dated_ahead_expires_when_it_stays_unchanged,
    unlock_removes_a_lock_dated_ahead,
    a_rest_that_never_ends_is_not_waited_for,
    entries_that_cannot_be_objects_are_set_aside,
    objects_without_labels_go_only_by_their_recorded_uid,
    an_object_without_labels_is_not_recreated,
    bombs_in_record_secrets_are_not_unpacked,
}

/// A lock's time to live, and what follows from it, short enough to be waited for.
const SHORT: (&str, &str) = ("OPM_LOCK_TTL", "2s");

fn web(names: &[&str]) -> Module {
    let objects: Vec<Value> = names.iter().map(|n| config_map(n, "1")).collect();
    Module::new("web").component("app", &objects)
}

/// Locks the release as somebody whose clock is ahead.
async fn lock_ahead(w: &World) {
    w.edit_record("web", |data| {
        let lock = json!({"id": "forged", "holder": "mallory", "host": "elsewhere", "pid": 1,
            "command": "apply", "since": "2026-02-11T14:30:00Z", "beat": 1});
        data.insert("lock".to_owned(), lock);
    })
    .await;
    let path = record_path(w, "web").await;
    let mut fields = w.api.get(&path).await.unwrap()["metadata"]["managedFields"].clone();
    for entry in fields.as_array_mut().unwrap() {
        entry["time"] = json!("2999-01-01T00:00:00Z");
    }
    // A write that moves nothing but times would be none.
    let patch = json!({"metadata": {"annotations": {"x": "1"}, "managedFields": fields}});
    let patched = format!("{path}?fieldManager=mallory");
    let secret = w.api.merge(&patched, patch).await;
    let entries = secret["metadata"]["managedFields"].as_array().unwrap();
    let ahead = |entry: &&Value| entry["time"] == "2999-01-01T00:00:00Z";
    assert!(entries.iter().any(|entry| ahead(&entry)), "{entries:?}");
}

async fn a_lock_dated_ahead_expires_when_it_stays_unchanged(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    lock_ahead(&w).await;
    let status = w.opm(&["mod", "status", "web", "-o", "json"]).await.ok();
    assert_eq!(status.json()["lock"]["holder"], "mallory");
    let ran = w.apply_with(&[SHORT], &web(&["a", "b"]), &[]).await.ok();
    ran.says("2999-01-01T00:00:00Z, is ahead of the server's clock");
    assert!(w.exists("ConfigMap/b").await);
    let record = w.record("web").await;
    assert!(!record.locked());
}

async fn unlock_removes_a_lock_dated_ahead(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    lock_ahead(&w).await;
    let unlock = ["mod", "unlock", "web", "--yes"];
    let ran = w.opm_with(&[SHORT], &unlock).await.ok();
    ran.says("mallory on elsewhere")
        .says("2999-01-01T00:00:00Z, is ahead of the server's clock");
    assert!(!w.record("web").await.locked());
}

async fn a_rest_that_never_ends_is_not_waited_for(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    let ahead = json!({"objects": [], "until": "9999-12-30T22:00:00Z"});
    w.edit_record("web", |data| {
        data.insert("pending".to_owned(), ahead.clone());
    })
    .await;
    w.apply_with(&[SHORT], &web(&["a", "b"]), &[]).await.ok();
    let until = w.record("web").await.data["pending"]["until"].clone();
    assert!(until.as_str().unwrap() < "2999", "{until}");
    w.edit_record("web", |data| {
        data.insert("pending".to_owned(), ahead.clone());
    })
    .await;
    let delete = ["mod", "delete", "web", "--yes"];
    w.opm_with(&[SHORT], &delete).await.ok();
    assert!(w.find_record("web").await.is_none());
}

async fn entries_that_cannot_be_objects_are_set_aside(w: World) {
    w.apply(&web(&["a", "b"]), &[]).await.ok();
    let odd = [
        ("name", ".."),
        ("name", "../../secrets"),
        ("name", "a%2fb"),
        ("kind", "Config Map"),
        ("group", "apps/v1"),
        ("namespace", "../kube-system"),
        ("v", "v1/../../v1"),
    ];
    w.edit_record("web", |data| {
        let change = data.values_mut().find(|v| v.get("inventory").is_some());
        let entries = &mut change.unwrap()["inventory"]["entries"];
        for (field, value) in odd {
            let mut entry = entries[0].clone();
            entry["name"] = json!(format!("odd-{field}"));
            entry[field] = json!(value);
            entries.as_array_mut().unwrap().push(entry);
        }
    })
    .await;
    let named = r#"the entry \"ConfigMap\"/\"..\" in namespace"#;
    let status = w.opm(&["mod", "status", "web", "-o", "json"]).await.ok();
    status.says(named);
    let ran = w.apply(&web(&["a", "c"]), &[]).await.ok();
    let ran = ran
        .did("pruned", "ConfigMap/b")
        .did("created", "ConfigMap/c");
    ran.says(named);
    let record = w.record("web").await;
    assert_eq!(record.data["setAside"].as_array().unwrap().len(), odd.len());
    assert_eq!(record.inventory().len(), 2);

    let forget = ["mod", "forget", "web", "ConfigMap/..", "-o", "json"];
    w.opm(&forget).await.ok();
    let left = w.record("web").await.data["setAside"].clone();
    assert_eq!(left.as_array().unwrap().len(), odd.len() - 1);
    w.delete("web", &[]).await.ok();
    assert!(w.find_record("web").await.is_none());
    assert!(w.gone("ConfigMap/a").await && w.gone("ConfigMap/c").await);
}

/// An object that `opm` has applied, by its field manager, and that carries no labels.
async fn unlabelled(w: &World, namespace: &str, name: &str) -> String {
    let object = in_namespace(config_map(name, "theirs"), namespace);
    let path = format!("{}/{name}", api::collection("ConfigMap", Some(namespace)));
    let apply = format!("{path}?fieldManager=opm&force=true");
    let patch = "application/apply-patch+yaml";
    let (status, body) = w
        .api
        .send(Method::PATCH, &apply, patch, Some(&object))
        .await;
    assert_eq!(status, 201, "{body}");
    body["metadata"]["uid"].as_str().unwrap().to_owned()
}

async fn objects_without_labels_go_only_by_their_recorded_uid(w: World) {
    let other = w.other_namespace("other").await;
    let mut uids = Vec::new();
    for name in ["none", "empty", "wrong", "known"] {
        uids.push(unlabelled(&w, &other, name).await);
    }
    w.apply(&web(&["a"]), &[]).await.ok();
    let known = uids[3].clone();
    w.edit_record("web", |data| {
        let change = data.values_mut().find(|v| v.get("inventory").is_some());
        let entries = &mut change.unwrap()["inventory"]["entries"];
        for (name, uid) in [
            ("none", Value::Null),
            ("empty", json!("")),
            ("wrong", json!("7e57ab1e-0000-4000-8000-000000000000")),
            // Whoever may read an object knows its uid, and need not guess.
            ("known", json!(known)),
        ] {
            let mut entry = entries[0].clone();
            entry["name"] = json!(name);
            entry["namespace"] = json!(other);
            entry["uid"] = uid;
            entries.as_array_mut().unwrap().push(entry);
        }
    })
    .await;
    let spelled = |name: &str| format!("{other}:ConfigMap/{name}");
    let ran = w.apply(&web(&["a"]), &[]).await.ok();
    for name in ["none", "empty", "wrong"] {
        assert!(w.exists(&spelled(name)).await, "{name}: {ran}");
        let why = w.record("web").await.kept_why(&format!("ConfigMap/{name}"));
        assert_eq!(why.as_deref(), Some("not-mine"), "{name}");
    }
    assert!(w.gone(&spelled("known")).await);
    let prune = ["mod", "prune", "web", "ConfigMap/none", "-o", "json"];
    assert_ne!(w.opm(&prune).await.code(), 0);
    w.delete("web", &[]).await.ok();
    for name in ["none", "empty", "wrong"] {
        assert!(w.exists(&spelled(name)).await, "{name}");
    }
}

async fn an_object_without_labels_is_not_recreated(w: World) {
    let secret = |image: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"},
            "immutable": true, "stringData": {"image": image}})
    };
    w.hide("theirs-image");
    w.hide("our-image");
    w.apply(&web(&["a"]), &[]).await.ok();
    w.api.create(&w.ns, &secret("theirs-image")).await;
    w.edit_record("web", |data| {
        let change = data.values_mut().find(|v| v.get("inventory").is_some());
        let entries = &mut change.unwrap()["inventory"]["entries"];
        let mut entry = entries[0].clone();
        entry["kind"] = json!("Secret");
        entry["name"] = json!("theirs");
        entry.as_object_mut().unwrap().remove("uid");
        entries.as_array_mut().unwrap().push(entry);
    })
    .await;
    let uid = w.uid("Secret/theirs").await;
    let module = Module::new("web").component("app", &[config_map("a", "1"), secret("our-image")]);
    let ran = w.apply(&module, &["--recreate"]).await.ends(2);
    ran.says("it is not this release's to recreate");
    assert_eq!(w.uid("Secret/theirs").await, uid);
}

/// So many megabytes of the same bytes, compressed.
fn bomb(megabytes: usize, content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    let megabyte = content.repeat((1 << 20) / content.len());
    for _ in 0..megabytes {
        encoder.write_all(&megabyte).unwrap();
    }
    encoder.finish().unwrap()
}

async fn bombs_in_record_secrets_are_not_unpacked(w: World) {
    w.apply(&web(&["a"]), &[]).await.ok();
    let record = record_path(&w, "web").await;
    let path = format!("{record}.00");
    let too_much = "takes more memory than one command may use";
    for (content, megabytes) in [(&b" "[..], 600), (&br#"{"":0},"#[..], 4)] {
        let packed = bomb(megabytes, content);
        let encoded = STANDARD.encode(&packed);
        w.api
            .merge(&path, json!({"data": {"manifests": encoded}}))
            .await;
        w.edit_record("web", |data| {
            let change = data.values_mut().find(|v| v.get("record").is_some());
            change.unwrap()["record"]["manifests"]["bytes"] = json!(packed.len());
        })
        .await;
        let status = w.opm(&["mod", "status", "web"]).await.ok();
        status.says(too_much).says(".00 cannot be read");
        let show = ["mod", "show", "web", "manifests"];
        let shown = w.opm(&show).await.ends(2);
        shown.says(too_much).says(".00 cannot be read");

        w.api
            .merge(&path, json!({"data": {"pending": encoded}}))
            .await;
        let held = json!({"places": ["00"], "bytes": packed.len()});
        let pending = json!({"record": held, "count": 0}).to_string();
        let forged = json!({"data": {"pending": STANDARD.encode(pending)}});
        w.api.merge(&record, forged).await;
        for command in ["status", "delete", "history"] {
            let ran = w.opm(&["mod", command, "web"]).await;
            assert!(ran.code() < 10, "{command} ends as it should: {ran}");
        }
        w.apply(&web(&["b"]), &[]).await.ends(2).says(too_much);
        w.api
            .merge(&record, json!({"data": {"pending": null}}))
            .await;
    }
    // Places that are named again and again would be read again and again.
    w.edit_record("web", |data| {
        let change = data.values_mut().find(|v| v.get("record").is_some());
        let held = &mut change.unwrap()["record"]["manifests"];
        held["places"] = json!(vec!["00"; 10_000]);
        held["bytes"] = json!(u64::MAX);
    })
    .await;
    let shown = w.opm(&["mod", "show", "web", "manifests"]).await.ends(2);
    shown.says("more of it than can have been written");
}
