//! The package-state proposal: the four problems that it begins with, each solved, and what goes
//! with them.

use opm_e2e::objects::{annotated, cluster_role, config_map, deployment, secret, service};
use opm_e2e::{Module, OpmOutput, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    two_deployments_of_the_same_package_live_in_one_cluster,
    each_of_two_side_by_side_can_be_removed_not_only_the_last,
    a_component_that_a_new_version_drops_is_not_lost_track_of,
    the_history_of_previous_deployments_is_kept,
    a_component_can_be_removed_alone_and_stays_away_if_it_is_optional,
    every_object_says_which_module_and_component_it_is_of,
}

/// One module, as it renders for a release: objects are named after the release, as a module in
/// CUE would do it; a role for the whole cluster is shared.
fn shop(w: &World, release: &str, version: &str) -> Module {
    let role = annotated(cluster_role(&w.name("shop")), "opmodel.dev/shared", "true");
    Module::new("shop").version(version).component(
        "app",
        &[
            config_map(&format!("{release}-settings"), version),
            service(release),
            role,
        ],
    )
}

async fn deploy(w: &World, release: &str, version: &str, flags: &[&str]) -> OpmOutput {
    let all = [&["--name", release], flags].concat();
    w.apply(&shop(w, release, version), &all).await.ok()
}

/// The releases that `list` shows, with the number of their objects.
async fn listed(w: &World, flags: &[&str]) -> Vec<(String, u64)> {
    let told = w
        .opm(&[&["mod", "list", "-o", "json"], flags].concat())
        .await
        .ok()
        .json();
    let releases = told["releases"].as_array().unwrap();
    let mut listed: Vec<(String, u64)> = releases
        .iter()
        .map(|r| {
            let text = |key: &str| r[key].as_str().unwrap().to_owned();
            let name = format!("{}/{}", text("namespace"), text("name"));
            (name, r["objects"].as_u64().unwrap())
        })
        .collect();
    listed.sort();
    listed
}

async fn version_of(w: &World, release: &str) -> String {
    let settings = w
        .get(&format!("ConfigMap/{release}-settings"))
        .await
        .unwrap();
    settings["data"]["k"].as_str().unwrap().to_owned()
}

async fn two_deployments_of_the_same_package_live_in_one_cluster(w: World) {
    let other = w.other_namespace("other").await;
    deploy(&w, "blue", "1.0.0", &[]).await;
    deploy(&w, "green", "1.0.0", &[]).await;
    deploy(&w, "blue", "1.0.0", &["-n", &other]).await;
    let here = |name: &str| (format!("{}/{name}", w.ns), 3);
    assert_eq!(listed(&w, &[]).await, [here("blue"), here("green")]);
    assert_eq!(
        listed(&w, &["-n", &other]).await,
        [(format!("{other}/blue"), 3)]
    );
    // Each is upgraded and gone back with alone.
    deploy(&w, "green", "2.0.0", &[]).await;
    assert_eq!(
        (version_of(&w, "blue").await, version_of(&w, "green").await),
        ("1.0.0".into(), "2.0.0".into())
    );
    deploy(&w, "blue", "3.0.0", &[]).await;
    w.opm(&["mod", "rollback", "green"]).await.ok();
    assert_eq!(
        (version_of(&w, "blue").await, version_of(&w, "green").await),
        ("3.0.0".into(), "1.0.0".into())
    );
    let there = w
        .get(&format!("{other}:ConfigMap/blue-settings"))
        .await
        .unwrap();
    assert_eq!(there["data"]["k"], "1.0.0");
    for (release, flags) in [
        ("blue", &[][..]),
        ("green", &[]),
        ("blue", &["-n", other.as_str()]),
    ] {
        w.delete(release, flags).await.ok();
    }
    assert!(
        w.gone(&format!("ClusterRole/{}", w.name("shop"))).await,
        "the last one takes what was shared"
    );
}

async fn each_of_two_side_by_side_can_be_removed_not_only_the_last(w: World) {
    let role = format!("ClusterRole/{}", w.name("shop"));
    for first in ["blue", "green"] {
        let second = if first == "blue" { "green" } else { "blue" };
        deploy(&w, "blue", "1.0.0", &[]).await;
        deploy(&w, "green", "1.0.0", &[]).await;
        w.delete(first, &[]).await.ok();
        assert!(
            w.gone(&format!("ConfigMap/{first}-settings")).await,
            "{first}"
        );
        assert!(w.find_record(first).await.is_none(), "{first}");
        assert!(
            w.exists(&format!("ConfigMap/{second}-settings")).await,
            "{second} is left alone"
        );
        assert!(w.exists(&role).await, "{second} still has it");
        deploy(&w, second, "2.0.0", &[]).await;
        w.delete(second, &[]).await.ok();
        assert!(w.gone(&role).await);
        w.until("it is gone", || async { !w.exists(&role).await })
            .await;
    }
}

