//! The cluster misbehaves while the controller runs: it converges, nothing is lost, and nothing
//! of others is touched.

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Fault, LateWebhook, RequestFilter, World, scenarios};
use opm_testkit::{ApiServer, ControlPlane};
use serde_json::json;

use crate::flows::Bystanders;

scenarios! {
    watches_that_expire_begin_anew,
    connections_that_break_lose_nothing,
    a_server_that_has_too_much_to_do_is_not_given_up,
    #[real_only("does not apply to the sandbox, which enforces no webhooks")]
    a_webhook_that_is_away_is_waited_for,
}

const OBJECTS: [&str; 3] = ["ConfigMap/a", "Secret/key", "Service/web"];

async fn put(w: &World, value: &str) {
    let objects = [config_map("a", value), secret("key", value), service("web")];
    let mut data = json!({});
    for (number, object) in objects.iter().enumerate() {
        data[format!("{number}.yaml")] = json!(object.to_string());
    }
    w.put_files("source", data).await;
}

/// A release that a controller is to take care of, and objects beside it.
async fn begin(w: &World) -> Bystanders {
    w.define_resource().await;
    let bystanders = Bystanders::put(w).await;
    put(w, "1").await;
    let spec = json!({"module": {"configMap": {"name": "source"}}});
    w.put_release("web", spec).await;
    bystanders
}

/// What others do to the release, and what has to become of it: an edit is taken back, what was
/// deleted comes back, and the module's new state is applied.
async fn is_kept(w: &World, value: &str) {
    let edit = json!({"data": {"k": "edited"}});
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, edit).await;
    let uid = w.uid("Service/web").await;
    let service = opm_e2e::api::object("Service/web", &w.ns);
    w.api.delete(&service).await;
    w.until("the Service is back", || async {
        let service = w.get("Service/web").await;
        service.is_some_and(|service| service["metadata"]["uid"] != json!(uid))
    })
    .await;
    put(w, value).await;
    w.until_value("ConfigMap/a", "/data/k", json!(value)).await;
    w.until("it is recorded", || async {
        w.is_recorded("web", &OBJECTS).await
    })
    .await;
    w.until_ready("web").await;
    w.holds_exactly("web", &OBJECTS).await;
}

async fn goes(w: &World, bystanders: Bystanders) {
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    bystanders.are_untouched(w).await;
}

async fn watches_that_expire_begin_anew(w: World) {
    let bystanders = begin(&w).await;
    // As a server says it in the middle of a watch, and as it says it at its beginning.
    let expired = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
        "reason": "Expired", "message": "too old resource version"});
    let line = json!({"type": "ERROR", "object": expired}).to_string() + "\n";
    let watches = RequestFilter::verb("watch");
    let at = watches.clone().times(6);
    let controller = w.start_struck_controller(&at, Fault::Text(line), &[]).await;
    w.until_ready("web").await;
    controller.until_it_sends(6, &watches).await;
    is_kept(&w, "2").await;
    goes(&w, bystanders).await;
    controller.running().interrupt();
    controller.end().await.ends(130);
}

async fn connections_that_break_lose_nothing(w: World) {
    let bystanders = begin(&w).await;
    let line = w.line().await;
    let running = w.start_controller_over(&line, &[]);
    w.until_ready("web").await;
    for value in ["2", "3"] {
        line.cut();
        is_kept(&w, value).await;
    }
    line.cut();
    goes(&w, bystanders).await;
    running.interrupt();
    running.end().await.ends(130);
}

async fn a_server_that_has_too_much_to_do_is_not_given_up(w: World) {
    let bystanders = begin(&w).await;
    let controller = w.start_relayed_controller(&[]).await;
    w.until_ready("web").await;
    let before = controller.requests().len();
    controller.on(RequestFilter::next().times(40), Fault::too_many_requests(1));
    is_kept(&w, "2").await;
    assert!(
        controller.requests().len() > before,
        "it has asked on meanwhile"
    );
    goes(&w, bystanders).await;
}

async fn a_webhook_that_is_away_is_waited_for(w: World) {
    let bystanders = begin(&w).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    let mut webhook = LateWebhook::not_up_yet();
    let registered = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": w.name("webhook")},
        "webhooks": [{"name": "away.example.com", "clientConfig": webhook.client_config(),
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": w.ns}},
            "rules": [{"apiGroups": [""], "apiVersions": ["*"], "resources": ["services"],
                "operations": ["CREATE", "UPDATE"]}]}]});
    w.api.create("", &registered).await;
    // It has a say only in Services, one of which has to come back.
    let service = opm_e2e::api::object("Service/web", &w.ns);
    w.until("the webhook counts", || async {
        let note = json!({"metadata": {"annotations": {"note": "seen"}}});
        let patch = "application/merge-patch+json";
        let sent = w
            .api
            .send(http::Method::PATCH, &service, patch, Some(&note));
        sent.await.0 == 500
    })
    .await;
    w.api.delete(&service).await;
    // An attempt waits for the webhook, and says so.
    w.until_condition("web", "Reconciling", "True").await;
    assert!(!w.exists("Service/web").await);
    webhook.come_up();
    w.until("the Service is back", || w.exists("Service/web"))
        .await;
    is_kept(&w, "2").await;
    goes(&w, bystanders).await;
    let name = format!(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{}",
        w.name("webhook")
    );
    w.api.delete(&name).await;
    running.interrupt();
    running.end().await.ends(130);
}

/// On an API server of its own: others would notice.
#[tokio::test]
async fn the_api_server_restarts_and_its_store_is_compacted() {
    let Some(_) = ControlPlane::for_test().await else {
        return;
    };
    let mut server = ApiServer::start().await.unwrap();
    let w = World::real(server.plane()).await;
    let bystanders = begin(&w).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    server.compact().await.unwrap();
    is_kept(&w, "2").await;
    // In the middle of an attempt, or right before or after it.
    put(&w, "3").await;
    server.kill().await;
    server.start_again().await.unwrap();
    w.until_value("ConfigMap/a", "/data/k", json!("3")).await;
    is_kept(&w, "4").await;
    // What it watches from is gone when it comes back.
    server.kill().await;
    server.compact().await.unwrap();
    server.start_again().await.unwrap();
    is_kept(&w, "5").await;
    goes(&w, bystanders).await;
    running.interrupt();
    running.end().await.ends(130);
}
