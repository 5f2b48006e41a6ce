//! JSON text, read as JSON: what YAML would refuse in it (such as U+007F in a string) is fine, and
//! what only YAML allows is not.
//!
//! Bounded like YAML, with the same words where a key stands twice or the text nests too deeply,
//! and without quoting the text. Numbers are what Go makes of them: 64-bit integers as they are
//! written, else the nearest float.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};
use thiserror::Error;

use crate::yaml::{Document, MAX_DEPTH, MemoryBudget, Position};

/// Why a text cannot be read as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JsonError {
    /// What is wrong, without quoting the text.
    pub message: String,
    /// Where, counted from one.
    pub position: Position,
}

/// Whether a file says by its ending that it holds JSON.
pub(crate) fn is_named(file: &Path) -> bool {
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// The one value that a text must hold.
pub fn json_document(text: &str) -> Result<Value, JsonError> {
    let mut documents = documents(text)?;
    match (documents.pop(), documents.pop()) {
        (None, _) => Ok(Value::Null),
        (Some(one), None) => Ok(one.value),
        (Some(second), Some(_)) => Err(JsonError {
            message: "it holds more than one value".to_owned(),
            position: Position {
                line: second.line,
                column: 1,
            },
        }),
    }
}

/// All values of a text, which may stand one behind the other; nulls are left out.
pub(crate) fn documents(text: &str) -> Result<Vec<Document>, JsonError> {
    documents_within(text, &mut MemoryBudget::default())
}

/// The same, within a budget that several texts share.
pub(crate) fn documents_within(
    text: &str,
    budget: &mut MemoryBudget,
) -> Result<Vec<Document>, JsonError> {
    budget.admit(text.len());
    // Some editors begin a file with a byte order mark, which RFC 8259 lets a reader ignore.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let (mut line, mut counted) = (1, 0);
    let mut values = Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(raw) = values.next() {
        let raw = raw.map_err(|error| explain(text, 0, &error))?.get();
        let start = values.byte_offset() - raw.len();
        let mut one = Deserializer::from_str(raw);
        let value = Nested::new(budget)
            .deserialize(&mut one)
            .map_err(|error| explain(text, start, &error))?;
        let between = text.get(counted..start).unwrap_or_default();
        line += between.bytes().filter(|byte| *byte == b'\n').count() as u64;
        counted = start;
        if !value.is_null() {
            let words = Vec::new();
            documents.push(Document { line, value, words });
        }
    }
    Ok(documents)
}

/// An error in the part of `text` that begins at `start`, in words that do not tell the place.
fn explain(text: &str, start: usize, error: &serde_json::Error) -> JsonError {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = said.strip_suffix(&place).unwrap_or(&said).to_owned();
    let part = text.get(start..).unwrap_or_default();
    let lines = part.split_inclusive('\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let at = start + before + error.column().saturating_sub(1);
    JsonError {
        message,
        position: position(text, at),
    }
}

/// The place of a byte.
fn position(text: &str, byte: usize) -> Position {
    let (mut line, mut column) = (1, 1);
    for (at, character) in text.char_indices() {
        if at + character.len_utf8() > byte {
            break;
        }
        match character {
            '\n' => (line, column) = (line + 1, 1),
            _ => column += 1,
        }
    }
    Position { line, column }
}

/// A value that may nest this many levels, and takes from a budget of memory.
struct Nested<'b> {
    levels: usize,
    budget: &'b mut MemoryBudget,
}

impl<'b> Nested<'b> {
    fn new(budget: &'b mut MemoryBudget) -> Self {
        let levels = MAX_DEPTH;
        Self { levels, budget }
    }

    fn inner<E: serde::de::Error>(&mut self) -> Result<Nested<'_>, E> {
        self.budget.node(0).map_err(E::custom)?;
        match self.levels {
            0 => Err(E::custom(format!(
                "it nests deeper than {MAX_DEPTH} levels"
            ))),
            left => Ok(Nested {
                levels: left - 1,
                budget: self.budget,
            }),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Nested<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Value, A::Error> {
        self.inner::<A::Error>()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self.inner()?)? {
            items.push(item);
        }
        items.shrink_to_fit();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<Value, A::Error> {
        self.inner::<A::Error>()?;
        let mut fields = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if fields.is_empty() {
                self.budget.mapping().map_err(A::Error::custom)?;
            }
            self.budget.node(key.len()).map_err(A::Error::custom)?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key `{key}` occurs twice in one mapping"
                )));
            }
            let value = object.next_value_seed(self.inner()?)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<Value> {
        let documents = documents(text).unwrap();
        documents.into_iter().map(|one| one.value).collect()
    }

    #[test]
    fn what_json_allows_and_yaml_does_not() {
        for text in [
            "\"\u{7f}\u{80}\u{9f}\u{fffe}\u{feff}\"",
            r#""\u007f \ud83d\ude42 \/ \u0000""#,
            "\t{\t\"a\"\t:\t[\t1\t]\t}",
            r#"{"a":1,"&b":"*c","": "- #"}"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(values(text), [expected], "{text}");
        }
        assert_eq!(values("\u{feff}{}"), [Value::Object(Map::new())]);
    }

    #[test]
    fn what_yaml_allows_and_json_does_not() {
        for text in [
            "a: 1",
            "{a: 1}",
            "{'a': 1}",
            "[1,]",
            "{\"a\": 0644}",
            "# no\n{}",
            "--- {}",
            "[.inf]",
            "[yes]",
            "{\"a\": \"x\ty\"}",
        ] {
            assert!(documents(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_may_follow_each_other_and_nulls_are_nothing() {
        let read = documents("\n{\"a\":1}\n{}\nnull\n\n []").unwrap();
        let lines: Vec<u64> = read.iter().map(|one| one.line).collect();
        assert_eq!(lines, [2, 3, 6]);
        assert!(documents(" \n").unwrap().is_empty());
    }

    #[test]
    fn errors_tell_the_place_and_quote_nothing() {
        for (text, expected) in [
            ("{\"é\": \"é\", \"a\": x}", "1:17: expected value"),
            (
                "{}\n{\"a\": 1,\n \"b\": {\"k\": 1, \"k\": \"secret\"}}",
                "3:18: the key `k` occurs twice in one mapping",
            ),
            ("{\"a\":\n[1 2]}", "2:4: expected `,` or `]`"),
            ("{\"a\": 1e999}", "1:11: number out of range"),
            ("{\"a\"", "1:4: EOF while parsing an object"),
        ] {
            let error = documents(text).unwrap_err();
            let Position { line, column } = error.position;
            assert_eq!(format!("{line}:{column}: {error}"), expected, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(documents(&nested(MAX_DEPTH)).is_ok());
        for depth in [MAX_DEPTH + 1, 1_000_000] {
            let error = documents(&nested(depth)).unwrap_err();
            assert_eq!(error.message, "it nests deeper than 100 levels");
        }
    }

    #[test]
    fn numbers_are_what_yaml_makes_of_them() {
        for number in [
            "0",
            "1.0",
            "1.10",
            "1e21",
            "1E+2",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "-9223372036854775808",
            "123456789012345678901234567890",
            "0.1",
            "5e-324",
        ] {
            let yaml = crate::yaml::documents(number).unwrap();
            assert_eq!(values(number), [yaml[0].value.clone()], "{number}");
        }
    }
}
