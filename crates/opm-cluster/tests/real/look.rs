//! Looking: what is there, what is not, and what may not be seen.

use opm_cluster::ClusterClient;
use opm_core::identity::Identity;
use opm_engine::ports::{ApiErrorKind, Cluster as _, Detail, Observation};
use opm_testkit::Rights;
use serde_json::json;

use crate::{Setup, id, object, on_a_server, patient};

fn summary(found: &Observation) -> String {
    match found {
        Observation::Absent => "absent".to_owned(),
        Observation::Present(object) => format!("present {}", object["kind"].as_str().unwrap()),
        Observation::Failed(error) => format!("failed {:?}", error.kind),
    }
}

async fn looks(client: &ClusterClient, wanted: &[Identity], detail: Detail) -> Vec<String> {
    let looks = client.look(wanted, detail).await;
    assert_eq!(looks.len(), wanted.len(), "exactly what was asked for");
    wanted.iter().map(|id| summary(&looks[id])).collect()
}

async fn some_maps(test: &Setup, count: usize) -> Vec<Identity> {
    for n in 0..count {
        test.create_map(&format!("m{n}")).await;
    }
    let names = (0..=count).map(|n| test.map_id(&format!("m{n}")));
    names.collect()
}

#[tokio::test]
async fn present_and_absent_by_list_and_by_get() {
    let test = on_a_server!("look");
    for (count, detail) in [(6, Detail::Metadata), (6, Detail::Whole)] {
        let wanted = some_maps(&test, 0).await;
        assert_eq!(looks(&test.client, &wanted, detail).await, ["absent"]);
        let wanted: Vec<_> = (0..count).map(|n| test.map_id(&format!("k{n}"))).collect();
        let found = looks(&test.client, &wanted, detail).await;
        assert_eq!(found, vec!["absent"; count]);
    }
    let wanted = some_maps(&test, 6).await;
    for part in [&wanted[5..], &wanted[..]] {
        for detail in [Detail::Metadata, Detail::Whole] {
            let found = test.client.look(part, detail).await;
            for (id, found) in &found {
                match found {
                    Observation::Present(object) => {
                        assert_eq!(object["kind"], "ConfigMap");
                        assert_eq!(object["apiVersion"], "v1");
                        assert!(object["metadata"]["managedFields"].is_array());
                        assert_eq!(object.contains_key("data"), detail == Detail::Whole);
                    }
                    other => {
                        assert_eq!(id.name, "m6", "{other:?}");
                        assert!(matches!(other, Observation::Absent));
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_is_absent_and_nonsense_is_not() {
    let test = on_a_server!("look-odd");
    let wanted = [
        id("", "ConfigMap", Some("no-such-namespace"), "x"),
        id("nobody.example.org", "Thing", Some(test.ns()), "x"),
        id("", "Namespace", None, "no-such-namespace"),
        id("", "Namespace", None, test.ns()),
        id("", "ConfigMap", None, "x"),
        id("", "Namespace", Some(test.ns()), "x"),
        id("", "ConfigMap", Some(test.ns()), ".."),
    ];
    assert_eq!(
        looks(&test.client, &wanted, Detail::Metadata).await,
        [
            "absent",
            "absent",
            "absent",
            "present Namespace",
            "failed Rejected",
            "failed Rejected",
            "failed Rejected"
        ]
    );
}

#[tokio::test]
async fn forbidden_is_never_absent() {
    let test = on_a_server!("look-forbidden");
    let wanted = some_maps(&test, 5).await;
    // May read one of them by name, and list nothing.
    let rights = Rights::none().allow_named("", &["configmaps"], &["m0", "m5"], &["get"]);
    let client = patient(test.namespace.user("reader", &rights).await.client().await);
    assert_eq!(
        looks(&client, &wanted, Detail::Metadata).await,
        [
            "present ConfigMap",
            "failed Forbidden",
            "failed Forbidden",
            "failed Forbidden",
            "failed Forbidden",
            "absent"
        ]
    );
    // May get everything but list nothing: the list falls back to single reads.
    let rights = Rights::none().allow("", &["configmaps"], &["get"]);
    let client = patient(test.namespace.user("getter", &rights).await.client().await);
    let found = looks(&client, &wanted, Detail::Metadata).await;
    assert_eq!(found[..5], vec!["present ConfigMap"; 5]);
    assert_eq!(found[5], "absent");
    let nobody = patient(
        test.namespace
            .user("nobody", &Rights::none())
            .await
            .client()
            .await,
    );
    let found = nobody.look(&wanted, Detail::Metadata).await;
    assert!(found.values().all(
        |found| matches!(found, Observation::Failed(error) if error.kind == ApiErrorKind::Forbidden)
    ));
}

#[tokio::test]
async fn a_crowd_is_not_read_for_a_few() {
    let test = on_a_server!("look-crowd");
    let crowd: Vec<_> = (0..2100)
        .map(|n| test.map(&format!("crowd-{n:04}"), json!({})))
        .collect();
    for some in crowd.chunks(50) {
        for result in futures::future::join_all(some.iter().map(|map| test.create(map))).await {
            result.unwrap();
        }
    }
    // Sorted behind the crowd: none of them is on the first page.
    for n in 0..5 {
        test.create_map(&format!("wanted-{n}")).await;
    }
    let counting = crate::faults::RequestLog::over(test.namespace.client());
    let client = patient(counting.client());
    let wanted: Vec<_> = (0..6)
        .map(|n| test.map_id(&format!("wanted-{n}")))
        .collect();
    client.served().await.unwrap();
    counting.reset();
    let found = looks(&client, &wanted, Detail::Metadata).await;
    assert_eq!(found[..5], vec!["present ConfigMap"; 5]);
    assert_eq!(found[5], "absent");
    let asked = counting.seen();
    assert_eq!(asked.len(), 1 + 6, "one page, then one by one: {asked:?}");
    // Wanting most of the crowd, the list is worth it.
    let wanted: Vec<_> = (0..2100)
        .map(|n| test.map_id(&format!("crowd-{n:04}")))
        .collect();
    counting.reset();
    let found = looks(&client, &wanted, Detail::Metadata).await;
    assert!(found.iter().all(|found| found == "present ConfigMap"));
    assert_eq!(counting.seen().len(), 3, "{:?}", counting.seen());
}

#[tokio::test]
async fn whole_secrets_of_others_are_not_read() {
    let test = on_a_server!("look-secrets");
    for n in 0..6 {
        let secret = object(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("s{n}"), "namespace": test.ns()},
            "stringData": {"k": "v"}}));
        test.create(&secret).await.unwrap();
    }
    let counting = crate::faults::RequestLog::over(test.namespace.client());
    let client = patient(counting.client());
    client.served().await.unwrap();
    counting.reset();
    let wanted: Vec<_> = (0..5)
        .map(|n| id("", "Secret", Some(test.ns()), &format!("s{n}")))
        .collect();
    let found = looks(&client, &wanted, Detail::Whole).await;
    assert_eq!(found, vec!["present Secret"; 5]);
    let asked = counting.seen();
    assert_eq!(asked.len(), 5);
    assert!(
        asked.iter().all(|path| path.contains("/secrets/s")),
        "{asked:?}"
    );
}

#[tokio::test]
async fn lists_have_what_was_asked_for() {
    let test = on_a_server!("list");
    some_maps(&test, 3).await;
    let kind = test.map_id("x").group_kind;
    let list = |label, detail| {
        let (client, kind, ns) = (&test.client, &kind, test.ns());
        async move { client.list(kind, Some(ns), label, detail).await.unwrap() }
    };
    let labelled = list(Some(("release", "one")), Detail::Whole).await;
    assert_eq!(labelled.len(), 3);
    assert!(
        labelled
            .iter()
            .all(|map| map["kind"] == "ConfigMap" && map.contains_key("data"))
    );
    assert!(
        list(Some(("release", "two")), Detail::Whole)
            .await
            .is_empty()
    );
    // kube-root-ca.crt is there too, as soon as its controller has seen the namespace.
    let all = opm_testkit::eventually("all four are there", async || {
        let all = list(None, Detail::Metadata).await;
        (all.len() == 4).then_some(all)
    })
    .await;
    assert!(
        all.iter()
            .all(|map| map["apiVersion"] == "v1" && !map.contains_key("data"))
    );
}
