//! The scenarios A to J of RFC-0001, on the cluster's objects and on the record.

use opm_e2e::objects::{
    config_map, deployment, mended, service, stateful_set, unacceptable, volume_claim,
};
use opm_e2e::{Module, World, scenarios, set};

scenarios! {
    scenario_a_normal_rename,
    scenario_b_partial_failure_records_nothing,
    scenario_c_component_removed,
    scenario_d_first_apply,
    scenario_e_inventory_secret_deleted,
    scenario_f_failed_apply_leaves_no_ghost,
    scenario_g_kind_changes,
    scenario_h_idempotent_reapply,
    scenario_i_local_template_change,
    scenario_j_component_rename,
}

/// The RFC's module, with its objects called `name`.
fn minecraft(name: &str) -> Module {
    Module::minecraft("0.1.0").component(
        "app",
        &[stateful_set(name), service(name), volume_claim("config")],
    )
}

async fn scenario_a_normal_rename(w: World) {
    let first = w.apply(&minecraft("minecraft"), &[]).await.ok().json();
    assert_eq!(first["firstApply"], true);
    let renamed = w.apply(&minecraft("minecraft-server"), &[]).await.ok();

    assert_eq!(
        renamed.action("StatefulSet/minecraft-server").as_deref(),
        Some("created")
    );
    assert_eq!(
        renamed.action("StatefulSet/minecraft").as_deref(),
        Some("pruned")
    );
    assert_eq!(
        renamed.action("Service/minecraft").as_deref(),
        Some("pruned")
    );
    w.holds_exactly(
        "minecraft",
        &[
            "PersistentVolumeClaim/config",
            "Service/minecraft-server",
            "StatefulSet/minecraft-server",
        ],
    )
    .await;
    let record = w.record("minecraft").await;
    assert_eq!(record.index().len(), 2);
    assert_eq!(record.index()[1], first["changeId"].as_str().unwrap());
}

async fn scenario_b_partial_failure_records_nothing(w: World) {
    w.apply(&minecraft("minecraft"), &[]).await.ok();
    let before = w.record("minecraft").await;
    let server = |service| {
        Module::minecraft("0.1.0").component(
            "app",
            &[
                config_map("server", "x"),
                stateful_set("minecraft-server"),
                service,
                volume_claim("config"),
            ],
        )
    };
    let broken = w
        .apply(&server(unacceptable(service("minecraft-server"))), &[])
        .await
        .ends(1);
    assert_eq!(
        broken.action("Service/minecraft-server").as_deref(),
        Some("failed")
    );

    // Nothing is torn down, nothing is recorded, and what exists now is known.
    let between = w.record("minecraft").await;
    assert_eq!(between.index(), before.index());
    assert_eq!(between.current(), before.current());
    assert!(
        between.pending().contains("ConfigMap/server"),
        "{:?}",
        between.pending()
    );
    assert!(!between.locked());
    assert_eq!(between.results()[0], "failed");
    for old in [
        "StatefulSet/minecraft",
        "Service/minecraft",
        "ConfigMap/server",
    ] {
        assert!(w.exists(old).await, "{old}");
    }

    w.apply(&server(mended(service("minecraft-server"))), &[])
        .await
        .ok();
    w.holds_exactly(
        "minecraft",
        &[
            "ConfigMap/server",
            "PersistentVolumeClaim/config",
            "Service/minecraft-server",
            "StatefulSet/minecraft-server",
        ],
    )
    .await;
}

async fn scenario_c_component_removed(w: World) {
    let app = [deployment("app"), service("app")];
    let cache = [deployment("cache"), service("cache")];
    let worker = [deployment("worker")];
    let all = Module::new("shop")
        .component("app", &app)
        .component("cache", &cache);
    w.apply(&all.component("worker", &worker), &[]).await.ok();
    let without = Module::new("shop")
        .component("app", &app)
        .component("worker", &worker);
    let ran = w.apply(&without, &[]).await.ok();
    assert_eq!(ran.action("Deployment/cache").as_deref(), Some("pruned"));
    w.holds_exactly(
        "shop",
        &["Deployment/app", "Deployment/worker", "Service/app"],
    )
    .await;
}

async fn scenario_d_first_apply(w: World) {
    let ran = w.apply(&minecraft("minecraft"), &[]).await.ok();
    assert_eq!(ran.json()["firstApply"], true);
    w.holds_exactly(
        "minecraft",
        &[
            "PersistentVolumeClaim/config",
            "Service/minecraft",
            "StatefulSet/minecraft",
        ],
    )
    .await;
    let record = w.record("minecraft").await;
    assert_eq!(record.secret["type"], "opmodel.dev/release");
    assert_eq!(record.index(), [ran.json()["changeId"].as_str().unwrap()]);
}

