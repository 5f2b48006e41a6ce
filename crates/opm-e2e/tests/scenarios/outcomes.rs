//! Every row of the outcomes table: how a run ends, and what it leaves behind.

use opm_e2e::objects::{config_map, deployment, never_ready, service, unacceptable, volume_claim};
use opm_e2e::{Module, Rights, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    interrupted_ends_130_and_keeps_the_intent,
    interrupted_twice_stops_at_once,
    locked_ends_7_and_names_the_holder,
    an_expired_lock_is_taken_over,
    a_lock_can_be_waited_for,
    unlock_shows_and_removes_a_dead_lock,
    #[real_only("does not apply to the sandbox, which has no access control")]
    forbidden_alone_ends_4,
    unreachable_ends_3,
    no_such_release_ends_5,
    a_refusal_ends_2_and_lists_every_reason,
    a_prompt_that_cannot_be_asked_ends_2,
    a_failed_object_ends_1,
    a_failed_phase_ends_1,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_delete_with_failures_ends_1_and_keeps_the_record,
    not_ready_in_time_ends_8_and_is_recorded,
    ready_in_time_ends_0,
    kept_objects_end_0,
    a_dry_run_writes_nothing,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// A release that waits for its first phase for as long as it may.
pub(crate) fn waiting() -> Module {
    Module::new("web")
        .component("first", &[never_ready(deployment("first"))])
        .component_after("second", &["first"], &[config_map("second", "1")])
}

async fn interrupted_ends_130_and_keeps_the_intent(w: World) {
    let run = w.start_apply(&waiting(), &["--timeout", "10m"]);
    w.until("Deployment/first exists", || w.exists("Deployment/first"))
        .await;
    run.interrupt();
    run.end().await.ends(130);
    let record = w.record("web").await;
    assert!(!record.locked(), "the lock is released");
    assert!(record.index().is_empty());
    assert!(record.pending().contains("Deployment/first"));
    assert_eq!(record.results()[0], "interrupted");
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

async fn interrupted_twice_stops_at_once(w: World) {
    let run = w.start_apply(&waiting(), &["--timeout", "10m"]);
    w.until("Deployment/first exists", || w.exists("Deployment/first"))
        .await;
    run.interrupt();
    run.interrupt();
    run.end().await.ends(130);
    w.apply(&web(&[config_map("a", "1")]), &["--lock-timeout", "10m"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

/// Somebody on another machine holds the lock, or held it when it was last seen.
pub(crate) async fn lock(w: &World) {
    w.edit_record("web", |data| {
        let lock = json!({"id": "0000", "holder": "deployer", "host": "far-away", "pid": 1,
            "command": "apply", "since": "2026-01-01T00:00:00Z", "beat": 1});
        data.insert("lock".to_owned(), lock);
    })
    .await;
}

async fn locked_ends_7_and_names_the_holder(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    lock(&w).await;
    w.apply(&web(&[config_map("b", "1")]), &[])
        .await
        .ends(7)
        .says("deployer")
        .says("far-away");
    w.delete("web", &[]).await.ends(7);
    assert!(!w.exists("ConfigMap/b").await);
    assert!(w.exists("ConfigMap/a").await);
}

async fn an_expired_lock_is_taken_over(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    lock(&w).await;
    w.until_lock_expires("web", "1s").await;
    let module = web(&[config_map("b", "1")]);
    w.apply_with(&[("OPM_LOCK_TTL", "1s")], &module, &[])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/b"]).await;
}

async fn a_lock_can_be_waited_for(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    lock(&w).await;
    let module = web(&[config_map("b", "1")]);
    let short = [("OPM_LOCK_TTL", "1s")];
    w.apply_with(&short, &module, &["--lock-timeout", "10m"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/b"]).await;
}

async fn unlock_shows_and_removes_a_dead_lock(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    lock(&w).await;
    // A lock that may still be renewed is not a dead one.
    w.opm(&["mod", "unlock", "web", "--yes"])
        .await
        .ends(7)
        .says("deployer");
    assert!(w.record("web").await.locked());
    w.until_lock_expires("web", "1s").await;
    let short = [("OPM_LOCK_TTL", "1s")];
    w.opm_with(&short, &["mod", "unlock", "web"])
        .await
        .ends(2)
        .says("deployer")
        .says("--yes");
    assert!(w.record("web").await.locked());
    w.opm_with(&short, &["mod", "unlock", "web", "--yes"])
        .await
        .ok()
        .says("deployer");
    assert!(!w.record("web").await.locked());
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
}

async fn forbidden_alone_ends_4(w: World) {
    let nobody = w.user(&Rights::none()).await;
    let module = web(&[config_map("a", "1")]);
    w.apply_as(nobody.kubeconfig(), &module, &[]).await.ends(4);
    assert!(!w.exists("ConfigMap/a").await);
    assert!(w.find_record("web").await.is_none());
}

async fn unreachable_ends_3(w: World) {
    let kubeconfig = w.dir().join("nowhere");
    let nowhere = json!({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {}}],
        "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:9"}}]});
    std::fs::write(&kubeconfig, nowhere.to_string()).unwrap();
    let module = web(&[config_map("a", "1")]);
    w.apply_as(&kubeconfig, &module, &[])
        .await
        .ends(3)
        .says("127.0.0.1:9");
}

async fn no_such_release_ends_5(w: World) {
    w.delete("nothing", &[]).await.ends(5).says("nothing");
    w.opm(&["mod", "unlock", "nothing", "--yes"]).await.ends(5);
    w.opm(&["mod", "forget", "nothing", "ConfigMap/a"])
        .await
        .ends(5);
}

async fn a_refusal_ends_2_and_lists_every_reason(w: World) {
    w.api.create(&w.ns, &config_map("theirs", "1")).await;
    w.terminating(&config_map("going", "1")).await;
    let nowhere = opm_e2e::objects::in_namespace(config_map("lost", "1"), "no-such-namespace");
    let unknown =
        json!({"apiVersion": "example.com/v1", "kind": "Unheard", "metadata": {"name": "of"}});
    let module = web(&[
        config_map("theirs", "1"),
        config_map("going", "1"),
        nowhere,
        unknown,
    ]);
    let ran = w.apply(&module, &[]).await.ends(2);
    let ran = ran
        .says("ConfigMap/theirs")
        .says("ConfigMap/going")
        .says("no-such-namespace");
    ran.says("Unheard");
    w.let_go("ConfigMap/going").await;
    assert!(w.find_record("web").await.is_none());
}

async fn a_prompt_that_cannot_be_asked_ends_2(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.opm(&["mod", "delete", "web", "-o", "json"])
        .await
        .ends(2)
        .says("--yes");
    assert!(w.exists("ConfigMap/a").await);
}

async fn a_failed_object_ends_1(w: World) {
    let broken = [
        unacceptable(service("bad")),
        unacceptable(service("worse")),
        config_map("a", "1"),
    ];
    let ran = w
        .apply(&web(&broken), &[])
        .await
        .ends(1)
        .says("noSuchField");
    let report = ran.json();
    assert_eq!(
        report["error"]["objects"].as_array().map(Vec::len),
        Some(2),
        "every failure: {ran}"
    );
    assert!(w.record("web").await.index().is_empty());
}

async fn a_failed_phase_ends_1(w: World) {
    let ran = w
        .apply(&waiting(), &["--timeout", "2s"])
        .await
        .ends(1)
        .says("Deployment/first");
    assert_eq!(
        ran.action("ConfigMap/second").as_deref(),
        Some("skipped"),
        "{ran}"
    );
    assert!(!w.exists("ConfigMap/second").await);
    assert!(w.record("web").await.index().is_empty());
}

async fn a_delete_with_failures_ends_1_and_keeps_the_record(w: World) {
    let other = w.other_namespace("other").await;
    let elsewhere = opm_e2e::objects::in_namespace(config_map("b", "1"), &other);
    w.apply(&web(&[config_map("a", "1"), elsewhere]), &[])
        .await
        .ok();
    let user = w.user(&Rights::none().allow("*", &["*"], &["*"])).await;
    w.delete_as(user.kubeconfig(), "web", &[])
        .await
        .ends(1)
        .says("ConfigMap/b");
    assert!(w.exists(&format!("{other}:ConfigMap/b")).await);
    assert!(w.find_record("web").await.is_some());
    w.delete("web", &[]).await.ok();
    assert!(!w.exists(&format!("{other}:ConfigMap/b")).await);
}

async fn not_ready_in_time_ends_8_and_is_recorded(w: World) {
    let module = web(&[never_ready(deployment("slow"))]);
    w.apply(&module, &["--wait", "--timeout", "2s"])
        .await
        .ends(8)
        .says("Deployment/slow");
    w.holds_exactly("web", &["Deployment/slow"]).await;
}

async fn ready_in_time_ends_0(w: World) {
    w.apply(
        &web(&[deployment("quick"), config_map("a", "1")]),
        &["--wait", "--timeout", "10m"],
    )
    .await
    .ok();
    let live = w.get("Deployment/quick").await.unwrap();
    assert_eq!(live["status"]["readyReplicas"], 1);
}

async fn kept_objects_end_0(w: World) {
    w.apply(&web(&[volume_claim("data"), config_map("a", "1")]), &[])
        .await
        .ok();
    let ran = w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    assert_eq!(ran.json()["kept"].as_array().map(Vec::len), Some(1));
}

async fn a_dry_run_writes_nothing(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let before = w.record("web").await.secret;
    let ran = w
        .apply(
            &web(&[config_map("b", "2"), config_map("c", "1")]),
            &["--dry-run"],
        )
        .await
        .ok();
    assert_eq!(ran.json()["dryRun"], true);
    for (object, action) in [
        ("ConfigMap/a", "pruned"),
        ("ConfigMap/b", "configured"),
        ("ConfigMap/c", "created"),
    ] {
        assert_eq!(ran.action(object).as_deref(), Some(action), "{ran}");
    }
    assert_eq!(w.record("web").await.secret, before);
    assert_eq!(
        w.live("web")
            .await
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>(),
        set(["ConfigMap/a", "ConfigMap/b"])
    );
    // A dry run on an empty cluster does not even make the record.
    w.apply(
        &Module::new("new").component("app", &[config_map("x", "1")]),
        &["--dry-run"],
    )
    .await
    .ok();
    assert!(w.find_record("new").await.is_none());
}
