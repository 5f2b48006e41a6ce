//! What was reviewed is what happens: a saved plan is carried out as it is, or refused with what
//! differs.

use opm_e2e::objects::{config_map, deployment};
use opm_e2e::{Module, OpmOutput, World, scenarios};
use serde_json::json;

use crate::status_drift::edit;

scenarios! {
    a_saved_plan_is_carried_out,
    a_plan_is_refused_when_anything_moved,
    what_cannot_be_applied_is_not_saved,
}

fn web(names: &[&str], value: &str) -> Module {
    let objects: Vec<_> = names.iter().map(|name| config_map(name, value)).collect();
    Module::new("web").component("app", &objects)
}

async fn saved(w: &World, module: &Module) -> String {
    let file = format!("{}-plan.json", w.write(module));
    w.diff(module, &["--save", &file]).await.ok();
    file
}

async fn apply(w: &World, module: &Module, plan: &str) -> OpmOutput {
    w.apply(module, &["--plan", plan]).await
}

async fn a_saved_plan_is_carried_out(w: World) {
    let first = web(&["a", "old"], "1");
    let plan = saved(&w, &first).await;
    apply(&w, &first, &plan).await.ok();
    let second = web(&["a", "new"], "2");
    let plan = saved(&w, &second).await;
    let ran = apply(&w, &second, &plan).await.ok();
    assert_eq!(ran.action("ConfigMap/old").as_deref(), Some("pruned"));
    // It was carried out, so it is not what would happen any more.
    apply(&w, &second, &plan)
        .await
        .ends(2)
        .says("not what was reviewed");
    // A status that moves on is no change: the pods become ready in between.
    let third = Module::new("web").component("app", &[deployment("d")]);
    w.apply(&third, &[]).await.ok();
    let fourth = Module::new("web").component("app", &[deployment("d"), config_map("a", "1")]);
    let plan = saved(&w, &fourth).await;
    w.until("it is ready", || async {
        let status = w.opm(&["mod", "status", "web", "-o", "json"]).await;
        status.json()["health"] == "Ready"
    })
    .await;
    apply(&w, &fourth, &plan).await.ok();
}

async fn a_plan_is_refused_when_anything_moved(w: World) {
    let first = web(&["a"], "1");
    w.apply(&first, &[]).await.ok();
    let second = web(&["a", "b"], "2");
    let plan = saved(&w, &second).await;
    // The module.
    let other = web(&["a", "b"], "3");
    let refused = apply(&w, &other, &plan).await.ends(2);
    refused
        .says("the module or its values have changed")
        .says("diff --save");
    // A live object.
    edit(&w, "ConfigMap/a", "intruder", json!({"data": {"k": "9"}})).await;
    let refused = apply(&w, &second, &plan).await.ends(2);
    refused
        .says("ConfigMap/a in namespace ")
        .says("has been changed in between");
    assert!(!w.exists("ConfigMap/b").await, "nothing was touched");
    // The record.
    let plan = saved(&w, &second).await;
    w.apply(&web(&["a", "c"], "1"), &[]).await.ok();
    apply(&w, &second, &plan)
        .await
        .ends(2)
        .says("the current change is ");
    // Another release, and no plan at all.
    let elsewhere = Module::new("other").component("app", &[config_map("z", "1")]);
    apply(&w, &elsewhere, &plan)
        .await
        .ends(2)
        .says("another release");
    let no_plan = w.write(&elsewhere) + "/module.yaml";
    apply(&w, &elsewhere, &no_plan)
        .await
        .ends(2)
        .says("cannot be used");
}

async fn what_cannot_be_applied_is_not_saved(w: World) {
    let broken = opm_e2e::objects::unacceptable(config_map("broken", "1"));
    let module = Module::new("web").component("app", &[broken]);
    let file = format!("{}-plan.json", w.write(&module));
    let ran = w.diff(&module, &["--save", &file]).await;
    assert_ne!(ran.code(), 0, "{ran}");
    assert!(!std::path::Path::new(&file).exists());
}
