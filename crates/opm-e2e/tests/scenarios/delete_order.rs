//! What needs what when a release goes: custom resources while their controllers still run,
//! webhooks before the service that answers them, aggregated roles before their parts.

use http::Method;
use opm_e2e::api;
use opm_e2e::objects::{cluster_role, config_map, custom, custom_kind, deployment, service};
use opm_e2e::{Module, RequestFilter, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    custom_resources_go_while_their_controllers_run,
    a_component_waits_for_its_custom_resources_too,
    custom_resources_of_others_keep_their_definition,
    webhooks_go_before_the_service_that_answers_them,
    what_pods_need_is_applied_before_them,
    an_aggregated_role_that_comes_back_goes_again,
    #[real_only("the sandbox has no controller that puts roles together")]
    an_aggregated_role_stays_gone,
}

const HOLD: &str = "example.com/hold";

/// A controller, with a kind of its own and one object of it.
fn operator(group: &str) -> Module {
    Module::new("operator")
        .component(
            "controller",
            &[
                custom_kind(group, "Widget"),
                deployment("controller"),
                config_map("settings", "1"),
            ],
        )
        .component("widgets", &[custom(group, "Widget", "gear")])
}

fn widget(w: &World, name: &str) -> String {
    let (group, ns) = (w.group(), &w.ns);
    format!("/apis/{group}/v1/namespaces/{ns}/widgets/{name}")
}

/// A finalizer, as a controller sets it when it sees an object.
async fn hold(w: &World, name: &str) {
    let held = json!({"metadata": {"finalizers": [HOLD]}});
    w.api.merge(&widget(w, name), held).await;
}

async fn let_go(w: &World, name: &str) {
    let free = json!({"metadata": {"finalizers": null}});
    w.api.merge(&widget(w, name), free).await;
}

async fn custom_resources_go_while_their_controllers_run(w: World) {
    w.apply(&operator(&w.group()), &[]).await.ok();
    hold(&w, "gear").await;
    let inventory = w.record("operator").await.inventory();
    // Also the second time, when it is being deleted already.
    for _ in 0..2 {
        let ran = w.delete("operator", &["--timeout", "1s"]).await.ends(1);
        let ran = ran.says("Widget/gear").says(HOLD).says("delete again");
        let ran = ran.did("failed", "Widget/gear");
        ran.did("skipped", "Deployment/controller")
            .did("skipped", "ConfigMap/settings");
        assert!(w.exists("Deployment/controller").await, "it has work to do");
        let record = w.record("operator").await;
        assert_eq!(record.inventory(), inventory, "the record stays");
        assert_eq!(record.results()[0], "failed");
        assert!(!record.locked());
    }
    // The controller does its work while the delete waits.
    let run = w.start(&["mod", "delete", "operator", "--yes", "--timeout", "10m"]);
    run.until_it_writes("Widget/gear").await;
    let_go(&w, "gear").await;
    run.end().await.ok();
    let left = w.settled_live("operator").await;
    let definition = format!("CustomResourceDefinition/widgets.{}", w.group());
    assert_eq!(left, [definition.as_str()], "it is guarded");
    w.delete("operator", &["--prune-crds"]).await.ok();
    assert!(w.gone(&definition).await);
    assert!(w.find_record("operator").await.is_none());
}

async fn a_component_waits_for_its_custom_resources_too(w: World) {
    let group = w.group();
    let module = Module::new("operator")
        .component("base", &[custom_kind(&group, "Widget")])
        .optional(
            "controller",
            &[deployment("controller"), custom(&group, "Widget", "gear")],
        );
    w.apply(&module, &["--components", "controller"]).await.ok();
    hold(&w, "gear").await;
    let before = w.record_without_log("operator").await;
    let flags = ["--component", "controller", "--timeout", "1s"];
    let ran = w.delete("operator", &flags).await.ends(1);
    ran.says(HOLD).did("skipped", "Deployment/controller");
    assert_eq!(w.record_without_log("operator").await, before);
    let_go(&w, "gear").await;
    let flags = ["--component", "controller"];
    w.delete("operator", &flags).await.ok();
    assert!(!w.exists("Deployment/controller").await);
}

