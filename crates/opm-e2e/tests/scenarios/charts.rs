//! Charts as components: side by side, removed, dropped, with a history.

use std::fs;
use std::path::Path;

use opm_e2e::objects::{annotated, config_map, custom, custom_kind, service};
use opm_e2e::{Module, World, api, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    two_releases_of_a_chart_live_side_by_side_and_either_can_go,
    a_chart_that_a_new_version_drops_is_pruned,
    the_history_of_a_chart_is_kept_and_can_be_gone_back_to,
    definitions_of_a_chart_come_first_and_are_upgraded,
    what_helm_keeps_is_kept,
    every_object_says_which_template_it_came_from,
    a_chart_knows_what_the_cluster_can_do,
    what_a_chart_makes_up_stays_until_it_is_rotated,
    a_chart_takes_the_values_of_its_release,
    a_directory_with_nothing_but_a_chart_takes_values_for_it,
}

/// A chart whose objects are named after the release.
pub(crate) fn shop(version: &str) -> Module {
    let name = |stem: &str| format!("{{{{ .Release.Name }}}}-{stem}");
    Module::new("shop").version(version).chart(
        "app",
        &[
            config_map(&name("settings"), version),
            service(&name("web")),
        ],
    )
}

async fn two_releases_of_a_chart_live_side_by_side_and_either_can_go(w: World) {
    let Some(w) = w.with_helm() else { return };
    for first in ["blue", "green"] {
        for release in ["blue", "green"] {
            w.apply(&shop("1.0.0"), &["--name", release]).await.ok();
        }
        let both = set(["ConfigMap/green-settings", "Service/green-web"]);
        assert_eq!(w.record("green").await.inventory(), both);
        let second = if first == "blue" { "green" } else { "blue" };
        w.delete(first, &[]).await.ok();
        let settings = format!("ConfigMap/{second}-settings");
        w.holds_exactly(second, &[&settings, &format!("Service/{second}-web")])
            .await;
        w.delete(second, &[]).await.ok();
        assert_eq!(w.settled_live(second).await, Vec::<String>::new());
    }
}

async fn a_chart_that_a_new_version_drops_is_pruned(w: World) {
    let Some(w) = w.with_helm() else { return };
    let both = shop("1.0.0").chart("extra", &[config_map("extra", "1")]);
    w.apply(&both, &[]).await.ok();
    w.apply(&shop("2.0.0"), &[])
        .await
        .ok()
        .did("pruned", "ConfigMap/extra");
    w.holds_exactly("shop", &["ConfigMap/shop-settings", "Service/shop-web"])
        .await;
}

async fn the_history_of_a_chart_is_kept_and_can_be_gone_back_to(w: World) {
    let Some(w) = w.with_helm() else { return };
    for version in ["1.0.0", "2.0.0"] {
        w.apply(&shop(version), &[]).await.ok();
        let again = w.apply(&shop(version), &[]).await.ok();
        let action = again.action("ConfigMap/shop-settings");
        assert_eq!(action.as_deref(), Some("unchanged"));
    }
    assert_eq!(w.record("shop").await.index().len(), 2);
    w.opm(&["mod", "rollback", "shop", "--yes"]).await.ok();
    let settings = w.get("ConfigMap/shop-settings").await.unwrap();
    assert_eq!(settings["data"]["k"], "1.0.0");
    let entry = w.record("shop").await.current().to_string();
    assert!(
        entry.contains("app/templates/00.yaml"),
        "it keeps its template: {entry}"
    );
}

