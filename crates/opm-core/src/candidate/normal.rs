//! Objects as they are sent, where that differs from how they were rendered.
//!
//! A Secret's `stringData` is merged into `data`, because the server forgets to remove a key
//! that leaves `stringData`. Whole floats become integers, as the canonical bytes have them.
//! Fields of the metadata that only the server may write are left out: a copied `uid` or
//! `resourceVersion` would make every apply fail.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{CandidateError, CandidateWarning};
use crate::manifest::{Manifest, type_name};

const SERVER_FIELDS: [(&str, &str); 5] = [
    ("generation", "metadata.generation"),
    ("managedFields", "metadata.managedFields"),
    ("resourceVersion", "metadata.resourceVersion"),
    ("selfLink", "metadata.selfLink"),
    ("uid", "metadata.uid"),
];

pub(super) fn normalise(
    manifest: &mut Manifest,
    warnings: &mut Vec<CandidateWarning>,
) -> Result<(), CandidateError> {
    let identity = manifest.identity().clone();
    let object = manifest.object_mut();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for (key, field) in SERVER_FIELDS {
            if metadata.remove(key).is_some_and(|value| !value.is_null()) {
                warnings.push(CandidateWarning::ServerField {
                    object: identity.clone(),
                    field,
                });
            }
        }
    }
    if identity.group_kind.is("", "Secret") {
        merge_string_data(object).map_err(|(field, expected, found)| CandidateError::Secret {
            object: Box::new(identity),
            field,
            expected,
            found,
        })?;
    }
    object.values_mut().for_each(whole_floats_to_integers);
    Ok(())
}

type WrongField = (String, &'static str, &'static str);

fn merge_string_data(object: &mut Map<String, Value>) -> Result<(), WrongField> {
    let texts = match object.remove("stringData") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(texts)) => texts,
        Some(other) => return Err(("stringData".to_owned(), "a mapping", type_name(&other))),
    };
    if object.get("data").is_none_or(Value::is_null) {
        object.insert("data".to_owned(), Value::Object(Map::new()));
    }
    let data = match object.get_mut("data") {
        Some(Value::Object(data)) => data,
        Some(other) => return Err(("data".to_owned(), "a mapping", type_name(other))),
        None => return Ok(()),
    };
    for (key, text) in texts {
        let Value::String(text) = text else {
            return Err((format!("stringData[{key:?}]"), "a string", type_name(&text)));
        };
        data.insert(key, Value::String(STANDARD.encode(text)));
    }
    Ok(())
}

fn whole_floats_to_integers(value: &mut Value) {
    /// Up to here every whole float is an integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_floats_to_integers),
        Value::Object(fields) => fields.values_mut().for_each(whole_floats_to_integers),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            if float.fract() == 0.0 && float.abs() <= EXACT {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a whole number within bounds"
                )]
                let integer = float as i64;
                *value = Value::from(integer);
            }
        }
        _ => {}
    }
}
