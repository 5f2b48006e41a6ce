//! The same command before and after a feature flag changes what it does.

use opm_e2e::objects::{config_map, service, volume_claim};
use opm_e2e::{Module, World, scenarios};

scenarios! {
    label_orphan_pruning_prunes_what_a_lost_record_knew,
    label_orphan_pruning_respects_guards_and_others,
}

const ENABLE: &[&str] = &["--feature-enable", "label-orphan-pruning"];

fn web(name: &str) -> Module {
    Module::new("web").component("app", &[config_map(name, "1"), service("web")])
}

async fn label_orphan_pruning_prunes_what_a_lost_record_knew(w: World) {
    w.apply(&web("old"), &[]).await.ok();
    w.delete_record("web").await;
    // Off, as by default: scenario E as the RFC accepts it.
    w.apply(&web("new"), &[]).await.ok();
    assert!(w.exists("ConfigMap/old").await);
    // On: the second layer finds it by its labels.
    let ran = w.apply(&web("new"), ENABLE).await.ok().says("alpha");
    assert_eq!(
        ran.action("ConfigMap/old").as_deref(),
        Some("pruned"),
        "{ran}"
    );
    w.holds_exactly("web", &["ConfigMap/new", "Service/web"])
        .await;
    assert_eq!(
        w.record("web").await.current()["features"]["label-orphan-pruning"],
        true
    );
}

async fn label_orphan_pruning_respects_guards_and_others(w: World) {
    let with_data = Module::new("web").component("app", &[volume_claim("data"), service("web")]);
    w.apply(&with_data, &[]).await.ok();
    w.apply(
        &Module::new("other").component("app", &[config_map("theirs", "1")]),
        &[],
    )
    .await
    .ok();
    w.api.create(&w.ns, &config_map("nobodys", "1")).await;
    w.delete_record("web").await;
    let ran = w.apply(&web("new"), ENABLE).await.ok();
    assert_eq!(
        ran.action("PersistentVolumeClaim/data").as_deref(),
        Some("kept"),
        "{ran}"
    );
    for spared in [
        "PersistentVolumeClaim/data",
        "ConfigMap/theirs",
        "ConfigMap/nobodys",
    ] {
        assert!(w.exists(spared).await, "{spared}");
    }
    // Endpoints inherit a Service's labels, and are nobody's to prune.
    assert!(ran.action("Endpoints/web").is_none(), "{ran}");
}
