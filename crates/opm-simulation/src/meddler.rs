//! Everybody else: people with kubectl, controllers, and accidents that befall records.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use opm_core::labels;
use serde_json::{Value, json};

use crate::coverage::Visit;
use crate::ledger::{part, record_name, uid};
use crate::modules::{HELM_RELEASE, HOME, names_an_object};
use crate::plan::{Controller, Meddle, Meddling, ObjectPlan, RecordEdit, ReleaseIndex};
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
        {
            let mut ledger = server.ledger();
            ledger.say(at, format!("meddler: {:?}", meddling.what));
            ledger.coverage.visit(Visit::of_meddling(meddling.what));
        }
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
        Meddle::Helm(object) => install(server, object).await,
        Meddle::Kubectl(object) => kubectl_apply(server, object).await,
        Meddle::Controller(what, object, apart) => {
            let server = server.clone();
            tokio::spawn(async move { control(&server, what, object, apart).await });
        }
        Meddle::StripLabels(object) => {
            let nothing = json!({"metadata": {"labels": null}});
            server
                .meddle(Method::PATCH, &object.path(), MERGE, &nothing)
                .await;
        }
        Meddle::StripAll(object) => {
            let nothing = json!({"metadata": {"labels": null, "managedFields": [{}]}});
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
        Meddle::Rebuild(object) => rebuild(server, object).await,
        Meddle::DeleteRecord(release) => {
            server
                .meddle(Method::DELETE, &record_path(release), JSON, &json!({}))
                .await;
        }
        Meddle::TruncateRecord(release) => truncate(server, release).await,
        Meddle::EditRecord(release, how) => edit_record(server, release, how).await,
        Meddle::DeleteRecordSecret(release) => {
            let path = format!("{}.00", record_path(release));
            server.meddle(Method::DELETE, &path, JSON, &json!({})).await;
        }
        Meddle::RestoreRecord(release, ago) => restore(server, release, ago).await,
    }
}

/// Works on an object a few times.
async fn control(server: &Server, what: Controller, object: ObjectPlan, apart: u64) {
    const TIMES: u64 = 4;
    for time in 0..TIMES {
        tokio::time::sleep(Duration::from_millis(apart)).await;
        match what {
            Controller::Defaults => {
                let filled = json!({"metadata": {"annotations": {"example.com/filled": "in"}}});
                server
                    .meddle(Method::PATCH, &object.path(), MERGE, &filled)
                    .await;
            }
            Controller::Edits => {
                let content = object.content(9 + u8::try_from(time).unwrap_or_default());
                server
                    .meddle(Method::PATCH, &object.path(), MERGE, &content)
                    .await;
            }
            Controller::Recreates => recreate(server, object).await,
        }
    }
}

/// Deletes an object that is no record, if there is one, and creates another of its name, which is
/// nobody's.
pub(crate) async fn replace(server: &Server, path: &str) {
    let Some((collection, _)) = path.rsplit_once('/').filter(|_| names_an_object(path)) else {
        return;
    };
    let found = server.get(path).await;
    let at = server.time.millis();
    let does = if found.is_some() { "replaces" } else { "makes" };
    server.ledger().say(at, format!("meddler: {does} {path}"));
    let object = match (found, ObjectPlan::at(path)) {
        (Some(mut object), _) => {
            server.meddle(Method::DELETE, path, JSON, &json!({})).await;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.retain(|key, _| ["name", "namespace"].contains(&&**key));
            }
            object
        }
        (None, Some(object)) => object.bare(),
        (None, None) => return,
    };
    server.meddle(Method::POST, collection, JSON, &object).await;
}

/// Deletes an object and creates it again as it was, labels and all.
async fn recreate(server: &Server, object: ObjectPlan) {
    let Some(mut old) = server.get(&object.path()).await else {
        return;
    };
    let old_uid = uid(&old).to_owned();
    server
        .meddle(Method::DELETE, &object.path(), JSON, &json!({}))
        .await;
    if let Some(metadata) = old["metadata"].as_object_mut() {
        metadata.retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&&**key));
    }
    server
        .meddle(Method::POST, &object.collection(), JSON, &old)
        .await;
    // What is held by something is still the old one.
    if let Some(new) = server.get(&object.path()).await
        && uid(&new) != old_uid
    {
        server.ledger().inherit(&old_uid, uid(&new));
    }
}

/// Deletes a ClusterRole, and writes its rules as the controller does that still had it in mind.
async fn rebuild(server: &Server, object: ObjectPlan) {
    let Some(old) = server.get(&object.path()).await else {
        return;
    };
    let old_uid = uid(&old).to_owned();
    server
        .meddle(Method::DELETE, &object.path(), JSON, &json!({}))
        .await;
    let rules = json!({
        "apiVersion": object.kind.api_version(), "kind": object.kind.word(),
        "metadata": {"name": object.object_name()}, "rules": [],
    });
    server.rebuild(&object.path(), &rules).await;
    if let Some(new) = server.get(&object.path()).await {
        server.ledger().inherit(&old_uid, uid(&new));
    }
}

