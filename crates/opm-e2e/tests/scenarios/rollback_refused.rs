//! Where one cannot go back, or not without being asked: nothing is touched before that is clear.

use opm_e2e::objects::{config_map, custom, custom_kind, volume_claim};
use opm_e2e::{World, api, scenarios, set};
use serde_json::{Value, json};

use crate::rollback::{id, rollback, web};

scenarios! {
    a_version_that_is_no_longer_served_is_refused,
    a_tampered_record_is_refused_and_the_rest_stays_usable,
    without_records_everything_but_going_back_works,
    what_is_not_kept_is_rendered_again_if_it_comes_to_the_same,
    data_that_does_not_come_back_is_asked_about,
}

async fn a_version_that_is_no_longer_served_is_refused(w: World) {
    let group = w.group();
    let mut definition = custom_kind(&group, "Widget");
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    definition["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(second);
    w.api.create("", &definition).await;
    let widget = |version: &str| {
        let mut widget = custom(&group, "Widget", "w");
        widget["apiVersion"] = json!(format!("{group}/{version}"));
        widget
    };
    w.until("the kind is served", || async {
        w.api
            .get(&format!("/apis/{group}/v2/namespaces/{}/widgets", w.ns))
            .await
            .is_some()
    })
    .await;
    w.apply(&web(&[widget("v1"), config_map("a", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[widget("v2"), config_map("a", "2")]), &[])
        .await
        .ok();
    // The old version goes.
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}");
    let mut live = w.api.get(&path).await.unwrap();
    live["spec"]["versions"][0]["served"] = json!(false);
    let served = json!({"spec": {"versions": live["spec"]["versions"]}});
    w.api.merge(&path, served).await;
    w.until("v1 is gone", || async {
        w.api
            .get(&format!("/apis/{group}/v1/namespaces/{}/widgets", w.ns))
            .await
            .is_none()
    })
    .await;
    let before = w.record_without_log("web").await;
    rollback(&w, &[]).await.ends(2).says("v1").says("Widget");
    assert_eq!(
        w.record_without_log("web").await,
        before,
        "nothing was touched"
    );
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "2");
    w.delete("web", &[]).await.ok();
    w.api.delete(&path).await;
}

async fn a_tampered_record_is_refused_and_the_rest_stays_usable(w: World) {
    let mut ids = Vec::new();
    for n in ["1", "2", "3", "4", "5"] {
        ids.push(id(&w
            .apply(&web(&[config_map("a", n)]), &[])
            .await
            .ok()
            .json()));
    }
    let record = w.record("web").await;
    let secret_of = |id: &str| {
        let place = record.data[id]["record"]["manifests"]["places"][0]
            .as_str()
            .unwrap()
            .to_owned();
        let name = record.secret["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        format!("{}/{name}.{place}", api::collection("Secret", Some(&w.ns)))
    };
    // Another change's manifests, half of them, and none at all.
    let other = w.api.get(&secret_of(&ids[1])).await.unwrap()["data"]["manifests"].clone();
    w.api
        .merge(&secret_of(&ids[0]), json!({"data": {"manifests": other}}))
        .await;
    let half: String = other.as_str().unwrap().chars().take(40).collect();
    w.api
        .merge(&secret_of(&ids[2]), json!({"data": {"manifests": half}}))
        .await;
    w.api.delete(&secret_of(&ids[3])).await;

    for (which, why) in [(0, "digest"), (2, "not whole"), (3, "does not exist")] {
        let flags = ["--revision", ids[which].as_str()];
        let ran = rollback(&w, &flags).await.ends(2);
        // Which of the two shows first depends on their sizes.
        if which == 0 {
            assert!(
                format!("{ran}").contains(why) || format!("{ran}").contains("not whole"),
                "{ran}"
            );
        } else {
            ran.says(why);
        }
        w.opm(&["mod", "show", "web", "manifests", "--revision", &ids[which]])
            .await
            .ends(2);
    }
    assert_eq!(
        w.record("web").await.results()[0],
        "refused",
        "nothing was begun"
    );
    let told = w
        .opm(&["mod", "history", "web", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(
        told["changes"][1]["rollback"], false,
        "its Secret is gone: {told}"
    );
    rollback(&w, &["--revision", &ids[1]]).await.ok();
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "2");
    w.apply(&web(&[config_map("a", "6")]), &[]).await.ok();
}

async fn without_records_everything_but_going_back_works(w: World) {
    let config = w.dir().join("off.yaml");
    std::fs::write(&config, "features:\n  disable: [change-records]\n").unwrap();
    let config = config.display().to_string();
    let ways: [&[&str]; 3] = [
        &["--no-record"],
        &["--feature-disable", "change-records"],
        &["--config", &config],
    ];
    for (n, way) in ways.iter().enumerate() {
        w.apply(&web(&[config_map("a", &n.to_string())]), way)
            .await
            .ok();
    }
    assert!(w.record("web").await.places().is_empty());
    let told = w
        .opm(&["mod", "history", "web", "-o", "json"])
        .await
        .ok()
        .json();
    let changes = told["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|c| c["rollback"] == false), "{told}");
    w.opm(&["mod", "history", "web", "--log"]).await.ok();
    w.opm(&["mod", "show", "web", "values"]).await.ok();
    let before = w.record_without_log("web").await;
    rollback(&w, &[])
        .await
        .ends(2)
        .says("not kept")
        .says("cannot be rendered again");
    assert_eq!(w.record_without_log("web").await, before);
    w.apply(&web(&[config_map("a", "9")]), &["--atomic"])
        .await
        .ends(2)
        .says("no way back");
    assert_eq!(w.record_without_log("web").await, before);
    // From now on with records: the next one can be gone back from, and then to.
    w.apply(&web(&[config_map("a", "9")]), &[]).await.ok();
    w.apply(&web(&[config_map("a", "10")]), &["--atomic"])
        .await
        .ok();
    rollback(&w, &[]).await.ok();
    w.delete("web", &[]).await.ok();
}

async fn what_is_not_kept_is_rendered_again_if_it_comes_to_the_same(w: World) {
    let first = w
        .apply(&web(&[config_map("a", "1")]), &["--no-record"])
        .await
        .ok()
        .json();
    w.apply(&web(&[config_map("b", "1")]), &["--no-record"])
        .await
        .ok();
    // The directory holds something else by now.
    let dir = w.write(&web(&[config_map("b", "1")]));
    w.opm(&["mod", "rollback", &dir, "-o", "json"])
        .await
        .ends(2)
        .says("do not match this change");
    let dir = w.write(&web(&[config_map("a", "1")]));
    let report = w
        .opm(&["mod", "rollback", &dir, "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(report["changeId"], first["changeId"]);
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

async fn data_that_does_not_come_back_is_asked_about(w: World) {
    let claims = |claims: &[&str]| {
        let claims: Vec<Value> = claims.iter().map(|c| volume_claim(c)).collect();
        web(&[&[config_map("a", &claims.len().to_string())], &claims[..]].concat())
    };
    w.apply(&claims(&["old"]), &[]).await.ok();
    w.apply(&claims(&["old", "new"]), &[]).await.ok();
    w.apply(&claims(&["new"]), &["--force-prune-pvcs"])
        .await
        .ok();
    assert!(w.gone("PersistentVolumeClaim/old").await);
    w.until("the old claim is gone", || async {
        !w.exists("PersistentVolumeClaim/old").await
    })
    .await;
    let first = w.record("web").await.index()[2].clone();
    let before = w.record_without_log("web").await;
    rollback(&w, &["--revision", &first])
        .await
        .ends(2)
        .says("PersistentVolumeClaim/new")
        .says("stays, with its data")
        .says("PersistentVolumeClaim/old")
        .says("begins empty")
        .says("--yes");
    assert_eq!(w.record_without_log("web").await, before);
    rollback(&w, &["--revision", &first, "--dry-run"])
        .await
        .ok()
        .says("begins empty");
    rollback(&w, &["--revision", &first, "--yes"]).await.ok();
    assert!(w.exists("PersistentVolumeClaim/new").await, "guards hold");
    assert_eq!(
        w.record("web").await.kept(),
        set(["PersistentVolumeClaim/new"])
    );
    // A claim that was kept is taken up again: nothing to ask.
    rollback(&w, &[])
        .await
        .ends(2)
        .says("stays, with its data")
        .never_says("begins empty");
}
