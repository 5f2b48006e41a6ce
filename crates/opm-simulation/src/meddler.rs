//! Everybody else: people with kubectl, controllers, and accidents that befall records.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::ledger::{record_name, uid};
use crate::modules::HOME;
use crate::plan::{Meddle, Meddling, ObjectPlan, ReleaseIndex};
use crate::server::Server;

const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";
const FINALIZER: &str = "example.com/hold";

/// Does everything that the plan says, at its time.
pub(crate) async fn meddle(server: Server, all: Vec<Meddling>) {
    for meddling in all {
        let wait = meddling.at.saturating_sub(server.time.millis());
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let at = server.time.millis();
        server
            .ledger()
            .say(at, format!("meddler: {:?}", meddling.what));
        deed(&server, meddling.what).await;
    }
}

fn record_path(release: ReleaseIndex) -> String {
    format!("/api/v1/namespaces/{HOME}/secrets/{}", record_name(release))
}

async fn deed(server: &Server, what: Meddle) {
    match what {
        Meddle::Edit(object) => {
            let content = object.content(9);
            server
                .meddle(Method::PATCH, &object.path(), MERGE, &content)
                .await;
        }
        Meddle::Delete(object) => {
            server
                .meddle(Method::DELETE, &object.path(), JSON, &json!({}))
                .await;
        }
        Meddle::Create(object) => create(server, object).await,
        Meddle::StripLabels(object) => {
            let nothing = json!({"metadata": {"labels": null}});
            server
                .meddle(Method::PATCH, &object.path(), MERGE, &nothing)
                .await;
        }
        Meddle::Finalizer(object, release_after) => {
            let held = json!({"metadata": {"finalizers": [FINALIZER]}});
            server
                .meddle(Method::PATCH, &object.path(), MERGE, &held)
                .await;
            let server = server.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(release_after)).await;
                let free = json!({"metadata": {"finalizers": null}});
                server
                    .meddle(Method::PATCH, &object.path(), MERGE, &free)
                    .await;
            });
        }
        Meddle::DeleteRecord(release) => {
            server
                .meddle(Method::DELETE, &record_path(release), JSON, &json!({}))
                .await;
        }
        Meddle::TruncateRecord(release) => truncate(server, release).await,
        Meddle::RestoreRecord(release, ago) => restore(server, release, ago).await,
    }
}

async fn create(server: &Server, object: ObjectPlan) {
    let mut manifest = object.manifest();
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.remove("annotations");
    }
    server
        .meddle(Method::POST, &object.collection(), JSON, &manifest)
        .await;
}

/// The current change goes, and the index still names it.
async fn truncate(server: &Server, release: ReleaseIndex) {
    let path = record_path(release);
    let Some(secret) = server.get(&path).await else {
        return;
    };
    let keys = secret["data"].as_object().into_iter().flatten();
    let change = keys
        .map(|(key, _)| key)
        .find(|key| key.starts_with("change"));
    if let Some(change) = change {
        let mut gone = serde_json::Map::new();
        gone.insert(change.clone(), Value::Null);
        server
            .meddle(Method::PATCH, &path, MERGE, &json!({"data": gone}))
            .await;
    }
}

/// A backup comes back, lock and all.
async fn restore(server: &Server, release: ReleaseIndex, ago: u64) {
    let path = record_path(release);
    let then = server.time.millis().saturating_sub(ago);
    let old = {
        let ledger = server.ledger();
        let moments = ledger.records.get(&release);
        let moments = moments.map_or(&[][..], Vec::as_slice);
        moments
            .iter()
            .rfind(|moment| moment.at <= then)
            .and_then(|moment| moment.secret.clone())
    };
    let (Some(mut old), Some(current)) = (old, server.get(&path).await) else {
        return;
    };
    if let Some(metadata) = old["metadata"].as_object_mut() {
        for key in ["managedFields", "creationTimestamp"] {
            metadata.remove(key);
        }
        metadata.insert("uid".to_owned(), json!(uid(&current)));
        metadata.insert(
            "resourceVersion".to_owned(),
            current["metadata"]["resourceVersion"].clone(),
        );
    }
    server.meddle(Method::PUT, &path, JSON, &old).await;
}

/// Nobody holds anything any more, and nothing foreign stands in the way.
pub(crate) async fn let_go(server: &Server) {
    let all: Vec<(String, bool)> = {
        let ledger = server.ledger();
        let live = ledger.objects.values().filter(|life| life.until.is_none());
        live.map(|life| (life.path.clone(), life.owners.is_empty()))
            .collect()
    };
    for (path, foreign) in all {
        let Some(object) = server.get(&path).await else {
            continue;
        };
        if object["metadata"]["finalizers"]
            .to_string()
            .contains(FINALIZER)
        {
            let free = json!({"metadata": {"finalizers": null}});
            server.meddle(Method::PATCH, &path, MERGE, &free).await;
        }
        if foreign {
            server.meddle(Method::DELETE, &path, JSON, &json!({})).await;
        }
    }
}
