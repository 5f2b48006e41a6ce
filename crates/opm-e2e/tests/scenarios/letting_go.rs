//! Shared objects under pressure: released by all at once, and by runs that are cut short.

use opm_e2e::api;
use opm_e2e::objects::{cluster_role, config_map, shared};
use opm_e2e::{KillOutcome, Moment, World, full, note, scenarios, set};
use serde_json::Value;

use crate::shared::{UUID, release, sharing};

scenarios! {
    releases_that_let_go_at_the_same_moment_leave_nothing,
    what_is_cut_short_is_completed_by_the_next_run,
}

async fn releases_that_let_go_at_the_same_moment_leave_nothing(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    let rounds = if full() { 20 } else { 4 };
    for round in 0..rounds {
        let names = ["a", "b", "c"];
        for name in names {
            w.apply(&release(name, &[shared(cluster_role(&role))]), &[])
                .await
                .ok();
        }
        let deletes = names.map(|name| w.delete(name, &[]));
        for ran in futures::future::join_all(deletes).await {
            ran.ok();
        }
        assert!(!w.exists(&spelled).await, "round {round}");
        for name in names {
            assert!(w.find_record(name).await.is_none());
        }
    }
    note(&format!(
        "shared object: {rounds} rounds of 3 releases letting go at once, 0 left over"
    ));
}

/// Becoming shared, ceasing to be, letting go and forgetting take more than one request. Killed
/// after any of them, the same command again ends in the same state.
async fn what_is_cut_short_is_completed_by_the_next_run(w: World) {
    let role = w.name("cut-short");
    let spelled = format!("ClusterRole/{role}");
    let path = api::object(&spelled, "");
    let write = |name: &str, objects: &[Value]| {
        let dir = w.dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        release("a", objects).write(&dir).display().to_string()
    };
    let own = write("own", &[cluster_role(&role), config_map("a", "1")]);
    let sharing_it = write(
        "shared",
        &[shared(cluster_role(&role)), config_map("a", "1")],
    );
    let other = release("b", &[shared(cluster_role(&role))]);
    let mut kills = 0;
    let cases: [(&str, Vec<&str>); 4] = [
        ("becomes shared", vec!["mod", "apply", &sharing_it]),
        ("ceases to be shared", vec!["mod", "apply", &own]),
        ("is let go of", vec!["mod", "delete", "a", "--yes"]),
        ("is forgotten", vec!["mod", "forget", "a", &spelled]),
    ];
    for (what, command) in cases {
        let begin = match what {
            "becomes shared" => &own,
            _ => &sharing_it,
        };
        let with_other = what == "is let go of" || what == "is forgotten";
        let prepare = || async {
            w.opm(&["mod", "apply", begin]).await.ok();
            if with_other {
                w.apply(&other, &[]).await.ok();
            }
        };
        prepare().await;
        // Every request, or only those that write the object itself.
        let writes = format!("{role}?fieldManager");
        let part = if full() { "/" } else { &writes };
        let requests = w.requests_about(part, &command).await;
        assert!(!requests.is_empty(), "{what}");
        clean(&w, &path).await;
        for nth in requests {
            prepare().await;
            let uid = w.uid(&spelled).await;
            if w.killed_at(nth, Moment::After, &command).await == KillOutcome::Killed {
                kills += 1;
                let again = [&command[..], &["--lock-timeout", "10m"]].concat();
                let ran = w.opm(&again).await;
                assert!(
                    matches!(ran.code(), 0 | 5),
                    "{what}, killed after {nth}: {ran}"
                );
            }
            let live = w
                .get(&spelled)
                .await
                .unwrap_or_else(|| panic!("{what}: gone after {nth}"));
            assert_eq!(live["metadata"]["uid"], uid, "{what}, killed after {nth}");
            assert_eq!(
                live["rules"],
                cluster_role(&role)["rules"],
                "{what}, killed after {nth}"
            );
            let (shares, is_own) = (sharing(&live), live["metadata"]["labels"][UUID].is_string());
            let expected = match what {
                "becomes shared" => (set(["a"]), false),
                "ceases to be shared" => (set([]), true),
                _ => (set(["b"]), false),
            };
            assert_eq!(
                (shares, is_own),
                expected,
                "{what}, killed after {nth}: {live}"
            );
            clean(&w, &path).await;
        }
    }
    note(&format!(
        "shared objects: {kills} kill points, 0 objects lost or left behind"
    ));
}

async fn clean(w: &World, path: &str) {
    for name in ["a", "b"] {
        let flags = ["--ignore-not-found", "--lock-timeout", "10m"];
        w.delete(name, &flags).await.ok();
    }
    w.api.delete(path).await;
    w.api.delete(&api::object("ConfigMap/a", &w.ns)).await;
}
