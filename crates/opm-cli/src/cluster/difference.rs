//! What an apply would do, for scripts. The JSON is part of the contract; masked values are not
//! in it.

use opm_core::diff::{FieldChange, ShownValue};
use opm_engine::diff::{DiffReport, Difference, LetGo};
use opm_engine::{Failure, ObjectOutcome};
use serde_json::{Map, Value, json};

use super::Session;
use super::report::{self, identity, resource, tracked};
use crate::error::{CliError, Exit};
use crate::ui::{Format, difference};

/// What stands in place of a value that must not be seen; `masked` then says so too.
const MASK: &str = "(masked)";

impl Session {
    /// Ends `diff` with what it found.
    pub(crate) fn show_difference(
        &self,
        report: Result<DiffReport, Failure>,
        exit_code: bool,
    ) -> Result<Exit, CliError> {
        let mut report = report.map_err(|failure| self.failed(failure))?;
        for warning in &report.warnings {
            self.ui.warn(warning);
        }
        let would_fail = report.would_fail.take();
        let document = document(&report);
        let people = matches!(
            self.ui.format_or(Format::Table),
            Format::Table | Format::Wide
        );
        if people {
            let format = self.ui.format_or(Format::Table);
            self.ui.styled(&difference::text(&report, format))?;
        }
        if let Some(failure) = would_fail {
            let mut error = self.failed(failure);
            error.document = document;
            return Err(error);
        }
        self.ui.json_or_yaml(&document)?;
        Ok(match exit_code && report.differs() {
            true => Exit::Differences,
            false => Exit::Done,
        })
    }
}

fn document(report: &DiffReport) -> Map<String, Value> {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("release", report::release(&report.release));
    put("changeId", json!(report.change_id.to_string()));
    put("manifestDigest", json!(report.manifest_digest));
    put("currentChangeId", json!(report.current));
    put("differences", json!(report.differs()));
    put("resources", report.objects.iter().map(object).collect());
    put(
        "transferred",
        report.transferred.iter().map(let_go).collect(),
    );
    put("pending", report.pending.iter().map(tracked).collect());
    put("kept", report.kept.iter().map(tracked).collect());
    put("warnings", json!(report.warnings));
    document
}

fn object(difference: &Difference) -> Value {
    let outcome: &ObjectOutcome = &difference.outcome;
    let mut value = resource(outcome);
    value["changes"] = difference.changes.iter().map(change).collect();
    value
}

/// A value that is not there is left out.
pub(crate) fn change(change: &FieldChange) -> Value {
    let mut value = json!({ "path": change.path });
    let shown = |shown: &ShownValue| shown.value().cloned().unwrap_or_else(|| json!(MASK));
    for (key, side) in [("before", &change.old), ("after", &change.new)] {
        if let Some(side) = side {
            value[key] = shown(side);
        }
    }
    let sides = [&change.old, &change.new];
    if sides.into_iter().flatten().any(ShownValue::is_masked) {
        value["masked"] = json!(true);
    }
    value
}

fn let_go(let_go: &LetGo) -> Value {
    let (entry, to) = (&let_go.entry, &let_go.to);
    let mut value = identity(&entry.identity);
    value["v"] = json!(entry.version);
    value["component"] = json!(entry.component);
    value["to"] = json!({"name": to.name, "namespace": to.namespace, "releaseId": to.id});
    value
}
