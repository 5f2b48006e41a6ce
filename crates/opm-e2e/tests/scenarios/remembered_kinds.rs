//! What a cluster serves is kept between runs, and never believed to be all of it.

use std::os::unix::fs::PermissionsExt as _;

use opm_e2e::objects::{config_map, custom, custom_kind};
use opm_e2e::{Lockstep, Module, Rounds, World, scenarios};
use serde_json::json;

scenarios! {
    what_is_served_is_asked_once_until_it_changes,
    a_kind_that_went_away_is_asked_about_anew,
    keeping_what_is_served_can_be_switched_off,
}

async fn applied(w: &World, line: &Lockstep<'_>, module: &Module, more: &[&str]) -> Rounds {
    let dir = w.write(module);
    let arguments = [&["mod", "apply", &dir, "-n", &w.ns], more].concat();
    let (ran, rounds) = line.run(&arguments).await;
    ran.ok();
    rounds
}

async fn what_is_served_is_asked_once_until_it_changes(w: World) {
    let line = w.lockstep().await;
    let plain = Module::new("web").component("app", &[config_map("a", "1")]);
    let first = applied(&w, &line, &plain, &[]).await;
    assert_eq!(first.count("get /apis"), 1, "{first}");
    let kept = w.dir().join(".cache/opm/discovery");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kept), 0o700);
    let file = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap();
    assert_eq!(mode(&file.path()), 0o600);

    // A kind that comes later is found, and from then on remembered.
    w.api.create("", &custom_kind(&w.group(), "Widget")).await;
    let path = format!("/apis/{}/v1/namespaces/{}/widgets", w.group(), w.ns);
    w.until("it is served", || async {
        w.api.get(&path).await.is_some()
    })
    .await;
    let widget = custom(&w.group(), "Widget", "gear");
    let with_widget = Module::new("web").component("app", &[config_map("a", "1"), widget]);
    applied(&w, &line, &with_widget, &[]).await;
    assert!(w.api.get(&format!("{path}/gear")).await.is_some());

    // Damage is as if there was nothing.
    std::fs::write(file.path(), "{").unwrap();
    let anew = applied(&w, &line, &plain, &[]).await;
    assert_eq!(anew.count("get /apis"), 1, "{anew}");
    assert!(w.api.get(&format!("{path}/gear")).await.is_none());
}

async fn a_kind_that_went_away_is_asked_about_anew(w: World) {
    let line = w.lockstep().await;
    let definition = custom_kind(&w.group(), "Widget");
    w.api.create("", &definition).await;
    let path = format!("/apis/{}/v1/namespaces/{}/widgets", w.group(), w.ns);
    w.until("it is served", || async {
        w.api.get(&path).await.is_some()
    })
    .await;
    let widget = custom(&w.group(), "Widget", "gear");
    let module = Module::new("web").component("app", &[config_map("a", "1"), widget]);
    applied(&w, &line, &module, &[]).await;
    let name = definition["metadata"]["name"].as_str().unwrap();
    let defined = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    w.api.delete(&defined).await;
    w.until("it is gone", || async { w.api.get(&path).await.is_none() })
        .await;
    let (ran, _) = line
        .run(&["mod", "status", "web", "-n", &w.ns, "-o", "json"])
        .await;
    let shown = ran.json();
    let resources = shown["components"][0]["resources"].as_array().unwrap();
    let gear = resources.iter().find(|one| one["name"] == "gear").unwrap();
    assert_eq!(gear["health"], json!("Missing"), "{gear}");
    let dir = w.write(&module);
    let (ran, _) = line.run(&["mod", "apply", &dir, "-n", &w.ns]).await;
    ran.ends(2);
    let (ran, _) = line
        .run(&["mod", "delete", "web", "--yes", "-n", &w.ns])
        .await;
    ran.ok();
    assert!(w.gone("ConfigMap/a").await);
}

async fn keeping_what_is_served_can_be_switched_off(w: World) {
    let line = w.lockstep().await;
    let module = Module::new("web").component("app", &[config_map("a", "1")]);
    for _ in 0..2 {
        let rounds = applied(&w, &line, &module, &["--discovery-cache=false"]).await;
        assert_eq!(rounds.count("get /apis"), 1, "{rounds}");
    }
    assert!(!w.dir().join(".cache/opm/discovery").exists());
}
