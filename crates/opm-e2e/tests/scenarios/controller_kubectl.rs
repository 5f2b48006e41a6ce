//! The life of a release through kubectl alone, as somebody has it who knows nothing of `opm`.

use opm_e2e::objects::{config_map, deployment, never_ready, service, volume_claim};
use opm_e2e::{World, scenarios};
use serde_json::{Value, json};

scenarios! {
    #[real_only("the sandbox publishes no schemas for kubectl to explain")]
    the_resource_explains_itself,
    #[real_only("the sandbox shows a resource's name and age, and no columns of its definition")]
    a_release_lives_through_kubectl_alone,
}

const MODULE: &str = r#"
apiVersion: core.opmodel.dev/v1alpha1
kind: Module
metadata: {name: web, version: VERSION}
values: {color: original}
components: [{name: app, manifests: [app.yaml]}]
"#;

/// What one would write into a file: a module of these objects in a ConfigMap.
fn module(version: &str, objects: &[Value]) -> String {
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let data = json!({"module.yaml": MODULE.replace("VERSION", version),
        "app.yaml": texts.join("\n---\n")});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-module"}, "data": data})
        .to_string()
}

fn release(name: &str, more: &Value) -> String {
    let mut spec = json!({"module": {"configMap": {"name": "web-module"}}});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "ModuleRelease",
        "metadata": {"name": name}, "spec": spec})
    .to_string()
}

async fn the_resource_explains_itself(w: World) {
    w.define_resource().await;
    let Some(kubectl) = w.kubectl().await else {
        return;
    };
    // Schemas are published a while after a resource is served.
    w.until("it is explained", || async {
        kubectl.tries(&["explain", "mr.spec"]).await.0
    })
    .await;
    for (field, said) in [
        ("mr.spec.driftPolicy", "ENUM:"),
        ("mr.spec.module", "From one source"),
        ("mr.spec.valuesFrom.optional", "It need not be there."),
        ("mr.status.conditions", "`Ready`, `Reconciling`"),
    ] {
        let printed = kubectl.run(&["explain", field]).await;
        let plain = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = plain.to_lowercase().contains(&said.to_lowercase());
        assert!(found, "{field}: {printed}");
    }
}

