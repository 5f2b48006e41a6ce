//! Differences for people: each object with a sign in front, its changed fields below it, a
//! summary at the end.
//!
//! New and removed structures are shown as YAML, changed texts of several lines line by line.
//! What is unchanged is only counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use opm_core::diff::{ChangeKind, FieldChange, ShownValue};
use opm_core::takeover::LeftoverField;
use opm_core::words::count;
use opm_engine::Action;
use opm_engine::diff::{DiffReport, Difference};
use opm_render::yaml;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::{Format, printable};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();
const STOPPED: Style = AnsiColor::Red.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// Labels that say whose an object is: on everything that is applied, so not worth a line each
/// on something new.
const OWN_LABELS: [&str; 3] = [
    "opmodel.dev/",
    "app.kubernetes.io/managed-by",
    "shared.opmodel.dev/",
];

/// How many lines and how many characters of a value are shown; wide output shows all.
const SHOWN_LINES: usize = 40;
const SHOWN_CHARACTERS: usize = 400;

/// How many fields a note names.
const SHOWN_LEFTOVERS: usize = 3;

/// The whole report.
pub(crate) fn text(report: &DiffReport, format: Format) -> String {
    let mut text = String::new();
    for difference in &report.objects {
        let noted = !difference.leftovers.is_empty();
        if difference.differs() || noted || format == Format::Wide {
            object(&mut text, difference, format);
        }
    }
    for let_go in &report.transferred {
        let line = format!(
            "{} belongs to release {} now; this one lets go of it",
            let_go.entry.identity, let_go.to
        );
        push(&mut text, CHANGED, "→", &printable::line(&line));
    }
    for orphan in &report.orphans {
        let line = format!(
            "{} is an orphan: it carries the release's labels and is in no record of it",
            orphan.identity
        );
        push(&mut text, CHANGED, "?", &printable::line(&line));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &summary(report) + "\n"
}

fn object(text: &mut String, difference: &Difference, format: Format) {
    let outcome = &difference.outcome;
    let (style, sign) = sign(outcome.action);
    let mut line = format!("{} {}", outcome.identity, outcome.action.word());
    if format == Format::Wide {
        let template = outcome.template.as_ref();
        let template = template.map(|name| format!(", {name}"));
        let template = template.unwrap_or_default();
        let _ = write!(line, " (component {}{template})", outcome.component);
    }
    if let Some(reason) = &outcome.reason {
        let _ = write!(line, ": {reason}");
    }
    push(text, style, sign, &printable::line(&line));
    let new = outcome.action == Action::Created && format != Format::Wide;
    for change in &difference.changes {
        if !(new && is_own_label(&change.path)) {
            field(text, change, format);
        }
    }
    if let Some(note) = leftover_words(&difference.leftovers) {
        let identity = &outcome.identity;
        let named = format!("{}/{}", identity.kind(), identity.name);
        let line = format!("{note} (--adopt={named} removes them)");
        indented(text, QUIET, "·", &printable::line(&line));
    }
}

/// A note: who still owns fields that the module does not render.
pub(crate) fn leftover_words(leftovers: &[LeftoverField]) -> Option<String> {
    let mut by: Vec<&str> = leftovers.iter().map(|one| one.by.as_str()).collect();
    by.sort_unstable();
    by.dedup();
    let fields = leftovers.iter().take(SHOWN_LEFTOVERS);
    let mut fields: Vec<String> = fields.map(|one| one.field.clone()).collect();
    if leftovers.len() > SHOWN_LEFTOVERS {
        fields.push(format!("{} more", leftovers.len() - SHOWN_LEFTOVERS));
    }
    (!leftovers.is_empty()).then(|| {
        format!(
            "note: {} still owns fields that the module does not render: {}",
            by.join(", "),
            fields.join(", ")
        )
    })
}

fn is_own_label(path: &str) -> bool {
    path.starts_with("metadata.labels") && OWN_LABELS.iter().any(|own| path.contains(own))
}

fn sign(action: Action) -> (Style, &'static str) {
    match action {
        Action::Created => (ADDED, "+"),
        Action::Configured | Action::Adopted => (CHANGED, "~"),
        Action::Recreated => (REMOVED, "±"),
        Action::Pruned | Action::Deleted => (REMOVED, "-"),
        Action::Failed | Action::Refused | Action::Skipped => (STOPPED, "!"),
        Action::Kept | Action::Unchanged => (QUIET, "="),
    }
}

/// The line of an object of which only this is known: it came, it went, or it changed.
pub(crate) fn heading(text: &mut String, kind: ChangeKind, line: &str) {
    let (style, sign) = match kind {
        ChangeKind::Added => (ADDED, "+"),
        ChangeKind::Removed => (REMOVED, "-"),
        ChangeKind::Changed => (CHANGED, "~"),
    };
    push(text, style, sign, &printable::line(line));
}

fn push(text: &mut String, style: Style, sign: &str, line: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{style}{sign} {line}{style:#}");
}

/// One changed field, indented below its object. Long values are cut unless it is to be wide.
pub(crate) fn field(text: &mut String, change: &FieldChange, format: Format) {
    let path = printable::line(&change.path);
    let mut whole = String::new();
    match (change.kind, &change.old, &change.new) {
        (ChangeKind::Changed, Some(old), Some(new)) => changed(&mut whole, &path, old, new),
        (ChangeKind::Added, _, Some(new)) => one_sided(&mut whole, ADDED, "+", &path, new),
        (ChangeKind::Removed, Some(old), _) => one_sided(&mut whole, REMOVED, "-", &path, old),
        _ => {}
    }
    match format {
        Format::Wide => text.push_str(&whole),
        _ => push_cut(text, &whole),
    }
}

/// As much of a long value as fits a screen, and how to see the rest.
fn push_cut(text: &mut String, whole: &str) {
    for line in whole.lines().take(SHOWN_LINES) {
        match line.char_indices().nth(SHOWN_CHARACTERS) {
            // What is cut off may have been the end of a colour.
            Some((cut, _)) => {
                let reset = anstyle::Reset;
                let _ = writeln!(text, "{}{reset}… (-o wide shows all of it)", &line[..cut]);
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    let more = whole.lines().count().saturating_sub(SHOWN_LINES);
    if more > 0 {
        let more = format!("… {} (-o wide shows them)", count(more, "more line"));
        indented(text, QUIET, " ", &more);
    }
}

fn changed(text: &mut String, path: &str, old: &ShownValue, new: &ShownValue) {
    let texts = (
        old.value().and_then(Value::as_str),
        new.value().and_then(Value::as_str),
    );
    if old.is_masked() {
        let line = format!("{path}: another value (masked)");
        return indented(text, CHANGED, "~", &line);
    }
    match texts {
        (Some(old), Some(new)) if old.contains('\n') || new.contains('\n') => {
            indented(text, CHANGED, "~", &format!("{path}:"));
            line_by_line(text, old, new);
        }
        _ => {
            let line = format!(
                "{path}: {} → {}",
                printable::line(&old.to_string()),
                printable::line(&new.to_string())
            );
            indented(text, CHANGED, "~", &line);
        }
    }
}

fn line_by_line(text: &mut String, old: &str, new: &str) {
    let diff = TextDiff::from_lines(old, new);
    for (at, group) in diff.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            indented(text, QUIET, " ", "  …");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value();
            let line = printable::line(line.strip_suffix('\n').unwrap_or(line)).into_owned();
            let (style, sign) = match change.tag() {
                ChangeTag::Insert => (ADDED, "+"),
                ChangeTag::Delete => (REMOVED, "-"),
                ChangeTag::Equal => (QUIET, " "),
            };
            indented(text, style, sign, &format!("  {line}"));
        }
    }
}

fn one_sided(text: &mut String, style: Style, sign: &str, path: &str, shown: &ShownValue) {
    let block = shown
        .value()
        .filter(|value| is_large(value))
        .and_then(|value| yaml::write([value]).ok());
    let Some(block) = block else {
        let value = shown.to_string();
        let line = format!("{path}: {}", printable::line(&value));
        return indented(text, style, sign, &line);
    };
    indented(text, style, sign, &format!("{path}:"));
    let block = block.strip_prefix("---\n").unwrap_or(&block).to_owned();
    for line in block.lines() {
        indented(text, style, sign, &format!("  {}", printable::line(line)));
    }
}

/// Whether a value is easier to read over several lines.
fn is_large(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        Value::String(text) => text.contains('\n'),
        _ => false,
    }
}

fn indented(text: &mut String, style: Style, sign: &str, line: &str) {
    let _ = writeln!(text, "    {style}{sign} {line}{style:#}");
}

/// One line: what would happen to how many objects.
fn summary(report: &DiffReport) -> String {
    let mut counts: BTreeMap<Action, usize> = BTreeMap::new();
    for difference in &report.objects {
        *counts.entry(difference.outcome.action).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(action, count)| format!("{count} {}", action.word()))
        .collect();
    let release = &report.release;
    let would = report.objects.iter().any(Difference::differs) || !report.transferred.is_empty();
    let what = match (would, counts.is_empty()) {
        (_, true) => "nothing to do".to_owned(),
        (false, _) => format!("no differences ({})", counts.join(", ")),
        (true, _) => format!("if applied, {}", counts.join(", ")),
    };
    let orphans = match report.orphans.len() {
        0 => String::new(),
        orphans => format!("; {}", count(orphans, "orphan")),
    };
    format!(
        "{} in namespace {}: {what}{orphans}",
        release.name, release.namespace
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_and_say_how_to_see_them() {
        let lines: String = (0..60).map(|n| format!("    + line {n}\n")).collect();
        let mut text = String::new();
        push_cut(&mut text, &lines);
        assert!(
            text.contains("line 39") && !text.contains("line 40"),
            "{text}"
        );
        assert!(
            text.contains("20 more lines (-o wide shows them)"),
            "{text}"
        );
        let mut text = String::new();
        push_cut(&mut text, &format!("    ~ data.k: {}\n", "é".repeat(1000)));
        assert!(text.chars().count() < 500, "{text}");
        assert!(text.contains("-o wide shows all of it"), "{text}");
        let mut text = String::new();
        push_cut(&mut text, "    + short\n");
        assert_eq!(text, "    + short\n");
    }
}
