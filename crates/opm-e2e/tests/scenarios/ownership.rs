//! What is kept, what is forgotten, and what is nobody's business.

use opm_e2e::api;
use opm_e2e::objects::{annotated, cluster_role, config_map, service, stateful_set, volume_claim};
use opm_e2e::{Module, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    kept_objects_never_die_by_a_later_flag,
    opted_out_objects_stay,
    no_prune_keeps_what_became_stale,
    prune_removes_kept_objects_by_name,
    forget_stops_tracking_and_deletes_nothing,
    rendered_again_a_kept_object_leaves_kept,
    an_object_recreated_by_somebody_else_is_spared,
    an_object_edited_by_hand_converges,
    delete_removes_everything_but_what_is_guarded,
    delete_of_one_component_is_a_change,
    a_helm_object_is_refused_unless_adopted_by_name,
    cluster_scoped_objects_belong_to_one_release,
    an_apply_recreates_what_somebody_deleted,
    optional_components_hold_until_changed,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

async fn kept_objects_never_die_by_a_later_flag(w: World) {
    w.apply(&web(&[volume_claim("data"), config_map("a", "1")]), &[])
        .await
        .ok();
    let ran = w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    assert_eq!(
        ran.action("PersistentVolumeClaim/data").as_deref(),
        Some("kept")
    );
    w.apply(&web(&[config_map("a", "2")]), &["--force-prune-pvcs"])
        .await
        .ok();
    assert!(w.exists("PersistentVolumeClaim/data").await);
    assert_eq!(
        w.record("web").await.kept(),
        set(["PersistentVolumeClaim/data"])
    );
    // Given when it goes stale, the flag does what it says.
    w.apply(&web(&[volume_claim("more"), config_map("a", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("a", "1")]), &["--force-prune-pvcs"])
        .await
        .ok();
    assert!(w.gone("PersistentVolumeClaim/more").await);
    assert!(w.exists("PersistentVolumeClaim/data").await);
}

async fn opted_out_objects_stay(w: World) {
    let precious = annotated(config_map("precious", "1"), "opmodel.dev/prune", "false");
    w.apply(&web(&[precious, config_map("a", "1")]), &[])
        .await
        .ok();
    let ran = w
        .apply(&web(&[config_map("a", "1")]), &["--force"])
        .await
        .ok();
    assert_eq!(ran.action("ConfigMap/precious").as_deref(), Some("kept"));
    w.delete("web", &[]).await.ok();
    assert!(
        w.exists("ConfigMap/precious").await,
        "also when the release goes"
    );
    assert!(!w.exists("ConfigMap/a").await);
}

async fn no_prune_keeps_what_became_stale(w: World) {
    w.apply(&web(&[config_map("old", "1")]), &[]).await.ok();
    w.apply(&web(&[config_map("new", "1")]), &["--no-prune"])
        .await
        .ok();
    let record = w.record("web").await;
    assert_eq!(record.kept(), set(["ConfigMap/old"]));
    assert_eq!(record.inventory(), set(["ConfigMap/new"]));
    w.apply(&web(&[config_map("new", "1")]), &[]).await.ok();
    assert!(w.exists("ConfigMap/old").await, "a decision is not retried");
}

async fn prune_removes_kept_objects_by_name(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("c", "1")]), &["--no-prune"])
        .await
        .ok();
    w.opm(&["mod", "prune", "web", "ConfigMap/c", "--yes"])
        .await
        .ends(5)
        .says("ConfigMap/c");
    assert!(
        w.exists("ConfigMap/c").await,
        "what is not kept is not pruned"
    );
    w.opm(&["mod", "prune", "web", "ConfigMap/a", "--yes"])
        .await
        .ok();
    assert!(!w.exists("ConfigMap/a").await);
    assert_eq!(w.record("web").await.kept(), set(["ConfigMap/b"]));
    w.opm(&["mod", "prune", "web", "--all"])
        .await
        .ends(2)
        .says("--yes");
    w.opm(&["mod", "prune", "web", "--all", "--yes"]).await.ok();
    w.holds_exactly("web", &["ConfigMap/c"]).await;
}

async fn forget_stops_tracking_and_deletes_nothing(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("b", "1")]), &["--no-prune"])
        .await
        .ok();
    w.opm(&["mod", "forget", "web", "ConfigMap/a"]).await.ok();
    let record = w.record("web").await;
    assert!(record.kept().is_empty());
    assert!(w.exists("ConfigMap/a").await);
    w.delete("web", &[]).await.ok();
    assert!(w.exists("ConfigMap/a").await, "forgotten is forgotten");
}