async fn definitions_of_a_chart_come_first_and_are_upgraded(w: World) {
    let Some(w) = w.with_helm() else { return };
    let group = w.group();
    let write = |description: &str| {
        let dir = w.write(&shop("1.0.0").chart("kinds", &[custom(&group, "Widget", "one")]));
        let crds = Path::new(&dir).join("charts/kinds/crds");
        fs::create_dir_all(&crds).unwrap();
        let definition = annotated(custom_kind(&group, "Widget"), "example.com/is", description);
        fs::write(crds.join("widget.yaml"), definition.to_string()).unwrap();
        dir
    };
    let definition = format!("CustomResourceDefinition/widgets.{group}");
    let dir = write("first");
    w.opm(&["mod", "apply", &dir, "-o", "json"])
        .await
        .ok()
        .did("created", &definition);
    let dir = write("second");
    w.opm(&["mod", "apply", &dir, "-o", "json"])
        .await
        .ok()
        .did("configured", &definition);
    w.delete("shop", &["--prune-crds"]).await.ok();
}

async fn what_helm_keeps_is_kept(w: World) {
    let Some(w) = w.with_helm() else { return };
    let kept = annotated(config_map("data", "1"), "helm.sh/resource-policy", "keep");
    let module = Module::new("shop").chart("app", &[kept, config_map("web", "1")]);
    w.apply(&module, &[]).await.ok();
    let dropped = Module::new("shop").chart("app", &[config_map("web", "1")]);
    w.apply(&dropped, &[])
        .await
        .ok()
        .did("kept", "ConfigMap/data");
    assert!(w.exists("ConfigMap/data").await);
    assert_eq!(w.record("shop").await.kept(), set(["ConfigMap/data"]));
}

async fn every_object_says_which_template_it_came_from(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = w.write(&shop("1.0.0"));
    let built = w.opm(&["mod", "build", &dir]).await.ok();
    assert!(built.stdout().contains("# Source: app/templates/00.yaml\n"));
    w.opm(&["mod", "diff", &dir, "-o", "wide"])
        .await
        .ok()
        .says("app/templates/01.yaml");
    w.apply(&shop("1.0.0"), &[]).await.ok();
    w.opm(&["mod", "status", "shop", "-o", "wide"])
        .await
        .ok()
        .says("app/templates/01.yaml");
    let mut broken = service("{{ .Release.Name }}-web");
    broken["spec"]["ports"] = json!([{"port": 70_000}]);
    let broken = Module::new("shop").chart("app", &[broken]);
    w.apply(&broken, &[])
        .await
        .ends(1)
        .says("app/templates/00.yaml");
}

async fn a_chart_knows_what_the_cluster_can_do(w: World) {
    let Some(w) = w.with_helm() else { return };
    let said = r#"{{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" }} {{ .Capabilities.APIVersions.Has "no.example.com/v1" }}"#;
    let asks = |value: &str| {
        let mut object = config_map("said", "");
        object["data"]["k"] = Value::String("SAID".to_owned());
        let dir = w.write(&Module::new("shop").chart("app", &[object.clone()]));
        let text = object.to_string().replace("SAID", &value.replace('"', "`"));
        fs::write(Path::new(&dir).join("charts/app/templates/00.yaml"), text).unwrap();
        dir
    };
    let dir = asks(said);
    let built = w.opm(&["mod", "build", &dir]).await.ok();
    assert!(
        built.stdout().contains("v1.34.0 false false"),
        "{}",
        built.stdout()
    );
    w.opm(&["mod", "apply", &dir]).await.ok();
    let live = w.get("ConfigMap/said").await.unwrap();
    assert_eq!(live["data"]["k"], "v1.34.4 true false");
}

