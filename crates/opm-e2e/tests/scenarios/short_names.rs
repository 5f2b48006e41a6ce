//! Objects of kinds that somebody defined, named as their definition calls them: by short names
//! and by a plural that no rule makes.

use http::Method;
use opm_e2e::objects::{annotated, config_map, custom, custom_kind};
use opm_e2e::{Module, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    kinds_are_known_by_the_names_that_their_definition_gives,
    what_no_definition_calls_so_is_not_found,
}

/// A kind with a short name and an unusual plural.
fn definition(w: &World) -> Value {
    let mut definition = custom_kind(&w.group(), "Widget");
    definition["metadata"]["name"] = json!(format!("widgetry.{}", w.group()));
    definition["spec"]["names"] = json!({"kind": "Widget", "plural": "widgetry", "singular": "widget", "shortNames": ["wdg"]});
    definition
}

fn module(w: &World, objects: &[Value]) -> Module {
    let base = [definition(w), config_map("a", "1")];
    Module::new("web")
        .component("base", &base)
        .component("app", objects)
}

fn kept(w: &World, name: &str) -> Value {
    annotated(
        custom(&w.group(), "Widget", name),
        "opmodel.dev/prune",
        "false",
    )
}

async fn kinds_are_known_by_the_names_that_their_definition_gives(w: World) {
    w.apply(&module(&w, &[kept(&w, "gear"), kept(&w, "wheel")]), &[])
        .await
        .ok();
    w.apply(&module(&w, &[]), &[]).await.ok();
    w.opm(&["mod", "prune", "web", "WDG/gear"])
        .await
        .ok()
        .says("Widget/gear");
    w.opm(&["mod", "forget", "web", "widgetry/wheel"])
        .await
        .ok()
        .says("Widget/wheel");
    let place = format!("/apis/{}/v1/namespaces/{}/widgetry", w.group(), w.ns);
    assert!(w.api.get(&format!("{place}/gear")).await.is_none());
    assert!(w.api.get(&format!("{place}/wheel")).await.is_some());

    let theirs = custom(&w.group(), "Widget", "theirs");
    let json = "application/json";
    let (status, said) = w.api.send(Method::POST, &place, json, Some(&theirs)).await;
    assert_eq!(status, 201, "{said}");
    let module = module(&w, &[theirs]);
    w.apply(&module, &[]).await.ends(2).says("Widget/theirs");
    let adopted = w.apply(&module, &["--adopt=wdg/theirs"]).await.ok();
    adopted.says("adopted");
}

async fn what_no_definition_calls_so_is_not_found(w: World) {
    w.apply(&module(&w, &[custom(&w.group(), "Widget", "gear")]), &[])
        .await
        .ok();
    for named in ["wdgs/gear", "wdg/wheel", "wdg.example.com/gear"] {
        w.opm(&["mod", "forget", "web", named])
            .await
            .ends(5)
            .says(named);
    }
}
