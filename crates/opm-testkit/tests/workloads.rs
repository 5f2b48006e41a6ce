//! Pods meet the fate that the test gave them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, PodStatus};
use kube::api::{ListParams, PostParams};
use opm_testkit::workload::{DELAY_ANNOTATION, Fate, deployment, job, stateful_set};
use opm_testkit::{ControlPlane, TestNamespace, eventually, until};
use serde_json::{Value, json};

async fn create<K>(namespace: &TestNamespace, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object: K = serde_json::from_value(object).unwrap();
    namespace
        .api::<K>()
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

async fn ready_replicas(namespace: &TestNamespace, name: &str) -> i32 {
    let found = namespace.api::<Deployment>().get(name).await.unwrap();
    found
        .status
        .and_then(|status| status.ready_replicas)
        .unwrap_or(0)
}

async fn pod_of(namespace: &TestNamespace, app: &str) -> Option<PodStatus> {
    let selector = ListParams::default().labels(&format!("app={app}"));
    let pods = namespace.api::<Pod>().list(&selector).await.unwrap();
    pods.items.into_iter().next().and_then(|pod| pod.status)
}

fn waits_for(status: &PodStatus) -> Option<String> {
    let container = status.container_statuses.as_ref()?.first()?;
    container.state.as_ref()?.waiting.as_ref()?.reason.clone()
}

async fn job_condition(namespace: &TestNamespace, name: &str) -> Option<String> {
    let status = namespace.api::<Job>().get(name).await.unwrap().status?;
    let conditions = status.conditions.unwrap_or_default();
    let done = |kind: &str| kind == "Complete" || kind == "Failed";
    conditions
        .into_iter()
        .find(|one| done(&one.type_) && one.status == "True")
        .map(|one| one.type_)
}

#[tokio::test]
async fn a_deployment_becomes_ready() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("ready").await;
    create::<Deployment>(&namespace, deployment("web", 3, Fate::Ready)).await;
    create::<StatefulSet>(&namespace, stateful_set("db", 2, Fate::Ready)).await;
    until("3 pods are ready", async || {
        ready_replicas(&namespace, "web").await == 3
    })
    .await;
    eventually("2 pods are ready", async || {
        let status = namespace
            .api::<StatefulSet>()
            .get("db")
            .await
            .unwrap()
            .status?;
        (status.ready_replicas == Some(2)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn others_crash_lack_their_image_or_stay_pending() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("unready").await;
    create::<Deployment>(&namespace, deployment("crash", 1, Fate::Crash)).await;
    create::<Deployment>(&namespace, deployment("image", 1, Fate::BadImage)).await;
    create::<Deployment>(&namespace, deployment("pending", 1, Fate::Pending)).await;
    for (name, reason) in [("crash", "CrashLoopBackOff"), ("image", "ImagePullBackOff")] {
        eventually(reason, async || {
            let status = pod_of(&namespace, name).await?;
            (waits_for(&status)? == reason).then_some(())
        })
        .await;
    }
    let pending = eventually("the pod is there", async || {
        pod_of(&namespace, "pending").await
    })
    .await;
    assert_eq!(pending.phase.as_deref(), Some("Pending"));
    for name in ["crash", "image", "pending"] {
        assert_eq!(ready_replicas(&namespace, name).await, 0, "{name}");
    }
}

#[tokio::test]
async fn a_job_completes_and_another_fails() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("jobs").await;
    for (name, fate, end) in [
        ("good", Fate::Ready, "Complete"),
        ("bad", Fate::Fail, "Failed"),
    ] {
        create::<Job>(&namespace, job(name, fate)).await;
        let condition = eventually("the job ends", async || {
            job_condition(&namespace, name).await
        });
        assert_eq!(condition.await, end);
    }
}

#[tokio::test]
async fn a_delay_holds_readiness_back() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("delay").await;
    let mut slow = deployment("slow", 1, Fate::Ready);
    slow["spec"]["template"]["metadata"]["annotations"] = json!({ DELAY_ANNOTATION: "3s" });
    create::<Deployment>(&namespace, slow).await;
    let status = eventually("the slow one is ready", async || {
        let status = pod_of(&namespace, "slow").await?;
        is_ready(&status).then_some(status)
    })
    .await;
    // By the server's own times, whose granularity is a second.
    let became = |kind: &str| {
        let conditions = status.conditions.clone().unwrap_or_default();
        let found = conditions.into_iter().find(|one| one.type_ == kind);
        found.unwrap().last_transition_time.unwrap().0
    };
    let held_back = became("Ready").duration_since(became("PodScheduled"));
    assert!(held_back.as_secs() >= 2, "{held_back:?}");
}

fn is_ready(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

#[tokio::test]
async fn a_claim_with_a_volume_is_bound_and_another_stays_pending() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("volumes").await;
    namespace.volume_for("bound").await;
    for name in ["bound", "unbound"] {
        let claim = json!({
            "metadata": { "name": name },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "resources": { "requests": { "storage": "1Gi" } },
            },
        });
        create::<PersistentVolumeClaim>(&namespace, claim).await;
    }
    let phase = async |name: &str| {
        let claim = namespace
            .api::<PersistentVolumeClaim>()
            .get(name)
            .await
            .unwrap();
        claim
            .status
            .and_then(|status| status.phase)
            .unwrap_or_default()
    };
    until("the claim is bound", async || {
        phase("bound").await == "Bound"
    })
    .await;
    assert_eq!(phase("unbound").await, "Pending");
}