async fn what_a_chart_makes_up_stays_until_it_is_rotated(w: World) {
    let Some(w) = w.with_helm() else { return };
    let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"},
        "data": {"made": "{{ randAlphaNum 20 | b64enc }}"},
        "stringData": {"text": "{{ randAlphaNum 20 }}", "said": "by the chart"}});
    let module = |value: &str| {
        let templates = [key.clone(), config_map("web", value)];
        Module::new("shop").chart("app", &templates)
    };
    let dir = w.write(&module("1"));
    w.opm(&["mod", "vet", &dir])
        .await
        .ok()
        .says("Secret/key has what its chart makes up anew at each rendering: data.made, stringData.text;");
    w.apply(&module("1"), &[]).await.ok();
    let made = w.get("Secret/key").await.unwrap()["data"].clone();
    w.apply(&module("1"), &[])
        .await
        .ok()
        .did("unchanged", "Secret/key")
        .did("unchanged", "ConfigMap/web");
    w.apply(&module("2"), &[])
        .await
        .ok()
        .did("unchanged", "Secret/key")
        .did("configured", "ConfigMap/web");
    assert_eq!(w.get("Secret/key").await.unwrap()["data"], made);
    w.apply(&module("2"), &["--rotate"])
        .await
        .ok()
        .did("configured", "Secret/key");
    let rotated = w.get("Secret/key").await.unwrap()["data"].clone();
    assert_ne!(rotated["made"], made["made"]);
    assert_ne!(rotated["text"], made["text"]);
    assert_eq!(rotated["said"], made["said"]);
}

/// A chart of one ConfigMap that shows `.Values.greeting`, and does not take a certain one.
fn write_greeting(chart: &Path) {
    let about = json!({"apiVersion": "v2", "name": "app", "version": "1.0.0"});
    write(chart, "Chart.yaml", &about.to_string());
    write(chart, "values.yaml", "greeting: from the chart\n");
    let template = "{{ if eq .Values.greeting \"hunter2\" }}{{ fail (printf \"not %s\" .Values.greeting) }}{{ end }}\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n\
        data: {text: {{ .Values.greeting | quote }}}\n";
    write(chart, "templates/page.yaml", template);
}

async fn a_chart_takes_the_values_of_its_release(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = w.write(&shop("1.0.0"));
    write_greeting(&Path::new(&dir).join("charts/app"));
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "shop"}, "values": {"page": {"greeting": "from the module"}},
        "components": [{"name": "app", "chart":
            {"path": "charts/app", "values": ["${values.page}"]}}]});
    write(Path::new(&dir), "module.yaml", &module.to_string());
    let said = async |expected: &str| {
        let page = w.api.get(&api::object("ConfigMap/page", &w.ns)).await;
        assert_eq!(
            page.map(|page| page["data"]["text"].clone()),
            Some(json!(expected))
        );
    };
    w.opm(&["mod", "apply", &dir]).await.ok();
    said("from the module").await;
    w.opm(&["mod", "apply", &dir, "--set", "page.greeting=from me"])
        .await
        .ok();
    said("from me").await;
    // The recorded values come back with the change.
    w.opm(&["mod", "rollback", "shop", "--yes"]).await.ok();
    said("from the module").await;
    // What was given is in no message.
    let secret = ["mod", "apply", &dir, "--set", "page.greeting=hunter2"];
    let refused = w.opm(&secret).await.ends(2);
    refused
        .says("charts/app/templates/page.yaml:1:")
        .never_says("hunter2");
    let list = ["mod", "apply", &dir, "--set", "page=[1]"];
    w.opm(&list)
        .await
        .ends(2)
        .says("${values.page} is not a mapping");
}

async fn a_directory_with_nothing_but_a_chart_takes_values_for_it(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = w.write(&shop("1.0.0"));
    let chart = Path::new(&dir).join("charts/app");
    write_greeting(&chart);
    let chart = chart.display().to_string();
    let apply = [
        "mod",
        "apply",
        &chart,
        "--set",
        "greeting=from me",
        "-o",
        "json",
    ];
    w.opm(&apply).await.ok();
    let page = w.api.get(&api::object("ConfigMap/page", &w.ns)).await;
    assert_eq!(page.unwrap()["data"]["text"], json!("from me"));
    // The file that init writes says the same.
    w.opm(&["mod", "init", &chart]).await.ok();
    let again = w.opm(&apply).await.ok();
    again.did("unchanged", "ConfigMap/page");
}

pub(crate) fn write(dir: &Path, path: &str, text: &str) {
    fs::write(dir.join(path), text).unwrap();
}
