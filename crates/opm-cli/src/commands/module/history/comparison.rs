//! Two changes side by side, for people and for scripts.

use opm_core::diff::ChangeKind;
use opm_core::history::{ObjectChange, ObjectChangeKind};
use opm_engine::Comparison;
use serde_json::{Value, json};

use crate::cluster::{difference::change as field, report};
use crate::error::{CliError, Exit};
use crate::ui::{Format, Ui, difference};

/// Prints how two changes differ.
pub(super) fn print(compared: &Comparison, ui: &Ui) -> Result<Exit, CliError> {
    for warning in &compared.warnings {
        ui.warn(warning);
    }
    match ui.format_or(Format::Table) {
        Format::Json => ui.json(&document(compared))?,
        Format::Yaml => ui.yaml(&document(compared))?,
        Format::Table | Format::Wide => {
            ui.styled(&text(compared))?;
            ui.info(&summary(compared));
        }
    }
    Ok(Exit::Done)
}

fn document(compared: &Comparison) -> Value {
    json!({
        "release": report::release(&compared.release),
        "from": compared.from,
        "to": compared.to,
        "objects": compared.objects.iter().map(object).collect::<Vec<_>>(),
    })
}

fn object(change: &ObjectChange) -> Value {
    let identity = &change.identity;
    let fields = match &change.happened {
        ObjectChangeKind::Changed(fields) => fields.iter().map(field).collect(),
        ObjectChangeKind::Added | ObjectChangeKind::Removed => Vec::new(),
    };
    json!({
        "group": identity.group(),
        "kind": identity.kind(),
        "namespace": identity.namespace.as_deref().unwrap_or_default(),
        "name": identity.name,
        "happened": change.happened.word(),
        "changes": fields,
    })
}

fn text(compared: &Comparison) -> String {
    let mut text = String::new();
    for change in &compared.objects {
        let kind = match change.happened {
            ObjectChangeKind::Added => ChangeKind::Added,
            ObjectChangeKind::Removed => ChangeKind::Removed,
            ObjectChangeKind::Changed(_) => ChangeKind::Changed,
        };
        difference::heading(&mut text, kind, &change.identity.to_string());
        if let ObjectChangeKind::Changed(fields) = &change.happened {
            for field in fields {
                difference::field(&mut text, field);
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
        Some(from) => format!("{from} → {}", compared.to),
        None => format!("{}, the first change", compared.to),
    };
    format!(
        "{from}: {} added, {} changed, {} removed",
        count("added"),
        count("changed"),
        count("removed")
    )
}
