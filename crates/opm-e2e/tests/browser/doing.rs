//! What is done from the page: with the release's name typed, with the keyboard alone, and not at
//! all where it is refused.

use opm_e2e::{RequestFilter, World, api, scenarios};
use opm_testkit::browser::keys;

use crate::page::{Page, prepare, web};

scenarios! {
    a_rollback_is_confirmed_by_the_name_of_the_release,
    the_keyboard_is_enough,
    what_is_refused_says_why,
}

async fn value(w: &World) -> serde_json::Value {
    let live = w.api.get(&api::object("ConfigMap/settings", &w.ns)).await;
    live.unwrap()["data"]["k"].clone()
}

async fn a_rollback_is_confirmed_by_the_name_of_the_release(w: World) {
    prepare(&w).await;
    let Some(page) = Page::open(&w, &["--allow-changes"], "").await else {
        return;
    };
    let browser = &page.browser;
    page.go_to_release("/history").await;
    browser.follow("Going back").await;
    browser.until_it_shows("What going back would do").await;
    assert_eq!(value(&w).await, "3");
    // Another name does nothing.
    browser.write("#confirm", "wbe").await;
    browser.click(".doing button").await;
    browser.until_it_shows("nothing was done").await;
    assert_eq!(value(&w).await, "3");
    page.go_to_release("/rollback").await;
    browser.write("#confirm", "web").await;
    browser.click(".doing button").await;
    browser.until_it_shows("succeeded").await;
    assert!(browser.address().await.contains("/runs/"));
    assert_eq!(value(&w).await, "1");
    page.close().await;
}

async fn the_keyboard_is_enough(w: World) {
    prepare(&w).await;
    let Some(page) = Page::open(&w, &["--allow-changes"], "").await else {
        return;
    };
    let browser = &page.browser;
    page.go(&format!("/?q={}", w.ns)).await;
    // The first thing that is reached leads past everything that stands on every page.
    browser.press(keys::TAB).await;
    assert_eq!(focused(&page).await, "To the content");
    for name in ["web", "History", "Going back"] {
        reach(&page, name).await;
        browser.press(keys::ENTER).await;
        opm_testkit::until("another page is there", async || {
            focused(&page).await != name
        })
        .await;
    }
    browser.until_it_shows("Type web to confirm").await;
    let at_field = "return document.activeElement.id === 'confirm'";
    for _ in 0..100 {
        browser.press(keys::TAB).await;
        if browser.run(at_field, &[]).await == true {
            break;
        }
    }
    assert_eq!(browser.run(at_field, &[]).await, true);
    browser.press("web").await;
    browser.press(keys::ENTER).await;
    browser.until_it_shows("succeeded").await;
    assert_eq!(value(&w).await, "1");
    page.close().await;
}

/// The text of what has the focus; what has it can be seen to have it.
async fn focused(page: &Page) -> String {
    let script = "const one = document.activeElement; return [one.innerText, \
                  getComputedStyle(one).outlineStyle, one.tagName]";
    let found = page.browser.run(script, &[]).await;
    assert!(
        found[1] != "none" || found[2] != "A",
        "nobody sees the focus: {found}"
    );
    found[0].as_str().unwrap_or_default().trim().to_owned()
}

/// Goes on from one thing to the next until this one has the focus.
async fn reach(page: &Page, text: &str) {
    for _ in 0..100 {
        page.browser.press(keys::TAB).await;
        if focused(page).await == text {
            return;
        }
    }
    panic!("{text} cannot be reached: {}", page.browser.text().await);
}

async fn what_is_refused_says_why(w: World) {
    prepare(&w).await;
    let Some(page) = Page::open(&w, &["--allow-changes"], "").await else {
        return;
    };
    let browser = &page.browser;
    // Somebody else is at work, and has the lock: what the command line refuses is refused here.
    let dir = w.write(&web("5"));
    let held = RequestFilter::verb("patch").and_path("/configmaps/");
    let apply = w
        .start_stalled(&held, &["mod", "apply", &dir, "-n", &w.ns])
        .await;
    apply.until_it_sends(1, &held).await;
    let refused = w.opm(&["mod", "unlock", "web", "--yes"]).await.ends(7);
    refused.says("expires in");
    page.go_to_release("/unlock").await;
    browser.until_it_shows("It is still renewed").await;
    browser.write("#confirm", "web").await;
    browser.click(".doing button").await;
    browser.until_it_shows("failed").await;
    browser.until_it_shows("expires in").await;
    apply.release();
    apply.end().await.ok();
    page.close().await;
}
