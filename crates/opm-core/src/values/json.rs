//! Values from JSON text, numbers exactly as they are written.
//!
//! Raw JSON is taken apart level by level, because reading it whole would force numbers into 64
//! bits.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::{MAX_DEPTH, Number, NumberError, Value};

/// What keeps a text from being read as values.
#[derive(Debug, Error)]
pub enum ValuesError {
    /// Not JSON.
    #[error("values are not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number that could not be read back.
    #[error("values cannot be recorded: {0}")]
    Number(#[from] NumberError),
    /// Nested too deeply.
    #[error("values are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

pub(super) fn read(text: &str) -> Result<Value, ValuesError> {
    value(serde_json::from_str(text)?, MAX_DEPTH)
}

fn value(raw: &RawValue, left: usize) -> Result<Value, ValuesError> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = nested(text, left)?;
            let read = |(key, raw)| Ok((key, value(raw, left - 1)?));
            Value::Struct(
                fields
                    .into_iter()
                    .map(read)
                    .collect::<Result<_, ValuesError>>()?,
            )
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = nested(text, left)?;
            let read = |raw| value(raw, left - 1);
            Value::List(
                items
                    .into_iter()
                    .map(read)
                    .collect::<Result<_, ValuesError>>()?,
            )
        }
        Some(b'"') => Value::String(serde_json::from_str(text)?),
        Some(b't' | b'f') => Value::Bool(serde_json::from_str(text)?),
        Some(b'n') => Value::Null,
        _ => Value::Number(Number::parse(text)?),
    })
}

fn nested<'a, T: Deserialize<'a>>(text: &'a str, left: usize) -> Result<T, ValuesError> {
    match left {
        0 => Err(ValuesError::TooDeep),
        _ => Ok(serde_json::from_str(text)?),
    }
}
