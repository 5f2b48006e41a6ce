//! Only what would change is sent, and what that costs in requests.

use std::collections::BTreeMap;

use opm_e2e::objects::{config_map, deployment, secret, service};
use opm_e2e::{Module, World, api, note, scenarios};
use opm_testkit::relay::RequestInfo;
use serde_json::{Value, json};

scenarios! {
    what_would_not_change_is_not_sent,
    what_others_changed_is_sent_again,
    a_difference_pretends_only_what_would_be_sent,
    workloads_that_controllers_write_to_are_not_sent,
    damaged_notes_only_cost_requests,
    commands_take_few_round_trips,
    more_is_sent_at_a_time_on_a_long_way,
}

fn maps(count: usize, changed: Option<usize>) -> Module {
    let value = |n: usize| if Some(n) == changed { "2" } else { "1" };
    let maps: Vec<Value> = (0..count)
        .map(|n| config_map(&format!("m{n:03}"), value(n)))
        .collect();
    Module::new("web").component("app", &maps)
}

async fn applied(w: &World, module: &Module, more: &[&str]) -> BTreeMap<String, usize> {
    let dir = w.write(module);
    let arguments = [&["mod", "apply", &dir, "-n", &w.ns], more].concat();
    let (ran, requests) = w.counted(&arguments).await;
    ran.ok();
    requests
}

fn total(requests: &BTreeMap<String, usize>) -> usize {
    requests.values().sum()
}

fn count(requests: &BTreeMap<String, usize>, what: &str) -> usize {
    requests.get(what).copied().unwrap_or_default()
}

async fn what_would_not_change_is_not_sent(w: World) {
    let installed = applied(&w, &maps(100, None), &[]).await;
    let version = |record: &Value| record["metadata"]["resourceVersion"].clone();
    let path = api::object("ConfigMap/m000", &w.ns);
    let before = w.api.get(&path).await.unwrap();
    let again = applied(&w, &maps(100, None), &[]).await;
    assert_eq!(count(&again, "patch configmaps"), 0, "{again:?}");
    assert_eq!(
        count(&again, "update secrets"),
        1,
        "the record, once: {again:?}"
    );
    assert_eq!(count(&again, "patch secrets"), 0, "{again:?}");
    assert!(total(&again) <= 9, "{again:?}");
    let after = w.api.get(&path).await.unwrap();
    assert_eq!(version(&after), version(&before));

    let one = applied(&w, &maps(100, Some(7)), &[]).await;
    assert_eq!(count(&one, "patch configmaps"), 1, "{one:?}");
    assert!(total(&one) <= 14, "two of them for what is served: {one:?}");
    assert_eq!(w.get("ConfigMap/m007").await.unwrap()["data"]["k"], "2");

    let all = applied(&w, &maps(100, Some(7)), &["--send-all"]).await;
    assert_eq!(count(&all, "patch configmaps"), 100, "{all:?}");
    note(&format!(
        "100 ConfigMaps: install {} requests, again {} {again:?}, one changed {} {one:?}, all sent {}",
        total(&installed),
        total(&again),
        total(&one),
        total(&all)
    ));
    let log = w.record("web").await.results();
    assert_eq!(log, ["succeeded"; 4], "every run is in the log");
}

async fn what_others_changed_is_sent_again(w: World) {
    let module = Module::new("web").component("app", &[config_map("a", "1"), secret("s", "1")]);
    w.apply(&module, &[]).await.ok();
    let path = api::object("ConfigMap/a", &w.ns);
    let edits = [
        (json!({"data": {"k": "by hand"}}), 1),
        (json!({"data": {"k": null}}), 1),
        (json!({"data": {"theirs": "x"}}), 0),
        (
            json!({"metadata": {"labels": {"component.opmodel.dev/name": "x"}}}),
            1,
        ),
    ];
    for (edit, sent) in edits {
        w.api.merge(&path, edit.clone()).await;
        let requests = applied(&w, &module, &[]).await;
        assert_eq!(count(&requests, "patch configmaps"), sent, "{edit}");
        assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    }
    // One that somebody made anew is nobody's, and one that is gone comes back.
    w.api.delete(&path).await;
    let requests = applied(&w, &module, &[]).await;
    assert_eq!(count(&requests, "patch configmaps"), 1, "{requests:?}");
    assert!(w.exists("ConfigMap/a").await);
}

async fn a_difference_pretends_only_what_would_be_sent(w: World) {
    applied(&w, &maps(10, None), &[]).await;
    for (changed, sent) in [(None, 0), (Some(3), 1)] {
        let dir = w.write(&maps(10, changed));
        let arguments = ["mod", "diff", &dir, "-n", &w.ns, "-o", "json"];
        let (ran, requests) = w.counted(&arguments).await;
        let ran = ran.ok();
        assert_eq!(count(&requests, "patch configmaps"), sent, "{requests:?}");
        let unchanged = ran.action("ConfigMap/m000");
        assert_eq!(unchanged.as_deref(), Some("unchanged"));
        assert_eq!(ran.changes("ConfigMap/m003").len(), sent);
    }
}

