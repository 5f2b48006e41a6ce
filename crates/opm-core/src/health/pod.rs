//! Pods: how one is doing, and what a workload's pods say about why it is not ready.

use serde_json::{Map, Value};

use crate::words;

use super::fields::{ObjectFields, reason_and_message};
use super::{Health, HealthState};

/// Why a container waits when it will hardly come up by itself.
const LASTING: &[&str] = &[
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
    "StartError",
];

pub(super) fn pod(fields: &ObjectFields<'_>) -> Health {
    let ready = fields.condition_is("Ready", "True").is_some();
    match fields.text("/status/phase") {
        Some("Succeeded") => return Health::ready(),
        Some("Failed") => return Health::failed(why_it_failed(fields)),
        _ if ready => return Health::ready(),
        _ => {}
    }
    match problem(fields) {
        Some(problem) if problem.lasting => Health::degraded(problem.words),
        Some(problem) => Health::progressing(problem.words),
        None => Health::progressing(what_it_waits_for(fields)),
    }
}

/// How a workload is doing, given its pods: which of them are not ready, and why. A workload
/// whose pods crash is degraded rather than in progress.
pub fn with_pods(health: Health, pods: &[Map<String, Value>]) -> Health {
    if health.is_ready() {
        return health;
    }
    let stuck = pods
        .iter()
        .any(|object| pod(&ObjectFields(object)).state >= HealthState::Degraded);
    let state = match health.state {
        HealthState::Progressing if stuck => HealthState::Degraded,
        state => state,
    };
    let message = match why_not_ready(pods) {
        Some(why) => format!("{} ({why})", health.message),
        None => health.message,
    };
    Health::new(state, message)
}

/// What the pods of a workload say about why it is not ready, the worst first.
pub fn why_not_ready(pods: &[Map<String, Value>]) -> Option<String> {
    let reasons = unready_pods(pods);
    if reasons.is_empty() {
        return None;
    }
    let shown: Vec<&str> = reasons.iter().take(3).map(|(said, _)| &**said).collect();
    let more = match reasons.len().saturating_sub(shown.len()) {
        0 => String::new(),
        rest => format!("; and {}", words::count(rest, "more pod")),
    };
    Some(format!("{}{more}", shown.join("; ")))
}

/// Pods that are not ready and what they say, the worst first.
pub(super) fn unready_pods(pods: &[Map<String, Value>]) -> Vec<(String, &Map<String, Value>)> {
    let mut unready: Vec<(HealthState, String, &Map<String, Value>)> = pods
        .iter()
        .map(|object| (pod(&ObjectFields(object)), object))
        .filter(|(health, _)| !health.is_ready())
        .map(|(health, object)| {
            let name = ObjectFields(object).text("/metadata/name").unwrap_or("?");
            let said = format!("pod {name}: {}", health.message);
            (health.state, said, object)
        })
        .collect();
    unready.sort_by(|(a, said, _), (b, other, _)| b.cmp(a).then_with(|| said.cmp(other)));
    let unready = unready.into_iter();
    unready.map(|(_, said, object)| (said, object)).collect()
}

/// What keeps a pod.
struct PodProblem {
    words: String,
    /// Whether it will hardly pass by itself.
    lasting: bool,
}

/// The first thing that keeps a pod: a container that waits or ended badly, else scheduling.
fn problem(fields: &ObjectFields<'_>) -> Option<PodProblem> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let container = statuses
        .iter()
        .flat_map(|pointer| fields.list(pointer))
        .find_map(container_problem);
    container.or_else(|| {
        let scheduled = fields.condition("PodScheduled")?;
        (!scheduled.is("True")).then(|| PodProblem {
            words: scheduled.words(),
            lasting: false,
        })
    })
}

fn why_it_failed(fields: &ObjectFields<'_>) -> String {
    let reason = fields.text("/status/reason").map(str::to_owned);
    reason
        .or_else(|| problem(fields).map(|problem| problem.words))
        .unwrap_or_else(|| "it failed".to_owned())
}

/// A pod that nothing is wrong with, and that is not ready all the same.
fn what_it_waits_for(fields: &ObjectFields<'_>) -> String {
    let words = fields.condition("Ready").map(|ready| ready.words());
    match (words, fields.text("/spec/nodeName")) {
        (Some(words), _) if !words.is_empty() => words,
        (_, Some(node)) if fields.text("/status/phase") == Some("Pending") => {
            format!("its containers have not started yet on node {node}")
        }
        _ => "it is not ready yet".to_owned(),
    }
}

fn container_problem(status: &Value) -> Option<PodProblem> {
    let name = status.get("name").and_then(Value::as_str).unwrap_or("?");
    let state = status.get("state")?;
    if let Some(waiting) = state.get("waiting") {
        let mut words = match reason_and_message(waiting).as_str() {
            "" => format!("container {name} waits"),
            words => format!("container {name} waits: {words}"),
        };
        let last = status
            .get("lastState")
            .and_then(|last| last.get("terminated"));
        if let Some(ended) = last.and_then(bad_end) {
            words = format!("{words}; it {ended}");
        }
        let lasting = LASTING.contains(&text(waiting, "reason"));
        return Some(PodProblem { words, lasting });
    }
    let ended = bad_end(state.get("terminated")?)?;
    Some(PodProblem {
        words: format!("container {name} {ended}"),
        lasting: true,
    })
}

fn bad_end(ended: &Value) -> Option<String> {
    let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
    (code != 0).then(|| format!("ended with code {code} ({})", text(ended, "reason")))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
