//! `status --watch` on a screen.

use opm_e2e::objects::{config_map, deployment, never_ready};
use opm_e2e::{Module, World, scenarios};

scenarios! {
    a_watch_fills_the_screen_and_gives_it_back,
    a_dumb_terminal_gets_lines,
}

async fn a_watch_fills_the_screen_and_gives_it_back(w: World) {
    let mut objects: Vec<_> = (0..60)
        .map(|n| config_map(&format!("c-{n:02}"), "1"))
        .collect();
    objects.push(never_ready(deployment("slow")));
    let module = Module::new("web").component("app", &objects);
    w.apply(&module, &[]).await.ok();
    let arguments = ["mod", "status", "web", "-n", &w.ns, "--watch"];
    for columns in [60, 80, 140] {
        let mut run = w.on_terminal(columns, &arguments);
        run.until_it_shows("Ctrl-C ends the watch").await;
        assert!(run.is_full_screen());
        let screen = run.screen();
        let first = screen.lines().next().unwrap();
        assert!(first.starts_with("web in namespace"), "{screen}");
        // What is not ready is always among what is shown.
        assert!(screen.contains("Deployment/slow"), "{screen}");
        assert!(screen.contains("… and "), "{screen}");
        // Narrower and wider again: it is drawn anew, and fits.
        for other in [50, columns] {
            run.resizes(other).await;
            run.until_it_fits().await;
            run.until_it_shows("Ctrl-C ends the watch").await;
        }
        run.interrupts();
        let end = run.end().await;
        assert_eq!(end.code, Some(130), "{}", end.text);
        // The sentences that are left in the end may take two lines.
        let prose = ["in namespace", "stopping"];
        let is_prose = |line: &&String| prose.iter().any(|words| line.contains(words));
        let too_long = end.too_long.iter().filter(|line| !is_prose(line));
        assert_eq!(too_long.count(), 0, "{columns}: {:?}", end.too_long);
        assert!(end.raw.contains("\x1b[?1049l"), "{:?}", end.raw);
        assert!(end.text.contains("ConfigMap/c-59"), "{}", end.text);
    }
}

async fn a_dumb_terminal_gets_lines(w: World) {
    let module = Module::new("web").component("app", &[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let arguments = ["mod", "status", "web", "-n", &w.ns, "--watch"];
    let mut run = w.on_terminal_with(&[("TERM", "dumb")], 80, &arguments);
    run.until_it_shows("ConfigMap/a").await;
    run.until_it_shows("Ready (1 object)").await;
    run.interrupts();
    let end = run.end().await;
    assert_eq!(end.code, Some(130), "{}", end.text);
    assert!(!end.raw.contains('\x1b'), "{:?}", end.raw);
}
