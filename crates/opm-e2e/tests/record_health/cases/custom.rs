//! Custom resources, with the statuses that controllers write.

use serde_json::{Value, json};

use super::storage::definition;
use crate::stage::{Case, Stage, Step};

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Because", "message": "it is so",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

pub(crate) fn cases(stage: &Stage) -> Vec<Case> {
    let group = format!("{}.example.com", stage.ns);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let at = format!("/apis/{group}/v1/namespaces/{}/widgets", stage.ns);
    let made = |name: &str| json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}});
    let path = |name: &str| format!("{at}/{name}");
    let with = |name: &'static str, status: Value| {
        Case::of(name, &at, made(name)).then(Step::Status(path(name), status))
    };
    let said = |name: &'static str, conditions: &[Value]| {
        with(
            name,
            json!({"observedGeneration": 1, "conditions": conditions}),
        )
    };
    let words = "Because: it is so";
    let mut stale = condition("Ready", "True");
    stale["observedGeneration"] = json!(1);
    let bare = json!({"type": "Ready", "status": "False"});
    let changed = json!({"spec": {"size": 2}});
    vec![
        Case::of("custom-silent", &at, made("custom-silent"))
            .before(definitions, definition(&group, "Widget", "widgets")),
        said("custom-ready", &[condition("Ready", "True")]),
        said("custom-not-ready", &[condition("Ready", "False")]).is("Progressing", words),
        said("custom-ready-unknown", &[condition("Ready", "Unknown")]).is("Progressing", words),
        said("custom-not-ready-without-words", &[bare]).is("Progressing", "Ready is False"),
        said(
            "custom-available",
            &[
                condition("Available", "True"),
                condition("Progressing", "True"),
            ],
        ),
        said("custom-unavailable", &[condition("Available", "False")]).is("Progressing", words),
        said(
            "custom-stalled",
            &[condition("Ready", "False"), condition("Stalled", "True")],
        )
        .is("Failed", words),
        said(
            "custom-reconciling",
            &[condition("Ready", "True"), condition("Reconciling", "True")],
        )
        .is("Progressing", words),
        said("custom-failed", &[condition("Failed", "True")]).is("Failed", words),
        said(
            "custom-not-failed",
            &[condition("Failed", "False"), condition("Ready", "True")],
        ),
        said(
            "custom-degraded",
            &[
                condition("Available", "True"),
                condition("Degraded", "True"),
            ],
        )
        .is("Degraded", words),
        said(
            "custom-not-synced",
            &[condition("Ready", "True"), condition("Synced", "False")],
        )
        .is("Degraded", words),
        said("custom-unhealthy", &[condition("Healthy", "False")]).is("Degraded", words),
        said("custom-observed-earlier", &[condition("Ready", "True")])
            .then(Step::Merge(
                path("custom-observed-earlier"),
                changed.clone(),
            ))
            .is(
                "Progressing",
                "its controller has not seen the latest change yet",
            ),
        with(
            "custom-condition-of-earlier",
            json!({"conditions": [stale]}),
        )
        .then(Step::Merge(path("custom-condition-of-earlier"), changed))
        .is(
            "Progressing",
            "its controller has not seen the latest change yet",
        ),
        said(
            "custom-unknown-conditions",
            &[condition("Frobnicated", "False")],
        ),
    ]
}
