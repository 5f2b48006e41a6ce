//! What is asked of the cluster does not grow with those who look: one list and one watch of each
//! kind in each namespace, for all of them and for as long as they look.

use std::collections::BTreeMap;

use opm_e2e::objects::{config_map, deployment, secret, service};
use opm_e2e::{Module, World, api, scenarios};
use opm_testkit::browser::Browser;
use serde_json::json;

use crate::page::Page;

scenarios! {
    all_who_look_at_a_release_share_one_list_and_one_watch,
    all_who_look_at_the_list_share_one_list_and_one_watch,
    the_page_of_an_object_follows_it,
}

/// Several kinds, and more objects of one than are asked for by name.
fn module(name: &str) -> Module {
    let maps: Vec<_> = (0..12)
        .map(|n| config_map(&format!("{name}-{n:02}"), "1"))
        .collect();
    let others = [deployment(name), service(name), secret(name, "hidden-52")];
    Module::new(name)
        .component("settings", &maps)
        .component("app", &others)
}

/// How often each kind was listed and watched, by namespace.
fn asked(page: &Page) -> BTreeMap<(String, String, String), usize> {
    let mut asked = BTreeMap::new();
    for request in page.running.requests() {
        if ["list", "watch"].contains(&request.verb.as_str()) {
            let key = (request.resource, request.namespace, request.verb);
            *asked.entry(key).or_default() += 1;
        }
    }
    asked
}

fn assert_asked_once(page: &Page) {
    let asked = asked(page);
    let often = asked.iter().filter(|(_, count)| **count > 1);
    assert_eq!(often.collect::<Vec<_>>(), [], "{asked:#?}");
    let lists = |kind: &str| asked.keys().any(|(resource, _, _)| resource == kind);
    assert!(lists("configmaps") && lists("secrets"), "{asked:#?}");
}

/// Somebody changes an object past the release.
async fn edit(w: &World, object: &str, value: &str) {
    let edited = api::object(object, &w.ns);
    let edited = format!("{edited}?fieldManager=intruder");
    w.api.merge(&edited, json!({"data": {"k": value}})).await;
}

/// Two more who look.
async fn others() -> Option<[Browser; 2]> {
    Some([Browser::start().await?, Browser::start().await?])
}

async fn all_who_look_at_a_release_share_one_list_and_one_watch(w: World) {
    w.apply(&module("web"), &[]).await.ok();
    let Some(page) = Page::serve(&w, &[], "").await else {
        return;
    };
    let Some([second, third]) = others().await else {
        return;
    };
    let browsers = [&page.browser, &second, &third];
    for browser in browsers {
        page.let_in(browser, &page.release).await;
        browser.until_it_shows("ConfigMap/web-11").await;
        browser.reload().await;
    }
    assert_asked_once(&page);
    // Everybody is told all the same, and that costs no list.
    for (object, field) in [("web-00", "2"), ("web-01", "3")] {
        edit(&w, &format!("ConfigMap/{object}"), field).await;
        for browser in browsers {
            let drift = format!("ConfigMap/{object}");
            opm_testkit::until("the change is on the page", async || {
                let text = browser.text().await;
                let lines = text.lines().skip_while(|line| !line.contains(&drift));
                lines
                    .take(3)
                    .any(|line| line.contains("data.k by intruder"))
            })
            .await;
        }
    }
    assert_asked_once(&page);
    // What nobody records is seen as well.
    let mut orphan = config_map("stray", "1");
    let labels = w.api.get(&api::object("ConfigMap/web-00", &w.ns)).await;
    orphan["metadata"]["labels"] = labels.unwrap()["metadata"]["labels"].clone();
    let stray = api::object("ConfigMap/stray", &w.ns);
    w.api.apply_by("opm", &stray, &orphan).await;
    for browser in browsers {
        browser.until_it_shows("Orphans").await;
    }
    assert_asked_once(&page);
    page.close().await;
}

async fn until_all_is_known(browser: &Browser) {
    opm_testkit::until("all is known", async || {
        let text = browser.text().await;
        text.contains("web") && !text.contains('…')
    })
    .await;
}

async fn all_who_look_at_the_list_share_one_list_and_one_watch(w: World) {
    w.apply(&module("web"), &[]).await.ok();
    let Some(page) = Page::serve(&w, &[], "").await else {
        return;
    };
    let Some([second, third]) = others().await else {
        return;
    };
    let browsers = [&page.browser, &second, &third];
    for browser in browsers {
        page.let_in(browser, "/").await;
        until_all_is_known(browser).await;
        browser.reload().await;
    }
    assert_asked_once(&page);
    // An object that is gone, and another release.
    w.api.delete(&api::object("ConfigMap/web-00", &w.ns)).await;
    for browser in browsers {
        browser.until_it_shows("Degraded").await;
    }
    w.apply(&module("mail"), &[]).await.ok();
    for browser in browsers {
        browser.until_it_shows("mail").await;
        until_all_is_known(browser).await;
    }
    assert_asked_once(&page);
    page.close().await;
}

async fn the_page_of_an_object_follows_it(w: World) {
    w.apply(&module("web"), &[]).await.ok();
    let Some(page) = Page::open(&w, &[], "").await else {
        return;
    };
    let object = page.object(&w, "", "ConfigMap", "web-03");
    page.go(&object).await;
    page.browser.until_it_shows("k: \"1\"").await;
    page.browser.run("window.same = true", &[]).await;
    edit(&w, "ConfigMap/web-03", "4").await;
    page.browser.until_it_shows("k: \"4\"").await;
    // What the release has no opinion about is shown as well.
    let annotated = api::object("ConfigMap/web-03", &w.ns);
    let note = json!({"metadata": {"annotations": {"note": "seen"}}});
    w.api.merge(&annotated, note).await;
    page.browser.until_it_shows("note: \"seen\"").await;
    assert_eq!(page.browser.run("return window.same", &[]).await, true);
    page.close().await;
}
