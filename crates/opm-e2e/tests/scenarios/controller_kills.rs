//! kill −9 of the controller right before and right after each of its writes, and of the reads
//! between them; the next one converges. Every point in the full run, a sample in the ordinary one.

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Module, Moment, RequestFilter, Seed, World, scenarios};
use serde_json::{Value, json};

use crate::flows::Bystanders;

scenarios! {
    killed_while_it_applies,
    killed_while_it_upgrades,
    killed_while_it_deletes,
}

/// How many points are tried when not all of them are.
const SAMPLE: usize = 2;

/// What is going on when it is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Apply,
    Upgrade,
    Delete,
}

async fn killed_while_it_applies(w: World) {
    kill_everywhere(w, Stage::Apply).await;
}

async fn killed_while_it_upgrades(w: World) {
    kill_everywhere(w, Stage::Upgrade).await;
}

async fn killed_while_it_deletes(w: World) {
    kill_everywhere(w, Stage::Delete).await;
}

fn old() -> Vec<Value> {
    vec![
        config_map("a", "1"),
        config_map("gone", "1"),
        secret("key", "1"),
    ]
}

fn new() -> Vec<Value> {
    vec![config_map("a", "2"), secret("key", "2"), service("web")]
}

const OLD: [&str; 3] = ["ConfigMap/a", "ConfigMap/gone", "Secret/key"];
const NEW: [&str; 3] = ["ConfigMap/a", "Secret/key", "Service/web"];

async fn put(w: &World, objects: &[Value]) {
    w.put_module("source", &Module::new("web").component("app", objects))
        .await;
}

/// Everything up to the moment at which the controller is started that is killed.
async fn prepare(w: &World, stage: Stage) {
    put(w, &old()).await;
    w.put_release("web", json!({"module": {"configMap": {"name": "source"}}}))
        .await;
    if stage == Stage::Apply {
        return;
    }
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    running.interrupt();
    running.end().await;
    match stage {
        Stage::Upgrade => put(w, &new()).await,
        _ => w.remove_release("web").await,
    }
}

/// Another controller finishes it.
async fn finish(w: &World, stage: Stage) {
    let running = w.start_controller(&[]);
    match stage {
        Stage::Apply => {
            w.until_ready("web").await;
            w.until("it is recorded", || async {
                w.is_recorded("web", &OLD).await
            })
            .await;
            w.holds_exactly("web", &OLD).await;
        }
        Stage::Upgrade => {
            w.until("it is recorded", || async {
                w.is_recorded("web", &NEW).await
            })
            .await;
            w.until_ready("web").await;
            w.holds_exactly("web", &NEW).await;
        }
        Stage::Delete => {
            w.until_release_is_gone("web").await;
            assert_eq!(w.settled_live("web").await, Vec::<String>::new());
        }
    }
    // What is left is deleted for the next round.
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    running.interrupt();
    running.end().await;
    w.until("its record is gone", || async {
        w.find_record("web").await.is_none()
    })
    .await;
}

async fn kill_everywhere(w: World, stage: Stage) {
    let w = w.with_env("OPM_LOCK_TTL", "2s");
    w.define_resource().await;
    let bystanders = Bystanders::put(&w).await;
    prepare(&w, stage).await;
    let probe = w.start_relayed_controller(&[]).await;
    match stage {
        Stage::Delete => w.until_release_is_gone("web").await,
        Stage::Apply => {
            w.until_ready("web").await;
        }
        Stage::Upgrade => {
            w.until("it is recorded", || async {
                w.is_recorded("web", &NEW).await
            })
            .await;
        }
    }
    let requests = probe.requests();
    let last = requests
        .iter()
        .rposition(|one| !["get", "list", "watch"].contains(&one.verb.as_str()));
    let last = last.expect("it wrote something") + 1;
    drop(probe);
    finish(&w, stage).await;
    let points = (1..=last).flat_map(|nth| [(nth, Moment::Before), (nth, Moment::After)]);
    let all: Vec<(usize, Moment)> = points.collect();
    let chosen = match opm_e2e::full() {
        true => all,
        false => Seed::of_this_run("controller").some_of(all, SAMPLE),
    };
    let tried = chosen.len();
    for (nth, moment) in chosen {
        opm_e2e::trying(&format!(
            "{stage:?}: killed {moment:?} request {nth} of {last}"
        ));
        prepare(&w, stage).await;
        let killed = w
            .start_controller_to_be_killed(&[], RequestFilter::nth(nth), moment)
            .await;
        killed.until_killed().await;
        finish(&w, stage).await;
    }
    bystanders.are_untouched(&w).await;
    opm_e2e::note(&format!(
        "{stage:?} by the controller: {last} requests, {tried} kills, nothing lost"
    ));
}
