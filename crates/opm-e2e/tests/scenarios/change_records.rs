//! The manifests of each change, kept in Secrets of their own beside the release's.

use std::collections::BTreeSet;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opm_e2e::objects::{config_map, secret};
use opm_e2e::{Module, World, api, scenarios};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

scenarios! {
    manifests_are_kept_and_verified_by_their_digest,
    records_can_be_switched_off,
    dropped_changes_leave_no_record_behind,
    what_a_crash_left_is_swept,
}

fn web(value: &str) -> Module {
    Module::new("web").component("app", &[config_map("a", value), secret("creds", value)])
}

/// The record Secrets of the namespace.
async fn records(w: &World) -> Vec<Value> {
    let label = "opmodel.dev%2Fcomponent%3Drecord";
    let path = format!(
        "{}?labelSelector={label}",
        api::collection("Secret", Some(&w.ns))
    );
    w.api.get(&path).await.unwrap()["items"]
        .as_array()
        .unwrap()
        .clone()
}

/// The last part of their names: the places of the ring.
async fn places(w: &World) -> BTreeSet<String> {
    let last = |s: &Value| {
        s["metadata"]["name"]
            .as_str()
            .unwrap()
            .rsplit('.')
            .next()
            .unwrap()
            .to_owned()
    };
    records(w).await.iter().map(last).collect()
}

async fn manifests_are_kept_and_verified_by_their_digest(w: World) {
    let report = w.apply(&web("1"), &[]).await.ok().json();
    let [record, notes] = &records(&w).await[..] else {
        panic!("the manifests, and what the server answered")
    };
    assert!(notes["data"]["applied"].is_string());
    assert_eq!(record["type"], "opmodel.dev/record");
    let packed = STANDARD
        .decode(record["data"]["manifests"].as_str().unwrap())
        .unwrap();
    let mut manifests = Vec::new();
    zstd::Decoder::new(packed.as_slice())
        .unwrap()
        .read_to_end(&mut manifests)
        .unwrap();
    let digest: String = Sha256::digest(&manifests)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(report["manifestDigest"], format!("sha256:{digest}"));
    assert_eq!(w.record("web").await.places(), opm_e2e::set(["00", "63"]));

    // The same again writes nothing new; another change takes another place.
    let version = record["metadata"]["resourceVersion"].clone();
    w.apply(&web("1"), &[]).await.ok();
    assert_eq!(records(&w).await[0]["metadata"]["resourceVersion"], version);
    w.apply(&web("2"), &[]).await.ok();
    assert_eq!(places(&w).await, opm_e2e::set(["00", "01", "63"]));
    w.delete("web", &[]).await.ok();
    assert!(records(&w).await.is_empty(), "they go with the release");
}

async fn records_can_be_switched_off(w: World) {
    w.apply(&web("1"), &["--no-record"]).await.ok();
    assert!(records(&w).await.is_empty());
    assert!(w.record("web").await.current().get("record").is_none());
    w.apply(&web("2"), &["--feature-disable", "change-records"])
        .await
        .ok();
    assert!(records(&w).await.is_empty());
    w.apply(&web("3"), &[]).await.ok();
    assert_eq!(places(&w).await, opm_e2e::set(["00", "63"]));
}

async fn dropped_changes_leave_no_record_behind(w: World) {
    for value in ["1", "2", "3", "4", "5"] {
        w.apply(&web(value), &["--max-history", "2"]).await.ok();
        assert_eq!(
            places(&w).await,
            w.record("web").await.places(),
            "after {value}"
        );
    }
}

async fn what_a_crash_left_is_swept(w: World) {
    w.apply(&web("1"), &[]).await.ok();
    // A record Secret that no index names, in the very place that comes next.
    let mut stray = records(&w).await[0].clone();
    let name = stray["metadata"]["name"]
        .as_str()
        .unwrap()
        .replace(".00", ".01");
    let labels = stray["metadata"]["labels"].clone();
    stray["kind"] = serde_json::json!("Secret");
    stray["metadata"] = serde_json::json!({"name": name, "labels": labels});
    w.api.create(&w.ns, &stray).await;
    stray["metadata"]["name"] = serde_json::json!(name.replace(".01", ".07"));
    w.api.create(&w.ns, &stray).await;
    // The log says that a run did not get to its end.
    w.edit_record("web", |data| {
        data.get_mut("log").unwrap()[0]["result"] = serde_json::json!("interrupted");
    })
    .await;
    w.apply(&web("2"), &[]).await.ok();
    assert_eq!(places(&w).await, opm_e2e::set(["00", "01", "63"]));
}
