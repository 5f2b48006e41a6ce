//! Exit codes that tell what is the matter: for who looks, and for who prunes.

use opm_e2e::objects::{annotated, config_map, deployment, never_ready};
use opm_e2e::{Fault, Module, RequestFilter, World, api, scenarios};
use serde_json::{Value, json};

use crate::status::ghost;
use crate::status_drift::edit;

scenarios! {
    a_status_tells_what_is_the_matter,
    orphans_are_differences,
    a_prune_that_removes_nothing_says_so,
    a_server_that_cannot_answer_is_unreachable,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn a_status_tells_what_is_the_matter(w: World) {
    let status = ["mod", "status", "web", "--exit-code"];
    w.apply(&web(&[config_map("a", "1"), deployment("d")]), &["--wait"])
        .await
        .ok();
    w.opm(&status).await.ok();
    edit(&w, "ConfigMap/a", "intruder", json!({"data": {"k": "2"}})).await;
    w.opm(&status).await.ends(6);
    // Not ready beats drift.
    w.apply(
        &web(&[config_map("a", "1"), never_ready(deployment("slow"))]),
        &[],
    )
    .await
    .ok();
    edit(&w, "ConfigMap/a", "intruder", json!({"data": {"k": "2"}})).await;
    w.opm(&status).await.ends(8);
    w.opm(&["mod", "status", "web"]).await.ok();

    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.opm(&status).await.ok();
    let broken = opm_e2e::objects::unacceptable(config_map("broken", "1"));
    w.apply(
        &web(&[config_map("a", "1"), config_map("b", "1"), broken]),
        &[],
    )
    .await
    .ends(1);
    w.opm(&status).await.ends(6).says("pending");
}

async fn orphans_are_differences(w: World) {
    let module = web(&[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    w.diff(&module, &["--exit-code"]).await.ok();
    ghost(&w, "ConfigMap/a", &config_map("ghost", "1")).await;
    w.opm(&["mod", "status", "web", "--exit-code"])
        .await
        .ends(6)
        .says("ConfigMap/ghost");
    let diff = w.diff(&module, &["--exit-code"]).await.ends(6).json();
    assert_eq!(diff["differences"], true);
    assert_eq!(diff["orphans"][0]["name"], "ghost");
    let dir = w.write(&module);
    w.opm(&["mod", "diff", &dir])
        .await
        .ok()
        .says("ConfigMap/ghost")
        .says("1 orphan");
}

async fn a_prune_that_removes_nothing_says_so(w: World) {
    let stays = annotated(config_map("stays", "1"), "opmodel.dev/prune", "false");
    w.apply(&web(&[config_map("a", "1"), stays]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    for name in ["ConfigMap/a", "ConfigMap/nothing"] {
        w.opm(&["mod", "prune", "web", name])
            .await
            .ends(5)
            .says(name);
    }
    // Without its labels, it is not the release's to delete.
    let path = api::object("ConfigMap/stays", &w.ns);
    w.api
        .merge(&path, json!({"metadata": {"labels": null}}))
        .await;
    let uid = w.uid("ConfigMap/stays").await;
    w.api.delete(&path).await;
    w.api.create(&w.ns, &config_map("stays", "2")).await;
    assert_ne!(w.uid("ConfigMap/stays").await, uid);
    for flags in [&["--dry-run"][..], &[]] {
        let arguments = [&["mod", "prune", "web", "ConfigMap/stays"], flags].concat();
        w.opm(&arguments).await.ends(1).says("ConfigMap/stays");
    }
    assert!(w.exists("ConfigMap/stays").await);
    w.opm(&["mod", "prune", "web", "--all", "--yes"]).await.ok();
    w.api.delete(&path).await;
    w.opm(&["mod", "prune", "web", "ConfigMap/stays"])
        .await
        .ok();
}

async fn a_server_that_cannot_answer_is_unreachable(w: World) {
    let module = web(&[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let dir = w.write(&module);
    let apply = ["mod", "apply", &dir, "-n", &w.ns];
    for fault in [Fault::error_without_reason(), Fault::conflict()] {
        for (verb, part) in [("get", "/secrets"), ("get", "/configmaps")] {
            let at = RequestFilter::verb(verb).and_path(part).always();
            let ran = w.disturbed_when(at, fault.clone(), &apply).await;
            ran.ends(3);
        }
        let at = RequestFilter::verb("list").and_path("/secrets").always();
        let list = ["mod", "list", "-n", &w.ns];
        w.disturbed_when(at, fault, &list).await.ends(3);
    }
    w.holds_exactly("web", &["ConfigMap/a"]).await;
}
