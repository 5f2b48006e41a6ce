//! Records that would be too large for a Secret: what does not fit moves into record Secrets,
//! comes back when it fits again, and nothing is ever forgotten.
//!
//! The ordinary run lowers the limit, so that a few objects are many; the full one applies five
//! thousand.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use opm_e2e::objects::config_map;
use opm_e2e::{KillOutcome, Module, Moment, Rights, World, scenarios};
use serde_json::Value;

scenarios! {
    what_does_not_fit_moves_out_and_comes_back,
    a_failed_apply_of_many_objects_is_not_forgotten,
    kept_objects_move_out_too,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_user_who_may_only_touch_named_secrets_has_large_records_too,
    a_missing_part_is_an_error_and_never_an_empty_inventory,
    without_records_a_record_that_does_not_fit_is_refused,
    five_thousand_objects_renamed_at_once,
}

/// What the API server allows.
const ONE_MIB: usize = 1 << 20;

/// With this limit a few dozen objects are many.
const LOW: (&str, &str) = ("OPM_RECORD_LIMIT", "3000");

fn low(w: World) -> World {
    w.with_env(LOW.0, LOW.1)
}

fn named(stem: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{stem}-{n:04}")).collect()
}

fn module(stem: &str, count: usize) -> Module {
    let objects: Vec<Value> = named(stem, count)
        .iter()
        .map(|n| config_map(n, "1"))
        .collect();
    Module::new("large").component("app", &objects)
}

