//! The live view: what is shown while a run goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use opm_e2e::objects::{config_map, deployment, never_ready};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, note, scenarios};

scenarios! {
    three_hundred_objects_over_a_slow_line,
    the_screen_lives_while_nothing_is_answered,
    a_wait_says_what_it_waits_for,
    a_live_view_without_colours,
    a_dumb_terminal_and_a_pipeline_get_lines,
    a_terminal_that_changes_its_width,
    quiet_is_quiet,
}

fn many(count: usize) -> Module {
    let objects: Vec<_> = (0..count)
        .map(|n| config_map(&format!("a-config-map-with-a-rather-long-name-{n:03}"), "1"))
        .collect();
    let (app, more) = objects.split_at(count / 2);
    Module::new("web")
        .component("app", app)
        .component("more", more)
}

async fn three_hundred_objects_over_a_slow_line(w: World) {
    let dir = w.write(&many(300));
    for (columns, flag) in [
        (60, "--name=narrow"),
        (80, "--name=usual"),
        (140, "--name=wide"),
    ] {
        let arguments = ["mod", "apply", &dir, "-n", &w.ns, flag, "--concurrency=4"];
        let round_trip = Duration::from_millis(100);
        let (run, _line) = w.on_slow_terminal(round_trip, columns, &arguments).await;
        let end = run.end().await;
        assert_eq!(end.code, Some(0), "{}", end.text);
        // The sentence that sums it up is prose, and wraps where a namespace's name is long.
        let mut too_long = end.too_long.clone();
        too_long.retain(|line| !line.contains(" in namespace "));
        assert_eq!(too_long, BTreeSet::new(), "at {columns} columns");
        let drawn = end.pictures.len();
        note(&format!(
            "{columns} columns: {drawn} pictures, still for {:?} at most",
            end.longest_still
        ));
        let counted = end.pictures.iter().filter(|p| p.contains(" of 300"));
        assert!(counted.count() > 20, "it counts on the screen");
        let components = |picture: &&String| picture.contains("app ") && picture.contains("/150");
        assert!(end.pictures.iter().any(|p| components(&p)), "components");
        // What was live is gone in the end.
        assert!(!end.text.contains(" of 300"), "{}", end.text);
        assert!(end.text.contains("300 created"), "{}", end.text);
        w.delete(flag.trim_start_matches("--name="), &["-n", &w.ns])
            .await
            .ok();
    }
}

async fn a_wait_says_what_it_waits_for(w: World) {
    let dir = w.write(&Module::new("web").component("app", &[never_ready(deployment("slow"))]));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--wait", "--timeout=10m"];
    for columns in [60, 80, 140] {
        let mut run = w.on_terminal(columns, &arguments);
        run.until_it_shows("waiting until ready: 0 of 1").await;
        run.until_it_shows("Deployment/slow: ").await;
        run.interrupts();
        let end = run.end().await;
        assert_eq!(end.code, Some(130), "{}", end.text);
        let words = "stopping to wait; the change is recorded";
        let said = end.text.replace('\n', " ");
        assert!(said.contains(words), "{}", end.text);
        let live = |line: &&String| line.contains("Deployment/slow") || line.contains(" · ");
        let too_long = end.too_long.iter().filter(live);
        assert_eq!(too_long.count(), 0, "{columns}: {:?}", end.too_long);
    }
}

/// Nothing is answered, and the screen says so again and again: it waits for pictures, not for
/// time. That half a second is never the same picture is shown where it is drawn.
async fn the_screen_lives_while_nothing_is_answered(w: World) {
    let dir = w.write(&many(300));
    let held = RequestFilter::verb("patch")
        .and_path("/configmaps/")
        .always();
    let stall = Fault::Stall(Moment::Before, Duration::from_secs(3600));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--concurrency=4"];
    let (mut run, line) = w.on_struck_terminal(&held, stall, 80, &arguments).await;
    run.until_it_shows("applying web: 0 of 300").await;
    run.until_it_shows("has not been answered for").await;
    run.until_it_changes(10).await;
    let screen = run.screen();
    assert!(screen.contains("applying web: 0 of 300"), "{screen}");
    run.interrupts();
    run.until_it_shows("stopping after 4 requests in flight")
        .await;
    line.release();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
}

/// Colours are for who wants them: what is drawn live has none where they are not wanted.
async fn a_live_view_without_colours(w: World) {
    let dir = w.write(&many(20));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--concurrency=1"];
    let round_trip = Duration::from_millis(20);
    let (run, _line) = w.on_slow_terminal(round_trip, 80, &arguments).await;
    let end = run.end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(end.raw.contains(" of 20"), "{:?}", end.raw);
    for code in 30..=37 {
        assert!(!end.raw.contains(&format!("[{code}m")), "{:?}", end.raw);
    }
}

async fn a_dumb_terminal_and_a_pipeline_get_lines(w: World) {
    // What does not change is not sent, and nothing is said of it.
    let write = |value| w.write(&Module::new("web").component("app", &[config_map("a", value)]));
    for (value, variable) in [("1", ("TERM", "dumb")), ("2", ("GITHUB_ACTIONS", "true"))] {
        let arguments = ["mod", "apply", &write(value), "-n", &w.ns];
        let end = w.on_terminal_with(&[variable], 80, &arguments).end().await;
        assert_eq!(end.code, Some(0), "{}", end.text);
        assert!(!end.raw.contains('\x1b'), "{variable:?}: {:?}", end.raw);
        assert!(end.text.contains("applying 1 object\n"), "{}", end.text);
    }
    let arguments = ["mod", "apply", &write("3"), "-n", &w.ns];
    let piped = w.opm(&arguments).await.ok();
    let piped = piped.says("applying 1 object\n");
    assert!(!piped.stdout().contains("applying"), "{piped}");
}

async fn a_terminal_that_changes_its_width(w: World) {
    let dir = w.write(&Module::new("web").component("app", &[never_ready(deployment("slow"))]));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "--wait", "--timeout=10m"];
    let mut run = w.on_terminal(140, &arguments);
    run.until_it_shows("Deployment/slow: ").await;
    run.resizes(40).await;
    run.until_it_shows("waiting until ready: 0 of 1").await;
    run.until_it_shows("…").await;
    // What was cut is whole again as soon as there is room.
    run.resizes(140).await;
    run.until_it_shows("pods are available").await;
    run.resizes(60).await;
    run.until_it_changes(3).await;
    run.interrupts();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    let live = ["waiting until ready", "Deployment/slow"];
    let too_long = end.too_long.iter();
    let too_long = too_long.filter(|line| live.iter().any(|words| line.contains(words)));
    assert_eq!(too_long.count(), 0, "{:?}", end.too_long);
}

async fn quiet_is_quiet(w: World) {
    let dir = w.write(&Module::new("web").component("app", &[config_map("a", "1")]));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns, "-q", "-o", "json"];
    let end = w.on_terminal(80, &arguments).end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(!end.raw.contains('\x1b'), "{:?}", end.raw);
    let printed = end.raw.replace('\r', "");
    serde_json::from_str::<serde_json::Value>(&printed).expect("nothing but the document");
    let piped = w.opm(&arguments).await.ok();
    let printed: serde_json::Value = piped.json();
    assert_eq!(printed["resources"][0]["action"], "unchanged");
}