async fn custom_resources_of_others_keep_their_definition(w: World) {
    let group = w.group();
    w.apply(&operator(&group), &[]).await.ok();
    let theirs = custom(&group, "Widget", "theirs");
    let widgets = format!("/apis/{group}/v1/namespaces/{}/widgets", w.ns);
    let json = "application/json";
    let made = w
        .api
        .send(Method::POST, &widgets, json, Some(&theirs))
        .await;
    assert_eq!(made.0, 201, "{}", made.1);
    let ran = w.delete("operator", &["--prune-crds"]).await.ends(2);
    ran.says("Widget/theirs").says("--prune-crds");
    assert!(
        w.api.get(&widget(&w, "gear")).await.is_some(),
        "nothing is touched"
    );
    w.api.delete(&widget(&w, "theirs")).await;
    // Somebody makes one while the delete waits for this release's.
    hold(&w, "gear").await;
    let arguments = [
        "mod",
        "delete",
        "operator",
        "--yes",
        "--prune-crds",
        "-o",
        "json",
    ];
    let run = w.start(&arguments);
    run.until_it_writes("Widget/gear").await;
    w.api
        .send(Method::POST, &widgets, json, Some(&theirs))
        .await;
    let_go(&w, "gear").await;
    let definition = format!("CustomResourceDefinition/widgets.{group}");
    let ran = run.end().await.ends(1).says("Widget/theirs");
    ran.did("failed", &definition)
        .did("deleted", "Deployment/controller");
    assert!(w.api.get(&widget(&w, "theirs")).await.is_some());
    assert!(w.exists(&definition).await);
    w.api.delete(&widget(&w, "theirs")).await;
    w.delete("operator", &["--prune-crds"]).await.ok();
    assert!(w.gone(&definition).await);
}

/// A webhook of which nothing is ever asked.
fn webhook(name: &str, namespace: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{"name": "widgets.example.com", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "hooks", "namespace": namespace}},
            "rules": [{"apiGroups": ["nobody.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["widgets"]}]}]})
}

/// Requests of one verb, in order, each by how its path ends.
fn in_order(requests: &[(String, String)], verb: &str, ends: &[String]) -> Vec<usize> {
    let at = |end: &String| {
        let mut requests = requests.iter();
        let path = |uri: &str| {
            uri.split('?')
                .next()
                .unwrap_or_default()
                .ends_with(end.as_str())
        };
        requests
            .position(|(seen, uri)| seen == verb && path(uri))
            .unwrap_or_else(|| panic!("no {verb} of {end}: {requests:?}"))
    };
    ends.iter().map(at).collect()
}

async fn webhooks_go_before_the_service_that_answers_them(w: World) {
    let name = w.name("hooks");
    // The order of components would have the Service go first.
    let module = Module::new("hooked")
        .component("hooks", &[webhook(&name, &w.ns)])
        .component_after(
            "server",
            &["hooks"],
            &[service("hooks"), deployment("hooks")],
        );
    w.apply(&module, &["--timeout", "10m"]).await.ok();
    let arguments = ["mod", "delete", "hooked", "--yes"];
    let requests = w.requests_in(&arguments).await;
    let order = [
        format!("/{name}"),
        "/deployments/hooks".into(),
        "/services/hooks".into(),
    ];
    let order = in_order(&requests, "delete", &order);
    assert!(order.is_sorted(), "{order:?} of {requests:?}");
    assert!(w.find_record("hooked").await.is_none());
}

async fn what_pods_need_is_applied_before_them(w: World) {
    let (class, group) = (w.name("urgent"), w.group());
    let priority = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": class}, "value": 10});
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota"},
        "spec": {"hard": {"configmaps": "100"}}});
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "closed"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}});
    let mut urgent = deployment("urgent");
    urgent["spec"]["template"]["spec"]["priorityClassName"] = json!(class);
    let objects = [
        urgent,
        custom(&group, "Widget", "gear"),
        policy,
        quota,
        priority,
        custom_kind(&group, "Widget"),
    ];
    let module = Module::new("ordered").component("app", &objects);
    let dir = w.write(&module);
    let requests = w.requests_in(&["mod", "apply", &dir]).await;
    let mut order = vec![
        format!("/widgets.{group}"),
        format!("/{class}"),
        "/resourcequotas/quota".into(),
        "/networkpolicies/closed".into(),
        "/deployments/urgent".into(),
        "/widgets/gear".into(),
    ];
    let applied = in_order(&requests, "patch", &order);
    assert!(applied.is_sorted(), "{applied:?} of {requests:?}");
    let requests = w
        .requests_in(&["mod", "delete", "ordered", "--yes", "--prune-crds"])
        .await;
    order.reverse();
    let removed = in_order(&requests, "delete", &order);
    assert!(removed.is_sorted(), "{removed:?} of {requests:?}");
}

