//! Two changes side by side, for people and for scripts.

use std::fmt::Write as _;

use opm_core::diff::{FieldChange, Shown};
use opm_core::history::{Happened, ObjectChange};
use opm_engine::Comparison;
use serde_json::{Value, json};

use crate::cluster::report;
use crate::error::{CliError, Exit};
use crate::ui::{Format, Ui};

/// Prints how two changes differ.
pub(super) fn print(compared: &Comparison, ui: &Ui) -> Result<Exit, CliError> {
    for warning in &compared.warnings {
        ui.warn(warning);
    }
    match ui.format_or(Format::Table) {
        Format::Json => ui.json(&document(compared))?,
        Format::Yaml => ui.yaml(&document(compared))?,
        Format::Table | Format::Wide => {
            ui.text(&text(compared))?;
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
        Happened::Changed(fields) => fields.iter().map(field).collect(),
        Happened::Added | Happened::Removed => Vec::new(),
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

/// A value that is not there is left out.
fn field(change: &FieldChange) -> Value {
    let mut value = json!({"path": change.path});
    for (key, side) in [("before", &change.old), ("after", &change.new)] {
        if let Some(shown) = side {
            let plain = shown.value().cloned();
            value[key] = plain.unwrap_or_else(|| json!(shown.to_string()));
        }
    }
    let sides = [&change.old, &change.new];
    if sides.into_iter().flatten().any(Shown::is_masked) {
        value["masked"] = json!(true);
    }
    value
}

fn text(compared: &Comparison) -> String {
    let mut text = String::new();
    for change in &compared.objects {
        let sign = match change.happened {
            Happened::Added => '+',
            Happened::Removed => '-',
            Happened::Changed(_) => '~',
        };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{sign} {}", change.identity);
        if let Happened::Changed(fields) = &change.happened {
            for field in fields {
                let _ = writeln!(text, "    {}", line(field));
            }
        }
    }
    text
}

fn line(field: &FieldChange) -> String {
    let FieldChange { path, old, new, .. } = field;
    match (old, new) {
        (Some(old), Some(new)) if old.is_masked() && new.is_masked() => {
            format!("{path}: changed, {old}")
        }
        (Some(old), Some(new)) => format!("{path}: {old} → {new}"),
        (None, Some(new)) => format!("{path}: added {new}"),
        (Some(old), None) => format!("{path}: removed {old}"),
        (None, None) => path.clone(),
    }
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
