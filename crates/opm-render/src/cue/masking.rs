//! Values that the user gave, kept out of what `cue` says.
//!
//! A message quotes the values that it is about: `invalid value "…" (out of bound =~"^[a-z]+$")`.
//! What came from the user's values is left out, and what was made from it. What the module
//! itself says stays: its own texts, and the bounds that it sets. Paths and types stay too.

use std::collections::BTreeSet;
use std::path::Path;

use crate::module_dir::ModuleDir;
use crate::values::{AssignedValue, Values, ValuesFile, ValuesFormat};
use crate::{json, yaml};

/// What stands in the place of a value.
const MASK: &str = "…";
/// The most of a module's own text that is looked through.
const MAX_MODULE: usize = 4 << 20;

/// What may and may not be shown.
#[derive(Debug, Default)]
pub(super) struct Masking {
    /// The texts and numbers that the user gave.
    given: BTreeSet<String>,
    /// The texts in the module's own files.
    module: BTreeSet<String>,
}

impl Masking {
    pub(super) fn new(values: &Values, module: &ModuleDir) -> Self {
        let mut given = BTreeSet::new();
        for file in values.texts() {
            collect(file, &mut given);
        }
        for assignment in &values.assignments {
            match &assignment.value {
                AssignedValue::Text(text) => add(text, &mut given),
                AssignedValue::Either { literal, text } => {
                    add(text, &mut given);
                    literals(literal, &mut given);
                }
            }
        }
        given.remove("");
        let module = match given.is_empty() {
            true => BTreeSet::new(),
            false => own_texts(module),
        };
        Self { given, module }
    }

    /// What `cue` said, without values.
    pub(super) fn apply(&self, said: &str) -> String {
        if self.given.is_empty() {
            return said.to_owned();
        }
        let mut shown = String::with_capacity(said.len());
        let mut rest = said;
        let mut in_path = true;
        while let Some(c) = rest.chars().next() {
            let begins_number = c.is_ascii_digit() && !shown.ends_with(is_word);
            let token = match c {
                '"' | '\'' => quoted(rest),
                _ if begins_number => number(rest),
                _ => &rest[..c.len_utf8()],
            };
            // The path of a field stands before the first blank of a line.
            match c {
                '\n' => in_path = true,
                _ if c.is_whitespace() && !shown.ends_with(['\n', ' ']) => in_path = false,
                _ => {}
            }
            let is_text = matches!(c, '"' | '\'') && token.len() > 1;
            let hides = match is_text {
                true => !in_path && self.hides_text(token, &shown),
                false => {
                    begins_number && !in_path && !is_bound(&shown) && self.given.contains(token)
                }
            };
            match (hides, is_text) {
                (true, true) => shown.push_str(&format!("{c}{MASK}{c}")),
                (true, false) => shown.push_str(MASK),
                (false, _) => shown.push_str(token),
            }
            rest = &rest[token.len()..];
        }
        shown
    }

    /// A text is shown only if it is the module's own and not what was given.
    fn hides_text(&self, token: &str, before: &str) -> bool {
        let text = unquoted(token);
        let is_own = is_bound(before) || text.is_empty() || self.module.contains(&text);
        !is_own || self.given.contains(&text)
    }
}

/// Whether what follows is a bound that the module sets, as in `>=1`.
fn is_bound(before: &str) -> bool {
    let unsigned = before.strip_suffix('-').unwrap_or(before);
    unsigned.ends_with(['~', '<', '>', '='])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | '…')
}

fn add(text: &str, given: &mut BTreeSet<String>) {
    given.insert(text.to_owned());
    // A text of several lines may be quoted line by line.
    given.extend(text.lines().map(|line| line.trim().to_owned()));
}

/// The texts and numbers of a values file.
fn collect(file: &ValuesFile, given: &mut BTreeSet<String>) {
    let documents = match file.format {
        ValuesFormat::Cue => return literals(&file.text, given),
        ValuesFormat::Json => json::documents(&file.text).ok(),
        ValuesFormat::Yaml => yaml::documents(&file.text).ok(),
    };
    // `cue` reads a word that is a boolean here as the text that it is.
    literals(&file.text, given);
    let mut waiting: Vec<_> = documents
        .into_iter()
        .flatten()
        .map(|one| one.value)
        .collect();
    while let Some(value) = waiting.pop() {
        match value {
            serde_json::Value::String(text) => add(&text, given),
            serde_json::Value::Number(number) => {
                let digits = number.to_string();
                given.insert(digits.trim_start_matches('-').to_owned());
            }
            serde_json::Value::Array(items) => waiting.extend(items),
            serde_json::Value::Object(fields) => waiting.extend(fields.into_values()),
            _ => {}
        }
    }
}

