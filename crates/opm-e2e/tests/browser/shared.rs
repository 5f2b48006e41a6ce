//! What is asked of the cluster does not grow with those who look.

use std::collections::BTreeMap;

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, api, scenarios};
use opm_testkit::browser::Browser;
use serde_json::json;

use crate::page::Page;

scenarios! {
    all_who_look_share_one_watch,
}

/// How many lists and watches of ConfigMaps there were.
fn asked(page: &Page) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in page.running.requests() {
        if request.resource == "configmaps" {
            *asked.entry(request.verb).or_default() += 1;
        }
    }
    asked
}

async fn all_who_look_share_one_watch(w: World) {
    let objects = |value: &str| -> Vec<_> {
        (0..12)
            .map(|n| config_map(&format!("c-{n:02}"), value))
            .collect()
    };
    let module = |value: &str| Module::new("web").component("app", &objects(value));
    w.apply(&module("1"), &[]).await.ok();
    let Some(page) = Page::serve(&w, &[], "").await else {
        return;
    };
    let Some(other) = Browser::start().await else {
        return;
    };
    page.let_in(&page.browser, &page.release).await;
    page.browser.until_it_shows("ConfigMap/c-11").await;
    opm_testkit::until("it is watched", async || asked(&page).contains_key("watch")).await;
    // One look at the objects, one for orphans by their label, and the list that the watch begins
    // with.
    let first = BTreeMap::from([("list".to_owned(), 3), ("watch".to_owned(), 1)]);
    assert_eq!(asked(&page), first);
    page.let_in(&other, &page.release).await;
    for browser in [&page.browser, &other] {
        browser.until_it_shows("ConfigMap/c-11").await;
        browser.reload().await;
        browser.reload().await;
    }
    assert_eq!(asked(&page), first);
    // Everybody is told all the same.
    w.apply(&module("2"), &[]).await.ok();
    let edited = api::object("ConfigMap/c-00", &w.ns);
    let edited = format!("{edited}?fieldManager=intruder");
    w.api.merge(&edited, json!({"data": {"k": "3"}})).await;
    for browser in [&page.browser, &other] {
        browser.until_it_shows("data.k by intruder").await;
    }
    page.close().await;
}
