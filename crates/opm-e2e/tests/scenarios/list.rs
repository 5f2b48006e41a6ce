//! `opm mod list`: every release that can be seen, and what cannot.

use opm_e2e::objects::{config_map, secret};
use opm_e2e::{Module, OpmOutput, Rights, World, api, note, scenarios};
use serde_json::{Value, json};

scenarios! {
    releases_are_listed_with_what_the_table_needs,
    every_writer_keeps_the_summary_true,
    secrets_without_a_readable_summary_are_listed_and_marked,
    a_hundred_releases_take_few_requests,
    #[real_only("does not apply to the sandbox, which has no access control")]
    one_unreadable_namespace_hides_only_itself,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// The releases of this world's namespace that a listing shows.
fn releases(w: &World, ran: &OpmOutput) -> Vec<Value> {
    let all = ran.json()["releases"].as_array().unwrap().clone();
    all.into_iter()
        .filter(|r| r["namespace"] == *w.ns)
        .collect()
}

async fn listed(w: &World) -> Vec<Value> {
    let ran = w.opm(&["mod", "list", "-A", "-o", "json"]).await.ok();
    releases(w, &ran)
}

async fn releases_are_listed_with_what_the_table_needs(w: World) {
    w.opm(&["mod", "list"])
        .await
        .ok()
        .says("there are no releases");
    let canary = "canary-in-a-listing";
    w.apply(&web(&[config_map("a", "1"), secret("s", canary)]), &[])
        .await
        .ok();
    let mine = Module::minecraft("0.1.0").component("app", &[config_map("m", "1")]);
    let report = w.apply(&mine, &[]).await.ok().json();

    let ran = w.opm(&["mod", "list", "-o", "json"]).await.ok();
    let ran = ran.never_says(canary);
    let found = releases(&w, &ran);
    let names: Vec<&str> = found.iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["minecraft", "web"]);
    assert_eq!(found[0]["releaseId"], report["release"]["releaseId"]);
    assert_eq!(found[0]["changeId"], report["changeId"]);
    assert_eq!(
        found[0]["module"],
        json!({"name": "minecraft", "path": "opmodel.dev/modules/minecraft@v0", "version": "0.1.0"})
    );
    assert_eq!(found[1]["module"]["local"], true);
    assert_eq!(found[1]["objects"], 2);
    let record = w.record("web").await;
    assert_eq!(
        found[1]["lastTransitionTime"],
        record.data["metadata"]["lastTransitionTime"]
    );
    assert_eq!(listed(&w).await, found, "-A shows the same and more");

    let table = w.opm(&["mod", "list"]).await.ok();
    for word in ["NAME", "AGE", "minecraft", "0.1.0", "web", "local"] {
        assert!(table.to_string().contains(word), "{word}: {table}");
    }
    let wide = w.opm(&["mod", "list", "-o", "wide"]).await.ok();
    wide.says(report["release"]["releaseId"].as_str().unwrap());
}

async fn every_writer_keeps_the_summary_true(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    assert_eq!(listed(&w).await[0]["objects"], 2);

    w.apply(&web(&[config_map("a", "1")]), &["--no-prune"])
        .await
        .ok();
    let found = listed(&w).await;
    assert_eq!(
        (&found[0]["objects"], &found[0]["kept"]),
        (&json!(1), &json!(1))
    );

    w.opm(&["mod", "prune", "web", "ConfigMap/b", "--yes"])
        .await
        .ok();
    assert_eq!(listed(&w).await[0]["kept"], 0);

    // A failed apply leaves something pending.
    let broken = opm_e2e::objects::unacceptable(opm_e2e::objects::service("bad"));
    let failing = web(&[config_map("a", "1"), config_map("new", "1"), broken]);
    w.apply(&failing, &[]).await.ends(1);
    let found = listed(&w).await;
    assert_eq!(found[0]["objects"], 1, "the current change is untouched");
    assert!(found[0]["pending"].as_u64() > Some(0), "{found:?}");
    w.opm(&["mod", "list"]).await.ok().says("pending");

    w.apply(&web(&[config_map("a", "2")]), &[]).await.ok();
    let found = listed(&w).await;
    assert_eq!(found[0]["pending"], 0);
    assert_eq!(
        found[0]["changeId"].as_str(),
        Some(&*w.record("web").await.index()[0])
    );

    // Going back, and a record that was lost and rebuilt.
    let objects = [config_map("a", "3"), config_map("c", "3")];
    w.apply(&web(&objects), &[]).await.ok();
    assert_eq!(listed(&w).await[0]["objects"], 2);
    w.opm(&["mod", "rollback", "web", "--yes"]).await.ok();
    let found = listed(&w).await;
    assert_eq!(found[0]["objects"], 1);
    assert_eq!(
        found[0]["changeId"].as_str(),
        Some(&*w.record("web").await.index()[0])
    );
    w.delete_record("web").await;
    w.opm(&["mod", "repair", "web", "--yes"]).await.ok();
    let found = listed(&w).await;
    assert_eq!(found[0]["note"], Value::Null, "{found:?}");
    assert_eq!(found[0]["objects"], 1);

    w.opm(&["mod", "forget", "web", "ConfigMap/a"]).await.ok();
    assert_eq!(listed(&w).await[0]["objects"], 0);
    w.delete("web", &[]).await.ok();
    assert_eq!(listed(&w).await, Vec::<Value>::new());
}

