//! What comes after what: components, Jobs, old workloads and new ones; and what is left alone
//! on the way because somebody else drives it.

use opm_e2e::api;
use opm_e2e::objects::{
    annotated, autoscaler, config_map, deployment, failing, job, mounting, never_ready,
    stateful_set, volume_claim,
};
use opm_e2e::{Module, Rights, World, Writes, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    a_component_waits_until_jobs_before_it_are_complete,
    a_failed_job_stops_what_comes_after_it,
    a_completed_job_that_is_gone_is_not_run_again,
    stale_objects_stay_until_the_new_ones_are_ready,
    a_volume_claim_cannot_be_handed_over_while_both_run,
    autoscaled_replicas_are_left_alone,
    #[real_only("does not apply to the sandbox, which has no admission control")]
    a_webhook_that_changes_what_was_applied_is_lived_with,
    labels_that_somebody_strips_come_back,
    forgotten_objects_are_nobodys,
    #[real_only("does not apply to the sandbox, which has no access control")]
    who_may_not_unlabel_what_is_forgotten_is_told,
    a_claim_that_did_not_change_is_reported_unchanged,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// A Job, and a component that comes after it.
fn migrated(job: Value) -> Module {
    Module::new("web")
        .component("migrate", &[job])
        .component_after("app", &["migrate"], &[config_map("app", "1")])
}

fn expiring(name: &str, image: &str) -> Value {
    let mut job = job(name);
    job["spec"]["ttlSecondsAfterFinished"] = json!(600);
    job["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    job
}

async fn a_component_waits_until_jobs_before_it_are_complete(w: World) {
    w.apply(&migrated(job("migrate")), &["--timeout", "10m"])
        .await
        .ok();
    let job = w.get("Job/migrate").await.unwrap();
    let done = job["status"]["completionTime"]
        .as_str()
        .expect("it is complete")
        .to_owned();
    let app = w.get("ConfigMap/app").await.unwrap();
    let made = app["metadata"]["creationTimestamp"].as_str().unwrap();
    assert!(
        done.as_str() <= made,
        "complete at {done}, applied at {made}"
    );
    w.holds_exactly("web", &["ConfigMap/app", "Job/migrate"])
        .await;
}

async fn a_failed_job_stops_what_comes_after_it(w: World) {
    let module = migrated(failing(job("migrate")));
    let ran = w.apply(&module, &["--timeout", "10m"]).await.ends(1);
    let ran = ran.says("Job/migrate").says("did not become ready");
    ran.did("skipped", "ConfigMap/app");
    assert!(!w.exists("ConfigMap/app").await);
    let record = w.record("web").await;
    assert!(record.index().is_empty(), "not recorded");
    assert_eq!(record.pending(), set(["ConfigMap/app", "Job/migrate"]));
    w.apply(&web(&[config_map("app", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/app"]).await;
}

async fn a_completed_job_that_is_gone_is_not_run_again(w: World) {
    let module = migrated(expiring("migrate", "example.com/job:1"));
    w.apply(&module, &["--timeout", "10m"]).await.ok();
    let uid = w.uid("Job/migrate").await;
    w.api.delete(&api::object("Job/migrate", &w.ns)).await;
    w.until("the Job is gone", || async {
        !w.exists("Job/migrate").await
    })
    .await;
    let ran = w.apply(&module, &["--timeout", "10m"]).await.ok();
    ran.did("unchanged", "Job/migrate");
    assert!(!w.exists("Job/migrate").await, "it is complete");
    let record = w.record("web").await;
    assert_eq!(record.inventory(), set(["ConfigMap/app", "Job/migrate"]));
    assert!(record.pending().is_empty());
    // Another manifest is another job to do.
    let module = migrated(expiring("migrate", "example.com/job:2"));
    w.apply(&module, &["--timeout", "10m"])
        .await
        .ok()
        .did("created", "Job/migrate");
    assert_ne!(w.uid("Job/migrate").await, uid);
    // A Job that does not remove itself was removed by somebody.
    let module = migrated(job("other"));
    w.apply(&module, &["--timeout", "10m"]).await.ok();
    w.api.delete(&api::object("Job/other", &w.ns)).await;
    w.until("the Job is gone", || async { !w.exists("Job/other").await })
        .await;
    w.apply(&module, &["--timeout", "10m"])
        .await
        .ok()
        .did("created", "Job/other");
    w.delete("web", &[]).await.ok();
}

async fn stale_objects_stay_until_the_new_ones_are_ready(w: World) {
    w.apply(&web(&[deployment("old")]), &["--wait", "--timeout", "10m"])
        .await
        .ok();
    let slow = [never_ready(deployment("new"))];
    let flags = ["--prune-after-ready", "--timeout", "2s"];
    let ran = w.apply(&web(&slow), &flags).await.ends(8);
    ran.says("Deployment/new").says("not ready");
    assert!(w.exists("Deployment/old").await, "the old one still serves");
    let record = w.record("web").await;
    assert_eq!(record.inventory(), set(["Deployment/new"]));
    assert_eq!(
        record.pending_why("Deployment/old").as_deref(),
        Some("prune-failed")
    );
    let flags = ["--prune-after-ready", "--timeout", "10m"];
    let ran = w.apply(&web(&[deployment("new")]), &flags).await.ok();
    ran.did("pruned", "Deployment/old");
    w.holds_exactly("web", &["Deployment/new"]).await;
    assert_eq!(
        w.get("Deployment/new").await.unwrap()["status"]["readyReplicas"],
        1
    );
}

async fn a_volume_claim_cannot_be_handed_over_while_both_run(w: World) {
    let claim = volume_claim("data");
    let old = web(&[claim.clone(), mounting(deployment("old"), "data")]);
    w.apply(&old, &[]).await.ok();
    let before = w.record_without_log("web").await;
    let new = web(&[claim.clone(), mounting(stateful_set("new"), "data")]);
    w.apply(&new, &["--prune-after-ready"])
        .await
        .ends(2)
        .says("PersistentVolumeClaim/data")
        .says("Deployment/old")
        .says("StatefulSet/new");
    assert!(!w.exists("StatefulSet/new").await, "nothing was touched");
    let pretended = ["--prune-after-ready", "--dry-run"];
    let ran = w.apply(&new, &pretended).await.ends(2);
    ran.says("PersistentVolumeClaim/data");
    assert_eq!(w.record_without_log("web").await, before);
    // At once, it can; and another claim is another matter.
    w.apply(&new, &[])
        .await
        .ok()
        .did("pruned", "Deployment/old");
    let other = web(&[
        claim,
        mounting(deployment("apart"), "other"),
        volume_claim("other"),
    ]);
    let flags = ["--prune-after-ready", "--timeout", "1s"];
    w.apply(&other, &flags)
        .await
        .says("PersistentVolumeClaim/other");
    assert!(w.exists("Deployment/apart").await);
}

fn scaled(replicas: Option<i64>, image: &str) -> Value {
    let mut workload = deployment("web");
    match replicas {
        Some(replicas) => workload["spec"]["replicas"] = json!(replicas),
        None => _ = workload["spec"].as_object_mut().unwrap().remove("replicas"),
    }
    workload["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    workload
}

/// As an autoscaler does it.
async fn scale(w: &World, replicas: i64) {
    let path = format!("{}/scale", api::object("Deployment/web", &w.ns));
    w.api
        .merge(&path, json!({"spec": {"replicas": replicas}}))
        .await;
}

async fn replicas(w: &World) -> Value {
    w.get("Deployment/web").await.unwrap()["spec"]["replicas"].clone()
}

async fn autoscaled_replicas_are_left_alone(w: World) {
    const LEFT: &str = "its replicas are left as they are";
    // Outside the module.
    w.apply(&web(&[scaled(Some(2), "example.com/main:1")]), &[])
        .await
        .ok()
        .never_says(LEFT);
    w.api.create(&w.ns, &autoscaler("by-hand", "web")).await;
    scale(&w, 5).await;
    w.apply(&web(&[scaled(Some(2), "example.com/main:2")]), &[])
        .await
        .ok()
        .says(LEFT);
    assert_eq!(replicas(&w).await, 5);
    let live = w.get("Deployment/web").await.unwrap();
    assert_eq!(
        live["spec"]["template"]["spec"]["containers"][0]["image"],
        "example.com/main:2"
    );
    w.api
        .delete(&api::object("HorizontalPodAutoscaler/by-hand", &w.ns))
        .await;
    w.apply(&web(&[scaled(Some(3), "example.com/main:2")]), &[])
        .await
        .ok()
        .never_says(LEFT);
    assert_eq!(replicas(&w).await, 3);
    // Added to the module, which does not ask for a number any more.
    let with = web(&[scaled(None, "example.com/main:2"), autoscaler("own", "web")]);
    w.apply(&with, &[]).await.ok().says(LEFT);
    assert_eq!(
        replicas(&w).await,
        3,
        "leaving the field out would have reset it"
    );
    scale(&w, 7).await;
    let with = web(&[
        scaled(Some(1), "example.com/main:3"),
        autoscaler("own", "web"),
    ]);
    w.apply(&with, &[]).await.ok().says(LEFT);
    assert_eq!(replicas(&w).await, 7);
    // Removed from it: the module's number holds again.
    let without = web(&[scaled(Some(2), "example.com/main:3")]);
    let ran = w.apply(&without, &[]).await.ok().never_says(LEFT);
    ran.did("pruned", "HorizontalPodAutoscaler/own");
    assert_eq!(replicas(&w).await, 2);
}

async fn a_webhook_that_changes_what_was_applied_is_lived_with(w: World) {
    let writes = Writes::of("", "configmaps", &["CREATE", "UPDATE"]).named("changed");
    let expression = r#"Object{metadata: Object.metadata{annotations: {"example.com/seen": "yes"}}, data: {"injected": "1", "k": "theirs"}}"#;
    let rule = w.mutate(&writes, expression).await;
    let module = web(&[config_map("changed", "ours"), config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let data = w.get("ConfigMap/changed").await.unwrap()["data"].clone();
    assert_eq!(data, json!({"injected": "1", "k": "theirs"}));
    w.apply(&module, &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/changed"])
        .await;
    rule.lift().await;
    // A loaded server may go by the rule for a moment longer; the report is true either way.
    loop {
        let ran = w.apply(&module, &[]).await.ok();
        if w.get("ConfigMap/changed").await.unwrap()["data"]["k"] == "ours" {
            ran.did("configured", "ConfigMap/changed");
            break;
        }
        ran.did("unchanged", "ConfigMap/changed");
    }
    // One that takes the release's labels for itself: the uid still tells whose it is.
    let writes = Writes::of("", "configmaps", &["CREATE", "UPDATE"]).named("stripped");
    let expression =
        r#"Object{metadata: Object.metadata{labels: {"module-release.opmodel.dev/uuid": ""}}}"#;
    let rule = w.mutate(&writes, expression).await;
    w.apply(
        &web(&[config_map("stripped", "1"), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    w.apply(
        &web(&[config_map("stripped", "2"), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    assert_eq!(w.get("ConfigMap/stripped").await.unwrap()["data"]["k"], "2");
    w.apply(&web(&[config_map("a", "1")]), &[])
        .await
        .ok()
        .did("pruned", "ConfigMap/stripped");
    rule.lift().await;
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

async fn labels_that_somebody_strips_come_back(w: World) {
    let module = web(&[config_map("a", "1"), config_map("b", "1")]);
    w.apply(&module, &[]).await.ok();
    let path = api::object("ConfigMap/a", &w.ns);
    let uid = w.uid("ConfigMap/a").await;
    w.api
        .merge(&path, json!({"metadata": {"labels": null}}))
        .await;
    w.apply(&module, &[])
        .await
        .ok()
        .did("configured", "ConfigMap/a");
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b"])
        .await;
    assert_eq!(w.uid("ConfigMap/a").await, uid);
    // Deleted and made anew by somebody else in between, without the labels: not ours.
    w.api.delete(&path).await;
    w.api.create(&w.ns, &config_map("a", "theirs")).await;
    w.apply(&module, &[])
        .await
        .ends(2)
        .says("not tracked by this release");
    w.apply(&module, &["--adopt=ConfigMap/a"]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b"])
        .await;
}

async fn forgotten_objects_are_nobodys(w: World) {
    let a = annotated(config_map("a", "1"), "example.com/note", "stays");
    let module = web(&[a.clone(), config_map("b", "1"), config_map("c", "1")]);
    w.apply(&module, &[]).await.ok();
    let before = w.get("ConfigMap/a").await.unwrap();
    w.opm(&["mod", "forget", "web", "ConfigMap/a"]).await.ok();
    let after = w.get("ConfigMap/a").await.unwrap();
    assert_eq!(after["data"], before["data"]);
    assert_eq!(
        after["metadata"]["annotations"],
        before["metadata"]["annotations"]
    );
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert!(after["metadata"]["labels"].is_null(), "{after}");
    assert!(
        !after["metadata"]["managedFields"]
            .to_string()
            .contains("\"opm\""),
        "{after}"
    );
    w.holds_exactly("web", &["ConfigMap/b", "ConfigMap/c"])
        .await;
    // It is nobody's: to have it again takes adoption.
    w.apply(&module, &[]).await.ends(2).says("--adopt");
    w.apply(&module, &["--adopt"]).await.ok();
    // Not even looked at twice: what has become somebody else's is only struck off the list.
    w.api.delete(&api::object("ConfigMap/c", &w.ns)).await;
    let theirs = w.api.create(&w.ns, &config_map("c", "theirs")).await;
    w.opm(&["mod", "forget", "web", "ConfigMap/c"]).await.ok();
    assert_eq!(w.get("ConfigMap/c").await.unwrap(), theirs);
    assert_eq!(
        w.record("web").await.inventory(),
        set(["ConfigMap/a", "ConfigMap/b"])
    );
}

async fn who_may_not_unlabel_what_is_forgotten_is_told(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let rights =
        Rights::none()
            .allow("", &["secrets"], &["*"])
            .allow("", &["configmaps"], &["get", "list"]);
    let user = w.user(&rights).await;
    let forget = ["mod", "forget", "web", "ConfigMap/b"];
    w.opm_as(user.kubeconfig(), &forget)
        .await
        .ok()
        .says("labels may not be removed");
    assert_eq!(w.record("web").await.inventory(), set(["ConfigMap/a"]));
}

async fn a_claim_that_did_not_change_is_reported_unchanged(w: World) {
    let module = web(&[volume_claim("data"), config_map("a", "1")]);
    w.volume_for("data").await;
    w.apply(&module, &[]).await.ok();
    // What the cluster itself still writes would count as a change.
    w.until("the claim is bound", || async {
        let claim = w.get("PersistentVolumeClaim/data").await.unwrap();
        claim["status"]["phase"] == "Bound"
    })
    .await;
    for _ in 0..2 {
        let ran = w.apply(&module, &[]).await.ok();
        ran.did("unchanged", "PersistentVolumeClaim/data")
            .did("unchanged", "ConfigMap/a");
    }
    let ran = w
        .apply(&web(&[volume_claim("data"), config_map("a", "2")]), &[])
        .await
        .ok();
    ran.did("configured", "ConfigMap/a");
}
