//! What can be known before the first write is refused before the first write.

use opm_e2e::objects::{
    annotated, config_map, custom, custom_kind, deployment, in_namespace, job, namespace, service,
    unacceptable,
};
use opm_e2e::{Module, Rights, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_changed_job_is_refused_before_anything_is_sent,
    a_job_that_says_so_is_recreated_when_it_has_ended,
    every_reason_is_listed_at_once,
    items_that_stand_in_a_list_twice_are_refused,
    a_preflight_finds_what_only_the_server_knows,
    a_preflight_is_a_setting_and_part_of_atomic,
    a_preflight_leaves_out_what_the_run_brings_along,
    #[real_only("does not apply to the sandbox, which has no access control")]
    without_the_right_to_update_the_record_nothing_is_created,
    #[real_only("does not apply to the sandbox, which has no access control")]
    every_missing_right_is_told_at_once,
    #[real_only("does not apply to the sandbox, which has no access control")]
    rights_to_single_names_are_enough,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn running(image: &str) -> Value {
    let mut job = job("migrate");
    job["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    job
}

async fn value_of(w: &World, name: &str) -> Value {
    let found = w.get(&format!("ConfigMap/{name}")).await;
    found.unwrap_or_default()["data"]["k"].clone()
}

async fn a_changed_job_is_refused_before_anything_is_sent(w: World) {
    let version = |n: &str| {
        let image = format!("example.com/migrate:{n}");
        web(&[running(&image), config_map("a", n)])
    };
    w.apply(&version("1"), &["--wait"]).await.ok();
    let uid = w.uid("Job/migrate").await;
    w.apply(&version("2"), &[])
        .await
        .ends(2)
        .says("Job/migrate")
        .says("spec.template cannot be changed in place")
        .says("opmodel.dev/recreate")
        .says("--recreate");
    assert_eq!(value_of(&w, "a").await, "1", "nothing was sent");
    w.diff(&version("2"), &[])
        .await
        .ends(2)
        .says("opmodel.dev/recreate");
    let ran = w.apply(&version("2"), &["--recreate"]).await.ok();
    assert_eq!(ran.action("Job/migrate").as_deref(), Some("recreated"));
    assert_ne!(w.uid("Job/migrate").await, uid);
    assert_eq!(value_of(&w, "a").await, "2");
}

async fn a_job_that_says_so_is_recreated_when_it_has_ended(w: World) {
    let version = |n: &str| {
        let job = running(&format!("example.com/migrate:{n}"));
        web(&[annotated(job, "opmodel.dev/recreate", "true")])
    };
    w.apply(&version("1"), &[]).await.ok();
    let ran = w.apply(&version("2"), &["--wait"]).await.ok();
    assert_eq!(ran.action("Job/migrate").as_deref(), Some("recreated"));
    let ran = w.apply(&version("2"), &[]).await.ok();
    assert_eq!(ran.action("Job/migrate").as_deref(), Some("unchanged"));
}

async fn every_reason_is_listed_at_once(w: World) {
    w.apply(&web(&[running("example.com/migrate:1")]), &["--wait"])
        .await
        .ok();
    w.api.create(&w.ns, &config_map("foreign", "1")).await;
    let mut twice = deployment("twice");
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    twice["spec"]["template"]["spec"]["containers"][0]["env"] = env;
    let module = web(&[
        running("example.com/migrate:2"),
        config_map("foreign", "2"),
        config_map("new", "1"),
        twice,
    ]);
    let ran = w.apply(&module, &[]).await.ends(2);
    let objects = ran.json()["error"]["objects"].to_string();
    for object in ["migrate", "foreign", "twice"] {
        assert!(objects.contains(object), "{object}: {ran}");
    }
    assert!(!w.exists("ConfigMap/new").await);
}

async fn items_that_stand_in_a_list_twice_are_refused(w: World) {
    let mut object = service("a");
    object["spec"]["ports"] = json!([{"name": "a", "port": 80}, {"name": "b", "port": 80}]);
    let module = web(&[config_map("a", "1"), object]);
    let item = r#"spec.ports[port=80,protocol=\"TCP\"]"#;
    w.apply(&module, &[]).await.ends(2).says(item);
    w.diff(&module, &[]).await.ends(2).says(item);
    assert!(!w.exists("ConfigMap/a").await);
    let dir = w.write(&module);
    w.opm(&["mod", "vet", &dir])
        .await
        .ends(2)
        .says("spec.ports[1]");
}

async fn a_preflight_finds_what_only_the_server_knows(w: World) {
    let module = web(&[config_map("a", "1"), unacceptable(deployment("b"))]);
    w.apply(&module, &["--preflight"])
        .await
        .ends(2)
        .says("Deployment/b")
        .says("noSuchField");
    assert!(!w.exists("ConfigMap/a").await);
    assert!(w.find_record("web").await.is_none());
    w.apply(&module, &[]).await.ends(1);
    assert!(w.exists("ConfigMap/a").await);
}

async fn a_preflight_is_a_setting_and_part_of_atomic(w: World) {
    let module = web(&[config_map("a", "1"), unacceptable(deployment("b"))]);
    w.apply_with(&[("OPM_PREFLIGHT", "true")], &module, &[])
        .await
        .ends(2);
    w.apply(&module, &["--atomic"]).await.ends(2);
    assert!(!w.exists("ConfigMap/a").await);
}

async fn a_preflight_leaves_out_what_the_run_brings_along(w: World) {
    let (group, inside) = (w.group(), w.name("inside"));
    let module = web(&[
        custom_kind(&group, "Foo"),
        custom(&group, "Foo", "foo"),
        namespace(&inside),
        in_namespace(config_map("b", "1"), &inside),
        config_map("a", "1"),
    ]);
    w.apply(&module, &["--preflight"]).await.ok();
    assert_eq!(value_of(&w, "a").await, "1");
    w.apply(&module, &["--preflight"]).await.ok();
}

/// Everything but what is named here.
fn deployer(secrets: &[&str]) -> Rights {
    let all = [
        "get", "list", "watch", "create", "patch", "update", "delete",
    ];
    Rights::none()
        .allow("", &["configmaps"], &all)
        .allow("", &["secrets"], secrets)
        .allow("apps", &["deployments"], &["get", "list"])
        .allow("", &["services"], &["get", "list"])
}

async fn without_the_right_to_update_the_record_nothing_is_created(w: World) {
    let rights = deployer(&["get", "list", "create", "patch", "delete"]);
    let user = w.user(&rights).await;
    let module = web(&[config_map("a", "1")]);
    let ran = w.apply_as(user.kubeconfig(), &module, &[]).await.ends(4);
    let ran = ran.says("the right to update secrets in namespace");
    assert_eq!(ran.json()["error"]["kind"], "not-permitted");
    assert!(!w.exists("ConfigMap/a").await);
    assert!(w.find_record("web").await.is_none());
}

async fn every_missing_right_is_told_at_once(w: World) {
    let rights = deployer(&["get", "list", "create", "patch", "update", "delete"]);
    let user = w.user(&rights).await;
    let role = opm_e2e::objects::cluster_role(&w.name("reader"));
    let module = web(&[config_map("a", "1"), service("s"), deployment("d"), role]);
    w.apply_as(user.kubeconfig(), &module, &[])
        .await
        .ends(4)
        .says("ClusterRole");
    assert!(!w.exists("ConfigMap/a").await);
    let module = web(&[config_map("a", "1"), service("s"), deployment("d")]);
    w.apply_as(user.kubeconfig(), &module, &[])
        .await
        .ends(4)
        .says("the right to create services in namespace")
        .says("the right to patch deployments.apps in namespace")
        .says("Service/s")
        .says("Deployment/d");
    assert!(!w.exists("ConfigMap/a").await);
    // What is missing beside another reason is no longer the only cause.
    w.api.create(&w.ns, &config_map("foreign", "1")).await;
    let module = web(&[config_map("foreign", "2"), service("s")]);
    w.apply_as(user.kubeconfig(), &module, &[])
        .await
        .ends(2)
        .says("already exists")
        .says("the right to create services");
}

async fn rights_to_single_names_are_enough(w: World) {
    let ran = w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let id = ran.json()["release"]["releaseId"].clone();
    let secret = format!("opm.web.{}", id.as_str().unwrap());
    let rights = Rights::none()
        .allow("", &["configmaps"], &["get", "list"])
        .allow_named("", &["configmaps"], &["a"], &["patch"])
        .allow("", &["secrets"], &["get", "list", "create"])
        .allow_named("", &["secrets"], &[&secret], &["patch", "update"]);
    let user = w.user(&rights).await;
    let module = web(&[config_map("a", "2")]);
    w.apply_as(user.kubeconfig(), &module, &["--no-record"])
        .await
        .ok();
    assert_eq!(value_of(&w, "a").await, "2");
}
