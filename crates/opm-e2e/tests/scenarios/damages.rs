//! The ways in which a release's record gets damaged, by accident or by hand.

use std::collections::BTreeMap;

use opm_e2e::{World, api};
use serde_json::{Value, json};

/// The path of the release's Secret.
pub(crate) async fn record_path(w: &World, release: &str) -> String {
    let record = w.record(release).await;
    let name = record.secret["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    format!("{}/{name}", api::collection("Secret", Some(&w.ns)))
}

/// Makes the Secret anew, as somebody would who restores it by hand.
async fn recreate(w: &World, release: &str, edit: impl FnOnce(&mut Value)) {
    let path = record_path(w, release).await;
    let mut secret = w.api.get(&path).await.unwrap();
    w.api.delete(&path).await;
    let metadata =
        json!({"name": secret["metadata"]["name"], "labels": secret["metadata"]["labels"]});
    secret["metadata"] = metadata;
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    edit(&mut secret);
    w.api.create(&w.ns, &secret).await;
}

/// Every way to damage a record.
pub(crate) async fn damage(w: &World, release: &str, how: &str) {
    let mut data = w.raw_record(release).await;
    let index = w.record(release).await.index();
    let half = |bytes: &Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    let key = match how {
        "current change" => index[0].as_str(),
        "older change" => index[1].as_str(),
        other => other,
    };
    match how {
        "deleted" => return w.delete_record(release).await,
        "wrong type" => return recreate(w, release, |s| s["type"] = json!("Opaque")).await,
        "immutable" => {
            let path = record_path(w, release).await;
            w.api.merge(&path, json!({"immutable": true})).await;
            return;
        }
        "without labels" => {
            return recreate(w, release, |s| s["metadata"]["labels"] = json!({})).await;
        }
        "emptied" => data = BTreeMap::new(),
        "truncated" => data = data.iter().map(|(k, v)| (k.clone(), half(v))).collect(),
        "pending" | "lock" => {
            data.insert(key.to_owned(), b"{\"objects\": [".to_vec());
        }
        _ => {
            let cut = half(&data[key]);
            data.insert(key.to_owned(), cut);
        }
    }
    w.write_raw_record(release, &data).await;
}

pub(crate) const DAMAGES: [&str; 14] = [
    "deleted",
    "emptied",
    "truncated",
    "metadata",
    "index",
    "current change",
    "older change",
    "pending",
    "kept",
    "log",
    "lock",
    "wrong type",
    "immutable",
    "without labels",
];