async fn scenario_e_inventory_secret_deleted(w: World) {
    w.apply(&minecraft("minecraft"), &[]).await.ok();
    w.delete_record("minecraft").await;
    // Its own labelled objects are recognised; nothing has to be adopted.
    w.apply(&minecraft("minecraft-server"), &[]).await.ok();
    let record = w.record("minecraft").await;
    assert_eq!(
        record.inventory(),
        set([
            "PersistentVolumeClaim/config",
            "Service/minecraft-server",
            "StatefulSet/minecraft-server"
        ])
    );
    // As the RFC accepts: what the lost record knew is left standing, with its labels.
    assert!(w.exists("StatefulSet/minecraft").await);
}

async fn scenario_f_failed_apply_leaves_no_ghost(w: World) {
    let with = |extra: &[serde_json::Value]| {
        let mut objects = vec![config_map("minecraft", "1")];
        objects.extend_from_slice(extra);
        Module::minecraft("0.1.0").component("app", &objects)
    };
    w.apply(&with(&[]), &[]).await.ok();
    let broken = with(&[
        config_map("minecraft-server", "1"),
        unacceptable(service("minecraft-server")),
    ]);
    w.apply(&broken, &[]).await.ends(1);
    assert!(
        w.exists("ConfigMap/minecraft-server").await,
        "the ghost that the RFC describes"
    );

    let reverted = w.apply(&with(&[]), &[]).await.ok();
    assert_eq!(
        reverted.action("ConfigMap/minecraft-server").as_deref(),
        Some("pruned")
    );
    w.holds_exactly("minecraft", &["ConfigMap/minecraft"]).await;
}

async fn scenario_g_kind_changes(w: World) {
    let with =
        |workload| Module::minecraft("0.1.0").component("app", &[workload, service("minecraft")]);
    w.apply(&with(deployment("minecraft")), &[]).await.ok();
    let ran = w.apply(&with(stateful_set("minecraft")), &[]).await.ok();
    assert_eq!(
        ran.action("Deployment/minecraft").as_deref(),
        Some("pruned")
    );
    w.holds_exactly("minecraft", &["Service/minecraft", "StatefulSet/minecraft"])
        .await;
}

async fn scenario_h_idempotent_reapply(w: World) {
    let first = w.apply(&minecraft("minecraft"), &[]).await.ok().json();
    let again = w.apply(&minecraft("minecraft"), &[]).await.ok();
    assert_eq!(again.json()["changeId"], first["changeId"]);
    assert_eq!(again.json()["firstApply"], false);
    assert_eq!(
        again.action("Service/minecraft").as_deref(),
        Some("unchanged")
    );
    assert_eq!(w.record("minecraft").await.index().len(), 1);

    let upgraded = w
        .apply(&minecraft("minecraft").version("0.2.0"), &[])
        .await
        .ok()
        .json();
    assert_ne!(upgraded["changeId"], first["changeId"]);
    let index = w.record("minecraft").await.index();
    assert_eq!(
        index,
        [
            upgraded["changeId"].as_str().unwrap(),
            first["changeId"].as_str().unwrap()
        ]
    );

    // Back to the first: an old change moves to the front, the index does not grow.
    w.apply(&minecraft("minecraft"), &[]).await.ok();
    let index = w.record("minecraft").await.index();
    assert_eq!(
        index,
        [
            first["changeId"].as_str().unwrap(),
            upgraded["changeId"].as_str().unwrap()
        ]
    );
}

async fn scenario_i_local_template_change(w: World) {
    let with = |value| Module::new("web").component("app", &[config_map("web", value)]);
    let first = w.apply(&with("1"), &[]).await.ok().json();
    let second = w.apply(&with("2"), &[]).await.ok();
    assert_ne!(first["changeId"], second.json()["changeId"]);
    assert_eq!(
        second.action("ConfigMap/web").as_deref(),
        Some("configured")
    );
    let record = w.record("web").await;
    assert_eq!(record.index().len(), 2);
    assert_eq!(record.current()["module"]["local"], true);
    assert!(record.current()["module"].get("version").is_none());
    assert_eq!(w.get("ConfigMap/web").await.unwrap()["data"]["k"], "2");
}

async fn scenario_j_component_rename(w: World) {
    let objects = [
        stateful_set("minecraft"),
        service("minecraft"),
        volume_claim("config"),
    ];
    w.apply(&Module::minecraft("0.1.0").component("app", &objects), &[])
        .await
        .ok();
    let before = w.uid("StatefulSet/minecraft").await;
    let ran = w
        .apply(
            &Module::minecraft("0.1.0").component("server", &objects),
            &[],
        )
        .await
        .ok();
    let report = ran.json();
    let pruned = report["resources"]
        .as_array()
        .unwrap()
        .iter()
        .any(|r| r["action"] == "pruned");
    assert!(!pruned, "{ran}");
    assert_eq!(
        w.uid("StatefulSet/minecraft").await,
        before,
        "the object lives on"
    );
    let record = w.record("minecraft").await;
    let entries = record.current()["inventory"]["entries"]
        .as_array()
        .unwrap()
        .clone();
    assert!(entries.iter().all(|e| e["component"] == "server"));
}