async fn workloads_that_controllers_write_to_are_not_sent(w: World) {
    let mut web = deployment("d");
    web["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": "1000m"}});
    let module = Module::new("web").component("app", &[web, service("s")]);
    w.apply(&module, &["--wait"]).await.ok();
    let again = applied(&w, &module, &[]).await;
    assert_eq!(count(&again, "patch deployments"), 0, "{again:?}");
    assert_eq!(count(&again, "patch services"), 0, "{again:?}");
}

async fn damaged_notes_only_cost_requests(w: World) {
    let module = maps(5, None);
    let report = w.apply(&module, &[]).await.ok().json();
    let id = report["release"]["releaseId"].as_str().unwrap();
    let name = format!("opm.web.{id}.63");
    let path = api::object(&format!("Secret/{name}"), &w.ns);
    w.api
        .merge(&path, json!({"data": {"applied": "AAAA"}}))
        .await;
    let again = applied(&w, &module, &[]).await;
    assert_eq!(
        count(&again, "patch configmaps"),
        0,
        "values tell: {again:?}"
    );
    w.api.delete(&path).await;
    // They are kept anew with the next objects that are sent.
    applied(&w, &module, &["--send-all"]).await;
    w.has_no_stray_records("web").await;
}

/// A hundred ConfigMaps and less, all of them changed.
fn all_changed(count: usize) -> Module {
    let maps: Vec<Value> = (0..count)
        .map(|n| config_map(&format!("m{n:03}"), "3"))
        .collect();
    Module::new("web").component("app", &maps)
}

async fn commands_take_few_round_trips(w: World) {
    let line = w.lockstep().await;
    let run = async |what: &str, arguments: &[&str]| {
        let (ran, rounds) = line.run(&[arguments, &["-n", &w.ns]].concat()).await;
        ran.ok();
        note(&format!("{what}: {rounds}"));
        rounds
    };
    let apply = async |what: &str, module: &Module| {
        let dir = w.write(module);
        run(what, &["mod", "apply", &dir]).await
    };
    let install = apply("install", &maps(100, None)).await;
    assert!(install.depth_beside("patch configmaps") <= 6, "{install}");
    // One of them only where the cluster serves ModuleReleases.
    assert!(install.requests() <= 100 + 17, "{install}");

    let again = apply("unchanged", &maps(100, None)).await;
    assert!(again.depth() <= 3, "{again}");
    assert!(again.requests() <= 7, "{again}");

    let one = apply("one changed", &maps(100, Some(7))).await;
    assert!(one.depth() <= 7, "{one}");
    assert!(one.requests() <= 12, "{one}");

    let status = run("status", &["mod", "status", "web"]).await;
    assert!(status.depth() <= 2, "{status}");
    assert!(status.requests() <= 4, "{status}");
    let list = run("list", &["mod", "list"]).await;
    assert_eq!(list.requests(), 1, "{list}");

    let upgrade = apply("upgrade", &all_changed(90)).await;
    assert_eq!(upgrade.count("patch configmaps"), 90, "{upgrade}");
    assert_eq!(upgrade.count("delete configmaps"), 10, "{upgrade}");
    assert!(upgrade.requests() <= 100 + 12, "{upgrade}");

    // One request for each change whose manifests are kept, and for the notes.
    let delete = run("delete", &["mod", "delete", "web", "--yes"]).await;
    assert!(delete.requests() <= 90 + 6 + 4, "{delete}");
    assert!(delete.depth_beside("delete configmaps") <= 7, "{delete}");
}

/// Requests that are held until no more come are answered as late as on a long way.
async fn more_is_sent_at_a_time_on_a_long_way(w: World) {
    let line = w.lockstep().await;
    let dir = w.write(&maps(100, None));
    let sizes = async |more: &[&str]| -> Vec<usize> {
        let arguments = [&["mod", "apply", &dir, "-n", &w.ns, "--send-all"], more].concat();
        let (ran, rounds) = line.run(&arguments).await;
        ran.ok();
        let about_maps = |round: &Vec<RequestInfo>| {
            let patches = round.iter().filter(|one| one.what() == "patch configmaps");
            patches.count()
        };
        let sizes = rounds.0.iter().map(about_maps);
        sizes.filter(|size| *size > 0).collect()
    };
    assert_eq!(sizes(&[]).await, [96, 4]);
    let fixed = sizes(&["--concurrency=30"]).await;
    assert_eq!(fixed, [30, 30, 30, 10]);
}
