//! A release with a kind of its own, and somebody who plays its controller: it takes a finalizer
//! off when its object is being deleted, as long as the scenario goes on.

use std::time::Duration;

use opm_e2e::objects::{config_map, custom, custom_kind, deployment, service};
use opm_e2e::{Module, World};
use serde_json::json;

fn group(w: &World, release: &str) -> String {
    format!("{release}.{}", w.group())
}

fn path(w: &World, release: &str) -> String {
    let (group, ns) = (group(w, release), &w.ns);
    format!("/apis/{group}/v1/namespaces/{ns}/widgets/gear")
}

pub(crate) fn module(w: &World, release: &str) -> Module {
    let group = group(w, release);
    let name = |stem: &str| format!("{release}-{stem}");
    Module::new(release).component(
        "app",
        &[
            custom_kind(&group, "Widget"),
            config_map(&name("settings"), "1"),
            service(&name("controller")),
            deployment(&name("controller")),
            custom(&group, "Widget", "gear"),
        ],
    )
}

/// The controller sees its object, and waits for its end.
pub(crate) async fn start(w: &World, release: &str) {
    let path = path(w, release);
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    w.api.merge(&path, held).await;
    let api = w.api.clone();
    tokio::spawn(async move {
        // A controller that looks now and then, for as long as the scenario goes on.
        while let Some(gear) = api.get(&path).await {
            if !gear["metadata"]["deletionTimestamp"].is_null() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let free = json!({"metadata": {"finalizers": null}});
        let patch = "application/merge-patch+json";
        api.send(http::Method::PATCH, &path, patch, Some(&free))
            .await;
    });
}

/// Everything is there, and recorded.
pub(crate) async fn holds(w: &World, release: &str) {
    let inventory = w.record(release).await.inventory();
    let definition = format!("CustomResourceDefinition/widgets.{}", group(w, release));
    let kinds = [
        "ConfigMap/{}-settings",
        "Deployment/{}-controller",
        "Service/{}-controller",
    ];
    let mut expected: Vec<String> = kinds.map(|one| one.replace("{}", release)).into();
    expected.push(definition);
    for object in &expected {
        assert!(w.exists(object).await, "{object}");
    }
    expected.push("Widget/gear".to_owned());
    assert_eq!(inventory, expected.into_iter().collect());
    let gear = w.api.get(&path(w, release)).await.expect("it is there");
    assert!(gear["metadata"]["deletionTimestamp"].is_null(), "{gear}");
    // Nobody is left who would let go of it.
    let free = json!({"metadata": {"finalizers": null}});
    w.api.merge(&path(w, release), free).await;
}
