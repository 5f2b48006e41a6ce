//! The life of a release through its resource alone.

use opm_e2e::objects::{config_map, deployment, never_ready, secret, service, volume_claim};
use opm_e2e::{Module, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    created_upgraded_and_deleted_with_a_claim_kept,
    values_come_from_the_resource_and_from_what_it_refers_to,
    bad_values_stall_it_and_the_old_state_stands,
    suspended_it_is_left_alone,
    dependencies_come_first,
    what_does_not_become_ready_is_rolled_back,
    ready_counts_only_when_the_objects_are,
    #[real_only("does not apply to the sandbox, which checks no patterns and no expressions")]
    the_server_refuses_what_makes_no_sense,
    orphaned_it_stays_and_nobody_manages_it,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web")
        .version("1.0.0")
        .component("app", objects)
}

fn from_config_map(name: &str) -> Value {
    json!({"module": {"configMap": {"name": name}}})
}

fn with(mut spec: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

async fn created_upgraded_and_deleted_with_a_claim_kept(w: World) {
    w.define_resource().await;
    let first = [
        config_map("a", "1"),
        secret("key", "hidden"),
        volume_claim("data"),
    ];
    w.put_module("source", &web(&first)).await;
    w.put_release("web", from_config_map("source")).await;
    let running = w.start_controller(&[]);
    let ready = w.until_ready("web").await;
    assert_eq!(ready["reason"], "Applied");
    let three = ["ConfigMap/a", "PersistentVolumeClaim/data", "Secret/key"];
    w.holds_exactly("web", &three).await;
    let resource = w.get_release("web").await.unwrap();
    let record = w.record("web").await;
    let status = &resource["status"];
    assert_eq!(status["change"], json!(record.index()[0]));
    assert_eq!(
        status["counts"],
        json!({"objects": 3, "pending": 0, "kept": 0})
    );
    assert_eq!(
        status["module"],
        json!({"path": "local/web", "version": "1.0.0"})
    );
    assert_eq!(
        resource["metadata"]["finalizers"],
        json!(["core.opmodel.dev/release"])
    );
    let managed = &record.secret["metadata"]["annotations"]["opmodel.dev/managed-by"];
    let uid = resource["metadata"]["uid"].as_str().unwrap();
    assert_eq!(managed, &json!(format!("web/{uid}")));

    let second = [
        config_map("a", "2"),
        config_map("b", "2"),
        volume_claim("data"),
    ];
    w.put_module("source", &web(&second).version("1.1.0")).await;
    w.until("the upgrade is applied", || async {
        let resource = w.get_release("web").await.unwrap();
        resource["status"]["module"]["version"] == "1.1.0"
    })
    .await;
    let three = ["ConfigMap/a", "ConfigMap/b", "PersistentVolumeClaim/data"];
    w.holds_exactly("web", &three).await;
    w.opm(&["mod", "history", "web"]).await.ok();
    w.opm(&["mod", "status", "web"]).await.ok();

    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, ["PersistentVolumeClaim/data"]);
    let events = w.events_of("web").await;
    let last = events.iter().find(|(reason, _)| reason == "Deleted");
    let told = &last.expect("the last that is heard of it").1;
    assert!(told.contains("PersistentVolumeClaim/data"), "{told}");
    running.interrupt();
    running.end().await.ends(130).never_says("hidden");
}

async fn values_come_from_the_resource_and_from_what_it_refers_to(w: World) {
    w.define_resource().await;
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "web"}, "values": {"size": "small", "color": "red", "shape": "round"},
        "components": [{"name": "app", "manifests": ["app.yaml"]}]});
    let text = "${values.size} ${values.color} ${values.shape}";
    w.put_files(
        "source",
        json!({"module.yaml": module.to_string(),
        "app.yaml": config_map("a", text).to_string()}),
    )
    .await;
    w.put_files(
        "colors",
        json!({"values.yaml": "color: green\nshape: square"}),
    )
    .await;
    let spec = with(
        from_config_map("source"),
        &json!({
        "values": {"shape": "flat"},
        "valuesFrom": [{"kind": "ConfigMap", "name": "colors"},
            {"kind": "Secret", "name": "none", "optional": true}]}),
    );
    w.put_release("web", spec).await;
    let _running = w.start_controller(&[]);
    w.until_value("ConfigMap/a", "/data/k", json!("small green flat"))
        .await;
    w.put_files("colors", json!({"values.yaml": "color: blue"}))
        .await;
    w.until_value("ConfigMap/a", "/data/k", json!("small blue flat"))
        .await;
    w.edit_release("web", json!({"values": {"shape": "flat", "size": "large"}}))
        .await;
    w.until_value("ConfigMap/a", "/data/k", json!("large blue flat"))
        .await;
}

