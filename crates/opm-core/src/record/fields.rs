//! Takes known fields out of a JSON object one by one; what is left over is carried along.
//!
//! Deserializers quote the offending value in their errors. Values may be secret, so the record
//! is read by hand: an error says where, and which type was expected.

use serde_json::{Map, Value};

use super::{Extra, Finding, FindingKind};
use crate::manifest::type_name;

/// The fields of one JSON object that are still to be read.
pub(super) struct RecordFields<'a> {
    key: &'a str,
    map: Map<String, Value>,
}

/// Reads the JSON of one data key.
pub(super) fn parse(key: &str, bytes: &[u8]) -> Result<Value, Finding> {
    serde_json::from_slice(bytes).map_err(|error| {
        let problem = FindingKind::Syntax {
            line: error.line(),
            column: error.column(),
        };
        Finding::new(key, "", problem)
    })
}

impl<'a> RecordFields<'a> {
    /// The fields of a value that must be a mapping.
    pub(super) fn of(key: &'a str, value: Value) -> Result<Self, Finding> {
        match value {
            Value::Object(map) => Ok(Self { key, map }),
            other => Err(wrong(key, "", "a mapping", &other)),
        }
    }

    /// The data key that these fields belong to.
    pub(super) fn key(&self) -> &'a str {
        self.key
    }

    fn missing(&self, name: &str) -> Finding {
        Finding::new(self.key, name, FindingKind::Missing)
    }

    /// A field, unless it is absent or null.
    pub(super) fn value(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// A text, unless it is absent or null.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Finding> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(self.key, name, "a string", &other)),
        }
    }

    /// A text that has to be there; it may be empty.
    pub(super) fn required(&mut self, name: &str) -> Result<String, Finding> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// A text that has to be there and must not be empty.
    pub(super) fn nonempty(&mut self, name: &str) -> Result<String, Finding> {
        self.text(name)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.missing(name))
    }

    /// A text that other writers leave out when it is empty.
    pub(super) fn text_or_empty(&mut self, name: &str) -> Result<String, Finding> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// A number from zero up, unless it is absent.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, Finding> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(self.key, name, "a whole number from zero up", &value)),
            },
        }
    }

    /// A boolean; absent is false.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Finding> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(self.key, name, "a boolean", &other)),
        }
    }

    /// A list, unless it is absent.
    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Finding> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(wrong(self.key, name, "a list", &other)),
        }
    }

    /// A list whose items are read by `read`, unless it is absent.
    pub(super) fn each<T>(
        &mut self,
        name: &str,
        read: impl Fn(&'a str, Value) -> Result<T, Finding>,
    ) -> Result<Option<Vec<T>>, Finding> {
        let Some(items) = self.list(name)? else {
            return Ok(None);
        };
        let read_at = |(at, item)| read(self.key, item).map_err(|f| f.within(&place(name, at)));
        items
            .into_iter()
            .enumerate()
            .map(read_at)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A nested mapping read by `read`, unless it is absent.
    pub(super) fn nested<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(RecordFields<'a>) -> Result<T, Finding>,
    ) -> Result<Option<T>, Finding> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => RecordFields::of(self.key, value)
                .and_then(read)
                .map(Some)
                .map_err(|finding| finding.within(name)),
        }
    }

    /// What a missing field is called in an error.
    pub(super) fn need<T>(&self, name: &str, value: Option<T>) -> Result<T, Finding> {
        value.ok_or_else(|| self.missing(name))
    }

    /// A word out of a closed set.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &str,
        all: &[T],
        spell: impl Fn(T) -> &'static str,
        expected: &'static str,
    ) -> Result<T, Finding> {
        let word = self.required(name)?;
        let known = all.iter().copied().find(|one| spell(*one) == word);
        known.ok_or_else(|| Finding::new(self.key, name, FindingKind::UnknownWord { expected }))
    }

    /// Everything that was not read.
    pub(super) fn rest(self) -> Extra {
        Extra(self.map)
    }

    /// The names and values that were not read.
    pub(super) fn pairs(self) -> impl Iterator<Item = (String, Value)> {
        self.map.into_iter()
    }
}

/// A text, where only a text makes sense.
pub(super) fn as_text(key: &str, value: Value) -> Result<String, Finding> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(key, "", "a string", &other)),
    }
}

/// A finding about a value of the wrong type.
pub(super) fn wrong(key: &str, path: &str, expected: &'static str, found: &Value) -> Finding {
    Finding::new(
        key,
        path,
        FindingKind::WrongType {
            expected,
            found: type_name(found),
        },
    )
}

fn place(name: &str, at: usize) -> String {
    format!("{name}[{at}]")
}