async fn holds(w: &World, stem: &str, count: usize) {
    let names = named(stem, count);
    let names: Vec<String> = names.iter().map(|n| format!("ConfigMap/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    w.holds_exactly("large", &names).await;
}

async fn api_version(w: &World) -> Value {
    w.record("large").await.data["metadata"]["apiVersion"].clone()
}

async fn what_does_not_fit_moves_out_and_comes_back(w: World) {
    let w = low(w);
    w.apply(&module("old", 40), &[]).await.ok();
    holds(&w, "old", 40).await;
    assert_eq!(api_version(&w).await, "core.opmodel.dev/v1alpha2");
    let moved = w.record("large").await;
    assert!(moved.bytes() < 6000, "{}", moved.bytes());

    // The same again leaves the inventory where it is.
    w.apply(&module("old", 40), &[]).await.ok();
    let same = w.record("large").await;
    assert_eq!(same.moved(), moved.moved());

    w.apply(&module("new", 40), &[]).await.ok();
    holds(&w, "new", 40).await;

    // With more room, or fewer objects, it comes back.
    w.apply_with(&[("OPM_RECORD_LIMIT", "")], &module("new", 41), &[])
        .await
        .ok();
    holds(&w, "new", 41).await;
    assert_eq!(api_version(&w).await, "core.opmodel.dev/v1alpha1");
    let little = ["--max-history", "1", "--log-entries", "2"];
    w.apply(&module("new", 40), &little).await.ok();
    w.apply(&module("few", 2), &little).await.ok();
    holds(&w, "few", 2).await;
    assert_eq!(api_version(&w).await, "core.opmodel.dev/v1alpha1");

    w.apply(&module("old", 40), &[]).await.ok();
    w.opm(&["mod", "forget", "large", "ConfigMap/old-0000"])
        .await
        .ok();
    let record = w.record("large").await;
    assert_eq!(record.inventory().len(), 39);
    w.has_no_stray_records("large").await;
    w.delete("large", &[]).await.ok();
    assert_eq!(w.settled_live("large").await, Vec::<String>::new());
    assert!(w.exists("ConfigMap/old-0000").await, "it is forgotten");
    assert!(w.find_record("large").await.is_none());
    w.has_no_stray_records("large").await;
}

async fn a_failed_apply_of_many_objects_is_not_forgotten(w: World) {
    let w = low(w);
    w.apply(&module("old", 20), &[]).await.ok();
    for stem in ["lost", "stray"] {
        let mut objects: Vec<Value> = named(stem, 20).iter().map(|n| config_map(n, "1")).collect();
        objects.push(opm_e2e::objects::unacceptable(
            opm_e2e::objects::deployment("bad"),
        ));
        let broken = Module::new("large").component("app", &objects);
        w.apply(&broken, &[]).await.ends(1);
        let record = w.record("large").await;
        let pending = record.pending();
        let failed: BTreeSet<String> = named(stem, 20)
            .iter()
            .map(|n| format!("ConfigMap/{n}"))
            .collect();
        assert!(pending.is_superset(&failed), "{pending:?}");
        let moved = record.moved();
        assert!(moved.iter().any(|(key, ..)| key == "pending"), "{moved:?}");
    }
    assert_eq!(w.record("large").await.pending().len(), 41);
    w.apply(&module("new", 20), &[]).await.ok();
    holds(&w, "new", 20).await;
}

async fn kept_objects_move_out_too(w: World) {
    let w = low(w);
    w.apply(&module("old", 20), &[]).await.ok();
    w.apply(&module("new", 20), &["--no-prune"]).await.ok();
    let record = w.record("large").await;
    assert_eq!(record.kept().len(), 20);
    assert!(record.moved().iter().any(|(key, ..)| key == "kept"));
    w.opm(&["mod", "prune", "large", "--all", "--yes"])
        .await
        .ok();
    holds(&w, "new", 20).await;
}

async fn a_user_who_may_only_touch_named_secrets_has_large_records_too(w: World) {
    let w = low(w);
    w.apply(&module("old", 1), &[]).await.ok();
    let record = w.record("large").await.secret;
    let name = record["metadata"]["name"].as_str().unwrap();
    w.delete("large", &[]).await.ok();
    let ring = (0..64).map(|place| format!("{name}.{place:02}"));
    let names: Vec<String> = ring.chain([name.to_owned()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // An apply that creates needs the right to create, which can name names, unlike that of a POST.
    let verbs = ["get", "create", "patch", "update", "delete"];
    let all = ["get", "list", "create", "patch", "update", "delete"];
    let rights = Rights::none().allow("", &["configmaps"], &all).allow_named(
        "",
        &["secrets"],
        &names,
        &verbs,
    );
    let user = w.user(&rights).await;
    for stem in ["old", "new"] {
        w.apply_as(user.kubeconfig(), &module(stem, 40), &[])
            .await
            .ok();
        holds(&w, stem, 40).await;
    }
    let dir = w.write(&module("new", 40));
    w.opm_as(user.kubeconfig(), &["mod", "delete", &dir, "--yes"])
        .await
        .ok();
    assert_eq!(w.settled_live("large").await, Vec::<String>::new());
    w.has_no_stray_records("large").await;
}

async fn a_missing_part_is_an_error_and_never_an_empty_inventory(w: World) {
    let w = low(w);
    w.apply(&module("old", 20), &[]).await.ok();
    let record = w.record("large").await;
    let name = record.secret["metadata"]["name"].as_str().unwrap();
    let (_, _, places) = record.moved().remove(0);
    let part = format!("{name}.{}", places[0]);
    let path = opm_e2e::api::object(&format!("Secret/{part}"), &w.ns);
    let other = serde_json::json!({"data": {"inventory": "bm90aGluZw=="}});
    w.api.merge(&path, other).await;
    w.apply(&module("new", 20), &[])
        .await
        .ends(2)
        .says(&part)
        .says("opm mod repair");
    w.api.delete(&path).await;
    w.delete("large", &[]).await.ends(2).says(&part);
    assert!(w.exists("ConfigMap/old-0000").await);
    assert!(!w.exists("ConfigMap/new-0000").await);
}

async fn without_records_a_record_that_does_not_fit_is_refused(w: World) {
    if !opm_e2e::full() {
        return opm_testkit::skip("it takes long: only with --full");
    }
    // With names of two hundred and forty characters, three thousand objects are more than a Secret holds.
    let stem = "x".repeat(240);
    w.apply(&module(&stem, 3000), &["--no-record"])
        .await
        .ends(2)
        .says("--no-record");
    assert!(w.find_record("large").await.is_none());
    assert!(!w.exists(&format!("ConfigMap/{stem}-0000")).await);
}

/// Runs something, and looks at the sizes of the record's Secrets all the while. The largest
/// that was seen.
async fn watched<T>(w: &World, running: impl Future<Output = T>) -> (T, usize) {
    let mut running = std::pin::pin!(running);
    let mut largest = 0;
    loop {
        let tick = tokio::time::sleep(Duration::from_millis(200));
        let done = tokio::select! {
            done = &mut running => Some(done),
            () = tick => None,
        };
        let sizes = w.record_sizes("large").await;
        for (name, bytes) in sizes {
            assert!(bytes <= ONE_MIB, "{name} has {bytes} bytes");
            largest = largest.max(bytes);
        }
        if let Some(done) = done {
            return (done, largest);
        }
    }
}

async fn five_thousand_objects_renamed_at_once(w: World) {
    let (w, count) = match opm_e2e::scale() {
        true => (w, 5000),
        false => (low(w), 60),
    };
    let figure = |what: &str, began: Instant, largest: usize| {
        let seconds = began.elapsed().as_secs_f32();
        opm_e2e::note(&format!(
            "{what} of {count} objects: {seconds:.1} s, largest Secret {largest} bytes"
        ));
    };
    let began = Instant::now();
    let (ran, largest) = watched(&w, w.apply(&module("old", count), &[])).await;
    ran.ok();
    figure("first apply", began, largest);
    holds(&w, "old", count).await;

    // Killed in the middle of the rename: half of the new objects are there, all of the old.
    let dir = w.write(&module("new", count));
    let arguments = ["mod", "apply", dir.as_str()];
    let killed = w.killed_at(count / 2, Moment::After, &arguments);
    let (killed, _) = watched(&w, killed).await;
    assert_eq!(killed, KillOutcome::Killed);
    let pending = w.record("large").await.pending().len();
    assert_eq!(pending, count, "the intent survives");

    let began = Instant::now();
    let (ran, largest) = watched(&w, w.apply(&module("renamed", count), &[])).await;
    ran.ok();
    figure("rename, after a kill", began, largest);
    holds(&w, "renamed", count).await;

    let began = Instant::now();
    w.delete("large", &[]).await.ok();
    figure("delete", began, 0);
    assert_eq!(w.settled_live("large").await, Vec::<String>::new());
    w.has_no_stray_records("large").await;
}