/// The quoted texts and the numbers in CUE text.
fn literals(text: &str, given: &mut BTreeSet<String>) {
    let mut rest = text;
    let mut word = false;
    while let Some(c) = rest.chars().next() {
        let token = match c {
            '"' | '\'' => quoted(rest),
            '0'..='9' if !word => number(rest),
            _ => &rest[..c.len_utf8()],
        };
        if token.len() > 1 && matches!(c, '"' | '\'') {
            add(&unquoted(token), given);
        } else if c.is_ascii_digit() && !word {
            given.insert(token.to_owned());
        }
        word = is_word(c);
        rest = &rest[token.len()..];
    }
}

/// The quoted text at the beginning, with its quotes; the quote alone if it has no end.
pub(super) fn quoted(rest: &str) -> &str {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let end = match rest.starts_with(&triple) {
        true => triple.as_str(),
        false => quote,
    };
    let mut at = end.len();
    while let Some(left) = rest.get(at..) {
        match left.chars().next() {
            None => break,
            Some('\\') => at += 1 + left.chars().nth(1).map_or(0, char::len_utf8),
            Some('\n') if end.len() == 1 => break,
            Some(_) if left.starts_with(end) => return &rest[..at + end.len()],
            Some(c) => at += c.len_utf8(),
        }
    }
    quote
}

fn number(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_');
    rest[..end.unwrap_or(rest.len())].trim_end_matches('.')
}

/// The text between quotes, its escapes resolved as far as JSON has them.
fn unquoted(token: &str) -> String {
    let quote = if token.starts_with('"') { '"' } else { '\'' };
    let inner = token.trim_matches(quote);
    let read = serde_json::from_str(&format!("\"{inner}\""));
    read.unwrap_or_else(|_| inner.trim().to_owned())
}

/// The texts in a module's CUE files.
fn own_texts(module: &ModuleDir) -> BTreeSet<String> {
    let (mut texts, mut read) = (BTreeSet::new(), 0);
    for file in module.walk(Path::new("")).unwrap_or_default() {
        let name = file.to_string_lossy();
        let is_values = name.starts_with("values");
        if name.ends_with(".cue") && !is_values && read < MAX_MODULE {
            let text = module.read(&file).unwrap_or_default();
            read += text.len();
            literals(&text, &mut texts);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masking(given: &[&str], module: &str) -> Masking {
        Masking {
            given: given.iter().map(|text| (*text).to_owned()).collect(),
            module: {
                let mut texts = BTreeSet::new();
                literals(module, &mut texts);
                texts
            },
        }
    }

    #[test]
    fn what_was_given_is_left_out_and_the_rest_stays() {
        let masking = masking(
            &["CANARY99", "5", "two\nlines"],
            "mode: \"dev\" | \"prod\"\npassword: =~\"^[a-z]+$\"",
        );
        for (said, expected) in [
            (
                "values.password: invalid value \"CANARY99\" (out of bound =~\"^[a-z]+$\"):\n    ./a.cue:5:5",
                "values.password: invalid value \"…\" (out of bound =~\"^[a-z]+$\"):\n    ./a.cue:5:5",
            ),
            (
                "values.a: conflicting values string and 5 (mismatched types string and int)",
                "values.a: conflicting values string and … (mismatched types string and int)",
            ),
            (
                "values.mode: conflicting values \"prod\" and \"CANARY99\"",
                "values.mode: conflicting values \"prod\" and \"…\"",
            ),
            // Made from it, and nothing that the module says.
            (
                "x: invalid value \"pre-CANARY99\" and \"Q0FOQVJZOTk=\"",
                "x: invalid value \"…\" and \"…\"",
            ),
            (
                "values.\"my key\".b: 5 errors in \"\"\"\n\ttwo\n\tlines\n\t\"\"\" end",
                "values.\"my key\".b: … errors in \"…\" end",
            ),
            ("values.a5: index [5] of a5", "values.a5: index [5] of a5"),
            ("an open quote \" CANARY", "an open quote \" CANARY"),
        ] {
            assert_eq!(masking.apply(said), expected);
        }
        assert_eq!(Masking::default().apply("a: \"x\" and 5"), "a: \"x\" and 5");
    }

    #[test]
    fn what_cue_text_gives() {
        let mut given = BTreeSet::new();
        literals(
            "values: {a1: \"x\\ny\", b: 12, c: -3.5, d: 'z', e: \"\"\"\n\tm\n\t\"\"\"}",
            &mut given,
        );
        for one in ["x\ny", "12", "3.5", "z", "m"] {
            assert!(given.contains(one), "{one}: {given:?}");
        }
        assert!(!given.contains("1"), "{given:?}");
    }
}