async fn rendered_again_a_kept_object_leaves_kept(w: World) {
    w.apply(&web(&[volume_claim("data"), config_map("a", "1")]), &[])
        .await
        .ok();
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    let uid = w.uid("PersistentVolumeClaim/data").await;
    w.apply(&web(&[volume_claim("data"), config_map("a", "1")]), &[])
        .await
        .ok();
    assert_eq!(w.uid("PersistentVolumeClaim/data").await, uid);
    let record = w.record("web").await;
    assert!(record.kept().is_empty());
    assert_eq!(
        record.inventory(),
        set(["ConfigMap/a", "PersistentVolumeClaim/data"])
    );
}

async fn an_object_recreated_by_somebody_else_is_spared(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    w.api
        .create(&w.ns, &config_map("a", "somebody else's"))
        .await;
    let ran = w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("kept"), "{ran}");
    assert_eq!(
        w.get("ConfigMap/a").await.unwrap()["data"]["k"],
        "somebody else's"
    );
}

async fn an_object_edited_by_hand_converges(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.api
        .merge(
            &api::object("ConfigMap/a", &w.ns),
            json!({"data": {"k": "edited", "more": "x"}}),
        )
        .await;
    let ran = w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("configured"));
    let data = w.get("ConfigMap/a").await.unwrap()["data"].clone();
    assert_eq!(
        data,
        json!({"k": "1", "more": "x"}),
        "ours is ours, theirs stays"
    );
}

async fn delete_removes_everything_but_what_is_guarded(w: World) {
    let objects = [
        stateful_set("web"),
        service("web"),
        volume_claim("data"),
        config_map("a", "1"),
    ];
    w.apply(&web(&objects), &[]).await.ok();
    let dry = w.delete("web", &["--dry-run"]).await.ok();
    assert_eq!(dry.json()["dryRun"], true);
    assert_eq!(w.live("web").await.len(), 4);
    let ran = w.delete("web", &[]).await.ok();
    assert_eq!(
        ran.action("PersistentVolumeClaim/data").as_deref(),
        Some("kept")
    );
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("deleted"));
    assert_eq!(w.live("web").await, ["PersistentVolumeClaim/data"]);
    let record = w.record("web").await;
    assert_eq!(record.kept(), set(["PersistentVolumeClaim/data"]));
    // Its labels let a later apply of the same release take it up again.
    w.apply(&web(&objects), &[]).await.ok();
    w.delete("web", &["--force-prune-pvcs"]).await.ok();
    assert!(w.gone("PersistentVolumeClaim/data").await);
    assert!(w.find_record("web").await.is_none());
}

async fn delete_of_one_component_is_a_change(w: World) {
    let module = Module::new("web")
        .component("app", &[config_map("a", "1")])
        .component("cache", &[config_map("c", "1")]);
    w.apply(&module, &[]).await.ok();
    let ran = w.delete("web", &["--component", "cache"]).await.ok();
    assert_eq!(
        ran.action("ConfigMap/c").as_deref(),
        Some("deleted"),
        "{ran}"
    );
    w.holds_exactly("web", &["ConfigMap/a"]).await;
    assert_eq!(w.record("web").await.index().len(), 2);
    w.delete("web", &["--component", "nonsense"])
        .await
        .ends(5)
        .says("nonsense");
}

async fn a_helm_object_is_refused_unless_adopted_by_name(w: World) {
    let mut helms = config_map("a", "helm's");
    helms["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    helms["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "chart", "meta.helm.sh/release-namespace": w.ns});
    w.api.create(&w.ns, &helms).await;
    let module = web(&[config_map("a", "1")]);
    w.apply(&module, &["--adopt"])
        .await
        .ends(2)
        .says("Helm")
        .says("--adopt=ConfigMap/a");
    w.apply(&module, &["--adopt=ConfigMap/a"]).await.ok();
    assert_eq!(w.get("ConfigMap/a").await.unwrap()["data"]["k"], "1");
}

async fn cluster_scoped_objects_belong_to_one_release(w: World) {
    let role = w.name("reader");
    let mine = Module::new("mine").component("app", &[cluster_role(&role)]);
    let theirs = Module::new("theirs").component("app", &[cluster_role(&role)]);
    w.apply(&mine, &[]).await.ok();
    w.apply(&theirs, &["--adopt"]).await.ends(2).says("mine");
    w.delete("mine", &[]).await.ok();
    assert!(!w.exists(&format!("ClusterRole/{role}")).await);
}

async fn an_apply_recreates_what_somebody_deleted(w: World) {
    w.apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
    let ran = w
        .apply(&web(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("created"));
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b"])
        .await;
}

async fn optional_components_hold_until_changed(w: World) {
    let module = Module::new("web")
        .component("app", &[config_map("a", "1")])
        .optional("metrics", &[config_map("m", "1")])
        .optional("traces", &[config_map("t", "1")]);
    w.apply(&module, &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a"]).await;
    w.apply(&module, &["--components", "metrics"]).await.ok();
    w.apply(&module, &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/m"])
        .await;
    w.apply(&module, &["--components", "traces"]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/t"])
        .await;
    w.apply(&module, &["--components", "tracs"])
        .await
        .ends(2)
        .says("traces");
}
