//! What a run says when it refuses or doubts: each reason and each object once, and in the log
//! that it was refused.

use opm_e2e::objects::{annotated, config_map, custom, custom_kind, job};
use opm_e2e::{Module, World, scenarios};
use serde_json::Value;

scenarios! {
    a_refusal_names_each_object_once,
    hooks_of_a_helm_chart_are_told,
    a_refused_delete_is_in_the_log,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn a_refusal_names_each_object_once(w: World) {
    let names = ["one", "two", "three"];
    let objects = names.map(|name| config_map(name, "1"));
    for object in &objects {
        w.api.create(&w.ns, object).await;
    }
    let dir = w.write(&web(&objects));
    let ran = w.opm(&["mod", "apply", &dir]).await.ends(2);
    let ran = ran.says("3 objects already exist but are not tracked by this release");
    let told = ran.to_string();
    for name in names {
        assert_eq!(
            told.matches(&format!("ConfigMap/{name} ")).count(),
            1,
            "{told}"
        );
    }
    assert_eq!(told.matches("hint:").count(), 1, "{told}");
    // Scripts find each with its own reason.
    let error = w.apply(&web(&objects), &[]).await.ends(2).json()["error"].clone();
    assert_eq!(
        error["objects"].as_array().map(Vec::len),
        Some(3),
        "{error}"
    );
    assert_eq!(error["hints"].as_array().map(Vec::len), Some(1), "{error}");
    for object in error["objects"].as_array().unwrap() {
        let reason = object["reason"].as_str().unwrap();
        assert!(
            reason.contains("already exists but is not tracked"),
            "{error}"
        );
    }
}

async fn hooks_of_a_helm_chart_are_told(w: World) {
    let objects = [
        annotated(job("migrate"), "helm.sh/hook", "post-install"),
        annotated(config_map("test", "1"), "helm.sh/hook", "test"),
        config_map("a", "1"),
    ];
    let warnings = w.apply(&web(&objects), &[]).await.ok().json()["warnings"].clone();
    let hooks = warnings.as_array().unwrap().iter();
    let hooks: Vec<&Value> = hooks
        .filter(|one| one.as_str().unwrap().contains("Helm"))
        .collect();
    assert_eq!(hooks.len(), 1, "{warnings}");
    let hook = hooks[0].as_str().unwrap();
    assert!(
        hook.contains("Job/migrate") && hook.contains("ConfigMap/test"),
        "{hook}"
    );
    assert!(!hook.contains("ConfigMap/a"), "{hook}");
}

async fn a_refused_delete_is_in_the_log(w: World) {
    let group = w.group();
    w.apply(
        &web(&[custom_kind(&group, "Widget"), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    let widgets = format!("/apis/{group}/v1/namespaces/{}/widgets", w.ns);
    let theirs = custom(&group, "Widget", "theirs");
    let json = "application/json";
    w.api
        .send(http::Method::POST, &widgets, json, Some(&theirs))
        .await;
    let before = w.record_without_log("web").await;
    for _ in 0..2 {
        w.delete("web", &["--prune-crds"])
            .await
            .ends(2)
            .says("Widget/theirs");
    }
    assert_eq!(w.record_without_log("web").await, before);
    let results = w.record("web").await.results();
    assert_eq!(results, ["refused", "succeeded"], "once a minute");
    // A rehearsal is no deployment.
    w.delete("web", &["--prune-crds", "--dry-run"])
        .await
        .ends(2);
    assert_eq!(w.record("web").await.results().len(), 2);
    w.api.delete(&format!("{widgets}/theirs")).await;
    w.delete("web", &["--prune-crds"]).await.ok();
    assert!(
        w.gone(&format!("CustomResourceDefinition/widgets.{group}"))
            .await
    );
}
