//! Ctrl-C at each stage of a run: what is said, how it ends, and what is left.

use std::time::Duration;

use opm_e2e::objects::{config_map, deployment, never_ready};
use opm_e2e::{Fault, Module, Moment, RequestFilter, TerminalEnd, World, scenarios};
use serde_json::Value;

scenarios! {
    while_the_record_is_read,
    while_objects_are_looked_at,
    while_stale_objects_are_removed,
    while_a_release_is_deleted,
    while_the_last_object_is_deleted,
    while_it_waits_and_there_is_a_way_back,
    twice_ends_at_once,
}

fn module(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// Runs a command whose requests of this kind are held, presses Ctrl-C once it shows `shows`, lets
/// them go once it says `says`, and returns how it ended.
async fn interrupted(
    w: &World,
    held: RequestFilter,
    arguments: &[&str],
    (shows, says): (&str, &str),
) -> TerminalEnd {
    let stall = Fault::Stall(Moment::Before, Duration::from_secs(3600));
    let held = held.always();
    let (mut run, line) = w.on_struck_terminal(&held, stall, 80, arguments).await;
    run.until_it_shows(shows).await;
    line.until_held().await;
    run.interrupts();
    run.until_it_shows(says).await;
    line.release();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    // Nothing of what was drawn is left, and the cursor is there again.
    assert!(!end.text.contains(" · "), "{}", end.text);
    assert!(!end.raw.contains("\x1b[?25l") || end.raw.contains("\x1b[?25h"));
    end
}

async fn while_the_record_is_read(w: World) {
    let dir = w.write(&module(&[config_map("a", "1")]));
    let words = ("reading the record", "stopping; nothing was changed");
    let arguments = ["mod", "apply", &dir, "-n", &w.ns];
    interrupted(&w, RequestFilter::path("/secrets"), &arguments, words).await;
    assert!(!w.exists("ConfigMap/a").await);
}

async fn while_objects_are_looked_at(w: World) {
    let objects = [config_map("a", "1"), deployment("d")];
    w.apply(&module(&objects), &[]).await.ok();
    let dir = w.write(&module(&[config_map("a", "2"), deployment("d")]));
    let words = ("looking at 2 objects", "stopping; nothing was changed");
    let arguments = ["mod", "apply", &dir, "-n", &w.ns];
    interrupted(&w, RequestFilter::path("/deployments"), &arguments, words).await;
    let stands = w.get("ConfigMap/a").await.unwrap();
    assert_eq!(stands["data"]["k"], "1");
}

async fn while_stale_objects_are_removed(w: World) {
    let all = [
        config_map("a", "1"),
        config_map("b", "1"),
        config_map("c", "1"),
    ];
    w.apply(&module(&all), &[]).await.ok();
    let dir = w.write(&module(&[config_map("a", "2")]));
    let held = RequestFilter::verb("delete").and_path("/configmaps/");
    let words = (
        "removing what became stale: 0 of 2",
        "after 1 request in flight",
    );
    let arguments = [
        "mod",
        "apply",
        &dir,
        "-n",
        &w.ns,
        "--yes",
        "--concurrency=1",
    ];
    interrupted(&w, held, &arguments, words).await;
    assert!(!w.record("web").await.locked());
    // The next apply goes on where this one was stopped.
    w.apply(&module(&[config_map("a", "2")]), &[]).await.ok();
    assert_eq!(w.live("web").await, ["ConfigMap/a"]);
}

async fn while_a_release_is_deleted(w: World) {
    // More than are ever sent at a time, however far away the server seems.
    let all: Vec<Value> = (0..120)
        .map(|n| config_map(&format!("c-{n}"), "1"))
        .collect();
    w.apply(&module(&all), &[]).await.ok();
    let held = RequestFilter::verb("delete").and_path("/configmaps/");
    let words = ("deleting web: 0 of 120", "in flight");
    let arguments = ["mod", "delete", "web", "-n", &w.ns, "--yes"];
    interrupted(&w, held, &arguments, words).await;
    assert!(!w.record("web").await.locked());
    w.delete("web", &[]).await.ok();
    assert!(w.live("web").await.is_empty());
}

/// Nothing is left to stop: the delete is done, and leaves no record behind.
async fn while_the_last_object_is_deleted(w: World) {
    w.apply(&module(&[config_map("a", "1")]), &[]).await.ok();
    let held = RequestFilter::verb("delete").and_path("/configmaps/");
    let stall = Fault::Stall(Moment::Before, Duration::from_secs(3600));
    let arguments = ["mod", "delete", "web", "-n", &w.ns, "--yes"];
    let (mut run, line) = w.on_struck_terminal(&held, stall, 80, &arguments).await;
    run.until_it_shows("deleting web: 0 of 1").await;
    line.until_held().await;
    run.interrupts();
    run.until_it_shows("after 1 request in flight").await;
    line.release();
    let end = run.end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(w.live("web").await.is_empty());
    let listed = w.opm(&["mod", "list", "-o", "json"]).await.ok().json();
    assert_eq!(listed["releases"].as_array().unwrap().len(), 0, "{listed}");
}

async fn while_it_waits_and_there_is_a_way_back(w: World) {
    w.apply(&module(&[config_map("a", "1")]), &[]).await.ok();
    let slow = [config_map("a", "2"), never_ready(deployment("slow"))];
    let dir = w.write(&module(&slow));
    let arguments = [
        "mod",
        "apply",
        &dir,
        "-n",
        &w.ns,
        "--atomic",
        "--timeout=10m",
    ];
    let mut run = w.on_terminal(80, &arguments);
    run.until_it_shows("waiting until ready: 0 of 1").await;
    run.interrupts();
    run.until_it_shows("going back to ").await;
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    let stands = w.get("ConfigMap/a").await.unwrap();
    assert_eq!(stands["data"]["k"], "1");
    assert!(!w.exists("Deployment/slow").await);
}

async fn twice_ends_at_once(w: World) {
    let dir = w.write(&module(&[config_map("a", "1")]));
    let held = RequestFilter::verb("patch").and_path("/configmaps/");
    let stall = Fault::Stall(Moment::Before, Duration::from_secs(3600));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns];
    let (mut run, line) = w.on_struck_terminal(&held, stall, 80, &arguments).await;
    line.until_held().await;
    run.interrupts();
    run.until_it_shows("press Ctrl-C again to stop at once")
        .await;
    run.interrupts();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    assert!(!end.text.contains(" · "), "{}", end.text);
    line.release();
}
