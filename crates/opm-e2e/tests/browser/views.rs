//! Every view, in light and dark, checked for accessibility, and kept as a picture.

use opm_e2e::{World, scenarios};
use opm_testkit::browser::axe_source;

use crate::page::{Page, picture, prepare, web};

scenarios! {
    every_view_can_be_seen_and_read_by_everybody,
}

async fn every_view_can_be_seen_and_read_by_everybody(w: World) {
    let Some(axe) = axe_source() else { return };
    prepare(&w).await;
    let dir = w.write(&web("4"));
    let log = "2026-01-01T00:00:01Z listening on :8080\n2026-01-01T00:00:02Z GET / 200\n";
    let Some(page) = Page::open(&w, &[&dir, "--allow-changes"], log).await else {
        return;
    };
    let browser = &page.browser;
    let release = |place: &str| format!("{}{place}", page.release);
    let views = [
        ("releases", format!("/?q={}", w.ns), "1 drifted"),
        ("status", release(""), "data.k by intruder"),
        (
            "kept",
            release(""),
            "opm mod prune web PersistentVolumeClaim/uploads",
        ),
        ("tree", release("/tree"), "Pod/web-1"),
        (
            "object",
            page.object(&w, "", "ConfigMap", "settings"),
            "intruder",
        ),
        (
            "secret",
            page.object(&w, "", "Secret", "token"),
            "password: \"(masked)\"",
        ),
        ("pod", page.object(&w, "", "Pod", "web-1"), "GET / 200"),
        (
            "deployment",
            page.object(&w, "apps", "Deployment", "web"),
            "listening on :8080",
        ),
        ("history", release("/history"), "#2 apply"),
        ("rollback", release("/rollback"), "Type web to confirm"),
        ("prune", release("/prune"), "Type web to confirm"),
        ("manifests", release("/manifests"), "As applied in"),
        ("events", release("/events"), "Events"),
        ("logs", release("/logs"), "listening on :8080"),
        ("plan", "/plan".to_owned(), "Would change"),
        ("delete", release("/delete"), "Type web to confirm"),
        ("unlock", release("/unlock"), "Nobody holds it."),
        ("failure", "/releases/default/nobody".to_owned(), "nobody"),
    ];
    for (name, place, expected) in &views {
        page.go(place).await;
        browser.until_it_shows(expected).await;
        see(&w, &page, &axe, name).await;
    }
    page.go_to_release("/history").await;
    browser.click("form button").await;
    browser.until_it_shows("data.k").await;
    see(&w, &page, &axe, "compare").await;
    page.close().await;
    let kept = picture(&w, "releases-light");
    eprintln!("pictures are in {}", kept.parent().unwrap().display());
}

/// Nothing is against a view in either colours, and pictures of it are kept.
async fn see(w: &World, page: &Page, axe: &str, name: &str) {
    let browser = &page.browser;
    for (dark, colours) in [(false, "light"), (true, "dark")] {
        browser.prefers_dark(dark).await;
        let violations = browser.violations(axe).await;
        assert_eq!(violations, Vec::<String>::new(), "{name}, {colours}");
        let file = picture(w, &format!("{name}-{colours}"));
        browser.picture(&file).await;
    }
    browser.prefers_dark(false).await;
    let html = browser.run("return document.documentElement.outerHTML", &[]);
    let html = html.await.to_string();
    for hidden in ["hidden-41", "a canary sings", "aGlkZGVuLTQx"] {
        assert!(!html.contains(hidden), "{name}: {hidden} in {html}");
    }
}
