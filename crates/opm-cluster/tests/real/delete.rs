//! Deletes: gone, accepted, was gone.

use opm_engine::ports::{ApiErrorKind, Cluster as _, DeleteOutcome, Permit, Propagation};
use serde_json::json;

use crate::{deletion, id, object, on_a_server, uid, version};

#[tokio::test]
async fn gone_and_was_gone() {
    let test = on_a_server!("delete");
    let permit = Permit::default();
    let old = test.create_map("x").await;
    let identity = test.map_id("x");
    let delete = |uid: String| {
        let (client, identity, gate) = (&test.client, &identity, permit);
        async move { client.delete(deletion(identity, &uid), gate).await }
    };
    assert_eq!(delete(old.clone()).await.unwrap(), DeleteOutcome::Gone);
    assert_eq!(delete(old.clone()).await.unwrap(), DeleteOutcome::WasGone);
    // Recreated under the same name: another object.
    let new = test.create_map("x").await;
    assert_eq!(delete(old).await.unwrap(), DeleteOutcome::WasGone);
    assert!(test.live_map("x").await.is_some(), "the new one stays");
    assert_eq!(delete(new).await.unwrap(), DeleteOutcome::Gone);
}

#[tokio::test]
async fn a_dry_run_deletes_nothing() {
    let test = on_a_server!("delete-dry");
    let uid = test.create_map("x").await;
    let identity = test.map_id("x");
    let mut request = deletion(&identity, &uid);
    request.dry_run = true;
    let outcome = test
        .client
        .delete(request, Permit::default())
        .await
        .unwrap();
    assert_eq!(outcome, DeleteOutcome::Gone);
    assert!(test.live_map("x").await.is_some());
}

#[tokio::test]
async fn a_version_that_moved_on_is_stale() {
    let test = on_a_server!("delete-version");
    let sent = test
        .create(&test.map("x", json!({"a": "1"})))
        .await
        .unwrap();
    let (uid, old) = (uid(&sent.object), version(&sent.object));
    let mode = opm_engine::ports::Precondition::Exists { uid: uid.clone() };
    test.apply(&test.map("x", json!({"a": "2"})), mode)
        .await
        .unwrap();
    let identity = test.map_id("x");
    let mut request = deletion(&identity, &uid);
    request.resource_version = Some(&old);
    let error = test
        .client
        .delete(request, Permit::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stale, "{error:?}");
    assert!(test.live_map("x").await.is_some());
}

#[tokio::test]
async fn finalizers_hold_an_accepted_delete() {
    let test = on_a_server!("finalizer");
    let mut map = test.map("x", json!({"a": "1"}));
    map["metadata"]["finalizers"] = json!(["example.org/hold"]);
    let sent = test.create(&map).await.unwrap();
    let (identity, uid) = (test.map_id("x"), uid(&sent.object));
    let permit = Permit::default();
    for _ in 0..2 {
        let outcome = test.client.delete(deletion(&identity, &uid), permit).await;
        assert_eq!(outcome.unwrap(), DeleteOutcome::Accepted);
    }
    assert!(test.live_map("x").await.unwrap()["metadata"]["deletionTimestamp"].is_string());
    let path = format!("/api/v1/namespaces/{}/configmaps/x", test.ns());
    let patch = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(br#"{"metadata":{"finalizers":null}}"#.to_vec())
        .unwrap();
    let _: serde_json::Value = test.namespace.client().request(patch).await.unwrap();
}

/// Kinds whose delete answers with the object, and with a Status.
#[tokio::test]
async fn both_forms_of_the_answer_are_understood() {
    let test = on_a_server!("delete-forms");
    let metadata = json!({"name": "x", "namespace": test.ns()});
    let permit = Permit::default();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"clusterIP": "None", "selector": {"a": "b"}}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "none"}]}}}});
    for value in [service, job] {
        let object = object(value);
        let sent = test.create(&object).await.unwrap();
        let identity = crate::identity_of(&object);
        let uid = uid(&sent.object);
        let outcome = test.client.delete(deletion(&identity, &uid), permit).await;
        assert_eq!(outcome.unwrap(), DeleteOutcome::Gone, "{identity}");
    }
}

#[tokio::test]
async fn an_orphaning_delete_leaves_dependents() {
    let test = on_a_server!("orphan");
    let owner = test.create_map("owner").await;
    let mut child = test.map("child", json!({}));
    child["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}]);
    test.create(&child).await.unwrap();
    let identity = test.map_id("owner");
    let mut request = deletion(&identity, &owner);
    request.propagation = Propagation::Orphan;
    let outcome = test
        .client
        .delete(request, Permit::default())
        .await
        .unwrap();
    assert_eq!(
        outcome,
        DeleteOutcome::Accepted,
        "held until the garbage collector has let go"
    );
    opm_testkit::until("the dependent refers to no owner", async || {
        let child = test.live_map("child").await.expect("it stays");
        child["metadata"]["ownerReferences"].is_null()
    })
    .await;
}

#[tokio::test]
async fn a_namespace_is_accepted_twice_and_a_kind_that_is_not_served_was_gone() {
    let test = on_a_server!("delete-namespace");
    let permit = Permit::default();
    let name = format!("{}-b", test.ns());
    let namespace = object(json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name}}));
    let sent = test.create(&namespace).await.unwrap();
    let identity = id("", "Namespace", None, &name);
    let uid = uid(&sent.object);
    let first = test.client.delete(deletion(&identity, &uid), permit).await;
    assert_eq!(first.unwrap(), DeleteOutcome::Accepted);
    let second = test.client.delete(deletion(&identity, &uid), permit).await;
    let second = second.unwrap();
    assert!(
        matches!(second, DeleteOutcome::Accepted | DeleteOutcome::WasGone),
        "{second:?}"
    );
    let unknown = id("nobody.example.org", "Thing", Some(test.ns()), "x");
    let outcome = test.client.delete(deletion(&unknown, "u"), permit).await;
    assert_eq!(outcome.unwrap(), DeleteOutcome::WasGone);
}
