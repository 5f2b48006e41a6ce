//! What becomes of an object on its way through the server's own structs: unknown fields go, zero
//! values are dropped or written, quantities and times take their canonical form.

use std::borrow::Cow;

use base64::Engine;
use serde_json::{Map, Value, json};

use super::quantity;
use super::schema::{Atom, Field, MapType, Scalar, Schema, TypeId, Zero};
use super::value::json_type;

/// Why a value cannot be held by its field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Undecodable {
    /// Dotted, without list indices, as Go names struct fields.
    pub(crate) path: String,
    /// The struct that has the field.
    pub(crate) owner: Option<String>,
    pub(crate) problem: Problem,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Problem {
    /// JSON of one kind where the field has another Go type.
    Mismatch {
        found: &'static str,
        wanted: String,
    },
    Base64 {
        at: usize,
    },
    Quantity(String),
    Time(String),
}

/// At which point of its way an object is looked at; they differ in what empty lists and maps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// As it was decoded: empty ones are there.
    Given,
    /// As ownership sees it: those that are left out when empty are not there.
    Owned,
    /// As it is stored and answered: also those that are always written have become null.
    Stored,
}

pub(crate) struct Encoder<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) form: ValueForm,
}

/// Fields that were given but are not declared, as dotted paths with indices.
pub(crate) fn unknown_fields(schema: &Schema, ty: TypeId, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    find_unknown(schema, schema.atom(ty), value, &mut String::new(), &mut out);
    out
}

