//! What became of a command, for people and for scripts. The JSON is part of the contract.

use std::collections::BTreeMap;

use opm_core::event::Action;
use opm_core::identity::Identity;
use opm_engine::{Failure, FailureKind, ObjectOutcome, Release, Report, TrackedObject};
use serde_json::{Map, Value, json};

use crate::error::{CliError, ErrorKind, Exit};
use crate::ui::{Format, Table, Ui};

/// Prints the report of a use case that ended well.
pub(super) fn answer(report: &Report, ui: &Ui) -> Result<Exit, CliError> {
    for warning in &report.warnings {
        ui.warn(warning);
    }
    ui.data(&document(report), |format| table(report, format))?;
    ui.info(&summary(report));
    Ok(Exit::Done)
}

/// The failure of a use case, with what had been done by then.
pub(super) fn failed(failure: Failure, ui: &Ui) -> CliError {
    let report = *failure.report;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if ui.format_or(Format::Table) == Format::Table && !report.resources.is_empty() {
        // People see what was done before they see what failed; scripts find it in the document.
        let _ = ui.text(&table(&report, Format::Table).to_string());
    }
    let mut error = CliError::new(kind(failure.kind), failure.message);
    error.hints = failure.hints;
    for object in failure.objects {
        error = error.object(object.identity, Some(object.reason));
    }
    if report.release.is_some() {
        error.document = document(&report);
    }
    error
}

fn kind(kind: FailureKind) -> ErrorKind {
    match kind {
        FailureKind::Interrupted => ErrorKind::Interrupted,
        FailureKind::Locked | FailureKind::LockLost => ErrorKind::Locked,
        FailureKind::NotPermitted => ErrorKind::NotPermitted,
        FailureKind::Unreachable => ErrorKind::Unreachable,
        FailureKind::NotFound => ErrorKind::NotFound,
        FailureKind::Refused => ErrorKind::Refused,
        FailureKind::Failed => ErrorKind::Failed,
        FailureKind::Incomplete => ErrorKind::Incomplete,
    }
}

fn document(report: &Report) -> Map<String, Value> {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put(
        "release",
        report.release.as_ref().map_or(Value::Null, release),
    );
    put(
        "changeId",
        json!(report.change_id.as_ref().map(ToString::to_string)),
    );
    put("manifestDigest", json!(report.manifest_digest));
    put("firstApply", json!(report.first_apply));
    put("dryRun", json!(report.dry_run));
    put("resources", report.resources.iter().map(resource).collect());
    put("pending", report.pending.iter().map(tracked).collect());
    put("kept", report.kept.iter().map(tracked).collect());
    put("warnings", json!(report.warnings));
    document
}

/// A release, as every document names it.
pub(crate) fn release(release: &Release) -> Value {
    json!({
        "name": release.name.as_str(),
        "namespace": release.namespace.as_str(),
        "releaseId": release.id.to_string(),
    })
}

/// An object, as every document names it. A cluster-scoped one has an empty namespace.
pub(super) fn identity(identity: &Identity) -> Value {
    json!({
        "group": identity.group(),
        "kind": identity.kind(),
        "namespace": identity.namespace.as_deref().unwrap_or_default(),
        "name": identity.name,
    })
}

pub(super) fn resource(outcome: &ObjectOutcome) -> Value {
    let mut value = identity(&outcome.identity);
    value["v"] = json!(outcome.version);
    value["component"] = json!(outcome.component);
    value["action"] = json!(outcome.action.word());
    if let Some(reason) = &outcome.reason {
        value["reason"] = json!(reason);
    }
    value
}

pub(super) fn tracked(object: &TrackedObject) -> Value {
    let mut value = identity(&object.identity);
    value["v"] = json!(object.version);
    value["component"] = json!(object.component);
    value["why"] = json!(object.why);
    value["change"] = json!(object.change);
    value["since"] = json!(object.since);
    if let Some(reason) = &object.reason {
        value["reason"] = json!(reason);
    }
    value
}

fn table(report: &Report, format: Format) -> Table {
    let mut table = Table::new(["OBJECT", "NAMESPACE", "COMPONENT", "ACTION", "REASON"]);
    for outcome in &report.resources {
        if outcome.action == Action::Unchanged
            && format != Format::Wide
            && report.resources.len() > 40
        {
            continue;
        }
        let object = format!("{}/{}", outcome.identity.kind(), outcome.identity.name);
        table.row([
            &object,
            outcome.identity.namespace.as_deref().unwrap_or_default(),
            &outcome.component,
            outcome.action.word(),
            outcome.reason.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

/// One line: which release, what was done to how many objects.
fn summary(report: &Report) -> String {
    let mut counts: BTreeMap<Action, usize> = BTreeMap::new();
    for outcome in &report.resources {
        *counts.entry(outcome.action).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(action, n)| format!("{n} {}", action.word()))
        .collect();
    let what = if counts.is_empty() {
        "nothing to do".to_owned()
    } else {
        counts.join(", ")
    };
    let who = report.release.as_ref().map_or(String::new(), |release| {
        format!("{} in namespace {}: ", release.name, release.namespace)
    });
    let change = report
        .change_id
        .as_ref()
        .map_or(String::new(), |id| format!(" ({id})"));
    let dry = if report.dry_run {
        " — a dry run, nothing was changed"
    } else {
        ""
    };
    format!("{who}{what}{change}{dry}")
}

#[cfg(test)]
mod tests {
    use opm_core::identity::GroupKind;

    use super::*;

    fn outcome(action: Action) -> ObjectOutcome {
        ObjectOutcome {
            identity: Identity::new(GroupKind::new("", "Service"), Some("games"), "web"),
            version: "v1".to_owned(),
            component: "app".to_owned(),
            action,
            reason: None,
        }
    }

    #[test]
    fn the_summary_counts_by_action() {
        let resources = vec![
            outcome(Action::Created),
            outcome(Action::Pruned),
            outcome(Action::Created),
        ];
        let report = Report {
            resources,
            ..Report::default()
        };
        assert_eq!(summary(&report), "2 created, 1 pruned");
        assert_eq!(summary(&Report::default()), "nothing to do");
    }

    #[test]
    fn a_resource_has_the_fields_of_the_contract() {
        let value = resource(&outcome(Action::Kept));
        assert_eq!(
            value,
            json!({"group": "", "kind": "Service", "namespace": "games", "name": "web", "v": "v1",
                "component": "app", "action": "kept"})
        );
    }
}
