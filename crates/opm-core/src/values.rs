//! The values that a module was given, resolved and concrete, and their one canonical text.
//!
//! Numbers are kept as text: values pass through here on their way from one program to another,
//! and an integer of twenty digits must leave as it came. Merging values and checking them
//! against a schema happens in `opm-render`.

mod cue;
mod cue_data;
mod json;
mod number;
mod paths;

use std::collections::BTreeMap;

pub use json::ValuesError;
pub use number::{Number, NumberError};
pub use paths::value_path;

/// How deep values may be nested.
pub const MAX_DEPTH: usize = 100;

/// A concrete value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing, explicitly.
    Null,
    /// True or false.
    Bool(bool),
    /// A number of any size.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Value>),
    /// Named fields. Two fields of one name cannot be.
    Struct(BTreeMap<String, Value>),
}

impl Value {
    /// Reads JSON, numbers exactly as they are written.
    pub fn from_json(text: &str) -> Result<Self, ValuesError> {
        json::read(text)
    }

    /// Reads CUE text that is plain data, as the canonical text is; nothing if it needs `cue`.
    pub fn from_cue(text: &str) -> Option<Self> {
        cue_data::read(text)
    }

    /// The same as JSON. A number of more digits than 64 bits hold is rounded; one beyond them
    /// is a text.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(flag) => Json::Bool(*flag),
            Self::Number(number) => {
                let text = number.as_str();
                serde_json::from_str(text).map_or_else(|_| Json::from(text), Json::Number)
            }
            Self::String(text) => Json::String(text.clone()),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Struct(fields) => {
                let fields = fields.iter();
                Json::Object(fields.map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
        }
    }

    /// The canonical CUE text: equal values, equal text, and it reads back to equal values.
    ///
    /// Keys are sorted by bytes, indentation is by tabs, every item has a line of its own, and
    /// no newline ends the text. Recorded changes are identified by it, so it never changes.
    /// Labels come back from `cue` in Unicode's normal form C, whatever form they had.
    pub fn to_cue(&self) -> String {
        cue::print(self)
    }
}

impl From<&serde_json::Value> for Value {
    /// From JSON that was read already: integers beyond 64 bits have become floats by then.
    fn from(value: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match value {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => Self::Number(Number::from(number)),
            Json::String(text) => Self::String(text.clone()),
            Json::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Json::Object(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}
