//! `tree`, `events` and `logs`: what lies below the objects of a release.

use opm_e2e::objects::{config_map, deployment};
use opm_e2e::{Module, Rights, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    owner_references_lead_down_the_tree,
    events_are_those_of_the_release_and_of_what_is_below,
    logs_say_what_cannot_be_read,
    #[real_only("the sandbox has no controllers that make pods")]
    what_controllers_make_is_in_the_tree,
    #[real_only("does not apply to the sandbox, which has no access control")]
    what_may_not_be_listed_is_said,
}

fn web() -> Module {
    Module::new("web")
        .component("app", &[deployment("web")])
        .component("other", &[config_map("settings", "1")])
}

async fn uid(w: &World, spelled: &str) -> String {
    let object = w.api.get(&api::object(spelled, &w.ns)).await.unwrap();
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// A pod that belongs to an object of the release.
async fn pod_below(w: &World, name: &str, owner: &str) -> String {
    let (kind, owner_name) = owner.split_once('/').unwrap();
    let owner = json!({"apiVersion": if kind == "ConfigMap" { "v1" } else { "apps/v1" },
        "kind": kind, "name": owner_name, "uid": uid(w, owner).await});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "main", "image": "none"}]}});
    let pod = w.api.create(&w.ns, &pod).await;
    pod["metadata"]["uid"].as_str().unwrap().to_owned()
}

async fn tree(w: &World) -> Value {
    w.opm(&["mod", "tree", "web", "-o", "json"])
        .await
        .ok()
        .json()
}

/// The names below an object of a component.
fn owned(tree: &Value, component: &str, name: &str) -> Vec<String> {
    let components = tree["components"].as_array().unwrap().iter();
    let objects = components
        .filter(|one| one["name"] == component)
        .flat_map(|one| one["objects"].as_array().unwrap());
    let object = objects
        .into_iter()
        .find(|object| object["name"] == name)
        .unwrap();
    let owned = object["owned"].as_array().unwrap().iter();
    owned
        .map(|one| {
            format!(
                "{}/{}",
                one["kind"].as_str().unwrap(),
                one["name"].as_str().unwrap()
            )
        })
        .collect()
}

async fn owner_references_lead_down_the_tree(w: World) {
    w.apply(&web(), &[]).await.ok();
    pod_below(&w, "below", "ConfigMap/settings").await;
    let told = tree(&w).await;
    assert_eq!(owned(&told, "other", "settings"), ["Pod/below"]);
    w.opm(&["mod", "tree", "web"])
        .await
        .ok()
        .says("└─ Pod/below");
    // What is gone is said to be.
    w.api
        .delete(&api::object("ConfigMap/settings", &w.ns))
        .await;
    w.opm(&["mod", "tree", "web"])
        .await
        .ok()
        .says("it is not there");
    w.opm(&["mod", "tree", "nothing"]).await.ends(5);
}

async fn events_are_those_of_the_release_and_of_what_is_below(w: World) {
    w.apply(&web(), &[]).await.ok();
    let below = pod_below(&w, "below", "ConfigMap/settings").await;
    for (name, of, uid, message) in [
        ("first", "below", below.as_str(), "the image is not there"),
        (
            "other",
            "stranger",
            "00000000-0000-0000-0000-000000000000",
            "not about this release",
        ),
    ] {
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": w.ns, "name": of, "uid": uid},
            "type": "Warning", "reason": "Failed", "message": message, "count": 3,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:01:00Z"});
        w.api.create(&w.ns, &event).await;
    }
    let told = w
        .opm(&["mod", "events", "web", "-o", "json"])
        .await
        .ok()
        .json();
    let events = told["events"].as_array().unwrap();
    let ours = events
        .iter()
        .find(|event| event["name"] == "below" && event["reason"] == "Failed");
    let ours = ours.unwrap_or_else(|| panic!("{told}"));
    assert_eq!(ours["message"], "the image is not there");
    assert_eq!(ours["count"], 3);
    assert!(!told.to_string().contains("not about this release"));
    w.opm(&["mod", "events", "web"])
        .await
        .ok()
        .says("Pod/below")
        .says("the image is not there");
    let one = w
        .opm(&["mod", "events", "web", "--limit", "1", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(one["events"].as_array().unwrap().len(), 1);
}

async fn logs_say_what_cannot_be_read(w: World) {
    w.apply(
        &Module::new("web").component("other", &[config_map("settings", "1")]),
        &[],
    )
    .await
    .ok();
    w.opm(&["mod", "logs", "web"])
        .await
        .ok()
        .says("there are no logs");
    // No container runs anywhere in these tests.
    pod_below(&w, "below", "ConfigMap/settings").await;
    w.opm(&["mod", "logs", "web", "other"])
        .await
        .ok()
        .says("the log of below/main cannot be read");
    let told = w
        .opm(&["mod", "logs", "web", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(told["logs"][0]["container"], "main");
    assert!(told["logs"][0]["error"].is_string(), "{told}");
    w.opm(&["mod", "logs", "web", "elsewhere"])
        .await
        .ok()
        .says("there are no logs");
    w.opm(&["mod", "logs", "web", "-f", "-o", "json"])
        .await
        .ends(2);
    let following = w.start(&["mod", "logs", "web", "-f"]);
    following.until_it_writes("cannot be read").await;
    following.interrupt();
    following.end().await.ends(130);
}

async fn what_controllers_make_is_in_the_tree(w: World) {
    w.apply(&web(), &["--wait"]).await.ok();
    let told = tree(&w).await;
    let mut components = told["components"].as_array().unwrap().iter();
    let app = components
        .find(|component| component["name"] == "app")
        .unwrap();
    let deployment = &app["objects"][0];
    assert_eq!(deployment["owned"][0]["kind"], "ReplicaSet", "{told}");
    assert_eq!(deployment["owned"][0]["owned"][0]["kind"], "Pod", "{told}");
    let happened = || async {
        let told = w
            .opm(&["mod", "events", "web", "-o", "json"])
            .await
            .ok()
            .json();
        told.to_string().contains("ScalingReplicaSet")
    };
    w.until("the controller tells what it did", happened).await;
}

async fn what_may_not_be_listed_is_said(w: World) {
    w.apply(&web(), &[]).await.ok();
    let rights = Rights::none()
        .allow("", &["secrets"], &["get", "list"])
        .allow("", &["configmaps"], &["get"])
        .allow("apps", &["deployments"], &["get"]);
    let user = w.user(&rights).await;
    let words = ["mod", "tree", "web", "-n", &w.ns];
    w.opm_as(user.kubeconfig(), &words)
        .await
        .ok()
        .says("Pod in namespace")
        .says("could not be listed, so what is owned there is not known");
}
