//! The health of workloads that are ready, on their way, crashing, pending and failed.

use opm_e2e::objects::{config_map, deployment, job, stateful_set};
use opm_e2e::{Module, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    workloads_say_how_they_are_and_which_pod_keeps_them,
    a_listing_tells_the_health_of_every_release,
}

/// A workload whose pods have a fate, on either kind of cluster.
fn fated(mut workload: Value, fate: &str) -> Value {
    let annotations = &mut workload["spec"]["template"]["metadata"]["annotations"];
    annotations["testkit.opmodel.dev/fate"] = json!(fate);
    workload["metadata"]["annotations"]["sandbox.opmodel.dev/simulate"] = json!(match fate {
        "bad-image" => "crash",
        fate => fate,
    });
    workload
}

fn failing_job(name: &str) -> Value {
    let mut job = fated(job(name), "fail");
    job["spec"]["backoffLimit"] = json!(0);
    job
}

/// The status of a release, once an object of it is in this state.
async fn once(w: &World, release: &str, name: &str, health: &str) -> Value {
    let look = || async {
        let ran = w
            .opm(&["mod", "status", release, "-o", "json"])
            .await
            .ok()
            .json();
        resource(&ran, name)["health"] == health
    };
    w.until(&format!("{name} is {health}"), look).await;
    w.opm(&["mod", "status", release, "-o", "json"])
        .await
        .ok()
        .json()
}

fn resource(status: &Value, name: &str) -> Value {
    let components = status["components"].as_array().unwrap();
    let mut all = components
        .iter()
        .flat_map(|c| c["resources"].as_array().unwrap());
    all.find(|r| r["name"] == name).unwrap().clone()
}

/// The name of a pod of this app, on a cluster that has pods.
async fn pod_of(w: &World, app: &str) -> Option<String> {
    let path = format!("/api/v1/namespaces/{}/pods?labelSelector=app%3D{app}", w.ns);
    let list = w.api.get(&path).await.unwrap();
    Some(list["items"][0]["metadata"]["name"].as_str()?.to_owned())
}

async fn workloads_say_how_they_are_and_which_pod_keeps_them(w: World) {
    let module = Module::new("web")
        .component("good", &[deployment("ready"), config_map("plain", "1")])
        .component("slow", &[fated(stateful_set("pending"), "pending")])
        .component(
            "bad",
            &[
                fated(deployment("crashing"), "crash"),
                fated(deployment("image"), "bad-image"),
            ],
        )
        .component("once", &[failing_job("failed"), job("done")]);
    w.apply(&module, &[]).await.ok();
    for (name, health) in [
        ("ready", "Ready"),
        ("plain", "Ready"),
        ("pending", "Progressing"),
        ("failed", "Failed"),
        ("done", "Ready"),
    ] {
        once(&w, "web", name, health).await;
    }
    // Without pods there is nobody to say that they crash.
    let crashing = match pod_of(&w, "crashing").await {
        Some(_) => "Degraded",
        None => "Progressing",
    };
    once(&w, "web", "crashing", crashing).await;
    let shown = once(&w, "web", "image", crashing).await;

    assert_eq!(shown["health"], "Failed", "as the worst of them");
    let healths: Vec<(&str, &str)> = shown["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["name"].as_str().unwrap(), c["health"].as_str().unwrap()))
        .collect();
    for expected in [
        ("good", "Ready"),
        ("slow", "Progressing"),
        ("bad", crashing),
        ("once", "Failed"),
    ] {
        assert!(healths.contains(&expected), "{expected:?} in {healths:?}");
    }
    for (name, cause) in [
        ("crashing", "CrashLoopBackOff"),
        ("image", "ImagePullBackOff"),
        ("failed", "ended with code 1"),
        ("pending", "pods are ready"),
    ] {
        let message = resource(&shown, name)["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(!message.is_empty(), "{name}");
        if let Some(pod) = pod_of(&w, name).await {
            assert!(
                message.contains(&pod) && message.contains(cause),
                "{name}: {message}"
            );
        }
    }
    let table = w.opm(&["mod", "status", "web"]).await.ok();
    table.says("BackoffLimitExceeded").says("Failed");
    // A failed Job has not drifted, and nothing is missing: it has failed.
    w.opm(&["mod", "status", "web", "--exit-code"])
        .await
        .ends(8);
}

async fn a_listing_tells_the_health_of_every_release(w: World) {
    let fine = Module::new("fine").component("app", &[config_map("f", "1")]);
    let gone = Module::new("gone").component("app", &[config_map("g", "1")]);
    let failing = Module::new("failing").component("app", &[failing_job("j")]);
    for module in [&fine, &gone, &failing] {
        w.apply(module, &[]).await.ok();
    }
    w.api.delete(&api::object("ConfigMap/g", &w.ns)).await;
    once(&w, "failing", "j", "Failed").await;
    let ran = w.opm(&["mod", "list", "--health", "-o", "json"]).await.ok();
    let healths: Vec<(String, String)> = ran.json()["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            (
                r["name"].as_str().unwrap().to_owned(),
                r["health"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        ("failing", "Failed"),
        ("fine", "Ready"),
        ("gone", "Degraded"),
    ];
    let expected = expected.map(|(name, health)| (name.to_owned(), health.to_owned()));
    assert_eq!(healths, expected);
    w.opm(&["mod", "list", "--health"])
        .await
        .ok()
        .says("HEALTH")
        .says("Degraded");
}
