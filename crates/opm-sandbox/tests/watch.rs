//! Watches: resumed, selecting, across processes, and too old.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::pin::Pin;

use futures::{Stream, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Api, Client, ResourceExt};
use opm_sandbox::{FILE_NAME, Sandbox};
use opm_testkit::unless_it_hangs;
use serde_json::json;

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<ConfigMap>, kube::Error>> + Send>>;

fn maps(dir: &std::path::Path) -> Api<ConfigMap> {
    Api::namespaced(
        Client::new(Sandbox::open(dir).unwrap(), "default"),
        "default",
    )
}

async fn watch(api: &Api<ConfigMap>, params: &WatchParams, version: &str) -> Events {
    Box::pin(api.watch(params, version).await.unwrap())
}

/// The next event, as a word and a name.
async fn next(events: &mut Events) -> String {
    let event = unless_it_hangs("an event", events.try_next()).await;
    match event.unwrap().unwrap() {
        WatchEvent::Added(m) => format!("added {}", m.name_any()),
        WatchEvent::Modified(m) => format!("modified {}", m.name_any()),
        WatchEvent::Deleted(m) => format!("deleted {}", m.name_any()),
        WatchEvent::Bookmark(_) => "bookmark".to_string(),
        WatchEvent::Error(e) => format!("error {} {}", e.code, e.reason),
    }
}

async fn create(api: &Api<ConfigMap>, name: &str, label: &str) {
    let object = json!({"metadata": {"name": name, "labels": {"l": label}}});
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn resumed_where_a_list_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (api, other_process) = (maps(dir.path()), maps(dir.path()));
    create(&api, "before", "x").await;
    let listed = api.list(&ListParams::default()).await.unwrap();
    create(&api, "after", "x").await;
    let version = listed.metadata.resource_version.unwrap();
    let mut events = watch(&api, &WatchParams::default(), &version).await;
    assert_eq!(next(&mut events).await, "added after");
    // Another connection to the same file, as another process has it.
    create(&other_process, "elsewhere", "x").await;
    assert_eq!(next(&mut events).await, "added elsewhere");
    api.delete("before", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(next(&mut events).await, "deleted before");
}

#[tokio::test]
async fn entering_and_leaving_a_selection() {
    let dir = tempfile::tempdir().unwrap();
    let api = maps(dir.path());
    create(&api, "a", "out").await;
    let params = WatchParams::default().labels("l=in");
    let mut events = watch(&api, &params, "0").await;
    for (label, expected) in [
        ("in", "added a"),
        ("in", "modified a"),
        ("out", "deleted a"),
    ] {
        let patch = json!({"metadata": {"labels": {"l": label}}, "data": {"n": expected}});
        let patch = Patch::Merge(patch);
        api.patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        assert_eq!(next(&mut events).await, expected);
    }
}

#[tokio::test]
async fn too_old_a_version_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let api = maps(dir.path());
    for n in 0..20 {
        create(&api, &format!("m{n}"), "x").await;
    }
    // As if the log had been compacted.
    let connection = rusqlite::Connection::open(dir.path().join(FILE_NAME)).unwrap();
    let compact = "UPDATE meta SET value = 15 WHERE key = 'compacted'";
    connection.execute(compact, []).unwrap();
    let mut events = watch(&api, &WatchParams::default(), "5").await;
    assert_eq!(next(&mut events).await, "error 410 Expired");
}