async fn bad_values_stall_it_and_the_old_state_stands(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[config_map("a", "1")])).await;
    w.put_release("web", from_config_map("source")).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    let before = w.raw_record("web").await;
    w.edit_release("web", json!({"values": {"port": 80}})).await;
    let stalled = w.until_condition("web", "Stalled", "True").await;
    assert_eq!(stalled["reason"], "RenderFailed");
    let why = stalled["message"].as_str().unwrap();
    assert!(
        why.contains("takes no values") && !why.contains("/tmp"),
        "{why}"
    );
    w.holds_exactly("web", &["ConfigMap/a"]).await;
    assert_eq!(w.raw_record("web").await, before, "nothing was written");
    w.edit_release(
        "web",
        json!({"values": null, "module": {"configMap": {"name": "nowhere"}}}),
    )
    .await;
    w.until("the cause is another", || async {
        let stalled = w.until_condition("web", "Stalled", "True").await;
        stalled["reason"] == "SourceUnavailable"
    })
    .await;
    w.edit_release("web", json!({"module": {"configMap": {"name": "source"}}}))
        .await;
    w.until_ready("web").await;
    w.until_condition("web", "Stalled", "False").await;
}

async fn suspended_it_is_left_alone(w: World) {
    w.define_resource().await;
    w.put_files(
        "source",
        json!({"a.yaml": config_map("a", "1").to_string()}),
    )
    .await;
    w.put_release("web", from_config_map("source")).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    w.edit_release("web", json!({"suspend": true})).await;
    running.until_it_writes("Suspended").await;
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "by hand"}})).await;
    // Another release is reconciled after it: had the edit started something, it would be done.
    w.put_release("other", with(from_config_map("other"), &json!({})))
        .await;
    w.put_files("other", json!({"b.yaml": config_map("b", "1").to_string()}))
        .await;
    w.until_ready("other").await;
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "by hand");
    w.edit_release("web", json!({"suspend": false})).await;
    w.until_value("ConfigMap/a", "/data/k", json!("1")).await;
}

async fn dependencies_come_first(w: World) {
    w.define_resource().await;
    w.put_files(
        "app-source",
        json!({"a.yaml": config_map("app", "1").to_string()}),
    )
    .await;
    w.put_files(
        "db-source",
        json!({"a.yaml": config_map("db", "1").to_string()}),
    )
    .await;
    let app = with(
        from_config_map("app-source"),
        &json!({"dependsOn": [{"name": "db"}]}),
    );
    w.put_release("app", app).await;
    let _running = w.start_controller(&[]);
    let waiting = w.until_condition("app", "Reconciling", "True").await;
    assert_eq!(waiting["reason"], "DependencyNotReady");
    assert!(!w.exists("ConfigMap/app").await);
    w.put_release("db", from_config_map("db-source")).await;
    w.until_ready("app").await;
    w.edit_release("db", json!({"dependsOn": [{"name": "app"}]}))
        .await;
    let circle = w.until_condition("db", "Stalled", "True").await;
    assert_eq!(circle["reason"], "DependencyCycle");
}

async fn what_does_not_become_ready_is_rolled_back(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[config_map("a", "1"), deployment("web")]))
        .await;
    let spec = with(from_config_map("source"), &json!({"atomic": true}));
    w.put_release("web", spec).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    let change = w.record("web").await.index();
    w.edit_release("web", json!({"timeout": "1s"})).await;
    w.until_ready("web").await;
    let broken = [config_map("a", "2"), never_ready(deployment("web"))];
    w.put_module("source", &web(&broken)).await;
    let stalled = w.until_condition("web", "Stalled", "True").await;
    assert_eq!(stalled["reason"], "RolledBack");
    assert_eq!(
        w.record("web").await.index(),
        change,
        "the change before is back"
    );
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
}

