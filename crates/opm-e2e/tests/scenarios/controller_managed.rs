//! Who may write a release: its resource, or somebody at a command line.

use opm_e2e::objects::{config_map, service};
use opm_e2e::{Module, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    the_command_line_leaves_it_alone_unless_it_is_suspended,
    where_a_resource_is_there_first_the_command_line_makes_no_release,
    a_release_of_the_command_line_is_taken_over,
    another_path_would_be_another_release,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn spec() -> Value {
    json!({"module": {"configMap": {"name": "source"}}})
}

async fn the_command_line_leaves_it_alone_unless_it_is_suspended(w: World) {
    w.define_resource().await;
    let module = web(&[config_map("a", "1"), service("web")]);
    w.put_module("source", &module).await;
    w.put_release("web", spec()).await;
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    let before = w.raw_record("web").await;
    let changed = web(&[config_map("a", "2"), service("web")]);
    let refused = w.apply(&changed, &[]).await.ends(2);
    refused.says("managed by ModuleRelease/web").says("suspend");
    for command in [
        vec!["mod", "delete", "web", "--yes"],
        vec!["mod", "rollback", "web", "--yes"],
        vec!["mod", "forget", "web", "ConfigMap/a"],
        vec!["mod", "repair", "web", "--yes"],
    ] {
        let ran = w.opm(&command).await;
        assert!([0, 2].contains(&ran.code()), "{ran}");
        assert_eq!(w.raw_record("web").await, before, "{command:?}");
    }
    w.delete("web", &["--dry-run"]).await.ok();
    w.diff(&changed, &[]).await.ok();
    let listed = w.opm(&["mod", "list", "-o", "json"]).await.ok().json();
    assert_eq!(listed["releases"][0]["managedBy"], "ModuleRelease/web");

    w.edit_release("web", json!({"suspend": true})).await;
    running.until_it_writes("Suspended").await;
    w.apply(&changed, &[])
        .await
        .ok()
        .did("configured", "ConfigMap/a");
    w.edit_release("web", json!({"suspend": false})).await;
    w.until_value("ConfigMap/a", "/data/k", json!("1")).await;
    w.until_ready("web").await;

    // Somebody lets the resource go by force: then nobody manages it any more.
    running.interrupt();
    running.end().await;
    w.force_release_away("web").await;
    w.apply(&changed, &[]).await.ok();
    let listed = w.opm(&["mod", "list", "-o", "json"]).await.ok().json();
    assert!(listed["releases"][0]["managedBy"].is_null(), "{listed}");
}

async fn where_a_resource_is_there_first_the_command_line_makes_no_release(w: World) {
    w.define_resource().await;
    let module = web(&[config_map("a", "1")]);
    w.put_release("web", spec()).await;
    w.apply(&module, &[])
        .await
        .ends(2)
        .says("managed by ModuleRelease/web");
    assert!(w.find_record("web").await.is_none());
    w.edit_release("web", json!({"suspend": true})).await;
    w.apply(&module, &[]).await.ok();
}

async fn a_release_of_the_command_line_is_taken_over(w: World) {
    w.define_resource().await;
    let module = web(&[config_map("a", "1"), service("web")]);
    w.apply(&module, &[]).await.ok();
    let uids = (w.uid("ConfigMap/a").await, w.uid("Service/web").await);
    let change = w.record("web").await.index();
    w.put_module("source", &module).await;
    w.put_release("web", spec()).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    let now = (w.uid("ConfigMap/a").await, w.uid("Service/web").await);
    assert_eq!(now, uids, "nothing was created anew");
    assert_eq!(
        w.record("web").await.index(),
        change,
        "it is the same change"
    );
    w.apply(&module, &[]).await.ends(2).says("managed by");
    w.put_module("source", &web(&[config_map("a", "2")])).await;
    w.until_value("ConfigMap/a", "/data/k", json!("2")).await;
    w.until("the Service is gone", || async {
        w.gone("Service/web").await
    })
    .await;
}

async fn another_path_would_be_another_release(w: World) {
    w.define_resource().await;
    w.put_module("source", &web(&[config_map("a", "1")])).await;
    w.put_release("web", spec()).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    let id = w.get_release("web").await.unwrap()["status"]["releaseId"].clone();
    let other = web(&[config_map("a", "2")])
        .path("example.com/web@v1")
        .version("1.0.0");
    w.put_module("source", &other).await;
    let stalled = w.until_condition("web", "Stalled", "True").await;
    assert_eq!(stalled["reason"], "ReleaseIdChanged");
    let told = stalled["message"].as_str().unwrap();
    assert!(told.contains(id.as_str().unwrap()), "{told}");
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
    w.put_module("source", &web(&[config_map("a", "3")])).await;
    w.until_value("ConfigMap/a", "/data/k", json!("3")).await;
}
