//! Records: created once, replaced at a version, locked, removed; and what is told of the lock.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use opm_engine::ports::{
    ApiErrorKind, Permit, RemoveOutcome, SecretContent, SecretStore, StoredSecret, WriteOutcome,
};
use opm_testkit::Rights;
use serde_json::json;

use crate::faults::{Fault, Script};
use crate::{Setup, on_a_server, patient};

fn record(test: &Setup, name: &str, data: &[(&str, &str)]) -> SecretContent {
    let map = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    SecretContent {
        name: name.to_owned(),
        namespace: test.ns().to_owned(),
        secret_type: "opmodel.dev/release".to_owned(),
        labels: map("part", "record"),
        annotations: map("opmodel.dev/summary", "{}"),
        data: data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect(),
        immutable: false,
    }
}

fn written(outcome: WriteOutcome) -> StoredSecret {
    match outcome {
        WriteOutcome::Written(stored) => *stored,
        WriteOutcome::Lost => panic!("lost"),
    }
}

/// The server's times have a granularity of one second: what is to have a later one has to wait.
async fn next_second() {
    tokio::time::sleep(Duration::from_millis(1100)).await;
}

#[tokio::test]
async fn created_once_and_read_back() {
    let test = on_a_server!("record");
    let permit = Permit::default();
    assert_eq!(test.client.get_secret(test.ns(), "r").await.unwrap(), None);
    assert_eq!(
        test.client
            .get_secret("no-such-namespace", "r")
            .await
            .unwrap(),
        None
    );
    let content = record(&test, "r", &[("index", "[]"), ("lock", "1")]);
    let stored = written(test.client.create_secret(&content, permit).await.unwrap());
    assert_eq!(stored.content, content);
    let again = test.client.create_secret(&content, permit).await.unwrap();
    assert_eq!(again, WriteOutcome::Lost);
    let read = test
        .client
        .get_secret(test.ns(), "r")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((read.content, &read.uid), (content, &stored.uid));
    assert_eq!(read.resource_version, stored.resource_version);
    // Both times are the server's.
    let age = read
        .server_time
        .0
        .as_secs()
        .abs_diff(read.lock_written.unwrap().0.as_secs());
    assert!(age <= 2, "{age}");
    assert!(test.client.server_time().unwrap() >= read.server_time);
    let missing = SecretContent {
        namespace: "no-such-namespace".to_owned(),
        ..record(&test, "r", &[])
    };
    let error = test
        .client
        .create_secret(&missing, permit)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::NamespaceMissing);
}

#[tokio::test]
async fn replaced_only_at_its_version() {
    let test = on_a_server!("replace");
    let permit = Permit::default();
    let first = record(&test, "r", &[("index", "[]"), ("pending", "x")]);
    let stored = written(test.client.create_secret(&first, permit).await.unwrap());
    let mut second = record(&test, "r", &[("index", "[1]")]);
    second.annotations.clear();
    let version = stored.resource_version.as_str();
    let replaced = written(
        test.client
            .replace_secret(&second, version, permit)
            .await
            .unwrap(),
    );
    assert_eq!(replaced.content, second, "what was left out is gone");
    assert_eq!(replaced.uid, stored.uid);
    let late = test
        .client
        .replace_secret(&first, version, permit)
        .await
        .unwrap();
    assert_eq!(late, WriteOutcome::Lost);
    let (uid, now) = (&replaced.uid, replaced.resource_version.as_str());
    let removal = test
        .client
        .remove_secret(test.ns(), "r", uid, Some(version), permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Lost);
    let removal = test
        .client
        .remove_secret(test.ns(), "r", "other", None, permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Lost);
    let removal = test
        .client
        .remove_secret(test.ns(), "r", uid, Some(now), permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Gone);
    let removal = test
        .client
        .remove_secret(test.ns(), "r", uid, None, permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Gone);
    let gone = test
        .client
        .replace_secret(&first, now, permit)
        .await
        .unwrap();
    assert_eq!(gone, WriteOutcome::Lost, "a PUT does not bring it back");
}

