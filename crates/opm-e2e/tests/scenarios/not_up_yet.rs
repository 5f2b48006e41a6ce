//! Webhooks that are registered before anybody answers for them: what they have a say in waits,
//! and the rest goes on.

use opm_e2e::objects::{config_map, custom, custom_kind, deployment};
use opm_e2e::{Fault, LateWebhook, Module, RequestFilter, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    the_rest_goes_on_while_an_object_waits,
    when_the_time_is_over_it_fails,
    a_wait_can_be_interrupted,
    #[real_only("does not apply to the sandbox, which has no webhooks")]
    a_webhook_of_the_release_itself_comes_up_late,
    #[real_only("does not apply to the sandbox, which has no webhooks")]
    a_webhook_that_is_there_before_does_not_block_what_brings_it_up,
}

const REFUSED: &str = "Internal error occurred: failed calling webhook \"a.example.com\": failed to \
    call webhook: Post \"https://a.example.svc:443/?timeout=10s\": dial tcp 10.0.0.7:443: connect: \
    connection refused";
const WAITING: &str = "waiting until the server can take";

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn held() -> RequestFilter {
    RequestFilter::verb("patch")
        .and_path("/configmaps/a")
        .always()
}

async fn the_rest_goes_on_while_an_object_waits(w: World) {
    let dir = w.write(&web(&[config_map("a", "1"), deployment("behind")]));
    let fault = Fault::internal_error_saying(REFUSED);
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--events", "-o", "json"];
    let run = w.start_struck(&held(), fault, &arguments).await;
    run.running().until_it_writes(WAITING).await;
    w.until("what comes after it exists", || {
        w.exists("Deployment/behind")
    })
    .await;
    assert!(!w.exists("ConfigMap/a").await);
    run.mend();
    let ran = run.end().await.ok().says("connection refused");
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("created"));
    let resources = ran.json()["resources"].clone();
    assert_eq!(resources[0]["name"], "a", "in the order of the plan: {ran}");
    w.holds_exactly("web", &["ConfigMap/a", "Deployment/behind"])
        .await;
}

async fn when_the_time_is_over_it_fails(w: World) {
    let dir = w.write(&web(&[config_map("a", "1"), deployment("behind")]));
    let fault = Fault::internal_error_saying(REFUSED);
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "-o", "json"];
    let arguments = [&arguments[..], &["--timeout", "1s"]].concat();
    let run = w.start_struck(&held(), fault, &arguments).await;
    let ran = run.end().await.ends(1).says("connection refused");
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("failed"));
    assert_eq!(ran.action("Deployment/behind").as_deref(), Some("created"));
    assert!(w.record("web").await.index().is_empty());
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/b"]).await;
}

async fn a_wait_can_be_interrupted(w: World) {
    let dir = w.write(&web(&[config_map("a", "1")]));
    let fault = Fault::internal_error_saying(REFUSED);
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--timeout", "10m"];
    let run = w.start_struck(&held(), fault, &arguments).await;
    run.running().until_it_writes(WAITING).await;
    run.running().interrupt();
    run.end().await.ends(130);
    assert!(!w.record("web").await.locked());
}

/// A webhook that has a say in everything of a kind in this scenario's namespace.
fn registered(w: &World, webhook: &LateWebhook, group: &str, resource: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": w.name("webhook")},
        "webhooks": [{"name": "late.example.com", "clientConfig": webhook.client_config(),
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": w.ns}},
            "rules": [{"apiGroups": [group], "apiVersions": ["*"], "resources": [resource],
                "operations": ["CREATE", "UPDATE"]}]}]})
}

async fn a_webhook_of_the_release_itself_comes_up_late(w: World) {
    let (group, mut webhook) = (w.group(), LateWebhook::not_up_yet());
    let module = web(&[
        custom_kind(&group, "Foo"),
        registered(&w, &webhook, &group, "foos"),
        custom(&group, "Foo", "foo"),
        config_map("a", "1"),
    ]);
    let run = w.start_apply(&module, &["--events"]);
    run.until_it_writes(WAITING).await;
    webhook.come_up();
    let ran = run.end().await.ok();
    assert_eq!(ran.action("Foo/foo").as_deref(), Some("created"), "{ran}");
    w.delete("web", &["--prune-crds"]).await.ok();
}

async fn a_webhook_that_is_there_before_does_not_block_what_brings_it_up(w: World) {
    let mut webhook = LateWebhook::not_up_yet();
    let configuration = registered(&w, &webhook, "", "configmaps");
    let registration = Module::new("registration").component("app", &[configuration]);
    w.apply(&registration, &[]).await.ok();
    let module = web(&[config_map("a", "1"), deployment("webhook")]);
    let run = w.start_apply(&module, &["--events"]);
    run.until_it_writes(WAITING).await;
    w.until("its Deployment exists", || w.exists("Deployment/webhook"))
        .await;
    webhook.come_up();
    run.end().await.ok().says("connection refused");
    w.holds_exactly("web", &["ConfigMap/a", "Deployment/webhook"])
        .await;
    w.delete("registration", &[]).await.ok();
}
