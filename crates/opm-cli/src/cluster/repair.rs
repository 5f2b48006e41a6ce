//! What a repair found and wrote, for people and for scripts.

use opm_core::repair::{ChangeSource, FoundAs, FoundObject, RecoveredChange};
use opm_engine::Failure;
use opm_engine::repair::{RepairReport, SecretState};
use serde_json::{Map, Value, json};

use super::Session;
use super::report::{self, identity, tracked};
use crate::error::{CliError, Exit};
use crate::ui::Table;

impl Session {
    /// Ends `repair` with what became of it.
    pub(crate) fn show_repair(
        &self,
        result: Result<RepairReport, Failure>,
    ) -> Result<Exit, CliError> {
        let report = result.map_err(|failure| self.failed(failure))?;
        for warning in &report.warnings {
            self.ui.warn(warning);
        }
        if !report.needed {
            self.ui.json_or_yaml(&document(&report))?;
            self.ui
                .info(&format!("{}: nothing to repair", who(&report)));
            return Ok(Exit::Done);
        }
        self.ui.info(&findings(&report));
        match report.objects.is_empty() {
            true => self.ui.json_or_yaml(&document(&report))?,
            false => self.ui.data(&document(&report), |_| table(&report))?,
        }
        self.ui.info(match report.dry_run {
            true => "a dry run, nothing was written",
            false => "the record is repaired; `opm mod diff` shows what the next apply does",
        });
        Ok(Exit::Done)
    }
}

/// What was found, in words: also what a person is asked about.
pub(super) fn findings(report: &RepairReport) -> String {
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
        lines.push(format!("{} {from} ({} objects)", change.id, change.objects));
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
            word(*taken),
        ]);
    }
    table
}

fn word(taken: FoundAs) -> &'static str {
    match taken {
        FoundAs::Inventory => "inventory",
        FoundAs::Pending => "pending",
        FoundAs::Kept => "kept",
    }
}

fn document(report: &RepairReport) -> Map<String, Value> {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("release", report::release(&report.release));
    put("dryRun", json!(report.dry_run));
    put("needed", json!(report.needed));
    put(
        "secret",
        json!(match report.secret {
            SecretState::Whole => "whole",
            SecretState::Missing => "missing",
            SecretState::Damaged => "damaged",
        }),
    );
    let findings = report.findings.iter().map(ToString::to_string);
    put(
        "findings",
        findings.chain(report.faults.iter().cloned()).collect(),
    );
    put("changes", report.changes.iter().map(change).collect());
    put("lost", json!(report.lost));
    put("objects", report.objects.iter().map(object).collect());
    put("foreign", report.foreign.iter().map(identity).collect());
    put("pending", report.pending.iter().map(tracked).collect());
    put("kept", report.kept.iter().map(tracked).collect());
    put("warnings", json!(report.warnings));
    document
}

fn change(change: &RecoveredChange) -> Value {
    let source = match change.source {
        ChangeSource::Secret => "secret",
        ChangeSource::Records => "records",
    };
    json!({"id": change.id, "source": source, "objects": change.objects})
}

fn object(object: &FoundObject) -> Value {
    let mut value = identity(&object.entry.identity);
    value["v"] = json!(object.entry.version);
    value["component"] = json!(object.entry.component);
    value["as"] = json!(word(object.taken));
    value
}
