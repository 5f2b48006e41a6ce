//! `###ZARF_VAR_…###` and its kin: found in a text before it is read as YAML, where an unquoted one
//! would be a comment, and replaced in what was read, so that no value can become anything but a
//! value.
//!
//! A marker that stands alone without quotes takes the type that its value has in YAML, as if it
//! had been written there. What a value holds is not looked at again.

use std::borrow::Cow;

use opm_core::values::Value;
use serde_json::{Map, Value as Json};

use crate::substitution::SubstitutionError;
use crate::yaml;

/// What every marker begins with.
const START: &str = "###ZARF_";
/// What every marker ends with.
const END: &str = "###";
/// Stands for each `#` of a marker while a text is read: one character for one, so that places
/// stay what they are. No file of people has it.
const MARK: char = '\u{f0f1}';
/// The same for a marker that is all of an unquoted scalar.
const MARK_ALONE: char = '\u{f0f2}';

/// What a marker stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Replacement<'a> {
    /// The marker itself: it means nothing here.
    Itself,
    /// A value.
    Value {
        value: Cow<'a, Value>,
        /// Whether its lines begin where the marker stands.
        auto_indent: bool,
    },
}

/// Says what a marker stands for, by its name without `ZARF_`.
pub(super) type Lookup<'a> = dyn Fn(&str) -> Result<Replacement<'a>, SubstitutionError> + 'a;

/// The text with its markers as they can be read.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    if !text.contains(START) {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let Some(name) = name_of(&rest[at + 3..], END) else {
            readable.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
            continue;
        };
        readable.push_str(&rest[..at]);
        rest = &rest[at + 3 + name.len() + 3..];
        let mark = match is_alone(&readable, rest) {
            true => MARK_ALONE,
            false => MARK,
        };
        let marks: String = std::iter::repeat_n(mark, 3).collect();
        readable.extend([marks.as_str(), name, marks.as_str()]);
    }
    readable.push_str(rest);
    Cow::Owned(readable)
}

/// The name at the beginning of a text, `ZARF_` included, if what ends a marker follows it.
fn name_of<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let known = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name = &text[..text.find(|c| !known(c))?];
    let is_named = name.starts_with("ZARF_") && name.len() > 5;
    (is_named && text[name.len()..].starts_with(end)).then_some(name)
}

/// Whether nothing but a marker can be in a scalar, by what stands around it on its line.
fn is_alone(before: &str, after: &str) -> bool {
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let trimmed = line.trim_end_matches(' ');
    let begins = match trimmed.chars().next_back() {
        Some(':' | '-') => trimmed.len() < line.len(),
        Some('[' | '{' | ',') => true,
        _ => false,
    };
    let after = after.lines().next().unwrap_or_default();
    let following = after.trim_start_matches(' ');
    let ends = match following.chars().next() {
        None | Some(',' | ']' | '}') => true,
        Some('#') => following.len() < after.len(),
        Some(_) => false,
    };
    begins && ends
}

/// Replaces the markers in the texts and keys of a document.
pub(super) fn replace(document: &mut Json, lookup: &Lookup<'_>) -> Result<(), SubstitutionError> {
    match document {
        Json::String(text) if has_mark(text) => *document = leaf(text, lookup)?,
        Json::Array(items) => {
            for item in items {
                replace(item, lookup)?;
            }
        }
        Json::Object(fields) => {
            for value in fields.values_mut() {
                replace(value, lookup)?;
            }
            if fields.keys().any(|key| has_mark(key)) {
                let mut replaced = Map::new();
                for (key, value) in std::mem::take(fields) {
                    let new = replaced_text(&key, lookup)?;
                    if replaced.insert(new, value).is_some() {
                        return Err(SubstitutionError::of_marker(
                            "a marker makes two keys of one mapping the same".to_owned(),
                            None,
                            key,
                        ));
                    }
                }
                *fields = replaced;
            }
        }
        _ => {}
    }
    Ok(())
}

fn has_mark(text: &str) -> bool {
    text.contains([MARK, MARK_ALONE])
}

/// The first marker of a text: where it begins, its name with `ZARF_`, and its mark.
fn next_marker(text: &str) -> Option<(usize, &str, char)> {
    for (at, mark) in text.match_indices([MARK, MARK_ALONE]) {
        let char = mark.chars().next()?;
        let marks: String = std::iter::repeat_n(char, 3).collect();
        let inner = text[at..].strip_prefix(marks.as_str());
        if let Some(name) = inner.and_then(|inner| name_of(inner, &marks)) {
            return Some((at, name, char));
        }
    }
    None
}

/// How many bytes a marker with this name takes in a text that can be read.
fn length(name: &str, mark: char) -> usize {
    name.len() + 6 * mark.len_utf8()
}

fn leaf(text: &str, lookup: &Lookup<'_>) -> Result<Json, SubstitutionError> {
    if let Some((0, name, MARK_ALONE)) = next_marker(text)
        && length(name, MARK_ALONE) == text.len()
        && let Replacement::Value { value, .. } = looked_up(text, name, lookup)?
    {
        return Ok(typed(&value));
    }
    replaced_text(text, lookup).map(Json::String)
}

/// Texts are replaced in texts.
fn replaced_text(text: &str, lookup: &Lookup<'_>) -> Result<String, SubstitutionError> {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, name, mark)) = next_marker(rest) {
        replaced.push_str(&rest[..at]);
        let marker = &rest[at..at + length(name, mark)];
        match looked_up(marker, name, lookup)? {
            Replacement::Itself => replaced.push_str(&shown(name)),
            Replacement::Value { value, auto_indent } => {
                let text = as_text(&value).ok_or_else(|| {
                    let problem = format!("{} is a list or a mapping in a text", shown(name));
                    SubstitutionError::of_marker(problem, None, marker.to_owned())
                })?;
                match auto_indent {
                    true => {
                        let line = replaced.rfind('\n').map_or(0, |at| at + 1);
                        let width = replaced[line..].chars().count();
                        let indent = format!("\n{}", " ".repeat(width));
                        replaced.push_str(&text.replace('\n', &indent));
                    }
                    false => replaced.push_str(&text),
                }
            }
        }
        rest = &rest[at + marker.len()..];
    }
    replaced.push_str(rest);
    Ok(replaced)
}

