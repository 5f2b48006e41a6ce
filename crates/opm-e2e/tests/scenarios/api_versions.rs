//! Objects that are rendered in an API version which the server serves and does not prefer.

use opm_e2e::objects::{custom, custom_kind, deployment};
use opm_e2e::{Module, OpmOutput, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    an_object_is_compared_in_the_version_that_is_rendered,
    #[real_only("does not apply to the sandbox, which serves no kind of its own in two versions")]
    a_kind_whose_versions_have_other_fields_is_compared_in_the_rendered_one,
}

/// A kind that is served in `v1`, which is preferred, and in `v1beta1`.
fn definition(w: &World) -> Value {
    let mut definition = custom_kind(&w.group(), "Widget");
    let mut beta = definition["spec"]["versions"][0].clone();
    beta["name"] = json!("v1beta1");
    beta["storage"] = json!(false);
    let versions = definition["spec"]["versions"].as_array_mut();
    versions.unwrap().push(beta);
    definition
}

fn module(w: &World, size: u64) -> Module {
    let mut widget = custom(&w.group(), "Widget", "gear");
    widget["apiVersion"] = json!(format!("{}/v1beta1", w.group()));
    widget["spec"]["size"] = json!(size);
    Module::new("web").component("app", &[definition(w), widget])
}

fn changed(ran: &OpmOutput, spelled: &str) -> Vec<String> {
    let changes = ran.changes(spelled).into_iter();
    changes.map(|(path, _, _)| path).collect()
}

async fn drift(w: &World) -> Vec<Value> {
    let shown = w.opm(&["mod", "status", "web", "-o", "json"]).await.json();
    let resources = shown["components"][0]["resources"].as_array().unwrap();
    let drift = resources.iter().flat_map(|one| {
        let drift = one["drift"].as_array().unwrap();
        drift.iter().map(|one| one["field"].clone())
    });
    drift.collect()
}

async fn an_object_is_compared_in_the_version_that_is_rendered(w: World) {
    w.apply(&module(&w, 1), &[]).await.ok();
    let same = w.diff(&module(&w, 1), &[]).await.ok();
    assert_eq!(changed(&same, "Widget/gear"), Vec::<String>::new());
    let bigger = w.diff(&module(&w, 2), &[]).await.ok();
    assert_eq!(changed(&bigger, "Widget/gear"), ["spec.size"]);
    assert!(drift(&w).await.is_empty());

    // What somebody removed is seen, though nobody owns it now.
    let path = format!("/apis/{}/v1/namespaces/{}/widgets/gear", w.group(), w.ns);
    w.api.merge(&path, json!({"spec": {"size": null}})).await;
    assert_eq!(drift(&w).await, ["spec.size"]);
    let dir = w.write(&module(&w, 1));
    let (ran, requests) = w.counted(&["mod", "apply", &dir, "-n", &w.ns]).await;
    ran.ok();
    assert_eq!(requests.get("patch widgets"), Some(&1), "{requests:?}");
    assert!(drift(&w).await.is_empty());

    // What only others wrote to is told from what would change.
    let theirs = json!({"metadata": {"annotations": {"theirs": "1"}}});
    w.api.merge(&path, theirs).await;
    let (ran, requests) = w.counted(&["mod", "apply", &dir, "-n", &w.ns]).await;
    ran.ok();
    assert_eq!(requests.get("patch widgets"), None, "{requests:?}");
}

async fn a_kind_whose_versions_have_other_fields_is_compared_in_the_rendered_one(w: World) {
    let scaled = |percent: u64| {
        let scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "scaler"}, "spec": {"minReplicas": 1, "maxReplicas": 9,
                "targetCPUUtilizationPercentage": percent,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}});
        Module::new("web").component("app", &[deployment("d"), scaler])
    };
    w.apply(&scaled(80), &[]).await.ok();
    let differs = w.diff(&scaled(50), &[]).await.ok();
    let changes = changed(&differs, "HorizontalPodAutoscaler/scaler");
    assert_eq!(changes, ["spec.targetCPUUtilizationPercentage"]);
    assert!(drift(&w).await.is_empty());
}
