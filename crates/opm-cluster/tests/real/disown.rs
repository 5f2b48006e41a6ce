//! Taking labels and field managers off an object.

use opm_core::check::Disown;
use opm_engine::ports::{ApiErrorKind, Cluster as _, DisownObject, Permit, Precondition};
use serde_json::json;

use crate::{on_a_server, uid, version};

#[tokio::test]
async fn labels_and_managers_go_and_the_content_stays() {
    let test = on_a_server!("part");
    let sent = test
        .create(&test.map("x", json!({"a": "1"})))
        .await
        .unwrap();
    let identity = test.map_id("x");
    let mut disown = Disown {
        uid: uid(&sent.object),
        resource_version: version(&sent.object),
        labels: vec!["release".to_owned()],
        managed_fields: Vec::new(),
    };
    let part = |disown: Disown, dry_run: bool| {
        let (client, identity) = (&test.client, &identity);
        async move {
            let request = DisownObject {
                identity,
                disown: &disown,
                dry_run,
            };
            client.disown(request, Permit::default()).await
        }
    };
    let before = test.live_map("x").await.unwrap();
    part(disown.clone(), true).await.unwrap();
    assert_eq!(test.live_map("x").await.unwrap(), before, "only pretended");
    let other_life = Disown {
        uid: "00000000-0000-0000-0000-000000000000".to_owned(),
        ..disown.clone()
    };
    let error = part(other_life, false).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stale, "{error:?}");
    part(disown.clone(), false).await.unwrap();
    let after = test.live_map("x").await.unwrap();
    assert_eq!(after["data"], json!({"a": "1"}));
    assert!(after["metadata"]["labels"].is_null(), "{after}");
    assert!(
        !after["metadata"]["managedFields"]
            .to_string()
            .contains("Apply"),
        "{after}"
    );
    let error = part(disown.clone(), false).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stale, "its version has moved on");
    disown.resource_version = "1".to_owned();
    let gone = DisownObject {
        identity: &test.map_id("nothing"),
        disown: &disown,
        dry_run: false,
    };
    let error = test
        .client
        .disown(gone, Permit::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stale, "{error:?}");
}

#[tokio::test]
async fn other_managers_keep_what_they_hold() {
    let test = on_a_server!("part-others");
    let sent = test
        .create(&test.map("x", json!({"a": "1"})))
        .await
        .unwrap();
    let precondition = Precondition::Exists {
        uid: uid(&sent.object),
    };
    let mut theirs = test.map("x", json!({"b": "2"}));
    theirs["metadata"]["labels"] = json!({"theirs": "yes"});
    let identity = test.map_id("x");
    let request = opm_engine::ports::ApplyObject {
        identity: &identity,
        version: "v1",
        object: &theirs,
        precondition,
        field_manager: "rival",
        force: false,
        dry_run: false,
    };
    let sent = test.client.apply(request, Permit::default()).await.unwrap();
    let entries = sent.object["metadata"]["managedFields"].as_array().unwrap();
    let left = entries.iter().filter(|entry| entry["manager"] == "rival");
    let disown = Disown {
        uid: uid(&sent.object),
        resource_version: version(&sent.object),
        labels: vec!["release".to_owned()],
        managed_fields: left.cloned().collect(),
    };
    let request = DisownObject {
        identity: &identity,
        disown: &disown,
        dry_run: false,
    };
    test.client
        .disown(request, Permit::default())
        .await
        .unwrap();
    let after = test.live_map("x").await.unwrap();
    assert_eq!(after["data"], json!({"a": "1", "b": "2"}));
    assert_eq!(after["metadata"]["labels"], json!({"theirs": "yes"}));
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managers.len(), 1, "{after}");
    assert_eq!(managers[0]["manager"], "rival");
}
