//! The values of a YAML module: its defaults, then files, then assignments, held against its
//! schema. No program is needed.

use opm_core::values::Value;
use thiserror::Error;

use super::schema::{Schema, Violation};
use super::{AssignedValue, Assignment, Layer, Pick, Segment, Values, ValuesFile, ValuesFormat};
use crate::yaml;

/// How many assignments are tried as texts where their literals do not fit.
const MAX_TRIES: usize = 50;
/// The most violations that are shown.
const MAX_SHOWN: usize = 20;

/// Why given values are not a module's.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// A CUE file that is more than data.
    #[error("{0}: for a YAML module, a CUE file must be plain data")]
    NotPlain(String),
    /// A YAML or JSON file that cannot be read as values.
    #[error("{0}: its values cannot be read")]
    Unreadable(String),
    /// An item that nobody has set.
    #[error("{0}: an item of a list is missing before one that is set")]
    Gap(String),
    /// The values do not fit the schema.
    #[error("{}", shown(.0))]
    Schema(Vec<PlacedViolation>),
}

/// A violation, and where what violates the schema was written.
#[derive(Debug)]
pub struct PlacedViolation {
    violation: Violation,
    place: Option<String>,
}

fn shown(violations: &[PlacedViolation]) -> String {
    let one = |one: &PlacedViolation| match &one.place {
        Some(place) => format!("{}\n    {place}", one.violation),
        None => one.violation.to_string(),
    };
    let mut lines: Vec<String> = violations.iter().take(MAX_SHOWN).map(one).collect();
    if violations.len() > MAX_SHOWN {
        lines.push(format!("and {} more", violations.len() - MAX_SHOWN));
    }
    lines.join("\n")
}

/// What a module has before anything is given: its own values, and where they stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnValues<'a> {
    pub(crate) value: &'a Value,
    /// The module's file.
    pub(crate) place: &'a str,
}

/// The resolved values.
pub(crate) fn resolve(
    own: OwnValues<'_>,
    given: &Values,
    schema: Option<&Schema>,
) -> Result<Value, ResolveError> {
    let base = match &given.base {
        Some(file) => read(file)?,
        None => own.value.clone(),
    };
    let files = given.files.iter().filter(|file| !file.is_blank());
    let files: Vec<Value> = files.map(read).collect::<Result<_, _>>()?;
    let mut set: Vec<Value> = given
        .assignments
        .iter()
        .map(|assignment| first_choice(assignment, &base))
        .collect();
    let merged = merge(&base, &files, given, &set)?;
    let Some(schema) = schema else {
        return Ok(merged);
    };
    let mut violations = schema.check(&merged);
    // What does not fit as a literal may fit as a text.
    for (place, assignment) in given.assignments.iter().enumerate().take(MAX_TRIES) {
        if violations.is_empty() {
            break;
        }
        let AssignedValue::Either { text, .. } = &assignment.value else {
            continue;
        };
        let literal = std::mem::replace(&mut set[place], Value::String(text.clone()));
        let others = schema.check(&merge(&base, &files, given, &set)?);
        match others.len() < violations.len() {
            true => violations = others,
            false => set[place] = literal,
        }
    }
    let merged = merge(&base, &files, given, &set)?;
    match violations.is_empty() {
        true => Ok(merged),
        false => Err(ResolveError::Schema(
            violations
                .into_iter()
                .map(|violation| PlacedViolation {
                    place: place(&violation.path, own, given),
                    violation,
                })
                .collect(),
        )),
    }
}

fn read(file: &ValuesFile) -> Result<Value, ResolveError> {
    let plain = file.plain().ok_or_else(|| match file.format {
        ValuesFormat::Cue => ResolveError::NotPlain(file.shown.clone()),
        ValuesFormat::Yaml | ValuesFormat::Json => ResolveError::Unreadable(file.shown.clone()),
    })?;
    Ok(plain.value)
}

/// A literal, unless the module has a text in its place.
fn first_choice(assignment: &Assignment, base: &Value) -> Value {
    match &assignment.value {
        AssignedValue::Text(text) => Value::String(text.clone()),
        AssignedValue::Either { literal, text } => match Value::from_cue(literal) {
            Some(Value::Null) => Value::Null,
            Some(literal) if !is_text(base, &assignment.key.0) => literal,
            Some(Value::String(text)) => Value::String(text),
            _ => Value::String(text.clone()),
        },
    }
}

fn is_text(value: &Value, path: &[Segment]) -> bool {
    match (value, path) {
        (Value::String(_), []) => true,
        (Value::Struct(fields), [Segment::Field(name), rest @ ..]) => {
            fields.get(name).is_some_and(|value| is_text(value, rest))
        }
        (Value::List(items), [Segment::Index(place), rest @ ..]) => {
            items.get(*place).is_some_and(|value| is_text(value, rest))
        }
        _ => false,
    }
}

fn merge(
    base: &Value,
    files: &[Value],
    given: &Values,
    set: &[Value],
) -> Result<Value, ResolveError> {
    let layer = |value| Layer {
        number: 0,
        reference: "",
        value,
    };
    let mut pick = Pick::base(layer(base));
    for file in files {
        pick = pick.under(layer(file));
    }
    for (assignment, value) in given.assignments.iter().zip(set) {
        pick = pick.assigned(&assignment.key, layer(value));
    }
    match given.assignments.last().filter(|_| pick.has_gap()) {
        Some(last) => Err(ResolveError::Gap(last.shown.clone())),
        None => Ok(pick.into_value()),
    }
}

/// Where a value was written: by the last who gave it, or anything in it.
fn place(path: &[String], own: OwnValues<'_>, given: &Values) -> Option<String> {
    let set = given.assignments.iter().rev().find(|one| {
        let names = one.key.0.iter().map(|step| match step {
            Segment::Field(name) => name.clone(),
            Segment::Index(place) => place.to_string(),
        });
        let names: Vec<String> = names.collect();
        names.starts_with(path) || path.starts_with(&names)
    });
    if let Some(set) = set {
        return Some(set.shown.clone());
    }
    let files = given.files.iter().rev().chain(&given.base);
    for file in files {
        let Some(plain) = file.plain() else { continue };
        if !has(&plain.value, path) {
            continue;
        }
        let nested = plain.is_nested.then(|| "values".to_owned());
        let path: Vec<String> = nested.into_iter().chain(path.iter().cloned()).collect();
        let position = match file.format {
            ValuesFormat::Cue => None,
            ValuesFormat::Yaml | ValuesFormat::Json => {
                yaml::locate::field_itself(&file.text, &path)
            }
        };
        return Some(match position {
            Some(at) => format!("{}:{}:{}", file.shown, at.line, at.column),
            None => file.shown.clone(),
        });
    }
    (!path.is_empty()).then(|| own.place.to_owned())
}

fn has(value: &Value, path: &[String]) -> bool {
    match (value, path) {
        (_, []) => true,
        (Value::Struct(fields), [name, rest @ ..]) => {
            fields.get(name).is_some_and(|value| has(value, rest))
        }
        (Value::List(items), [place, rest @ ..]) => {
            let item = place
                .parse::<usize>()
                .ok()
                .and_then(|place| items.get(place));
            item.is_some_and(|item| has(item, rest))
        }
        _ => false,
    }
}
