//! The page on a narrow screen, and without its script.

use opm_e2e::{World, scenarios};
use serde_json::json;

use crate::page::{Page, picture, prepare, web};

scenarios! {
    a_narrow_screen_needs_no_scrolling_sideways,
    without_script_every_page_is_whole,
}

async fn a_narrow_screen_needs_no_scrolling_sideways(w: World) {
    prepare(&w).await;
    let dir = w.write(&web("4"));
    let log = format!("2026-01-01T00:00:01Z {}\n", "a-long-word".repeat(40));
    let Some(page) = Page::open(&w, &[&dir, "--allow-changes"], &log).await else {
        return;
    };
    let browser = &page.browser;
    browser.has_screen(360, 800).await;
    let release = |place: &str| format!("{}{place}", page.release);
    for (name, place) in [
        ("releases", "/".to_owned()),
        ("status", release("")),
        ("tree", release("/tree")),
        ("object", page.object(&w, "", "ConfigMap", "settings")),
        ("pod", page.object(&w, "", "Pod", "web-1")),
        ("history", release("/history")),
        ("rollback", release("/rollback")),
        ("manifests", release("/manifests")),
        ("events", release("/events")),
        ("logs", release("/logs")),
        ("plan", "/plan".to_owned()),
        ("delete", release("/delete")),
        ("failure", "/releases/default/nobody".to_owned()),
    ] {
        page.go(&place).await;
        let script = "const page = document.documentElement; \
                      return [innerWidth, page.scrollWidth - page.clientWidth]";
        assert_eq!(browser.run(script, &[]).await, json!([360, 0]), "{name}");
        browser
            .picture(&picture(&w, &format!("{name}-narrow")))
            .await;
    }
    page.close().await;
}

async fn without_script_every_page_is_whole(w: World) {
    prepare(&w).await;
    let Some(page) = Page::open(&w, &["--allow-changes"], "").await else {
        return;
    };
    let browser = &page.browser;
    browser.without_script().await;
    page.go(&format!("/?q={}", w.ns)).await;
    assert!(browser.text().await.contains("web"));
    // Nothing comes by itself: what is not known yet can be waited for.
    let wait = "Wait until all is known";
    if browser.text().await.contains(wait) {
        browser.follow(wait).await;
    }
    assert!(!browser.text().await.contains('…'));
    browser.follow("web").await;
    for (tab, expected) in [
        ("Status", "data.k by intruder"),
        ("Tree", "Pod/web-1"),
        ("History", "Changes and deployments"),
        ("Manifests", "As applied in"),
        ("Events", "Events"),
        ("Logs", "main of app"),
    ] {
        browser.follow(tab).await;
        if browser.text().await.contains("being looked at") {
            browser.follow("Wait until all is known").await;
        }
        let text = browser.text().await;
        assert!(text.contains(expected), "{tab}: {text}");
    }
    page.go_to_release("/rollback").await;
    browser.write("#confirm", "web").await;
    browser.click(".doing button").await;
    opm_testkit::until("a page that is loaded by hand tells the end", async || {
        browser.reload().await;
        browser.text().await.contains("succeeded")
    })
    .await;
    page.close().await;
}
