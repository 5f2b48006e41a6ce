//! Bad inputs and faults, by their groups: forbidden things, deletes that do not work out,
//! immutable fields, kinds and namespaces that are gone.

use opm_e2e::api;
use opm_e2e::objects::{
    config_map, custom, custom_kind, deployment, in_namespace, job, namespace, secret, service,
    stateful_set, unacceptable, volume_claim,
};
use opm_e2e::{Module, Rights, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    two_failed_applies_with_different_renames_leave_no_ghost,
    #[real_only("does not apply to the sandbox, which has no access control")]
    forbidden_record_is_not_an_absent_record,
    #[real_only("does not apply to the sandbox, which has no access control")]
    forbidden_list_falls_back_to_reading_one_by_one,
    #[real_only("does not apply to the sandbox, which has no access control")]
    forbidden_in_one_namespace_of_two_touches_nothing,
    #[real_only("does not apply to the sandbox, which has no admission control")]
    a_delete_that_admission_denies_stays_pending,
    an_ordinary_422_under_force_deletes_nothing,
    an_immutable_field_needs_the_flag,
    a_recreated_stateful_set_keeps_its_claims,
    the_recreate_annotation_says_it_beforehand,
    stale_objects_of_a_kind_that_is_gone,
    a_namespace_that_does_not_exist_is_refused_or_created,
    a_namespace_of_the_module_comes_first,
    a_terminating_namespace_is_refused,
    an_immutable_record_is_refused,
    secrets_stay_secret,
    requests_of_a_first_apply_are_few,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn two_failed_applies_with_different_renames_leave_no_ghost(w: World) {
    w.apply(&web(&[config_map("one", "1")]), &[]).await.ok();
    for name in ["two", "three"] {
        let broken = web(&[config_map(name, "1"), unacceptable(service(name))]);
        w.apply(&broken, &[]).await.ends(1);
    }
    let pending = w.record("web").await.pending();
    assert!(
        pending.is_superset(&set(["ConfigMap/two", "ConfigMap/three"])),
        "{pending:?}"
    );
    w.apply(&web(&[config_map("four", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/four"]).await;
}

async fn forbidden_record_is_not_an_absent_record(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let verbs = ["get", "list", "create", "patch", "update", "delete"];
    let user = w
        .user(&Rights::none().allow("", &["configmaps"], &verbs))
        .await;
    w.apply_as(user.kubeconfig(), &web(&[config_map("b", "1")]), &[])
        .await
        .ends(4)
        .says("secrets");
    assert!(!w.exists("ConfigMap/b").await);
    w.delete_as(user.kubeconfig(), "web", &[]).await.ends(4);
    assert!(w.exists("ConfigMap/a").await);
}

async fn forbidden_list_falls_back_to_reading_one_by_one(w: World) {
    let verbs = ["get", "create", "patch", "update", "delete"];
    let rights = Rights::none().allow("", &["configmaps", "secrets"], &verbs);
    let user = w.user(&rights).await;
    let names = ["a", "b", "c", "d", "e", "f"];
    let objects: Vec<Value> = names.iter().map(|n| config_map(n, "1")).collect();
    w.apply_as(user.kubeconfig(), &web(&objects), &[])
        .await
        .ok();
    w.apply_as(user.kubeconfig(), &web(&objects[..3]), &[])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b", "ConfigMap/c"])
        .await;
}

async fn forbidden_in_one_namespace_of_two_touches_nothing(w: World) {
    let other = w.other_namespace("other").await;
    let user = w.user(&Rights::none().allow("*", &["*"], &["*"])).await;
    let module = web(&[
        config_map("a", "1"),
        in_namespace(config_map("b", "1"), &other),
    ]);
    w.apply_as(user.kubeconfig(), &module, &[])
        .await
        .ends(4)
        .says(&other);
    assert!(!w.exists("ConfigMap/a").await, "nothing was touched");
}

async fn a_delete_that_admission_denies_stays_pending(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let rule = w.deny_deletes_of("configmaps").await;
    w.apply(&web(&[config_map("b", "1")]), &[])
        .await
        .ends(8)
        .says("ConfigMap/a");
    assert_eq!(w.record("web").await.pending(), set(["ConfigMap/a"]));
    rule.lift().await;
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/b"]).await;
}

async fn an_ordinary_422_under_force_deletes_nothing(w: World) {
    w.apply(&web(&[service("a"), deployment("a")]), &[])
        .await
        .ok();
    let before = (w.uid("Service/a").await, w.uid("Deployment/a").await);
    let mut invalid = deployment("a");
    // A 422 about the selector, but not because it is immutable.
    invalid["spec"]["template"]["metadata"]["labels"] = json!({"app": "something-else"});
    let ran = w
        .apply(&web(&[service("a"), invalid]), &["--force", "--recreate"])
        .await;
    assert_eq!(ran.code(), 1, "{ran}");
    assert_eq!(
        (w.uid("Service/a").await, w.uid("Deployment/a").await),
        before
    );
}

async fn an_immutable_field_needs_the_flag(w: World) {
    w.apply(&web(&[deployment("a"), job("once")]), &[])
        .await
        .ok();
    let before = w.uid("Deployment/a").await;
    let mut moved = deployment("a");
    moved["spec"]["selector"] = json!({"matchLabels": {"app": "moved"}});
    moved["spec"]["template"]["metadata"]["labels"] = json!({"app": "moved"});
    let module = web(&[moved, job("once")]);
    w.apply(&module, &[])
        .await
        .ends(2)
        .says("Deployment/a")
        .says("--recreate");
    assert_eq!(w.uid("Deployment/a").await, before);
    let ran = w.apply(&module, &["--recreate"]).await.ok();
    assert_eq!(ran.action("Deployment/a").as_deref(), Some("recreated"));
    assert_ne!(w.uid("Deployment/a").await, before);
    w.holds_exactly("web", &["Deployment/a", "Job/once"]).await;
}

async fn a_recreated_stateful_set_keeps_its_claims(w: World) {
    w.apply(&web(&[stateful_set("db"), volume_claim("data")]), &[])
        .await
        .ok();
    let claim = w.uid("PersistentVolumeClaim/data").await;
    let mut moved = stateful_set("db");
    moved["spec"]["serviceName"] = json!("elsewhere");
    w.apply(&web(&[moved, volume_claim("data")]), &["--recreate"])
        .await
        .ok();
    assert_eq!(
        w.get("StatefulSet/db").await.unwrap()["spec"]["serviceName"],
        "elsewhere"
    );
    assert_eq!(w.uid("PersistentVolumeClaim/data").await, claim);
}

async fn the_recreate_annotation_says_it_beforehand(w: World) {
    let annotated = |image: &str| {
        let mut job = job("migrate");
        job["metadata"]["annotations"] = json!({"opmodel.dev/recreate": "true"});
        job["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        job
    };
    w.apply(&web(&[annotated("example.com/migrate:1")]), &[])
        .await
        .ok();
    let ran = w
        .apply(&web(&[annotated("example.com/migrate:2")]), &[])
        .await
        .ok();
    assert_eq!(ran.action("Job/migrate").as_deref(), Some("recreated"));
}

async fn stale_objects_of_a_kind_that_is_gone(w: World) {
    let group = w.group();
    let definition = custom_kind(&group, "Foo");
    w.apply(&Module::new("kinds").component("app", &[definition]), &[])
        .await
        .ok();
    w.apply(
        &web(&[custom(&group, "Foo", "foo"), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    let path = api::object(&format!("CustomResourceDefinition/foos.{group}"), &w.ns);
    w.api.delete(&path).await;
    w.until("the kind is gone", || async {
        w.api.get(&path).await.is_none()
    })
    .await;
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}

async fn a_namespace_that_does_not_exist_is_refused_or_created(w: World) {
    let missing = w.name("missing");
    let module = web(&[config_map("a", "1")]);
    w.apply(&module, &["-n", &missing])
        .await
        .ends(2)
        .says(&missing)
        .says("--create-namespace");
    w.apply(&module, &["-n", &missing, "--create-namespace"])
        .await
        .ok();
    assert!(w.exists(&format!("{missing}:ConfigMap/a")).await);
    w.opm(&[
        "mod",
        "delete",
        "web",
        "-n",
        &missing,
        "--yes",
        "--prune-namespaces",
    ])
    .await
    .ok();
    let left = w.get(&format!("Namespace/{missing}")).await.unwrap();
    assert!(
        left["metadata"]["deletionTimestamp"].is_null(),
        "it is nobody's to delete"
    );
}

async fn a_namespace_of_the_module_comes_first(w: World) {
    let own = w.name("own");
    let module = web(&[namespace(&own), in_namespace(config_map("a", "1"), &own)]);
    w.apply(&module, &["-n", &own]).await.ok();
    assert!(w.exists(&format!("{own}:ConfigMap/a")).await);
    w.opm(&[
        "mod",
        "delete",
        "web",
        "-n",
        &own,
        "--yes",
        "--prune-namespaces",
    ])
    .await
    .ok();
    assert!(w.gone(&format!("Namespace/{own}")).await);
}

async fn a_terminating_namespace_is_refused(w: World) {
    let going = w.other_namespace("going").await;
    let mut held = config_map("hold", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    w.api.create(&going, &held).await;
    w.api.delete(&format!("/api/v1/namespaces/{going}")).await;
    let module = web(&[
        config_map("a", "1"),
        in_namespace(config_map("b", "1"), &going),
    ]);
    w.apply(&module, &[]).await.ends(2).says(&going);
    assert!(!w.exists("ConfigMap/a").await);
    w.let_go(&format!("{going}:ConfigMap/hold")).await;
}

async fn an_immutable_record_is_refused(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let record = w.record("web").await;
    let name = record.secret["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}", api::collection("Secret", Some(&w.ns)));
    w.api.merge(&path, json!({"immutable": true})).await;
    w.apply(&web(&[config_map("b", "1")]), &[])
        .await
        .ends(2)
        .says("immutable");
    assert!(!w.exists("ConfigMap/b").await);
}

async fn secrets_stay_secret(w: World) {
    const CANARY: &str = "c4n4ry-v4lue";
    w.apply(&web(&[secret("creds", CANARY)]), &["-v"])
        .await
        .ok()
        .never_says(CANARY);
    let mut broken = secret("creds", CANARY);
    broken["data"] = json!({"bad": "%%% not base64 c4n4ry-v4lue"});
    let ran = w.apply(&web(&[broken]), &["-v"]).await;
    assert_ne!(ran.code(), 0, "{ran}");
    ran.never_says(CANARY);
    let mut retyped = secret("creds", CANARY);
    retyped["type"] = json!("example.com/other");
    w.apply(&web(&[retyped]), &["-v"])
        .await
        .ends(1)
        .never_says(CANARY);
}

async fn requests_of_a_first_apply_are_few(w: World) {
    const N: usize = 100;
    let objects: Vec<Value> = (0..N)
        .map(|i| config_map(&format!("object-{i:03}"), "1"))
        .collect();
    let dir = w.write(&web(&objects));
    let (ran, requests) = w.counted(&["mod", "apply", &dir]).await;
    ran.ok();
    let total: usize = requests.values().sum();
    opm_e2e::note(&format!(
        "first apply of {N} objects: {total} requests, {requests:?}"
    ));
    assert!(total <= 2 * N + 20, "{total} requests: {requests:?}");
}
