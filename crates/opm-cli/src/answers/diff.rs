//! What an apply would do.

use opm_engine::Failure;
use opm_engine::diff::DiffReport;

use super::failure::document;
use super::{failed, told};
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::ui::{Format, difference};

/// Ends `diff` with what it found. With `exit_code`, differences are told by the exit code.
pub(crate) fn answer(
    report: Result<DiffReport, Failure>,
    exit_code: bool,
    session: &Session,
) -> Result<Exit, CliError> {
    let mut report = report.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    told(ui, &report.warnings, &report.remedies);
    let would_fail = report.would_fail.take();
    let format = ui.format_or(Format::Table);
    if matches!(format, Format::Table | Format::Wide) {
        ui.styled(&difference::text(&report, format))?;
    }
    if let Some(failure) = would_fail {
        let mut error = failed(&failure, session);
        error.document = document(&report);
        return Err(error);
    }
    ui.json_or_yaml(&report)?;
    Ok(match exit_code && report.differs() {
        true => Exit::DIFFERENCES,
        false => Exit::DONE,
    })
}