async fn a_release_lives_through_kubectl_alone(w: World) {
    w.define_resource().await;
    let Some(kubectl) = w.kubectl().await else {
        return;
    };
    let running = w.start_controller(&[]);
    let colored = |text: &str| {
        let mut object = config_map("a", text);
        object["data"]["color"] = json!("${values.color} paint");
        object
    };

    // Created, and ready.
    let first = [colored("first"), service("web"), volume_claim("data")];
    kubectl.apply(&module("1.0.0", &first)).await;
    kubectl.apply(&release("web", &json!({}))).await;
    kubectl.wait("condition=Ready", "mr/web").await;
    let shown = kubectl.run(&["get", "mr"]).await;
    let columns: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
    let expected = [
        "NAME", "MODULE", "VERSION", "CHANGE", "READY", "MESSAGE", "AGE",
    ];
    assert_eq!(columns, expected, "{shown}");
    let row = shown.lines().nth(1).unwrap();
    let said = [
        "web",
        "local/web",
        "1.0.0",
        "change-sha1-",
        "True",
        "3 objects applied",
    ];
    assert!(said.iter().all(|one| row.contains(one)), "{shown}");

    // Its values change, then its module.
    let patch = |text: &'static str| ["patch", "mr", "web", "--type=merge", "-p", text];
    kubectl
        .run(&patch(r#"{"spec":{"values":{"color":"red"}}}"#))
        .await;
    kubectl
        .wait("jsonpath={.data.color}=red paint", "configmap/a")
        .await;
    let second = [colored("original"), service("web"), volume_claim("data")];
    kubectl.apply(&module("1.1.0", &second)).await;
    kubectl
        .wait("jsonpath={.status.module.version}=1.1.0", "mr/web")
        .await;
    kubectl.wait("condition=Ready", "mr/web").await;

    // Somebody edits an object, and deletes another.
    kubectl.run(&["edit", "configmap", "a"]).await;
    kubectl
        .wait("jsonpath={.data.k}=original", "configmap/a")
        .await;
    kubectl.run(&["delete", "service", "web"]).await;
    kubectl.wait("create", "service/web").await;
    w.until("it is told", || async {
        let described = kubectl.run(&["describe", "mr", "web"]).await;
        described.contains("DriftCorrected")
    })
    .await;

    // Values that make no sense: it is stalled, and what was there stands.
    kubectl
        .run(&patch(r#"{"spec":{"values":{"color":{"of":"sky"}}}}"#))
        .await;
    kubectl.wait("condition=Stalled", "mr/web").await;
    let shown = kubectl.run(&["get", "mr", "web"]).await;
    assert!(
        shown.contains("False") && shown.contains("color"),
        "{shown}"
    );
    kubectl
        .wait("jsonpath={.data.color}=red paint", "configmap/a")
        .await;
    kubectl
        .run(&patch(r#"{"spec":{"values":{"color":"blue"}}}"#))
        .await;
    kubectl
        .wait("jsonpath={.data.color}=blue paint", "configmap/a")
        .await;
    kubectl.wait("condition=Stalled=False", "mr/web").await;

    // Suspended, it is left alone; resumed, it is put right.
    kubectl.run(&patch(r#"{"spec":{"suspend":true}}"#)).await;
    let reason = r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Suspended"#;
    kubectl.wait(reason, "mr/web").await;
    kubectl.run(&["edit", "configmap", "a"]).await;
    kubectl
        .wait("jsonpath={.data.k}=edited", "configmap/a")
        .await;
    kubectl.run(&patch(r#"{"spec":{"suspend":false}}"#)).await;
    kubectl
        .wait("jsonpath={.data.k}=original", "configmap/a")
        .await;

    // Another waits for one that is not there yet.
    let source = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"},
        "data": {"b.yaml": config_map("b", "1").to_string()}});
    kubectl.apply(&source.to_string()).await;
    let plain = json!({"module": {"configMap": {"name": "plain"}}});
    let mut late = plain.clone();
    late["dependsOn"] = json!([{"name": "early"}]);
    kubectl.apply(&release("late", &late)).await;
    let reason = r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}=DependencyNotReady"#;
    kubectl.wait(reason, "mr/late").await;
    let source = source.to_string().replace("plain", "other");
    let source = source.replace(r#"\"b\""#, r#"\"c\""#);
    kubectl.apply(&source).await;
    let early = json!({"module": {"configMap": {"name": "other"}}});
    kubectl.apply(&release("early", &early)).await;
    kubectl.wait("condition=Ready", "mr/late").await;

    // What does not become ready is taken back.
    kubectl
        .run(&patch(r#"{"spec":{"atomic":true,"timeout":"1s"}}"#))
        .await;
    kubectl.wait("condition=Ready", "mr/web").await;
    let broken = [
        colored("third"),
        service("web"),
        volume_claim("data"),
        never_ready(deployment("web")),
    ];
    kubectl.apply(&module("1.2.0", &broken)).await;
    kubectl.wait("condition=Stalled", "mr/web").await;
    let reason = r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}=RolledBack"#;
    kubectl.wait(reason, "mr/web").await;
    kubectl
        .wait("jsonpath={.data.k}=original", "configmap/a")
        .await;
    let (there, _) = kubectl.tries(&["get", "deployment", "web"]).await;
    assert!(!there, "what came with it is gone");

    // Deleted: kubectl waits for the end, and the claim stays.
    kubectl.run(&["delete", "mr", "web"]).await;
    let left = kubectl
        .run(&["get", "configmap,service", "-o", "name"])
        .await;
    assert!(
        !left
            .lines()
            .any(|one| one == "configmap/a" || one == "service/web"),
        "{left}"
    );
    kubectl.run(&["get", "persistentvolumeclaim", "data"]).await;
    let events = kubectl
        .run(&["get", "events", "--field-selector", "reason=Deleted"])
        .await;
    assert!(events.contains("PersistentVolumeClaim/data"), "{events}");
    running.interrupt();
    running.end().await.ends(130);
}
