//! Watching: how it is, what changes, through faults, and until when.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opm_cluster::ClusterClient;
use opm_core::identity::Identity;
use opm_engine::ports::{Cluster as _, Permit, Precondition, WatchEvent};
use opm_testkit::{HANG, Rights, eventually, until};
use serde_json::json;

use crate::faults::{Fault, faulty};
use crate::{Setup, deletion, id, object, on_a_server, patient};

fn told(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Seen(id, object) => {
            format!(
                "{} {}",
                id.name,
                object["data"]["a"].as_str().unwrap_or("-")
            )
        }
        WatchEvent::Gone(id) => format!("{} gone", id.name),
    }
}

/// Watches until `last` is told, while `act` is done as soon as `first` has been told.
async fn story(
    client: &ClusterClient,
    wanted: &[Identity],
    (first, last): (&str, &str),
    act: impl Future<Output = ()>,
) -> Vec<String> {
    let heard = Mutex::new(Vec::new());
    let (begin, begun) = tokio::sync::oneshot::channel();
    let mut begin = Some(begin);
    let mut on_event = |event: WatchEvent| {
        let text = told(&event);
        if text == first
            && let Some(begin) = begin.take()
        {
            let _ = begin.send(());
        }
        let enough = text == last;
        heard.lock().unwrap().push(text);
        enough
    };
    let watch = client.watch(wanted, HANG, &mut on_event);
    let act = async {
        begun.await.unwrap();
        act.await;
    };
    let (seen, ()) = futures::join!(watch, act);
    assert!(seen.unwrap(), "{heard:?}");
    heard.into_inner().unwrap()
}

async fn set(test: &Setup, name: &str, uid: &str, value: &str) {
    let mode = Precondition::Exists {
        uid: uid.to_owned(),
    };
    test.apply(&test.map(name, json!({"a": value})), mode)
        .await
        .unwrap();
}

#[tokio::test]
async fn from_absent_through_changes_to_gone() {
    let test = on_a_server!("watch");
    let wanted = [test.map_id("x")];
    let heard = story(&test.client, &wanted, ("x gone", "x 2"), async {
        let uid = test.create_map("x").await;
        set(&test, "x", &uid, "2").await;
    })
    .await;
    assert_eq!(heard, ["x gone", "x 1", "x 2"]);
    let heard = story(&test.client, &wanted, ("x 2", "x gone"), async {
        let uid = test.live_map("x").await.unwrap()["metadata"]["uid"].clone();
        let identity = test.map_id("x");
        let request = deletion(&identity, uid.as_str().unwrap());
        test.client
            .delete(request, Permit::default())
            .await
            .unwrap();
    })
    .await;
    assert_eq!(heard, ["x 2", "x gone"]);
}

#[tokio::test]
async fn many_share_a_watch_and_foreign_objects_are_not_told() {
    let test = on_a_server!("watch-many");
    let wanted: Vec<_> = (0..12).map(|n| test.map_id(&format!("m{n}"))).collect();
    let uid = test.create_map("m3").await;
    test.create_map("foreign").await;
    let heard = story(&test.client, &wanted, ("m3 1", "m3 2"), async {
        test.create_map("foreign-two").await;
        set(&test, "m3", &uid, "2").await;
    })
    .await;
    assert_eq!(
        heard.iter().filter(|told| told.ends_with("gone")).count(),
        11
    );
    assert!(
        !heard.iter().any(|told| told.contains("foreign")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn it_ends_in_time() {
    let test = on_a_server!("watch-time");
    let begun = Instant::now();
    let wanted = [test.map_id("x")];
    let limit = Duration::from_millis(700);
    let seen = test.client.watch(&wanted, limit, &mut |_| false).await;
    assert!(!seen.unwrap());
    assert!(begun.elapsed() >= limit);
    let unserved = [id("nobody.example.org", "Thing", Some(test.ns()), "x")];
    let mut is_gone = |event| matches!(event, WatchEvent::Gone(_));
    let seen = test.client.watch(&unserved, HANG, &mut is_gone);
    assert!(seen.await.unwrap());
}

/// The first watch is refused as expired, the second breaks, the third is unavailable.
#[tokio::test]
async fn it_goes_on_after_faults() {
    const EXPIRED: &str = r#"{"kind":"Status","status":"Failure","reason":"Expired","message":"too old resource version","code":410}"#;
    const ERROR_EVENT: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"message\":\"too old\",\"code\":410}}\n";
    let test = on_a_server!("watch-faults");
    let watches = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&watches);
    let client = patient(faulty(test.namespace.client(), move |request| {
        let watching = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        if !watching {
            return Fault::Pass;
        }
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Fault::Answer(410, None, EXPIRED),
            1 => Fault::LoseRequest,
            2 => Fault::Answer(503, None, "{}"),
            3 => Fault::Answer(200, None, ERROR_EVENT),
            4 => Fault::Answer(200, None, ""),
            5 => Fault::Answer(200, None, "{\"type\":\"ADD"),
            _ => Fault::Pass,
        }
    }));
    let uid = test.create_map("x").await;
    let heard = story(&client, &[test.map_id("x")], ("x 1", "x 2"), async {
        until("all faults are over", async || {
            watches.load(Ordering::SeqCst) >= 7
        })
        .await;
        set(&test, "x", &uid, "2").await;
    })
    .await;
    assert_eq!(
        heard.iter().filter(|told| *told == "x 1").count(),
        3,
        "a list after each expiry: {heard:?}"
    );
    assert_eq!(heard.last().unwrap(), "x 2");
}

#[tokio::test]
async fn who_may_only_read_is_told_by_asking_again() {
    let test = on_a_server!("watch-poll");
    let rights = Rights::none().allow_named("", &["configmaps"], &["x"], &["get"]);
    let client = patient(test.namespace.user("reader", &rights).await.client().await);
    let uid = test.create_map("x").await;
    let heard = story(&client, &[test.map_id("x")], ("x 1", "x 2"), async {
        set(&test, "x", &uid, "2").await;
    })
    .await;
    assert_eq!(heard, ["x 1", "x 2"]);
}

#[tokio::test]
async fn a_workloads_pods_are_found_by_its_selector() {
    let test = on_a_server!("pods");
    let replicas = object(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "x", "namespace": test.ns()},
        "spec": {"replicas": 2, "selector": {"matchExpressions": [
                {"key": "app", "operator": "In", "values": ["a", "b"]}]},
            "template": {"metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "none"}]}}}}));
    let sent = test.create(&replicas).await.unwrap();
    let pods = eventually("there are pods", async || {
        let pods = test.client.pods_of(&sent.object).await.unwrap();
        (pods.len() == 2).then_some(pods)
    })
    .await;
    assert!(pods.iter().all(|pod| pod["kind"] == "Pod"));
}
