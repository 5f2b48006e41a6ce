//! What became of apply, rollback, delete, prune, forget and unlock.

use std::collections::BTreeMap;

use opm_core::event::Action;
use opm_core::plan::Guard;
use opm_engine::{Failure, ObjectOutcome, Report};

use super::remedy::guard_flag;
use super::{failed, short, told};
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Table};

/// Ends a command with what became of its use case.
pub(crate) fn answer(result: Result<Report, Failure>, session: &Session) -> Result<Exit, CliError> {
    let report = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    told(ui, &report.warnings, &report.remedies);
    ui.outcome(&report, |format| table(&report, format))?;
    ui.info(&summary(&report));
    Ok(Exit::DONE)
}

pub(crate) fn table(report: &Report, format: Format) -> Table {
    let mut table = Table::new(["OBJECT", "NAMESPACE", "COMPONENT", "ACTION", "REASON"]);
    for outcome in &report.resources {
        if outcome.action == Action::Unchanged
            && format != Format::Wide
            && report.resources.len() > 40
        {
            continue;
        }
        let object = format!("{}/{}", outcome.identity.kind(), outcome.identity.name);
        let reason = reason(outcome, report);
        table.row([
            &object,
            outcome.identity.namespace.as_deref().unwrap_or_default(),
            &outcome.component,
            outcome.action.word(),
            &reason,
        ]);
    }
    table
}

/// Why, and what lifts the guard where one keeps the object.
fn reason(outcome: &ObjectOutcome, report: &Report) -> String {
    let reason = outcome.reason.clone().unwrap_or_default();
    let guarded = report
        .kept
        .iter()
        .any(|kept| kept.identity == outcome.identity && kept.is_guarded());
    match Guard::of(&outcome.identity.group_kind) {
        Some(guard) if guarded && outcome.action == Action::Kept => {
            format!("{reason}; {} lifts that", guard_flag(guard))
        }
        _ => reason,
    }
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
        .map_or(String::new(), |id| format!(" ({})", short(&id.to_string())));
    let state = report.told_state();
    let state = state.map_or(String::new(), |state| format!("; {state}"));
    let dry = if report.dry_run {
        " — a dry run, nothing was changed"
    } else {
        ""
    };
    format!("{who}{what}{change}{state}{dry}")
}

#[cfg(test)]
mod tests {
    use opm_core::identity::{GroupKind, Identity};

    use super::*;

    fn outcome(action: Action) -> ObjectOutcome {
        ObjectOutcome {
            template: None,
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
}
