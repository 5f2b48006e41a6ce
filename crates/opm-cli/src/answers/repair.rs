//! What a repair found and wrote.

use opm_core::repair::{ChangeMatch, ChangeSource, FoundAs, FoundObject};
use opm_core::words;
use opm_engine::Failure;
use opm_engine::repair::{RepairReport, SecretState};

use super::failed;
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::ui::Table;

/// Ends `repair` with what became of it.
pub(crate) fn answer(
    result: Result<RepairReport, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let report = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if !report.needed {
        ui.json_or_yaml(&report)?;
        ui.info(&format!("{}: nothing to repair", who(&report)));
        return Ok(Exit::DONE);
    }
    ui.info(&findings(&report));
    match report.objects.is_empty() {
        true => ui.json_or_yaml(&report)?,
        false => ui.outcome(&report, |_| table(&report))?,
    }
    ui.info(match report.dry_run {
        true => "a dry run, nothing was written",
        false => "the record is repaired; `opm mod diff` shows what the next apply does",
    });
    Ok(Exit::DONE)
}

/// What was found, in words: also what a person is asked about.
pub(crate) fn findings(report: &RepairReport) -> String {
    let mut lines = vec![who(report)];
    lines.push(match report.secret {
        SecretState::Missing => "its Secret does not exist".to_owned(),
        SecretState::Whole => "its Secret can be read".to_owned(),
        SecretState::Damaged => "its Secret is damaged:".to_owned(),
    });
    lines.extend(report.findings.iter().map(|finding| format!("  {finding}")));
    lines.extend(report.faults.iter().map(|fault| format!("  {fault}")));
    for change in &report.changes {
        let from = match change.source {
            ChangeSource::Secret => "can be read",
            ChangeSource::Records => "comes back from the records",
        };
        let current = match (change.current, &change.matched) {
            (true, Some(ChangeMatch::Live)) => ", and is current: it matches the live objects",
            (true, _) => ", and is current",
            (false, _) => "",
        };
        lines.push(format!(
            "{} {from} ({}){current}",
            change.id,
            words::count(change.objects, "object")
        ));
    }
    if report.undetermined {
        lines
            .push("no change matches the live objects, so none is recorded as current:".to_owned());
        for change in &report.changes {
            let why = change.matched.as_ref().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "it was not compared".to_owned());
            lines.push(format!("  {}: {why}", change.id));
        }
    }
    let lost = report.lost.iter();
    lines.extend(lost.map(|id| format!("{id} is lost")));
    let foreign = report.foreign.iter();
    lines.extend(foreign.map(|one| format!("{one} is not this release's, and is left out")));
    let count = |taken: FoundAs| report.objects.iter().filter(|o| o.taken == taken).count();
    for (taken, what) in [
        (FoundAs::Inventory, "belong to the current change"),
        (
            FoundAs::Pending,
            "become pending: the next apply keeps what it renders, and removes the rest",
        ),
        (
            FoundAs::Kept,
            "become kept, and stay until somebody says otherwise",
        ),
    ] {
        match count(taken) {
            0 => {}
            count => lines.push(format!("with its labels: {count} that {what}")),
        }
    }
    lines.join("\n")
}

fn who(report: &RepairReport) -> String {
    let release = &report.release;
    format!(
        "release {} in namespace {} (id {})",
        release.name, release.namespace, release.id
    )
}

fn table(report: &RepairReport) -> Table {
    let mut table = Table::new(["OBJECT", "NAMESPACE", "COMPONENT", "REMEMBERED AS"]);
    for FoundObject { entry, taken } in &report.objects {
        table.row([
            &format!("{}/{}", entry.identity.kind(), entry.identity.name),
            entry.identity.namespace.as_deref().unwrap_or_default(),
            &entry.component,
            taken.word(),
        ]);
    }
    table
}