async fn secrets_without_a_readable_summary_are_listed_and_marked(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let record = w.record("web").await.secret;
    let name = record["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}", api::collection("Secret", Some(&w.ns)));
    for (summary, mark) in [
        (json!("{not json"), "its summary cannot be read"),
        (Value::Null, "it has no summary"),
    ] {
        let patch = json!({"metadata": {"annotations": {"opmodel.dev/summary": summary}}});
        w.api.merge(&path, patch).await;
        let found = listed(&w).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["name"], "web");
        assert_eq!(found[0]["note"], mark);
        assert_eq!(found[0]["objects"], Value::Null, "not known is not none");
        w.opm(&["mod", "list"]).await.ok().says(mark);
    }
}

async fn a_hundred_releases_take_few_requests(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let record = w.record("web").await.secret;
    let id = record["metadata"]["name"]
        .as_str()
        .unwrap()
        .rsplit('.')
        .next()
        .unwrap();
    let copies = (0..99).map(|n| {
        let mut copy = record.clone();
        copy["kind"] = json!("Secret");
        copy["metadata"] = json!({
            "name": format!("opm.copy-{n}.{id}"),
            "labels": record["metadata"]["labels"],
            "annotations": record["metadata"]["annotations"],
        });
        copy
    });
    for copy in copies {
        w.api.create(&w.ns, &copy).await;
    }
    let (ran, requests) = w.counted(&["mod", "list", "-o", "json"]).await;
    assert_eq!(releases(&w, &ran.ok()).len(), 100);
    let total: usize = requests.values().sum();
    note(&format!(
        "list of 100 releases: {total} requests: {requests:?}"
    ));
    assert!(total <= 4, "{requests:?}");
}

async fn one_unreadable_namespace_hides_only_itself(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let hidden = w.other_namespace("hidden").await;
    let lists = Rights::none().allow("", &["secrets"], &["list"]);
    let namespaces = lists
        .clone()
        .allow_everywhere("", &["namespaces"], &["list"]);
    let everywhere = ["mod", "list", "-A", "-o", "json"];

    let user = w.user(&namespaces).await;
    let ran = w.opm_as(user.kubeconfig(), &everywhere).await.ok();
    let ran = ran.says(&format!("releases in namespace {hidden} cannot be seen"));
    assert_eq!(releases(&w, &ran).len(), 1);
    let unseen = ran.json()["unseen"].as_array().unwrap().clone();
    assert!(unseen.iter().any(|u| u["namespace"] == *hidden));
    assert!(unseen.iter().all(|u| u["namespace"] != *w.ns));

    // Who may not even name the namespaces sees their own.
    let user = w.user(&lists).await;
    let ran = w
        .opm_as(
            user.kubeconfig(),
            &["mod", "list", "-A", "-n", &w.ns, "-o", "json"],
        )
        .await;
    let ran = ran.ok().says("releases in other namespaces cannot be seen");
    assert_eq!(releases(&w, &ran).len(), 1);
    assert_eq!(ran.json()["unseen"][0]["namespace"], Value::Null);

    // Nothing at all can be seen.
    for rights in [
        Rights::none(),
        Rights::none().allow_everywhere("", &["namespaces"], &["list"]),
    ] {
        let user = w.user(&rights).await;
        let ran = w.opm_as(user.kubeconfig(), &everywhere).await.ends(4);
        assert_eq!(ran.json()["error"]["kind"], "not-permitted");
    }
    let user = w.user(&Rights::none()).await;
    w.opm_as(user.kubeconfig(), &["mod", "list"]).await.ends(4);
}
