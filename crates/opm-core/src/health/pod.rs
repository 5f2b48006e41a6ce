//! Pods: how one is doing, and what a workload's pods say about why it is not ready.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Health;
use super::fields::Fields;

pub(super) fn pod(fields: &Fields<'_>) -> Health {
    match fields.text("/status/phase") {
        Some("Succeeded") => return Health::ready(),
        Some("Failed") => {
            let reason = fields.text("/status/reason").unwrap_or("it failed");
            return Health::failed(reason);
        }
        _ => {}
    }
    if fields
        .condition("Ready")
        .is_some_and(|ready| ready.is("True"))
    {
        return Health::ready();
    }
    Health::progressing(waiting(fields).unwrap_or_else(|| "it is not ready yet".to_owned()))
}

/// What the pods of a workload say about why it is not ready: each different reason once.
pub fn why_not_ready(pods: &[Map<String, Value>]) -> Option<String> {
    let reasons: BTreeSet<String> = pods
        .iter()
        .map(Fields)
        .filter(|fields| !pod(fields).is_ready())
        .filter_map(|fields| {
            let name = fields.text("/metadata/name").unwrap_or("?");
            Some(format!("pod {name}: {}", waiting(&fields)?))
        })
        .collect();
    if reasons.is_empty() {
        return None;
    }
    let shown: Vec<&str> = reasons.iter().take(3).map(String::as_str).collect();
    let rest = reasons.len() - shown.len();
    let more = match rest {
        0 => String::new(),
        rest => format!("; and {rest} more pods"),
    };
    Some(format!("{}{more}", shown.join("; ")))
}

/// The first thing that keeps a pod: a container that waits or ended badly, else scheduling.
fn waiting(fields: &Fields<'_>) -> Option<String> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let container = statuses
        .iter()
        .flat_map(|pointer| fields.list(pointer))
        .find_map(container_trouble);
    container.or_else(|| {
        let scheduled = fields.condition("PodScheduled")?;
        (!scheduled.is("True")).then(|| scheduled.words())
    })
}

fn container_trouble(status: &Value) -> Option<String> {
    let name = status.get("name").and_then(Value::as_str).unwrap_or("?");
    let state = status.get("state")?;
    let text = |state: &Value, field: &str| {
        state
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if let Some(waiting) = state.get("waiting") {
        let (reason, message) = (text(waiting, "reason"), text(waiting, "message"));
        return Some(match (reason.as_str(), message.as_str()) {
            (reason, "") => format!("container {name} waits: {reason}"),
            (reason, message) => format!("container {name} waits: {reason}: {message}"),
        });
    }
    let ended = state.get("terminated")?;
    let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
    (code != 0).then(|| {
        format!(
            "container {name} ended with code {code} ({})",
            text(ended, "reason")
        )
    })
}