async fn ready_counts_only_when_the_objects_are(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[never_ready(deployment("web"))]))
        .await;
    let spec = with(from_config_map("source"), &json!({"wait": true}));
    w.put_release("web", spec).await;
    let _running = w.start_controller(&[]);
    let waiting = w.until_condition("web", "Reconciling", "True").await;
    w.until("it says so", || async {
        let ready = w.until_condition("web", "Ready", "False").await;
        ready["reason"] == "NotReady"
            && ready["message"]
                .as_str()
                .unwrap()
                .contains("Deployment/web")
    })
    .await;
    assert!(["NotReady", "Progressing"].contains(&waiting["reason"].as_str().unwrap()));
    w.put_module("source", &web(&[deployment("web")])).await;
    w.until_ready("web").await;
}

async fn the_server_refuses_what_makes_no_sense(w: World) {
    w.define_resource().await;
    let module = |module: Value| json!({ "module": module });
    let also = |more: Value| with(from_config_map("a"), &more);
    let (one_source, short) = ("exactly one of reference", "at most 53 characters");
    let reference = "example.com/web@v1.0.0";
    let two = json!({"reference": reference, "configMap": {"name": "a"}});
    let unit = "should match";
    for (name, spec, said) in [
        // What expressions say.
        ("web", module(two), one_source),
        ("web", module(json!({})), one_source),
        (&"a".repeat(54), from_config_map("a"), short),
        // What the schema says.
        ("web", json!({}), "spec.module: Required value"),
        ("web", from_config_map(""), "spec.module.configMap.name"),
        ("web", also(json!({"interval": "often"})), unit),
        ("web", also(json!({"retryInterval": "5"})), unit),
        ("web", also(json!({"timeout": "-1s"})), unit),
        (
            "web",
            also(json!({"driftPolicy": "sometimes"})),
            "Unsupported value",
        ),
        (
            "web",
            also(json!({"deletionPolicy": "keep"})),
            "Unsupported value",
        ),
        ("web", also(json!({"maxHistory": 0})), "spec.maxHistory"),
        ("web", also(json!({"maxHistory": 101})), "spec.maxHistory"),
        (
            "web",
            also(json!({"valuesFrom": [{"kind": "Pod", "name": "a"}]})),
            "Unsupported value",
        ),
        (
            "web",
            also(json!({"valuesFrom": [{"kind": "Secret"}]})),
            "spec.valuesFrom[0].name",
        ),
        (
            "web",
            also(json!({"dependsOn": [{"name": ""}]})),
            "spec.dependsOn[0].name",
        ),
    ] {
        let (status, answer) = w.try_release(name, spec.clone()).await;
        assert_eq!(status, 422, "{name} {spec}: {answer}");
        assert!(answer.to_string().contains(said), "{spec}: {answer}");
    }
    // What is left out is filled in by the server.
    let given = also(json!({"valuesFrom": [{"kind": "Secret", "name": "s"}]}));
    let kept = w.put_release("web", given).await;
    let expected = json!({"module": {"configMap": {"name": "a"}},
        "valuesFrom": [{"kind": "Secret", "name": "s", "key": "values.yaml", "optional": false}],
        "interval": "10m", "retryInterval": "2m", "timeout": "5m", "prune": true,
        "driftPolicy": "correct", "wait": false, "atomic": false, "suspend": false,
        "forceConflicts": false, "maxHistory": 10, "deletionPolicy": "delete",
        "guards": {"namespaces": false, "persistentVolumeClaims": false,
            "persistentVolumes": false, "customResourceDefinitions": false}});
    assert_eq!(kept["spec"], expected);
}

async fn orphaned_it_stays_and_nobody_manages_it(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[config_map("a", "1"), service("web")]))
        .await;
    let spec = with(
        from_config_map("source"),
        &json!({"deletionPolicy": "orphan"}),
    );
    w.put_release("web", spec).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    w.holds_exactly("web", &["ConfigMap/a", "Service/web"])
        .await;
    let record = w.record("web").await;
    let annotations = &record.secret["metadata"]["annotations"];
    assert!(annotations["opmodel.dev/managed-by"].is_null());
    w.apply(&web(&[config_map("a", "2"), service("web")]), &[])
        .await
        .ok();
    w.delete("web", &[]).await.ok();
}