/// The lock's time moves with the lock, not with other keys, through applies and PUTs.
#[tokio::test]
async fn the_locks_time_is_the_locks_own() {
    let test = on_a_server!("lock-time");
    let permit = Permit::default();
    let content = record(&test, "r", &[("index", "[]"), ("lock", "1")]);
    let created = written(test.client.create_secret(&content, permit).await.unwrap());
    let at_creation = created.lock_written.unwrap();

    next_second().await;
    let renewed = test
        .client
        .write_lock(created.version(), b"2", permit)
        .await;
    let renewed = written(renewed.unwrap());
    assert_eq!(renewed.content.data["lock"], b"2");
    assert_eq!(
        renewed.content.data["index"], b"[]",
        "nothing else is touched"
    );
    let at_renewal = renewed.lock_written.unwrap();
    assert!(at_renewal > at_creation);

    next_second().await;
    let mut other = record(&test, "r", &[("index", "[1]"), ("lock", "2"), ("log", "x")]);
    let version = renewed.resource_version.as_str();
    let put = written(
        test.client
            .replace_secret(&other, version, permit)
            .await
            .unwrap(),
    );
    assert_eq!(
        put.lock_written,
        Some(at_renewal),
        "a PUT of other keys leaves it alone"
    );

    next_second().await;
    let renewed = written(
        test.client
            .write_lock(put.version(), b"3", permit)
            .await
            .unwrap(),
    );
    assert!(renewed.lock_written.unwrap() > at_renewal);

    // Taking over: another lock in a PUT is as old as that PUT; then renewals again.
    next_second().await;
    other.data.insert("lock".to_owned(), b"9".to_vec());
    let version = renewed.resource_version.as_str();
    let taken = written(
        test.client
            .replace_secret(&other, version, permit)
            .await
            .unwrap(),
    );
    assert!(taken.lock_written > renewed.lock_written);
    next_second().await;
    let renewed = written(
        test.client
            .write_lock(taken.version(), b"10", permit)
            .await
            .unwrap(),
    );
    assert!(renewed.lock_written > taken.lock_written);

    // Unlocking removes the key, and with it every trace of its time.
    other.data.remove("lock");
    let version = renewed.resource_version.as_str();
    let unlocked = written(
        test.client
            .replace_secret(&other, version, permit)
            .await
            .unwrap(),
    );
    assert_eq!(unlocked.lock_written, None);
    assert!(!unlocked.content.data.contains_key("lock"));
}

#[tokio::test]
async fn a_late_renewal_neither_writes_nor_creates() {
    let test = on_a_server!("late-lock");
    let permit = Permit::default();
    let content = record(&test, "r", &[("lock", "1")]);
    let stored = written(test.client.create_secret(&content, permit).await.unwrap());
    let newer = written(
        test.client
            .write_lock(stored.version(), b"2", permit)
            .await
            .unwrap(),
    );
    let late = test
        .client
        .write_lock(stored.version(), b"late", permit)
        .await;
    assert_eq!(late.unwrap(), WriteOutcome::Lost);
    let removal = test
        .client
        .remove_secret(test.ns(), "r", &newer.uid, None, permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Gone);
    let late = test
        .client
        .write_lock(newer.version(), b"late", permit)
        .await;
    assert_eq!(late.unwrap(), WriteOutcome::Lost);
    assert_eq!(
        test.client.get_secret(test.ns(), "r").await.unwrap(),
        None,
        "not brought back"
    );
    // Recreated: another record under the same name.
    written(test.client.create_secret(&content, permit).await.unwrap());
    let late = test
        .client
        .write_lock(newer.version(), b"late", permit)
        .await;
    assert_eq!(late.unwrap(), WriteOutcome::Lost);
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_looked_up() {
    let test = on_a_server!("lost-write");
    let permit = Permit::default();
    let lose = |method| Script::new(test.namespace.client(), method, vec![Fault::LoseAnswer]);
    let content = record(&test, "r", &[("index", "[]"), ("lock", "1")]);
    let stored = written(
        lose(Method::PATCH)
            .client
            .create_secret(&content, permit)
            .await
            .unwrap(),
    );
    assert_eq!(stored.content, content);

    let second = record(&test, "r", &[("index", "[1]"), ("lock", "1")]);
    let version = stored.resource_version.as_str();
    let script = lose(Method::PUT);
    let stored = written(
        script
            .client
            .replace_secret(&second, version, permit)
            .await
            .unwrap(),
    );
    assert_eq!((stored.content.clone(), script.sent()), (second, 2));

    let script = lose(Method::PATCH);
    let stored = written(
        script
            .client
            .write_lock(stored.version(), b"2", permit)
            .await
            .unwrap(),
    );
    assert_eq!(
        (stored.content.data["lock"].as_slice(), script.sent()),
        (&b"2"[..], 2)
    );

    let script = lose(Method::DELETE);
    let removal = script
        .client
        .remove_secret(test.ns(), "r", &stored.uid, None, permit)
        .await;
    assert_eq!((removal.unwrap(), script.sent()), (RemoveOutcome::Gone, 2));
}

#[tokio::test]
async fn a_lost_write_is_not_taken_for_somebody_elses() {
    let test = on_a_server!("lost-other");
    let permit = Permit::default();
    let content = record(&test, "r", &[("index", "[]")]);
    let stored = written(test.client.create_secret(&content, permit).await.unwrap());
    // Another one wrote at that version; ours never arrived, and is sent again.
    let theirs = record(&test, "r", &[("index", "[theirs]")]);
    let version = stored.resource_version.as_str();
    written(
        test.client
            .replace_secret(&theirs, version, permit)
            .await
            .unwrap(),
    );
    let script = Script::new(
        test.namespace.client(),
        Method::PUT,
        vec![Fault::LoseRequest],
    );
    let mine = record(&test, "r", &[("index", "[mine]")]);
    let outcome = script
        .client
        .replace_secret(&mine, version, permit)
        .await
        .unwrap();
    assert_eq!(outcome, WriteOutcome::Lost);
    let read = test
        .client
        .get_secret(test.ns(), "r")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read.content, theirs);
}

