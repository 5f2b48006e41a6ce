//! Create-only and update: what each does to what is there.

use opm_engine::ports::{ApiErrorKind, ApplyObject, Cluster as _, Permit, Precondition, Stopped};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{identity_of, object, on_a_server, uid, version};

fn update(uid: &str) -> Precondition {
    Precondition::Exists {
        uid: uid.to_owned(),
    }
}

#[tokio::test]
async fn create_only_creates_and_never_merges() {
    let test = on_a_server!("create-only");
    let sent = test
        .create(&test.map("x", json!({"a": "1"})))
        .await
        .unwrap();
    assert!(sent.created);
    assert_eq!(sent.object["kind"], "ConfigMap");
    // Another's object with other fields: an apply alone would merge.
    let foreign = test.map("x", json!({"b": "2"}));
    let error = test.create(&foreign).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::AlreadyExists, "{error:?}");
    // The same again changes nothing either, nor does a conflicting one without force.
    let error = crate::apply(
        &test.client,
        &test.map("x", json!({"a": "changed"})),
        Precondition::Absent,
        false,
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::AlreadyExists, "{error:?}");
    let live = test.live_map("x").await.unwrap();
    assert_eq!(live["data"], json!({"a": "1"}));
    assert_eq!(
        live["metadata"]["resourceVersion"],
        version(&sent.object).as_str()
    );
}

#[tokio::test]
async fn update_needs_the_very_object() {
    let test = on_a_server!("update");
    let uid = test.create_map("x").await;
    let changed = test.map("x", json!({"a": "2"}));
    let sent = test.apply(&changed, update(&uid)).await.unwrap();
    assert!(!sent.created);
    assert_eq!(sent.object["data"], json!({"a": "2"}));
    let again = test.apply(&changed, update(&uid)).await.unwrap();
    assert_eq!(
        version(&again.object),
        version(&sent.object),
        "a no-op moves nothing"
    );

    let other = "00000000-0000-0000-0000-000000000000";
    let error = test.apply(&changed, update(other)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Stale, Some(422)),
        "{error:?}"
    );
    let gone = test.map("gone", json!({"a": "2"}));
    let error = test.apply(&gone, update(other)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Stale, Some(409)),
        "{error:?}"
    );
    assert!(test.live_map("gone").await.is_none(), "nothing was created");
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let test = on_a_server!("dry-run");
    let map = test.map("x", json!({"a": "1"}));
    let identity = identity_of(&map);
    let request = ApplyObject {
        identity: &identity,
        version: "v1",
        object: &map,
        precondition: Precondition::Absent,
        field_manager: "opm",
        force: false,
        dry_run: true,
    };
    let sent = test.client.apply(request, Permit::default()).await.unwrap();
    assert!(sent.created);
    assert!(test.live_map("x").await.is_none());
}

#[tokio::test]
async fn nothing_is_sent_without_a_permit() {
    let test = on_a_server!("permit");
    let map = test.map("x", json!({"a": "1"}));
    let identity = identity_of(&map);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let permit = Permit {
        cancel: Some(&cancel),
        ..Permit::default()
    };
    let request = ApplyObject {
        identity: &identity,
        version: "v1",
        object: &map,
        precondition: Precondition::Absent,
        field_manager: "opm",
        force: false,
        dry_run: false,
    };
    let error = test.client.apply(request, permit).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stopped(Stopped::Cancelled));
    assert!(test.live_map("x").await.is_none());
}

#[tokio::test]
async fn a_conflict_names_field_and_manager() {
    let test = on_a_server!("conflict");
    let uid = test.create_map("x").await;
    let path = format!(
        "/api/v1/namespaces/{}/configmaps/x?fieldManager=kubectl-edit",
        test.ns()
    );
    let patch = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(br#"{"data":{"a":"9","b":"9"}}"#.to_vec())
        .unwrap();
    let _: serde_json::Value = test.namespace.client().request(patch).await.unwrap();
    let mine = test.map("x", json!({"a": "2", "b": "2"}));
    let error = crate::apply(&test.client, &mine, update(&uid), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::FieldConflict, "{error:?}");
    let named: Vec<_> = error
        .causes
        .iter()
        .map(|cause| (cause.field.as_str(), cause.manager()))
        .collect();
    assert_eq!(
        named,
        [
            (".data.a", Some("kubectl-edit")),
            (".data.b", Some("kubectl-edit"))
        ]
    );
    let sent = crate::apply(&test.client, &mine, update(&uid), true)
        .await
        .unwrap();
    assert_eq!(sent.object["data"], json!({"a": "2", "b": "2"}));
}

#[tokio::test]
async fn twenty_racers_one_wins() {
    let test = on_a_server!("race");
    let map = test.map("x", json!({"a": "1"}));
    let racers = (0..20).map(|_| test.create(&map));
    let results = futures::future::join_all(racers).await;
    let won = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(won, 1);
    for error in results.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind, ApiErrorKind::AlreadyExists);
    }
}

#[tokio::test]
async fn concurrent_updates_of_one_object_all_get_through() {
    let test = on_a_server!("update-race");
    let uid = test.create_map("x").await;
    let maps: Vec<_> = (0..24)
        .map(|n| test.map("x", json!({"a": n.to_string()})))
        .collect();
    let updates = maps.iter().map(|map| test.apply(map, update(&uid)));
    for result in futures::future::join_all(updates).await {
        result.unwrap();
    }
}

#[tokio::test]
async fn names_with_special_characters_reach_their_object() {
    let test = on_a_server!("names");
    let name = format!("system:{}:reader", test.ns());
    let role = object(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": test.ns()},
        "rules": [],
    }));
    let sent = test.create(&role).await.unwrap();
    assert_eq!(sent.object["metadata"]["name"], name.as_str());
    assert_eq!(sent.object["apiVersion"], "rbac.authorization.k8s.io/v1");
    assert!(!uid(&sent.object).is_empty());
}
