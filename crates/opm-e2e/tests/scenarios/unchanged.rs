//! What counts as changed: what the release did, and not what others did meanwhile.

use opm_e2e::objects::{annotated, config_map, deployment, never_ready, secret};
use opm_e2e::{Module, RequestFilter, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_controller_that_writes_meanwhile_changes_nothing,
    a_difference_is_not_what_others_write_meanwhile,
    what_was_taken_over_is_configured,
    after_a_failed_run_values_decide,
    an_object_can_be_left_out_of_waiting,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// Writes as a controller would, between the look and the request that a run has stalled.
async fn write_meanwhile(w: &World, object: &str) {
    let patch = json!({"metadata": {"annotations": {"example.com/revision": "2"}}});
    w.api.merge(&api::object(object, &w.ns), patch).await;
}

async fn a_controller_that_writes_meanwhile_changes_nothing(w: World) {
    let module = web(&[config_map("a", "1"), secret("s", "1"), deployment("d")]);
    w.apply(&module, &["--wait"]).await.ok();
    let dir = w.write(&module);
    for (object, path) in [
        ("ConfigMap/a", "/configmaps/a"),
        ("Deployment/d", "/deployments/d"),
        ("Secret/s", "/secrets/s"),
    ] {
        let stalled = RequestFilter::verb("patch").and_path(path);
        let arguments = [
            "mod",
            "apply",
            &dir,
            "-n",
            &w.ns,
            "-o",
            "json",
            "--send-all",
        ];
        let run = w.start_stalled(&stalled, &arguments).await;
        run.until_it_sends(1, &stalled).await;
        write_meanwhile(&w, object).await;
        run.release();
        let ran = run.end().await.ok();
        assert_eq!(ran.action(object).as_deref(), Some("unchanged"), "{ran}");
    }
}

async fn a_difference_is_not_what_others_write_meanwhile(w: World) {
    let version = |image: &str| {
        let mut object = deployment("d");
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        web(&[object])
    };
    w.apply(&version("example.com/main:1"), &["--wait"])
        .await
        .ok();
    let stalled = RequestFilter::verb("patch").and_path("/deployments/d");
    for (image, action, changed) in [
        ("example.com/main:1", "unchanged", vec![]),
        (
            "example.com/main:2",
            "configured",
            vec!["spec.template.spec.containers[name=\"main\"].image"],
        ),
    ] {
        let dir = w.write(&version(image));
        let arguments = ["mod", "diff", &dir, "-n", &w.ns, "-o", "json", "--send-all"];
        let run = w.start_stalled(&stalled, &arguments).await;
        run.until_it_sends(1, &stalled).await;
        let revision = json!({"metadata": {"annotations": {"example.com/revision": image}}});
        let path = api::object("Deployment/d", &w.ns);
        w.api.merge(&path, revision).await;
        run.release();
        let diff = run.end().await.ok();
        assert_eq!(
            diff.action("Deployment/d").as_deref(),
            Some(action),
            "{diff}"
        );
        let paths = diff.changes("Deployment/d").into_iter();
        let paths: Vec<String> = paths.map(|(path, _, _)| path).collect();
        assert_eq!(paths, changed, "{diff}");
    }
}

async fn what_was_taken_over_is_configured(w: World) {
    let module = web(&[config_map("a", "1"), secret("s", "1")]);
    w.apply(&module, &[]).await.ok();
    let path = api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "by hand"}})).await;
    let ran = w.apply(&module, &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("configured"));
    assert_eq!(ran.action("Secret/s").as_deref(), Some("unchanged"));
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
}

async fn after_a_failed_run_values_decide(w: World) {
    let first = web(&[config_map("a", "1")]);
    w.apply(&first, &[]).await.ok();
    let mut broken = deployment("b");
    broken["spec"]["noSuchField"] = json!(true);
    w.apply(&web(&[config_map("a", "2"), broken]), &[])
        .await
        .ends(1);
    let ran = w.apply(&first, &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("configured"));
    let ran = w.apply(&first, &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("unchanged"));
}

async fn an_object_can_be_left_out_of_waiting(w: World) {
    let never = never_ready(deployment("never"));
    let flags = ["--wait", "--timeout", "1s"];
    w.apply(&web(std::slice::from_ref(&never)), &flags)
        .await
        .ends(8);
    let left_out = annotated(never, "opmodel.dev/wait", "false");
    let module = Module::new("web")
        .component("app", &[left_out])
        .component_after("second", &["app"], &[config_map("a", "1")]);
    w.apply(&module, &["--wait", "--timeout", "10m"]).await.ok();
    assert!(w.exists("ConfigMap/a").await);
}
