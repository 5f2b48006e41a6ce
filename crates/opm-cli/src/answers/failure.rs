//! The failure of a use case, in the words of the command line.

use opm_engine::{Failure, FailureKind, Report};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{missing_rules, remedy, report};
use crate::cluster::Session;
use crate::error::CliError;
use crate::ui::Format;

/// The failure of a use case, with what had been done by then.
pub(crate) fn failed(failure: &Failure, session: &Session) -> CliError {
    let ui = &session.ui;
    let report: &Report = &failure.report;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if ui.format_or(Format::Table) == Format::Table && !report.resources.is_empty() {
        // People see what was done before they see what failed; scripts find it in the document.
        let _ = ui.table(&report::table(report, Format::Table), Format::Table);
    }
    let mut error = CliError::new(failure.kind, failure.message.clone());
    error.hints = remedy::hints(&failure.remedies);
    error.hints.extend(missing_rules::hints(failure));
    error.objects.clone_from(&failure.objects);
    if report.release.is_some() {
        error.document = document(report);
    }
    let unauthenticated = |text: &str| text.contains("401 Unauthorized");
    let mut reasons = failure.objects.iter().map(|object| object.reason.as_str());
    if unauthenticated(&failure.message) || reasons.any(unauthenticated) {
        return error.hint(format!(
            "log in to {} again, or name another context with --context",
            session.account()
        ));
    }
    match failure.kind {
        FailureKind::Unreachable if failure.message.contains("certificate") => error.hint(format!(
            "the cluster is at {}; its certificate, or this machine's clock, is wrong",
            session.server
        )),
        FailureKind::Unreachable => error.hint(format!("the cluster is at {}", session.server)),
        _ => error,
    }
}

/// A document as the fields that an error stands beside.
pub(super) fn document(answer: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(answer) {
        Ok(Value::Object(document)) => document,
        _ => Map::new(),
    }
}
