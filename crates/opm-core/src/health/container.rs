//! The container that keeps a workload from being ready: whose last words are worth reading.

use serde_json::{Map, Value};

use super::fields::ObjectFields;
use super::pod::unready_pods;

/// How much of a line is told.
const LONGEST_LINE: usize = 300;

/// A container that is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadyContainer<'a> {
    /// The namespace of its pod.
    pub namespace: &'a str,
    /// Its pod.
    pub pod: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What it runs.
    pub image: &'a str,
    /// Which of its lives may have written something.
    pub log: ContainerLife,
}

/// A life of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerLife {
    /// It has never run.
    None,
    /// The one that is, or that has just ended.
    Current,
    /// The one before the last restart.
    Previous,
}

impl UnreadyContainer<'_> {
    /// What it runs, and the last line that it wrote.
    pub fn words(&self, line: Option<&str>) -> String {
        let Self {
            pod, name, image, ..
        } = self;
        let wrote = match line {
            Some(line) => format!(", and wrote last: {line}"),
            None => String::new(),
        };
        format!("container {name} of pod {pod} has image {image}{wrote}")
    }
}

/// The container that keeps these pods from being ready, of the pod that is worst off.
pub fn unready_container(pods: &[Map<String, Value>]) -> Option<UnreadyContainer<'_>> {
    unready_pods(pods)
        .into_iter()
        .find_map(|(_, pod)| unready_of(pod))
}

fn unready_of(pod: &Map<String, Value>) -> Option<UnreadyContainer<'_>> {
    let fields = ObjectFields(pod);
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut statuses = statuses.iter().flat_map(|pointer| fields.list(pointer));
    let status = statuses.find(|status| !is_fine(status))?;
    let text = |key: &str| status.get(key).and_then(Value::as_str);
    Some(UnreadyContainer {
        namespace: fields.text("/metadata/namespace").unwrap_or_default(),
        pod: fields.text("/metadata/name")?,
        name: text("name")?,
        image: text("image").unwrap_or("?"),
        log: life(status),
    })
}

/// Whether it is ready, or has done what it had to do.
fn is_fine(status: &Value) -> bool {
    let ended = status.pointer("/state/terminated/exitCode");
    status.get("ready").and_then(Value::as_bool) == Some(true)
        || ended.and_then(Value::as_i64) == Some(0)
}

fn life(status: &Value) -> ContainerLife {
    let has = |pointer: &str| status.pointer(pointer).is_some_and(Value::is_object);
    match (
        has("/state/running") || has("/state/terminated"),
        has("/lastState/terminated"),
    ) {
        (true, _) => ContainerLife::Current,
        (false, true) => ContainerLife::Previous,
        (false, false) => ContainerLife::None,
    }
}

/// The last line of a text that says something, cut where it is very long.
pub fn last_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => Some(format!("{}…", line.get(..end)?)),
        None => Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, status: &Value) -> Map<String, Value> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "n"}, "status": status});
        pod.as_object().unwrap().clone()
    }

    fn container(name: &str, ready: bool, state: &Value, last: &Value) -> Value {
        json!({"name": name, "image": format!("{name}:1"), "ready": ready, "state": state,
            "lastState": last})
    }

    #[test]
    fn the_container_at_fault_is_found() {
        let running = json!({"running": {}});
        let ended = json!({"terminated": {"exitCode": 0}});
        let crashed = json!({"terminated": {"exitCode": 1}});
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let none = json!({});
        let fine = container("side", true, &running, &none);
        for (init, main, expected) in [
            (
                container("init", false, &ended, &none),
                container("main", false, &running, &none),
                Some(("main", ContainerLife::Current)),
            ),
            (
                container("init", false, &ended, &none),
                container("main", false, &waits, &crashed),
                Some(("main", ContainerLife::Previous)),
            ),
            (
                container("init", false, &crashed, &none),
                container("main", false, &creating, &none),
                Some(("init", ContainerLife::Current)),
            ),
            (
                container("init", false, &ended, &none),
                container("main", false, &creating, &none),
                Some(("main", ContainerLife::None)),
            ),
            (
                container("init", false, &ended, &none),
                container("main", true, &running, &none),
                None,
            ),
        ] {
            let status = json!({"phase": "Running", "initContainerStatuses": [init],
                "containerStatuses": [fine, main]});
            let pods = [pod("p", &status)];
            let found = unready_container(&pods);
            let found = found.map(|container| (container.name, container.log));
            assert_eq!(found, expected, "{status}");
        }
        assert_eq!(
            unready_container(&[pod("p", &json!({"phase": "Pending"}))]),
            None
        );
    }

    #[test]
    fn words_name_pod_container_image_and_line() {
        let waits = json!({"waiting": {"reason": "ImagePullBackOff"}});
        let status = json!({"containerStatuses": [container("main", false, &waits, &json!({}))]});
        let pods = [pod("web-1", &status)];
        let found = unready_container(&pods).unwrap();
        let expected = "container main of pod web-1 has image main:1";
        assert_eq!(found.words(None), expected);
        assert_eq!(
            found.words(Some("no database")),
            format!("{expected}, and wrote last: no database")
        );
    }

    #[test]
    fn the_last_line_says_something_and_ends() {
        for (text, expected) in [
            ("one\ntwo\n\n  \n", Some("two".to_owned())),
            ("\n", None),
            (&"é".repeat(301), Some(format!("{}…", "é".repeat(300)))),
        ] {
            assert_eq!(last_line(text), expected);
        }
    }
}
