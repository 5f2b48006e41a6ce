//! Questions, and Ctrl-C at each stage of a run.

use opm_e2e::objects::{annotated, config_map, deployment};
use opm_e2e::{Fault, Module, Moment, RequestFilter, World, scenarios};

scenarios! {
    a_delete_is_asked_about_and_ctrl_c_ends_it_at_once,
    ctrl_c_while_applying_says_what_happens_next,
    a_plan_that_removes_something_is_reviewed,
    hooks_that_run_are_named_where_somebody_is_asked,
    a_way_back_is_reviewed_field_by_field,
    a_dumb_terminal_is_asked_in_lines,
}

async fn hooks_that_run_are_named_where_somebody_is_asked(w: World) {
    let Some(w) = w.with_helm() else { return };
    let hook = |name: &str, events: &str| annotated(config_map(name, "1"), "helm.sh/hook", events);
    let module = |name: &str| {
        let templates = [
            config_map(name, "1"),
            hook("before", "pre-upgrade"),
            hook("goodbye", "post-delete"),
        ];
        Module::new("web").chart("app", &templates)
    };
    w.apply(&module("a"), &[]).await.ok();
    let dir = w.write(&module("b"));
    let apply = ["mod", "apply", &dir, "-n", &w.ns];
    let mut run = w.on_terminal(140, &apply);
    run.until_it_shows("[y/N/d for details]").await;
    let screen = run.screen();
    let line = format!(
        "> ConfigMap/before in namespace {} runs as a pre-upgrade hook",
        w.ns
    );
    assert!(screen.contains(&line), "{screen}");
    assert!(!screen.contains("goodbye"), "it does not run: {screen}");
    run.types("y\n");
    assert_eq!(run.end().await.code, Some(0));
    assert!(w.exists("ConfigMap/before").await);
    let delete = ["mod", "delete", "web", "-n", &w.ns];
    let mut run = w.on_terminal(140, &delete);
    run.until_it_shows("[y/N]").await;
    let screen = run.screen();
    let line = format!(
        "> ConfigMap/goodbye in namespace {} runs as a post-delete hook",
        w.ns
    );
    assert!(screen.contains(&line), "{screen}");
    run.types("y\n");
    assert_eq!(run.end().await.code, Some(0));
}

async fn a_way_back_is_reviewed_field_by_field(w: World) {
    let module = |objects: &[serde_json::Value]| Module::new("web").component("app", objects);
    w.apply(&module(&[config_map("a", "1")]), &[]).await.ok();
    w.apply(&module(&[config_map("a", "2"), config_map("b", "1")]), &[])
        .await
        .ok();
    let rollback = ["mod", "rollback", "web", "-n", &w.ns];
    for columns in [60, 80, 140] {
        let mut run = w.on_terminal(columns, &rollback);
        run.until_it_shows("[y/N/d for details]").await;
        let screen = run.screen();
        assert!(screen.contains("ConfigMap/b"), "{screen}");
        assert!(!screen.contains("data.k"), "{screen}");
        run.types("d\n");
        run.until_it_shows("data.k: \"2\" → \"1\"").await;
        run.until_it_shows("Do this? [y/N").await;
        run.types("n\n");
        let end = run.end().await;
        assert_eq!(end.code, Some(2), "{}", end.text);
        assert!(w.exists("ConfigMap/b").await, "nothing was touched");
        let stands = w.get("ConfigMap/a").await.unwrap();
        assert_eq!(stands["data"]["k"], "2", "nothing was touched");
        assert_eq!(end.text.matches("going back to").count(), 1, "{}", end.text);
    }
    let mut run = w.on_terminal(80, &rollback);
    run.until_it_shows("[y/N/d for details]").await;
    run.interrupts();
    assert_eq!(run.end().await.code, Some(130));
    assert!(w.exists("ConfigMap/b").await, "nothing was touched");
    let mut run = w.on_terminal(80, &rollback);
    run.until_it_shows("[y/N/d for details]").await;
    run.types("y\n");
    let end = run.end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(!w.exists("ConfigMap/b").await);
}

