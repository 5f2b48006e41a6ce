//! Crash loops: whether waiting for a workload still makes sense.

use serde_json::{Map, Value};

use super::container::last_line;
use super::fields::ObjectFields;

/// Labels by which a workload tells the pods of its latest template from older ones.
const TEMPLATE_LABELS: [&str; 2] = ["pod-template-hash", "controller-revision-hash"];

/// Which container of a workload's latest pods crashes again and again, and how: pod, container,
/// image, how it ended and what it said last. Pods of older templates do not count, because a
/// rollout may be what puts an end to their crashes.
pub fn crash_loop(workload: &Map<String, Value>, pods: &[Map<String, Value>]) -> Option<String> {
    if !has_latest_pods(&ObjectFields(workload)) {
        return None;
    }
    let created = |pod: &&Map<String, Value>| {
        let created = ObjectFields(pod).text("/metadata/creationTimestamp");
        created.unwrap_or_default().to_owned()
    };
    let latest = pods.iter().max_by_key(created)?;
    let template = template_of(latest);
    let mut of_template = pods.iter().filter(|pod| template_of(pod) == template);
    of_template.find_map(crash_of)
}

/// Whether the controller has made pods of what was applied last.
fn has_latest_pods(workload: &ObjectFields<'_>) -> bool {
    let updated = match workload.kind() {
        "Deployment" | "StatefulSet" => workload.number("/status/updatedReplicas"),
        "DaemonSet" => workload.number("/status/updatedNumberScheduled"),
        _ => return true,
    };
    let seen = workload.number("/status/observedGeneration");
    let wanted = workload.number("/metadata/generation");
    updated.is_some_and(|updated| updated > 0) && seen >= wanted
}

fn template_of(pod: &Map<String, Value>) -> Option<&str> {
    let labels = pod.get("metadata")?.get("labels")?;
    TEMPLATE_LABELS
        .iter()
        .find_map(|label| labels.get(*label)?.as_str())
}

fn crash_of(pod: &Map<String, Value>) -> Option<String> {
    let fields = ObjectFields(pod);
    let name = fields.text("/metadata/name").unwrap_or("?");
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut statuses = statuses.iter().flat_map(|pointer| fields.list(pointer));
    statuses.find_map(|status| {
        let reason = status.pointer("/state/waiting/reason")?.as_str()?;
        (reason == "CrashLoopBackOff").then(|| {
            let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str);
            let container = text("/name").unwrap_or("?");
            let image = text("/image").unwrap_or("?");
            let ended = status.pointer("/lastState/terminated");
            let code = ended.and_then(|ended| ended.get("exitCode")?.as_i64());
            let ended = code.map(|code| format!("; it ended with code {code}"));
            let said = text("/lastState/terminated/message").and_then(last_line);
            let said = said.map(|line| format!(" and said: {line}"));
            format!(
                "pod {name}: container {container} (image {image}) crashes again and again{}{}",
                ended.unwrap_or_default(),
                said.unwrap_or_default()
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn pod(name: &str, template: &str, created: &str, reason: &str) -> Map<String, Value> {
        object(&json!({
            "metadata": {"name": name, "creationTimestamp": created,
                "labels": {"pod-template-hash": template}},
            "status": {"containerStatuses": [{"name": "main", "image": "app:1",
                "state": {"waiting": {"reason": reason}},
                "lastState": {"terminated": {"exitCode": 3, "message": "one\nno database\n"}}}]},
        }))
    }

    fn deployment(updated: i64, observed: i64) -> Map<String, Value> {
        object(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"generation": 2},
            "status": {"observedGeneration": observed, "updatedReplicas": updated}}))
    }

    const EARLY: &str = "2026-01-01T00:00:00Z";
    const LATE: &str = "2026-01-01T00:00:09Z";
    const LOOP: &str = "CrashLoopBackOff";

    #[test]
    fn only_the_latest_pods_count() {
        let crashes = |workload: &Map<String, Value>, pods: &[Map<String, Value>]| {
            crash_loop(workload, pods).is_some()
        };
        let (new, old) = (pod("n", "2", LATE, LOOP), pod("o", "1", EARLY, LOOP));
        let fine = pod("n", "2", LATE, "ContainerCreating");
        let there = deployment(1, 2);
        assert!(crashes(&there, &[old.clone(), new.clone()]));
        assert!(!crashes(&there, &[old.clone(), fine]), "an old pod crashes");
        assert!(!crashes(&deployment(0, 2), std::slice::from_ref(&old)));
        assert!(!crashes(&deployment(1, 1), &[old]), "not seen yet");
        assert!(!crashes(&there, &[]));
        assert!(!crashes(&there, &[pod("n", "2", LATE, "ImagePullBackOff")]));
        let job = object(&json!({"apiVersion": "batch/v1", "kind": "Job"}));
        assert!(crashes(&job, &[new]));
    }

    #[test]
    fn it_names_pod_container_image_end_and_last_line() {
        let said = crash_loop(&deployment(1, 2), &[pod("web-1", "2", LATE, LOOP)]);
        let expected = "pod web-1: container main (image app:1) crashes again and again; it ended \
            with code 3 and said: no database";
        assert_eq!(said.as_deref(), Some(expected));
    }
}