async fn a_component_that_a_new_version_drops_is_not_lost_track_of(w: World) {
    let app = |value: &str| vec![config_map("app", value)];
    let metrics = [config_map("metrics", "1"), service("metrics")];
    let first = Module::new("shop")
        .version("1.0.0")
        .component("app", &app("1"))
        .component("metrics", &metrics);
    w.apply(&first, &[]).await.ok();
    let second = Module::new("shop")
        .version("2.0.0")
        .component("app", &app("2"));
    let ran = w.apply(&second, &[]).await.ok();
    assert_eq!(ran.action("ConfigMap/metrics").as_deref(), Some("pruned"));
    w.holds_exactly("shop", &["ConfigMap/app"]).await;
    // And it stays visible.
    let told = w
        .opm(&["mod", "history", "shop", "-o", "json"])
        .await
        .ok()
        .json();
    let short = |c: &Value| json!([c["module"]["version"], c["objects"]]);
    let changes: Vec<Value> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(short)
        .collect();
    assert_eq!(changes, [json!(["2.0.0", 1]), json!(["1.0.0", 3])]);
    let current = told["changes"][0]["id"].as_str().unwrap();
    w.opm(&["mod", "history", "shop", "--diff", current])
        .await
        .ok()
        .says("- Service/metrics");
    let older = told["changes"][1]["id"].as_str().unwrap();
    w.opm(&["mod", "show", "shop", "manifests", "--revision", older])
        .await
        .ok()
        .says("component.opmodel.dev/name: metrics");
    // A selection that leaves a component out does the same.
    let optional = Module::new("shop")
        .version("3.0.0")
        .component("app", &app("3"))
        .optional("metrics", &metrics);
    w.apply(&optional, &["--components", "metrics"]).await.ok();
    w.apply(&optional, &["--components", ""]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/app"]).await;
    let told = w
        .opm(&["mod", "history", "shop", "-o", "json"])
        .await
        .ok()
        .json();
    let selected = |at: usize| told["changes"][at]["components"].clone();
    assert_eq!((selected(0), selected(1)), (json!([]), json!(["metrics"])));
}

async fn the_history_of_previous_deployments_is_kept(w: World) {
    for n in 0..4 {
        deploy(
            &w,
            "shop",
            &format!("1.{n}.0"),
            &["-m", &format!("version {n}")],
        )
        .await;
    }
    w.opm(&["mod", "rollback", "shop", "-m", "back"]).await.ok();
    deploy(&w, "shop", "1.2.0", &["-m", "the same again"]).await;
    let told = w
        .opm(&["mod", "history", "shop", "-o", "json"])
        .await
        .ok()
        .json();
    let versions: Vec<&str> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["module"]["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["1.2.0", "1.3.0", "1.1.0", "1.0.0"], "states");
    let log: Vec<Value> = told["log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| json!([e["command"], e["message"]]))
        .collect();
    let deployments = [
        json!(["apply", "the same again"]),
        json!(["rollback", "back"]),
        json!(["apply", "version 3"]),
        json!(["apply", "version 2"]),
        json!(["apply", "version 1"]),
        json!(["apply", "version 0"]),
    ];
    assert_eq!(log, deployments, "events");
    w.delete("shop", &[]).await.ok();
}

async fn a_component_can_be_removed_alone_and_stays_away_if_it_is_optional(w: World) {
    let module = |value: &str| {
        Module::new("shop")
            .component_after(
                "app",
                &["metrics"],
                &[config_map("app", value), secret("key", value)],
            )
            .optional(
                "metrics",
                &[config_map("metrics", value), service("metrics")],
            )
    };
    let with = w
        .apply(&module("1"), &["--components", "metrics"])
        .await
        .ok()
        .json();
    let without = w
        .delete("shop", &["--component", "metrics"])
        .await
        .ok()
        .never_says("brings it back")
        .json();
    w.holds_exactly("shop", &["ConfigMap/app", "Secret/key"])
        .await;
    // It is the very change that an apply without the component makes, and it can be gone back to
    // and from.
    let again = w.apply(&module("1"), &[]).await.ok().json();
    assert_eq!(
        (&again["changeId"], &again["manifestDigest"]),
        (&without["changeId"], &without["manifestDigest"])
    );
    w.holds_exactly("shop", &["ConfigMap/app", "Secret/key"])
        .await;
    let back = w
        .opm(&["mod", "rollback", "shop", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(back["changeId"], with["changeId"]);
    w.holds_exactly(
        "shop",
        &[
            "ConfigMap/app",
            "ConfigMap/metrics",
            "Secret/key",
            "Service/metrics",
        ],
    )
    .await;
    w.opm(&["mod", "rollback", "shop"]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/app", "Secret/key"])
        .await;
    // One that is not optional goes too, with a warning.
    w.delete("shop", &["--component", "app"])
        .await
        .ok()
        .says("the next apply of the module brings it back");
    assert!(w.gone("ConfigMap/app").await);
    w.apply(&module("1"), &[]).await.ok();
    assert!(w.exists("ConfigMap/app").await);
    w.delete("shop", &["--component", "nothing"]).await.ends(5);
}

async fn every_object_says_which_module_and_component_it_is_of(w: World) {
    let module = Module::new("shop")
        .component(
            "app",
            &[config_map("app", "1"), service("app"), deployment("app")],
        )
        .component("db", &[secret("db", "1")]);
    w.apply(&module, &["--name", "blue"]).await.ok();
    let objects = [
        ("ConfigMap/app", "app"),
        ("Service/app", "app"),
        ("Deployment/app", "app"),
        ("Secret/db", "db"),
    ];
    for (object, component) in objects {
        let labels = w.get(object).await.unwrap()["metadata"]["labels"].clone();
        assert_eq!(labels["module.opmodel.dev/name"], "shop", "{object}");
        assert_eq!(labels["component.opmodel.dev/name"], component, "{object}");
        assert_eq!(
            labels["module-release.opmodel.dev/name"], "blue",
            "{object}"
        );
    }
    assert_eq!(
        w.record("blue").await.inventory(),
        set([
            "ConfigMap/app",
            "Service/app",
            "Deployment/app",
            "Secret/db"
        ])
    );
}
