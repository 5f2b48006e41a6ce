//! Two changes side by side.

use opm_core::diff::ChangeKind;
use opm_core::history::ObjectChangeKind;
use opm_engine::{Comparison, Failure};

use super::{failed, short};
use crate::cluster::Session;
use crate::error::{CliError, Exit};
use crate::ui::{Format, difference};

/// Ends `history --diff`: how two changes differ.
pub(crate) fn answer(
    result: Result<Comparison, Failure>,
    session: &Session,
) -> Result<Exit, CliError> {
    let compared = result.map_err(|failure| failed(&failure, session))?;
    let ui = &session.ui;
    for warning in &compared.warnings {
        ui.warn(warning);
    }
    match ui.format_or(Format::Table) {
        Format::Json => ui.json(&compared)?,
        Format::Yaml => ui.yaml(&compared)?,
        Format::Table | Format::Wide => {
            ui.styled(&text(&compared, ui.format_or(Format::Table)))?;
            ui.info(&summary(&compared));
        }
    }
    Ok(Exit::DONE)
}

fn text(compared: &Comparison, format: Format) -> String {
    let mut text = String::new();
    if !compared.values.is_empty() {
        difference::heading(&mut text, ChangeKind::Changed, "values");
    }
    for value in &compared.values {
        difference::field(&mut text, value, format);
    }
    for change in &compared.objects {
        let kind = match change.happened {
            ObjectChangeKind::Added => ChangeKind::Added,
            ObjectChangeKind::Removed => ChangeKind::Removed,
            ObjectChangeKind::Changed(_) => ChangeKind::Changed,
        };
        difference::heading(&mut text, kind, &change.identity.to_string());
        if let ObjectChangeKind::Changed(fields) = &change.happened {
            for field in fields {
                difference::field(&mut text, field, format);
            }
        }
    }
    text
}

fn summary(compared: &Comparison) -> String {
    let count = |word: &str| {
        let all = compared.objects.iter();
        all.filter(|one| one.happened.word() == word).count()
    };
    let from = match &compared.from {
        Some(from) => format!("{} → {}", short(from), short(&compared.to)),
        None => format!("{}, the first change", short(&compared.to)),
    };
    format!(
        "{from}: {} added, {} changed, {} removed",
        count("added"),
        count("changed"),
        count("removed")
    )
}