/// A role that is put together from another one.
fn aggregated(aggregate: &str, part: &str) -> Module {
    let selector = json!([{"matchLabels": {"example.com/part-of": aggregate}}]);
    let mut whole = cluster_role(aggregate);
    whole["aggregationRule"] = json!({"clusterRoleSelectors": selector});
    whole["rules"] = json!([]);
    let mut part = cluster_role(part);
    part["metadata"]["labels"] = json!({"example.com/part-of": aggregate});
    Module::new("roles").component("app", &[whole, part])
}

/// What the controller does that still has the role in mind: it writes nothing but the rules.
async fn rebuild(w: &World, aggregate: &str) {
    let bare = cluster_role(aggregate);
    let path = api::object(&format!("ClusterRole/{aggregate}"), "");
    let path = format!("{path}?fieldManager=clusterrole-aggregation-controller&force=true");
    let apply = "application/apply-patch+yaml";
    let (status, body) = w.api.send(Method::PATCH, &path, apply, Some(&bare)).await;
    assert!(matches!(status, 200 | 201), "{status} {body}");
}

async fn an_aggregated_role_that_comes_back_goes_again(w: World) {
    let (whole, part) = (w.name("whole"), w.name("part"));
    let module = aggregated(&whole, &part);
    w.apply(&module, &[]).await.ok();
    let spelled = format!("ClusterRole/{whole}");
    // It comes back while the delete is at its parts.
    let parts = RequestFilter::verb("delete").and_path(&format!("/clusterroles/{part}"));
    let run = w
        .start_stalled(&parts, &["mod", "delete", "roles", "--yes"])
        .await;
    run.until_it_sends(1, &parts).await;
    assert!(!w.exists(&spelled).await, "it went before its parts");
    rebuild(&w, &whole).await;
    run.release();
    run.end().await.ok();
    assert!(!w.exists(&spelled).await, "it is gone for good");
    // Left over from a delete that could not know, it is in nobody's way.
    rebuild(&w, &whole).await;
    w.apply(&module, &[]).await.ok().did("configured", &spelled);
    assert_eq!(w.record("roles").await.inventory().len(), 2);
    w.delete("roles", &[]).await.ok();
    assert_eq!(w.settled_live("roles").await, Vec::<String>::new());
    // What somebody made is not.
    w.api.create("", &cluster_role(&whole)).await;
    w.apply(&module, &[]).await.ends(2).says(&whole);
    w.api.delete(&api::object(&spelled, "")).await;
}

async fn an_aggregated_role_stays_gone(w: World) {
    let (whole, part) = (w.name("whole"), w.name("part"));
    let module = aggregated(&whole, &part);
    let spelled = format!("ClusterRole/{whole}");
    for round in 0..3 {
        w.apply(&module, &[]).await.ok();
        w.until("the rules are put together", || async {
            let role = w.get(&spelled).await.expect("it is applied");
            role["rules"]
                .as_array()
                .is_some_and(|rules| !rules.is_empty())
        })
        .await;
        w.delete("roles", &[]).await.ok();
        assert!(!w.exists(&spelled).await, "round {round}");
    }
    assert_eq!(w.settled_live("roles").await, Vec::<String>::new());
}