#[tokio::test]
async fn listed_by_labels() {
    let test = on_a_server!("records");
    for n in 0..3 {
        let mut content = record(&test, &format!("r{n}"), &[("index", "[]")]);
        content.labels.insert("n".to_owned(), n.to_string());
        written(
            test.client
                .create_secret(&content, Permit::default())
                .await
                .unwrap(),
        );
    }
    let list = async |labels: &[(&str, &str)]| {
        let found = test
            .client
            .list_secrets(Some(test.ns()), labels)
            .await
            .unwrap();
        found
            .into_iter()
            .map(|stored| stored.content.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(list(&[("part", "record")]).await, ["r0", "r1", "r2"]);
    assert_eq!(list(&[("part", "record"), ("n", "1")]).await, ["r1"]);
    assert!(list(&[("part", "other")]).await.is_empty());
}

/// Rights on one name are enough for everything but listing: a POST has no name to be allowed,
/// but an apply that creates has.
#[tokio::test]
async fn rights_can_be_narrowed_to_a_name() {
    let test = on_a_server!("narrow");
    let verbs = ["get", "create", "patch", "update", "delete"];
    let rights = Rights::none().allow_named("", &["secrets"], &["r"], &verbs);
    let user = test.namespace.user("narrow", &rights).await;
    let client = patient(user.client().await);
    let permit = Permit::default();
    let outcome = client
        .create_secret(&record(&test, "r", &[("lock", "1")]), permit)
        .await;
    let stored = match outcome {
        Ok(outcome) => written(outcome),
        Err(error) => panic!("{error:?}"),
    };
    let stored = written(
        client
            .write_lock(stored.version(), b"2", permit)
            .await
            .unwrap(),
    );
    let version = stored.resource_version.as_str();
    let stored = written(
        client
            .replace_secret(&record(&test, "r", &[]), version, permit)
            .await
            .unwrap(),
    );
    let removal = client
        .remove_secret(test.ns(), "r", &stored.uid, None, permit)
        .await;
    assert_eq!(removal.unwrap(), RemoveOutcome::Gone);
    for error in [
        client
            .create_secret(&record(&test, "other", &[]), permit)
            .await
            .unwrap_err(),
        client.get_secret(test.ns(), "other").await.unwrap_err(),
        client
            .list_secrets(Some(test.ns()), &[("a", "b")])
            .await
            .unwrap_err(),
    ] {
        assert_eq!(error.kind, ApiErrorKind::Forbidden, "{error:?}");
    }
}

#[tokio::test]
async fn others_finalizers_and_tracking_survive() {
    let test = on_a_server!("finalizers");
    let permit = Permit::default();
    let content = record(&test, "r", &[("index", "[]"), ("lock", "1")]);
    written(test.client.create_secret(&content, permit).await.unwrap());
    let path = format!("/api/v1/namespaces/{}/secrets/r", test.ns());
    let patch = |body: &'static str| {
        let request = http::Request::patch(&path)
            .header("content-type", "application/merge-patch+json")
            .body(body.as_bytes().to_vec())
            .unwrap();
        let client = test.namespace.client();
        async move { client.request::<serde_json::Value>(request).await.unwrap() }
    };
    patch(r#"{"metadata":{"finalizers":["example.org/hold"]}}"#).await;
    let read = test
        .client
        .get_secret(test.ns(), "r")
        .await
        .unwrap()
        .unwrap();
    let next = record(&test, "r", &[("index", "[1]"), ("lock", "1")]);
    let version = read.resource_version.as_str();
    written(
        test.client
            .replace_secret(&next, version, permit)
            .await
            .unwrap(),
    );
    let live = test.live(&path).await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(["example.org/hold"]));
    assert!(
        !live["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let removal = test
        .client
        .remove_secret(test.ns(), "r", &read.uid, None, permit)
        .await;
    assert_eq!(
        removal.unwrap(),
        RemoveOutcome::Gone,
        "accepted counts as gone"
    );
    let held = test
        .client
        .get_secret(test.ns(), "r")
        .await
        .unwrap()
        .unwrap();
    assert!(held.terminating);
    patch(r#"{"metadata":{"finalizers":null}}"#).await;
}
