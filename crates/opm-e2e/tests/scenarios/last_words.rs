//! A wait that runs out of time names what keeps the objects: pod, container, image, and what the
//! container wrote last or the cluster warned of, without the values of Secrets.

use opm_e2e::objects::{deployment, secret};
use opm_e2e::{Fault, Module, RequestFilter, World, api, scenarios};
use serde_json::{Value, json};

scenarios! {
    a_time_out_tells_the_last_log_line_without_secrets,
    a_time_out_tells_the_last_event_where_there_is_no_log,
    a_log_that_may_not_be_read_is_left_out,
}

/// Longer than a word, so that nobody takes it for one.
const PASSWORD: &str = "correct-horse-battery";

/// A Deployment whose controller makes no pods, so that the test can: its rollout is paused.
fn paused(name: &str) -> Value {
    let mut object = deployment(name);
    object["spec"]["paused"] = json!(true);
    object["metadata"]["annotations"] = json!({"sandbox.opmodel.dev/simulate": "pending"});
    object
}

fn module() -> Module {
    Module::new("web").component("app", &[secret("s", PASSWORD), paused("d")])
}

/// A pod of the Deployment with one container in this state.
async fn pod(w: &World, state: Value) -> Value {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "d-1", "labels": {"app": "d"},
            "annotations": {"sandbox.opmodel.dev/simulate": "crash"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}});
    let made = w.api.create(&w.ns, &pod).await;
    let path = api::object("Pod/d-1", &w.ns);
    // Whoever plays its life is done with it then.
    let runs = async || w.api.get(&path).await.unwrap()["status"]["phase"] == "Running";
    w.until("the pod runs", runs).await;
    let status = json!({"status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [{"name": "main", "image": "example.com/main:1", "imageID": "",
            "ready": false, "restartCount": 0, "state": state}]}});
    w.api.merge(&format!("{path}/status"), status).await;
    made
}

async fn a_time_out_tells_the_last_log_line_without_secrets(w: World) {
    w.apply(&module(), &[]).await.ok();
    pod(
        &w,
        json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
    )
    .await;
    let log = format!(
        "2026-01-01T00:00:01Z starting\n2026-01-01T00:00:02Z no database at db:5432, \
         tried {PASSWORD}\n2026-01-01T00:00:02Z \n"
    );
    let directory = w.write(&module());
    // Nothing changes, so the Secret is not sent: its values are hidden all the same.
    let ran = w
        .disturbed_when(
            RequestFilter::path("/pods/d-1/log").always(),
            Fault::Text(log),
            &[
                "mod",
                "apply",
                &directory,
                "--wait",
                "--timeout",
                "2s",
                "-n",
                &w.ns,
            ],
        )
        .await
        .ends(8);
    ran.says("not ready after 2s: Deployment/d")
        .says("pod d-1")
        .says("container main of pod d-1 has image example.com/main:1")
        .says("and wrote last: no database at db:5432, tried (hidden)")
        .says("--timeout");
}

async fn a_time_out_tells_the_last_event_where_there_is_no_log(w: World) {
    w.apply(&module(), &[]).await.ok();
    let pod = pod(&w, json!({"waiting": {"reason": "ContainerCreating"}})).await;
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "mount"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": w.ns, "name": "d-1",
            "uid": pod["metadata"]["uid"]},
        "type": "Warning", "reason": "FailedMount", "count": 1,
        "message": format!("no volume for {PASSWORD}"),
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2100-01-01T00:01:00Z"});
    w.api.create(&w.ns, &event).await;
    let ran = w
        .apply(&module(), &["--wait", "--timeout", "1s"])
        .await
        .ends(8);
    ran.says("container main waits: ContainerCreating")
        .says("container main of pod d-1 has image example.com/main:1")
        .says("last event: FailedMount: no volume for (hidden)");
}

async fn a_log_that_may_not_be_read_is_left_out(w: World) {
    w.apply(&module(), &[]).await.ok();
    pod(
        &w,
        json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
    )
    .await;
    let directory = w.write(&module());
    let ran = w
        .disturbed_when(
            RequestFilter::path("/pods/d-1/log").always(),
            Fault::forbidden(),
            &[
                "mod",
                "apply",
                &directory,
                "--wait",
                "--timeout",
                "1s",
                "-n",
                &w.ns,
            ],
        )
        .await
        .ends(8);
    let ran = ran.says("container main of pod d-1 has image example.com/main:1");
    assert!(!ran.to_string().contains("wrote last"), "{ran}");
}
