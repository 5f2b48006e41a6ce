//! `opm mod status` for people who may not see everything.

use opm_e2e::objects::{config_map, deployment, secret, service};
use opm_e2e::{Module, Rights, World, scenarios};
use serde_json::{Value, json};

use super::status::resources;

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    what_may_not_be_read_is_unknown_and_never_missing,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_few_named_rights_are_enough,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_scan_says_where_it_could_not_look,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn what_may_not_be_read_is_unknown_and_never_missing(w: World) {
    let canary = "canary-of-the-unreadable";
    w.apply(
        &web(&[config_map("a", "1"), service("b"), secret("s", canary)]),
        &[],
    )
    .await
    .ok();
    let rights = Rights::none()
        .allow("", &["secrets"], &["get", "list"])
        .allow("", &["services"], &["get", "list"]);
    let user = w.user(&rights).await;
    let arguments = [
        "mod",
        "status",
        "web",
        "-n",
        &w.ns,
        "-o",
        "json",
        "--exit-code",
    ];
    let shown = w
        .opm_as(user.kubeconfig(), &arguments)
        .await
        .ok()
        .never_says(canary)
        .json();
    assert_eq!(shown["health"], "Unknown");
    let all = resources(&shown);
    let of = |name: &str| {
        all.as_array()
            .unwrap()
            .iter()
            .find(|r| r["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("a")["health"], "Unknown");
    assert!(
        of("a")["message"].as_str().unwrap().contains("forbidden"),
        "{all}"
    );
    assert_eq!(of("b")["health"], "Ready");

    // Who may not read the record is told so, and nothing is called absent.
    let user = w.user(&Rights::none()).await;
    w.opm_as(user.kubeconfig(), &arguments).await.ends(4);
}

async fn a_few_named_rights_are_enough(w: World) {
    let module = web(&[config_map("a", "1"), service("b")]);
    w.apply(&module, &[]).await.ok();
    let record = w.record("web").await.secret["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let manifests = format!("{record}.00");
    let rights = Rights::none()
        .allow_named("", &["secrets"], &[&record, &manifests], &["get"])
        .allow_named("", &["configmaps"], &["a"], &["get"])
        .allow_named("", &["services"], &["b"], &["get"]);
    let user = w.user(&rights).await;
    let dir = w.write(&module);
    let arguments = [
        "mod",
        "status",
        &dir,
        "-n",
        &w.ns,
        "-o",
        "json",
        "--exit-code",
    ];
    let shown = w.opm_as(user.kubeconfig(), &arguments).await.ok().json();
    assert_eq!(shown["health"], "Ready");
    assert_eq!(shown["warnings"], json!([]));
    assert_eq!(resources(&shown).as_array().map(Vec::len), Some(2));
    // A watch asks again and again where it may not watch.
    let watching = [&arguments[..], &["--watch", "--timeout", "2s"]].concat();
    let shown = w.opm_as(user.kubeconfig(), &watching).await.ok().json();
    assert_eq!(shown["health"], "Ready");
}

async fn a_scan_says_where_it_could_not_look(w: World) {
    let slow = opm_e2e::objects::never_ready(deployment("slow"));
    w.apply(&web(&[config_map("a", "1"), slow]), &[]).await.ok();
    let rights = Rights::none()
        .allow("", &["secrets", "configmaps"], &["get", "list"])
        .allow("apps", &["deployments"], &["get", "list"]);
    let user = w.user(&rights).await;
    let arguments = ["mod", "status", "web", "-n", &w.ns, "--scan"];
    let ran = w.opm_as(user.kubeconfig(), &arguments).await.ok();
    let ran = ran.says("failed to look for objects of kind ServiceAccount");
    ran.says("the pods of Deployment/slow in namespace ")
        .says("Progressing");
}
