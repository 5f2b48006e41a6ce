//! Deleted releases that keep something: they stay in sight, can be taken up again, and go with
//! the last object that they kept.

use opm_e2e::objects::{config_map, unacceptable, volume_claim};
use opm_e2e::{KillOutcome, Module, Moment, World, full, note, scenarios, set};
use serde_json::Value;

scenarios! {
    what_a_delete_keeps_stays_in_sight,
    a_deleted_release_is_taken_up_by_the_next_apply,
    forgetting_the_last_kept_object_ends_a_deleted_release,
    a_failed_apply_keeps_the_record_of_a_deleted_release,
    killed_prune_of_a_deleted_release,
}

const CLAIM: &str = "PersistentVolumeClaim/config";

fn minecraft(objects: &[Value]) -> Module {
    Module::minecraft("0.1.0").component("server", objects)
}

/// Applies a release with a claim, and deletes it: the claim is kept.
async fn deleted(w: &World) {
    let module = minecraft(&[config_map("settings", "1"), volume_claim("config")]);
    w.apply(&module, &[]).await.ok();
    let report = w.delete("minecraft", &[]).await.ok();
    let report = report.did("kept", CLAIM).json();
    assert_eq!(report["state"], "deleted");
    assert_eq!(report["kept"][0]["why"], "guard");
}

async fn what_a_delete_keeps_stays_in_sight(w: World) {
    deleted(&w).await;
    assert!(w.gone("ConfigMap/settings").await && w.exists(CLAIM).await);
    let record = w.record("minecraft").await;
    assert_eq!(record.data["metadata"]["state"], "deleted");
    assert_eq!(record.index(), Vec::<String>::new());
    assert_eq!(record.kept(), set([CLAIM]));
    assert_eq!(record.results()[0], "succeeded");
    assert!(!record.locked());
    w.has_no_stray_records("minecraft").await;

    let listed = w.opm(&["mod", "list", "-o", "json"]).await.ok().json();
    let line = &listed["releases"][0];
    assert_eq!(line["state"], "deleted", "{listed}");
    assert_eq!((&line["objects"], &line["kept"]), (&0.into(), &1.into()));
    assert_eq!(line["module"]["name"], "minecraft");
    for command in ["list", "status", "history"] {
        let mut arguments = vec!["mod", command];
        arguments.extend((command != "list").then_some("minecraft"));
        let ran = w.opm(&arguments).await.ok().says("deleted (1 kept)");
        assert!(!ran.to_string().contains("warning"), "{ran}");
    }
    w.opm(&["mod", "list", "--health"]).await.ok();
    let status = ["mod", "status", "minecraft", "--exit-code", "-o", "json"];
    let status = w.opm(&status).await.ok().json();
    assert_eq!(status["state"], "deleted");
    assert_eq!(status["source"], "inventory");
    assert_eq!(status["kept"][0]["exists"], true);
    let log = w.opm(&["mod", "history", "minecraft", "--log"]).await.ok();
    log.says("delete");

    // Nothing is left to confirm, so nobody is asked.
    let again = w.opm(&["mod", "delete", "minecraft"]).await.ok();
    again.says(CLAIM).says("deleted (1 kept)");
    w.opm(&["mod", "prune", "minecraft", CLAIM, "--dry-run"])
        .await
        .ok();
    assert!(w.exists(CLAIM).await);

    let pruned = w.opm(&["mod", "prune", "minecraft", CLAIM]).await.ok();
    pruned.says("pruned").says("deleted");
    assert!(w.gone(CLAIM).await);
    assert!(w.find_record("minecraft").await.is_none());
    w.opm(&["mod", "list"])
        .await
        .ok()
        .says("there are no releases");
    w.opm(&["mod", "status", "minecraft"]).await.ends(5);
}