async fn a_dumb_terminal_is_asked_in_lines(w: World) {
    let module = Module::new("web").component("app", &[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let arguments = ["mod", "delete", "web", "-n", &w.ns];
    let mut run = w.on_terminal_with(&[("TERM", "dumb")], 80, &arguments);
    run.until_it_shows("[y/N]").await;
    run.types("y\n");
    let end = run.end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(!end.raw.contains('\x1b'), "{:?}", end.raw);
    assert!(end.text.contains("deleting 1 object\n"), "{}", end.text);
}

async fn a_plan_that_removes_something_is_reviewed(w: World) {
    let module = |objects: &[serde_json::Value]| Module::new("web").component("app", objects);
    w.apply(&module(&[config_map("a", "1"), config_map("b", "1")]), &[])
        .await
        .ok();
    let dir = w.write(&module(&[config_map("a", "2")]));
    let apply = ["mod", "apply", &dir, "-n", &w.ns];
    let mut run = w.on_terminal(80, &apply);
    run.until_it_shows("[y/N/d for details]").await;
    let screen = run.screen();
    assert!(screen.contains("ConfigMap/b"), "{screen}");
    assert!(screen.contains("1 to remove"), "{screen}");
    assert!(!screen.contains("data.k"), "{screen}");
    run.types("d\n");
    run.until_it_shows("data.k: \"1\" → \"2\"").await;
    run.until_it_shows("Do this? [y/N").await;
    run.types("n\n");
    let end = run.end().await;
    assert_eq!(end.code, Some(2), "{}", end.text);
    assert!(w.exists("ConfigMap/b").await, "nothing was touched");
    // Ctrl-C ends it, too.
    let mut run = w.on_terminal(80, &apply);
    run.until_it_shows("[y/N/d for details]").await;
    run.interrupts();
    assert_eq!(run.end().await.code, Some(130));
    for flag in ["--yes", "--review=never"] {
        let end = w
            .on_terminal(80, &[&apply[..], &[flag]].concat())
            .end()
            .await;
        assert_eq!(end.code, Some(0), "{}", end.text);
        assert!(!end.text.contains("[y/N"), "{}", end.text);
    }
    // What destroys nothing is asked about only where everything is.
    let end = w.on_terminal(80, &apply).end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    let mut run = w.on_terminal_with(&[("OPM_REVIEW", "always")], 80, &apply);
    run.until_it_shows("[y/N/d for details]").await;
    run.types("y\n");
    assert_eq!(run.end().await.code, Some(0));
    w.opm(&apply).await.ok();
}

async fn a_delete_is_asked_about_and_ctrl_c_ends_it_at_once(w: World) {
    let module = Module::new("web").component("app", &[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let arguments = ["mod", "delete", "web", "-n", &w.ns];
    for columns in [60, 80, 140] {
        let mut run = w.on_terminal(columns, &arguments);
        run.until_it_shows("[y/N]").await;
        let screen = run.screen();
        assert!(screen.contains("ConfigMap/a"), "{screen}");
        assert!(screen.contains("and the release web"), "{screen}");
        run.interrupts();
        let end = run.end().await;
        assert_eq!(end.code, Some(130), "{}", end.text);
        assert!(w.exists("ConfigMap/a").await);
    }
    let mut run = w.on_terminal(80, &arguments);
    run.until_it_shows("[y/N]").await;
    run.types("n\n");
    let end = run.end().await;
    assert_eq!(end.code, Some(2), "{}", end.text);
    let mut run = w.on_terminal(80, &arguments);
    run.until_it_shows("[y/N]").await;
    run.types("y\n");
    let end = run.end().await;
    assert_eq!(end.code, Some(0), "{}", end.text);
    assert!(!w.exists("ConfigMap/a").await);
}

async fn ctrl_c_while_applying_says_what_happens_next(w: World) {
    let objects = [config_map("a", "1"), config_map("b", "1"), deployment("d")];
    let module = Module::new("web").component("app", &objects);
    let dir = w.write(&module);
    let held = RequestFilter::verb("patch")
        .and_path("/configmaps/")
        .always();
    let stall = Fault::Stall(Moment::Before, std::time::Duration::from_secs(300));
    let arguments = ["mod", "apply", &dir, "-n", &w.ns];
    let (mut run, line) = w.on_struck_terminal(&held, stall, 80, &arguments).await;
    run.until_it_shows("applying web: 0 of 3").await;
    run.until_it_shows("has not been answered for").await;
    run.interrupts();
    run.until_it_shows("stopping after 2 requests in flight")
        .await;
    line.release();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    assert!(!end.text.contains("applying web"), "{}", end.text);
    assert!(!w.record("web").await.locked());
}