/// Somebody's hand in the record.
async fn edit_record(server: &Server, release: ReleaseIndex, how: RecordEdit) {
    let path = record_path(release);
    let Some(secret) = server.get(&path).await else {
        return;
    };
    let encoded = |value: &Value| BASE64_STANDARD.encode(value.to_string());
    let data = match how {
        RecordEdit::TimesAhead => {
            let mut pending = part(&secret, "pending").unwrap_or(json!({"objects": []}));
            pending["until"] = json!("9999-12-30T22:00:00Z");
            json!({"pending": encoded(&pending)})
        }
        RecordEdit::UnknownKey => json!({"note": encoded(&json!("by hand"))}),
        RecordEdit::NoLog => json!({"log": encoded(&json!([]))}),
        RecordEdit::CutShort => {
            let index = part(&secret, "index").unwrap_or_default().to_string();
            let half = &index.as_bytes()[..index.len() / 2];
            json!({"index": BASE64_STANDARD.encode(half)})
        }
    };
    let edited = json!({"data": data});
    server.meddle(Method::PATCH, &path, MERGE, &edited).await;
}

/// The object as somebody else would write it.
fn plain(object: ObjectPlan) -> Value {
    let mut manifest = object.manifest();
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.remove("annotations");
    }
    manifest
}

async fn create(server: &Server, object: ObjectPlan) {
    server
        .meddle(Method::POST, &object.collection(), JSON, &plain(object))
        .await;
}

/// Helm brings it, and something that the module does not render.
async fn install(server: &Server, object: ObjectPlan) {
    let mut manifest = plain(object);
    manifest["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    manifest["metadata"]["annotations"] = json!({
        "meta.helm.sh/release-name": HELM_RELEASE,
        "meta.helm.sh/release-namespace": HOME,
        "example.com/chart": "1.0.0",
    });
    server
        .others("helm", Method::POST, &object.collection(), &manifest)
        .await;
}

/// What `kubectl apply` makes, which remembers what it applied in an annotation.
async fn kubectl_apply(server: &Server, object: ObjectPlan) {
    let mut manifest = plain(object);
    let applied = manifest.to_string();
    manifest["metadata"]["annotations"] = json!({
        "example.com/by": "hand",
        "kubectl.kubernetes.io/last-applied-configuration": applied,
    });
    let manager = "kubectl-client-side-apply";
    server
        .others(manager, Method::POST, &object.collection(), &manifest)
        .await;
}

/// The current change goes, and the index still names it.
async fn truncate(server: &Server, release: ReleaseIndex) {
    let path = record_path(release);
    let Some(secret) = server.get(&path).await else {
        return;
    };
    let index = part(&secret, "index").unwrap_or_default();
    if let Some(change) = index[0].as_str() {
        let mut gone = serde_json::Map::new();
        gone.insert(change.to_owned(), Value::Null);
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
    let Some(mut old) = old else {
        return;
    };
    let current = server.get(&path).await;
    if let Some(metadata) = old["metadata"].as_object_mut() {
        for key in [
            "managedFields",
            "creationTimestamp",
            "uid",
            "resourceVersion",
        ] {
            metadata.remove(key);
        }
    }
    let Some(current) = current else {
        let all = format!("/api/v1/namespaces/{HOME}/secrets");
        server.meddle(Method::POST, &all, JSON, &old).await;
        return;
    };
    if let Some(metadata) = old["metadata"].as_object_mut() {
        metadata.insert("uid".to_owned(), json!(uid(&current)));
        metadata.insert(
            "resourceVersion".to_owned(),
            current["metadata"]["resourceVersion"].clone(),
        );
    }
    server.meddle(Method::PUT, &path, JSON, &old).await;
}

/// What a release takes along when it goes holds nothing of others, and nothing that stays.
pub(crate) async fn make_room(server: &Server, release: ReleaseIndex) {
    let inside: Vec<(String, bool)> = {
        let ledger = server.ledger();
        let live = ledger.objects.values().filter(|life| life.until.is_none());
        let holders = live.filter(|life| life.owners.contains(&release));
        let inside = holders.flat_map(|holder| ledger.inside(&holder.path));
        inside
            .map(|life| (life.path.clone(), life.owners.contains(&release)))
            .collect()
    };
    for (path, own) in inside {
        if own {
            let goes = json!({"metadata": {"annotations": {labels::PRUNE: null}}});
            server.meddle(Method::PATCH, &path, MERGE, &goes).await;
        } else {
            server.meddle(Method::DELETE, &path, JSON, &json!({})).await;
        }
    }
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
