//! What is seen follows what happens, and is found by a filter.

use opm_e2e::objects::config_map;
use opm_e2e::{Module, RequestFilter, World, scenarios};

use crate::page::Page;

scenarios! {
    a_page_follows_an_apply_while_it_runs,
    the_list_is_filtered_and_follows,
}

async fn a_page_follows_an_apply_while_it_runs(w: World) {
    let module = |value: &str| Module::new("web").component("app", &[config_map("a", value)]);
    w.apply(&module("1"), &[]).await.ok();
    let Some(page) = Page::open(&w, &[], "").await else {
        return;
    };
    page.go_to_release("").await;
    page.browser.until_it_shows("ConfigMap/a").await;
    // A mark on the window is gone if the page was loaded anew.
    page.browser.run("window.same = true", &[]).await;
    let dir = w.write(&module("2"));
    let held = RequestFilter::verb("patch").and_path("/configmaps/");
    let apply = w
        .start_stalled(&held, &["mod", "apply", &dir, "-n", &w.ns])
        .await;
    page.browser.until_it_shows("Lock").await;
    apply.release();
    apply.end().await.ok();
    opm_testkit::until("the lock is gone from the page", async || {
        !page.browser.text().await.contains("Lock")
    })
    .await;
    assert_eq!(page.browser.run("return window.same", &[]).await, true);
    // The list says who has the lock, and how it ended.
    page.go(&format!("/?q={}", w.ns)).await;
    page.browser.until_it_shows("apply by").await;
    let dir = w.write(&module("3"));
    let apply = w
        .start_stalled(&held, &["mod", "apply", &dir, "-n", &w.ns])
        .await;
    page.browser.until_it_shows("locked by").await;
    page.browser.until_it_shows("started").await;
    apply.release();
    apply.end().await.ok();
    page.browser.until_it_shows("succeeded").await;
    page.close().await;
}

async fn the_list_is_filtered_and_follows(w: World) {
    let release = |name: &str| Module::new(name).component("app", &[config_map(name, "1")]);
    for name in ["shop", "mail"] {
        w.apply(&release(name), &[]).await.ok();
    }
    let Some(page) = Page::open(&w, &[], "").await else {
        return;
    };
    let browser = &page.browser;
    // Health was not waited for, and comes.
    browser.until_it_shows("shop").await;
    browser.until_it_shows("Ready").await;
    browser.write("#q", "SHO").await;
    browser.click("form.filter button").await;
    opm_testkit::until("the filter is in the address", async || {
        browser.address().await.contains("q=SHO")
    })
    .await;
    browser.until_it_shows("shop").await;
    assert!(!browser.text().await.contains("mail"));
    browser.run("window.same = true", &[]).await;
    w.apply(&release("shoes"), &[]).await.ok();
    browser.until_it_shows("shoes").await;
    assert_eq!(browser.run("return window.same", &[]).await, true);
    page.close().await;
}