fn looked_up<'a>(
    marker: &str,
    name: &str,
    lookup: &Lookup<'a>,
) -> Result<Replacement<'a>, SubstitutionError> {
    let name = name.strip_prefix("ZARF_").unwrap_or(name);
    lookup(name).map_err(|error| error.at(marker))
}

/// A marker as people write it.
pub(super) fn shown(name: &str) -> String {
    let name = name.strip_prefix("ZARF_").unwrap_or(name);
    format!("{START}{name}{END}")
}

/// A value inside a text.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null => Some(String::new()),
        Value::List(_) | Value::Struct(_) => None,
    }
}

/// A text as it would be read where it is written without quotes: a number, a boolean, a list or a
/// mapping in brackets; a text if it is none of these.
fn typed(value: &Value) -> Json {
    let Value::String(text) = value else {
        return value.to_json();
    };
    if text.contains('\n') {
        return Json::from(text.as_str());
    }
    let read = yaml::documents(text).unwrap_or_default();
    let is_flow = text.trim_start().starts_with(['[', '{']);
    match read.into_iter().map(|document| document.value).next() {
        None if text.trim().is_empty() => Json::Null,
        Some(value) if is_flow || !(value.is_object() || value.is_array()) => value,
        _ => Json::from(text.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<Json, String> {
        let lookup = |name: &str| match name {
            "VAR_PORT" => value("8080"),
            "VAR_NAME" => value("web"),
            "VAR_LINES" => Ok(Replacement::Value {
                value: Cow::Owned(Value::String("one\ntwo".to_owned())),
                auto_indent: true,
            }),
            "VAR_EVIL" => value("x\nkind: Secret"),
            "VAR_LIST" => value("[1, {a: b}]"),
            "VAR_EMPTY" => value(""),
            "VAR_YES" => value("yes"),
            "VAR_PAIR" => value("a: b"),
            "KEPT" => Ok(Replacement::Itself),
            other => Err(SubstitutionError::of_marker(
                format!("{other} is not known"),
                None,
                String::new(),
            )),
        };
        let mut documents = yaml::documents(&readable(text)).unwrap();
        let mut document = documents.remove(0).value;
        replace(&mut document, &lookup).map_err(|error| error.to_string())?;
        Ok(document)
    }

    fn value(text: &str) -> Result<Replacement<'static>, SubstitutionError> {
        Ok(Replacement::Value {
            value: Cow::Owned(Value::String(text.to_owned())),
            auto_indent: false,
        })
    }

    #[test]
    fn markers_become_values() {
        for (given, expected) in [
            ("a: ###ZARF_VAR_PORT###", r#"{"a":8080}"#),
            ("a: \"###ZARF_VAR_PORT###\"", r#"{"a":"8080"}"#),
            ("a: '###ZARF_VAR_PORT###' # why", r#"{"a":"8080"}"#),
            ("a: ###ZARF_VAR_PORT### # why", r#"{"a":8080}"#),
            ("a: [###ZARF_VAR_PORT###, 1]", r#"{"a":[8080,1]}"#),
            ("- ###ZARF_VAR_YES###", "[true]"),
            (
                "a: ###ZARF_VAR_NAME###-###ZARF_VAR_PORT###",
                r#"{"a":"web-8080"}"#,
            ),
            ("###ZARF_VAR_NAME###: 1", r#"{"web":1}"#),
            ("a: ###ZARF_VAR_LIST###", r#"{"a":[1,{"a":"b"}]}"#),
            ("a: ###ZARF_VAR_PAIR###", r#"{"a":"a: b"}"#),
            ("a: ###ZARF_VAR_EMPTY###", r#"{"a":null}"#),
            ("a: ###ZARF_VAR_EVIL###", r#"{"a":"x\nkind: Secret"}"#),
            ("a: |\n  ###ZARF_VAR_PORT###\n", r#"{"a":"8080\n"}"#),
            ("a: |-\n  ###ZARF_VAR_PORT###\n", r#"{"a":"8080"}"#),
            ("a: |\n  x: ###ZARF_VAR_PORT###\n", r#"{"a":"x: 8080\n"}"#),
            (
                "a: |\n  b\n    ###ZARF_VAR_LINES###\n",
                r#"{"a":"b\n  one\n  two\n"}"#,
            ),
            (
                "a: \"###ZARF_KEPT### ###ZARF_bad###\"",
                r####"{"a":"###ZARF_KEPT### ###ZARF_bad###"}"####,
            ),
            (
                "# ###ZARF_VAR_UNKNOWN###\na: 1 # ###ZARF_VAR_UNKNOWN###",
                r#"{"a":1}"#,
            ),
        ] {
            assert_eq!(filled(given).unwrap().to_string(), expected, "{given}");
        }
        let error = filled("a: b###ZARF_VAR_UNKNOWN###").unwrap_err();
        assert_eq!(error, "VAR_UNKNOWN is not known");
    }

    #[test]
    fn places_stay_what_they_are() {
        let text = "a: ###ZARF_VAR_A###\nb: x###ZARF_VAR_B###\n";
        assert_eq!(readable(text).chars().count(), text.chars().count());
        assert_eq!(readable("a: 1"), "a: 1");
    }
}