fn find_unknown(
    schema: &Schema,
    atom: &Atom,
    value: &Value,
    path: &mut String,
    out: &mut Vec<String>,
) {
    let length = path.len();
    match (value, &atom.map, &atom.list) {
        (Value::Object(entries), Some(map), _) => {
            for (key, entry) in entries {
                let dot = if length == 0 { "" } else { "." };
                path.push_str(&format!("{dot}{key}"));
                match map.fields.get(key).map(|f| f.ty).or(map.element) {
                    Some(ty) => find_unknown(schema, schema.atom(ty), entry, path, out),
                    None => out.push(path.clone()),
                }
                path.truncate(length);
            }
        }
        (Value::Array(items), _, Some(list)) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                find_unknown(schema, schema.atom(list.element), item, path, out);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

impl Encoder<'_> {
    pub(crate) fn encode(&self, ty: TypeId, value: &Value) -> Result<Value, Undecodable> {
        let atom = self.schema.atom(ty);
        match (atom.scalar, &atom.list, &atom.map) {
            (Some(scalar), None, None) => encode_scalar(scalar, value),
            (Some(Scalar::IntOrString), _, _) => match value {
                Value::Null => Ok(json!(0)),
                v => Ok(v.clone()),
            },
            (None, Some(list), None) => match value {
                Value::Null => Ok(Value::Null),
                Value::Array(items) => {
                    let items = items.iter().map(|item| self.encode(list.element, item));
                    Ok(Value::Array(items.collect::<Result<_, _>>()?))
                }
                other => Err(mismatch(other, self.schema.go_type(ty))),
            },
            (None, None, Some(map)) => match value {
                Value::Object(entries) if map.fields.is_empty() => self.encode_map(map, entries),
                Value::Object(entries) => self
                    .encode_struct(map, entries)
                    .map_err(|e| e.inside(self.schema.label(ty))),
                Value::Null if map.fields.is_empty() => Ok(Value::Null),
                Value::Null => self.encode_struct(map, &Map::new()),
                other => Err(mismatch(other, self.schema.go_type(ty))),
            },
            _ => Ok(value.clone()),
        }
    }

    fn encode_map(
        &self,
        map: &MapType,
        entries: &Map<String, Value>,
    ) -> Result<Value, Undecodable> {
        let mut out = Map::new();
        for (key, entry) in entries {
            let encoded = match map.element {
                Some(ty) => self.encode(ty, entry)?,
                None => entry.clone(),
            };
            out.insert(key.clone(), encoded);
        }
        Ok(Value::Object(out))
    }

    fn encode_struct(
        &self,
        map: &MapType,
        entries: &Map<String, Value>,
    ) -> Result<Value, Undecodable> {
        let mut out = Map::new();
        for (name, field) in &map.fields {
            let given = entries.get(name).filter(|v| !v.is_null());
            let encoded = match (given, field.zero) {
                (Some(value), _) => self.encode(field.ty, value).map_err(|e| e.under(name))?,
                (None, Zero::Pointer | Zero::Dropped) => continue,
                (None, Zero::Null) => Value::Null,
                (None, Zero::Written) => self.encode(field.ty, &Value::Null)?,
            };
            if field.zero == Zero::Null && self.empty(&encoded) {
                out.insert(name.clone(), Value::Null);
            } else if !self.dropped(field, &encoded) {
                out.insert(name.clone(), encoded);
            }
        }
        Ok(Value::Object(out))
    }

    /// What storage does not tell apart from nothing.
    fn empty(&self, value: &Value) -> bool {
        let nothing = |v: &Value| match v {
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        self.form == ValueForm::Stored && nothing(value)
    }

    fn dropped(&self, field: &Field, value: &Value) -> bool {
        if field.zero != Zero::Dropped {
            return false;
        }
        match value {
            Value::Null => true,
            Value::Bool(b) => !b,
            Value::Number(n) => n.as_f64() == Some(0.0),
            Value::String(s) => s.is_empty(),
            Value::Array(items) => items.is_empty() && self.form != ValueForm::Given,
            Value::Object(map) => map.is_empty() && self.form != ValueForm::Given,
        }
    }
}

impl Undecodable {
    fn inside(mut self, owner: Option<&str>) -> Self {
        self.owner = self.owner.or_else(|| owner.map(str::to_string));
        self
    }

    fn under(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

fn mismatch(value: &Value, wanted: impl Into<String>) -> Undecodable {
    Undecodable {
        path: String::new(),
        owner: None,
        problem: Problem::Mismatch {
            found: json_type(value),
            wanted: wanted.into(),
        },
    }
}

/// A scalar as its field holds it, if it can.
pub(crate) fn encode_scalar(scalar: Scalar, value: &Value) -> Result<Value, Undecodable> {
    let fault = |problem| Undecodable {
        path: String::new(),
        owner: None,
        problem,
    };
    match (scalar, value) {
        (Scalar::String | Scalar::Byte | Scalar::Untyped, Value::Null) => Ok(json!("")),
        (Scalar::Integer | Scalar::Number, Value::Null) => Ok(json!(0)),
        (Scalar::Boolean, Value::Null) => Ok(json!(false)),
        (Scalar::Time, Value::Null) => Ok(Value::Null),
        (Scalar::Quantity, Value::Null) => Ok(json!("0")),
        (Scalar::String, Value::String(_))
        | (Scalar::Integer | Scalar::Number, Value::Number(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, _) => Ok(value.clone()),
        (Scalar::Byte, Value::String(text)) => match decode_base64(text) {
            Ok(bytes) => Ok(json!(
                base64::engine::general_purpose::STANDARD.encode(bytes)
            )),
            Err(at) => Err(fault(Problem::Base64 { at })),
        },
        (Scalar::Quantity, Value::String(text)) => match quantity::canonical(text) {
            Some(canonical) => Ok(json!(canonical)),
            None => Err(fault(Problem::Quantity(text.clone()))),
        },
        (Scalar::Quantity, Value::Number(number)) => Ok(json!(
            quantity::canonical(&number.to_string()).unwrap_or_default()
        )),
        (Scalar::Time, Value::String(text)) => encode_time(text),
        (Scalar::Integer, other) => Err(mismatch(other, "int32")),
        (Scalar::Number, other) => Err(mismatch(other, "float64")),
        (Scalar::Boolean, other) => Err(mismatch(other, "bool")),
        (_, other) => Err(mismatch(other, "string")),
    }
}

fn encode_time(text: &str) -> Result<Value, Undecodable> {
    let parsed: Result<jiff::Timestamp, _> = text.parse();
    match parsed {
        // Leases and events carry microseconds; everything else whole seconds.
        Ok(_) if text.contains('.') => Ok(json!(text)),
        Ok(time) => Ok(json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        Err(_) => Err(Undecodable {
            path: String::new(),
            owner: None,
            problem: Problem::Time(text.to_string()),
        }),
    }
}

/// Go's decoder skips line breaks and reports the byte where it gave up.
fn decode_base64(text: &str) -> Result<Vec<u8>, usize> {
    let clean = match text.contains(['\r', '\n']) {
        true => Cow::Owned(text.replace(['\r', '\n'], "")),
        false => Cow::Borrowed(text),
    };
    base64::engine::general_purpose::STANDARD
        .decode(&*clean)
        .map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            _ => clean.len() - clean.len() % 4,
        })
}