async fn a_deleted_release_is_taken_up_by_the_next_apply(w: World) {
    deleted(&w).await;
    let uid = w.uid(CLAIM).await;
    let module = minecraft(&[config_map("settings", "2"), volume_claim("config")]);
    w.apply(&module, &[]).await.ok();
    assert_eq!(w.uid(CLAIM).await, uid, "it is the same claim");
    w.holds_exactly("minecraft", &["ConfigMap/settings", CLAIM])
        .await;
    let record = w.record("minecraft").await;
    assert!(record.data["metadata"]["state"].is_null());
    assert_eq!(record.kept(), set([]));

    // A render without the claim leaves it kept, and the release is there all the same.
    w.delete("minecraft", &[]).await.ok();
    w.apply(&minecraft(&[config_map("settings", "3")]), &[])
        .await
        .ok();
    w.opm(&["mod", "prune", "minecraft", CLAIM]).await.ok();
    w.holds_exactly("minecraft", &["ConfigMap/settings"]).await;
    let ran = w.opm(&["mod", "list"]).await.ok();
    assert!(!ran.to_string().contains("deleted"), "{ran}");

    w.delete("minecraft", &[]).await.ok();
    assert!(w.find_record("minecraft").await.is_none());
}

async fn forgetting_the_last_kept_object_ends_a_deleted_release(w: World) {
    deleted(&w).await;
    w.opm(&["mod", "forget", "minecraft", CLAIM]).await.ok();
    assert!(w.exists(CLAIM).await);
    assert!(w.find_record("minecraft").await.is_none());
    w.opm(&["mod", "delete", "minecraft", "--yes"])
        .await
        .ends(5);

    // With its guard lifted, a second delete ends it too.
    let lifted = ["--adopt"];
    let module = minecraft(&[volume_claim("config")]);
    w.apply(&module, &lifted).await.ok();
    w.delete("minecraft", &[]).await.ok();
    w.delete("minecraft", &["--force-prune-pvcs"]).await.ok();
    assert!(w.gone(CLAIM).await);
    assert!(w.find_record("minecraft").await.is_none());
}

async fn a_failed_apply_keeps_the_record_of_a_deleted_release(w: World) {
    deleted(&w).await;
    let broken = minecraft(&[
        config_map("a", "1"),
        unacceptable(config_map("b", "1")),
        volume_claim("config"),
    ]);
    w.apply(&broken, &[]).await.ends(1);
    let record = w.record("minecraft").await;
    assert_eq!(record.data["metadata"]["state"], "deleted");
    assert!(record.pending().contains("ConfigMap/a"));

    w.opm(&["mod", "prune", "minecraft", CLAIM]).await.ok();
    let record = w.record("minecraft").await;
    assert!(record.pending().contains("ConfigMap/a"), "not forgotten");
    w.delete("minecraft", &["--timeout", "2m"]).await.ok();
    assert_eq!(w.settled_live("minecraft").await, Vec::<String>::new());
    assert!(w.find_record("minecraft").await.is_none());
}

/// Cut short anywhere, the next runs end in the same state: no claim, no record.
async fn killed_prune_of_a_deleted_release(w: World) {
    let prune = ["mod", "prune", "minecraft", CLAIM];
    deleted(&w).await;
    let requests = w.requests_of(&prune).await;
    let step = if full() { 1 } else { 3 };
    let mut kills = 0;
    for nth in (1..=requests).rev().step_by(step) {
        for moment in [Moment::Before, Moment::After] {
            deleted(&w).await;
            if w.killed_at(nth, moment, &prune).await == KillOutcome::Killed {
                kills += 1;
            }
            let ran = w
                .delete(
                    "minecraft",
                    &[
                        "--force-prune-pvcs",
                        "--ignore-not-found",
                        "--lock-timeout",
                        "10m",
                    ],
                )
                .await;
            ran.ok();
            assert!(w.gone(CLAIM).await, "killed at {nth}");
            // It is protected until its controller has seen that nobody uses it.
            w.until("the claim is gone", || async {
                w.get(CLAIM).await.is_none()
            })
            .await;
            assert!(
                w.find_record("minecraft").await.is_none(),
                "killed at {nth}"
            );
        }
    }
    note(&format!(
        "prune of a deleted release: {kills} kill points, 0 objects or records left"
    ));
}
