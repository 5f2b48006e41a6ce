//! kill −9 right before and right after single requests of a rollback, and faults instead of the
//! kill: the next run, whichever it is, ends in the right state. A sample in the ordinary run,
//! every request in the full one.

use std::time::Duration;

use opm_e2e::objects::{config_map, deployment, secret, service};
use opm_e2e::{Fault, KillOutcome, Module, Moment, World, scenarios};

scenarios! {
    killed_rollback,
    disturbed_rollback,
}

/// How many requests of a run are tried when not all of them are.
const SAMPLE: usize = 4;

/// A module whose objects but one are named after `stem`.
fn module(release: &str, stem: &str) -> Module {
    let name = |kind: &str| format!("{release}-{stem}-{kind}");
    Module::new(release).component(
        "app",
        &[
            config_map(&format!("{release}-stays"), stem),
            config_map(&name("one"), "1"),
            secret(&name("key"), "a long secret"),
            service(&name("web")),
            deployment(&name("web")),
        ],
    )
}

async fn holds(w: &World, release: &str, stem: &str) {
    let name = |kind: &str| format!("{release}-{stem}-{kind}");
    let objects = [
        format!("ConfigMap/{release}-stays"),
        format!("ConfigMap/{}", name("one")),
        format!("Secret/{}", name("key")),
        format!("Service/{}", name("web")),
        format!("Deployment/{}", name("web")),
    ];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    w.holds_exactly(release, &objects).await;
    let stays = w.get(&format!("ConfigMap/{release}-stays")).await;
    assert_eq!(stays.unwrap()["data"]["k"], stem, "{release}");
}

/// Two changes: the one to go back to, and the current one.
async fn two_changes(w: &World, release: &str) -> String {
    let first = w.apply(&module(release, "v1"), &[]).await.ok().json();
    w.apply(&module(release, "v2"), &[]).await.ok();
    first["changeId"].as_str().unwrap().to_owned()
}

/// What somebody does after it; each must end clean.
async fn recover(w: &World, release: &str, how: usize, first: &str) {
    match how % 4 {
        0 => {
            let arguments = ["mod", "rollback", release, "--revision", first];
            w.opm(&arguments).await.ok();
            holds(w, release, "v1").await;
        }
        1 => {
            w.apply(&module(release, "v2"), &[]).await.ok();
            holds(w, release, "v2").await;
        }
        2 => {
            // To wherever it goes by itself: all of the one or all of the other.
            w.opm(&["mod", "rollback", release]).await.ok();
            let at_first = w.record(release).await.index()[0] == first;
            holds(w, release, if at_first { "v1" } else { "v2" }).await;
        }
        _ => {
            w.delete(release, &[]).await.ok();
            assert_eq!(w.settled_live(release).await, Vec::<String>::new());
            assert!(w.find_record(release).await.is_none(), "{release}");
            w.has_no_stray_records(release).await;
        }
    }
}

async fn killed_rollback(w: World) {
    two_changes(&w, "probe").await;
    let requests = w.requests_of(&["mod", "rollback", "probe"]).await;
    let all = (1..=requests).flat_map(|n| [(n, Moment::Before), (n, Moment::After)]);
    let all: Vec<(usize, Moment)> = all.collect();
    let step = match opm_e2e::full() {
        true => 1,
        false => (all.len() / SAMPLE).max(1) | 1,
    };
    for (index, (nth, moment)) in all.into_iter().step_by(step).enumerate() {
        let release = format!("killed{index}");
        let first = two_changes(&w, &release).await;
        let killed = w
            .killed_at(nth, moment, &["mod", "rollback", &release])
            .await;
        assert_ne!(killed, KillOutcome::Failed, "request {nth}, {moment:?}");
        recover(&w, &release, index, &first).await;
    }
}

async fn disturbed_rollback(w: World) {
    two_changes(&w, "probe").await;
    let requests = w.requests_of(&["mod", "rollback", "probe"]).await;
    let faults = [
        Fault::conflict(),
        Fault::too_many_requests(1),
        Fault::internal_error(),
        Fault::unavailable(),
        Fault::forbidden(),
        Fault::Reset(Moment::Before),
        Fault::Reset(Moment::After),
        Fault::Stall(Moment::Before, Duration::from_millis(300)),
    ];
    let step = match opm_e2e::full() {
        true => 1,
        false => requests,
    };
    for (index, fault) in faults.iter().enumerate() {
        // Another place for each fault.
        let from = 1 + (index * requests / faults.len()) % step;
        for nth in (from..=requests).step_by(step) {
            let release = format!("fault{index}x{nth}");
            let first = two_changes(&w, &release).await;
            let arguments = ["mod", "rollback", &release];
            let ran = w.disturbed_at(nth, fault.clone(), &arguments).await;
            match ran.code() {
                0 => {
                    // What could not be removed, the next run removes.
                    if ran
                        .to_string()
                        .contains("older changes could not be removed")
                    {
                        w.opm(&["mod", "rollback", &release, "--revision", &first])
                            .await
                            .ok();
                    }
                    holds(&w, &release, "v1").await;
                }
                1 | 2 | 3 | 4 | 7 | 8 => recover(&w, &release, nth + index, &first).await,
                _ => panic!("{fault:?} at {nth}: {ran}"),
            }
        }
    }
}
