//! Ctrl-C in the middle of an apply, of a prune and of a delete: once stops cleanly, twice stops
//! now, and either way nothing is forgotten.

use opm_e2e::{RequestFilter, World, scenarios};

use crate::flows::{Flow, Recovery};

scenarios! {
    interrupted_while_applying,
    interrupted_while_pruning,
    interrupted_while_deleting,
}

async fn interrupted_while_applying(w: World) {
    let sending = || RequestFilter::verb("patch").and_path("/services/");
    once(&w, Flow::Upgrade, sending()).await;
    twice(&w, Flow::Upgrade, sending()).await;
    once(&w, Flow::FirstApply, sending()).await;
}

async fn interrupted_while_pruning(w: World) {
    let pruning = || RequestFilter::verb("delete").and_path("/services/");
    once(&w, Flow::Upgrade, pruning()).await;
    twice(&w, Flow::AfterTwoFailures, pruning()).await;
}

async fn interrupted_while_deleting(w: World) {
    let deleting = || RequestFilter::verb("delete").and_path("/services/");
    once(&w, Flow::Delete, deleting()).await;
    twice(&w, Flow::Delete, deleting()).await;
}

async fn interrupted(w: &World, flow: Flow, at: RequestFilter, times: usize) -> String {
    let release = format!("{}{times}", flow.word());
    flow.prepare(w, &release).await;
    let command = flow.command(w, &release);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    w.interrupted_at(at, times, &command).await.ends(130);
    release
}

/// The lock is released, and what was begun is in the record.
async fn once(w: &World, flow: Flow, at: RequestFilter) {
    let release = interrupted(w, flow, at, 1).await;
    let record = w.record(&release).await;
    assert!(!record.locked(), "{flow:?}: the lock is released");
    assert_eq!(record.results()[0], "interrupted", "{flow:?}");
    let known =
        |object: &String| record.inventory().contains(object) || record.pending().contains(object);
    let live = w.live(&release).await;
    let unknown: Vec<&String> = live.iter().filter(|object| !known(object)).collect();
    assert!(unknown.is_empty(), "{flow:?}: {unknown:?} are forgotten");
    Recovery::Same.run(flow, w, &release).await;
}

/// The holder is dead, so the next run takes over at once.
async fn twice(w: &World, flow: Flow, at: RequestFilter) {
    let release = interrupted(w, flow, at, 2).await;
    Recovery::Same.run(flow, w, &release).await;
}
