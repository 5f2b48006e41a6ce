//! Whether an object fits its types, field by field: all that does not, each with its place.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::TypeFinding;
use crate::apply::encode::{Problem, encode_scalar};
use crate::apply::schema::{Atom, ListKind, ListType, MapType, Scalar, Schema, TypeId};
use crate::apply::typed::item_element;

/// More findings than anybody reads.
const MOST: usize = 1000;

pub(super) fn check(schema: &Schema, ty: TypeId, object: &Value) -> Vec<TypeFinding> {
    let mut walk = TypeWalk {
        schema,
        path: Vec::new(),
        found: Vec::new(),
    };
    walk.value(schema.atom(ty), object);
    walk.found
}

struct TypeWalk<'a> {
    schema: &'a Schema,
    path: Vec<String>,
    found: Vec<TypeFinding>,
}

impl TypeWalk<'_> {
    fn value(&mut self, atom: &Atom, value: &Value) {
        if value.is_null() || self.found.len() >= MOST {
            return;
        }
        match (atom.scalar, &atom.list, &atom.map, value) {
            (
                Some(Scalar::IntOrString),
                _,
                _,
                Value::Array(_) | Value::Object(_) | Value::Bool(_),
            ) => {
                self.mismatch("a whole number or a text", value);
            }
            (Some(Scalar::IntOrString), ..) => {}
            (_, _, Some(map), Value::Object(entries)) => self.mapping(map, entries),
            (_, Some(list), _, Value::Array(items)) => self.list(list, items),
            (Some(scalar), ..) => self.scalar(scalar, value),
            (None, _, Some(_), other) => self.mismatch("a mapping", other),
            (None, Some(_), None, other) => self.mismatch("a list", other),
            (None, None, None, _) => {}
        }
    }

    fn mapping(&mut self, map: &MapType, entries: &Map<String, Value>) {
        for name in &map.required {
            if entries.get(name).is_none_or(Value::is_null) {
                self.path.push(name.clone());
                self.tell("it is required");
                self.path.pop();
            }
        }
        for (key, entry) in entries {
            // What a server writes into an object's status is for no module to say.
            if self.path.is_empty() && key == "status" {
                continue;
            }
            self.path.push(key.clone());
            match map.fields.get(key).map(|field| field.ty).or(map.element) {
                Some(ty) => self.value(self.schema.atom(ty), entry),
                None => {
                    let known = map.fields.keys().cloned().collect();
                    let finding = TypeFinding::new(&self.path, "there is no such field");
                    self.found.push(finding.meant(key, known));
                }
            }
            self.path.pop();
        }
    }

    fn list(&mut self, list: &ListType, items: &[Value]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            self.path.push(index.to_string());
            if list.kind != ListKind::Atomic
                && let Ok(element) = item_element(self.schema, list, item)
            {
                let key = element.to_string();
                if let Some(first) = seen.get(&key) {
                    self.tell(&format!(
                        "the item {key} stands there already, as number {first}"
                    ));
                } else {
                    seen.insert(key, index);
                }
            }
            self.value(self.schema.atom(list.element), item);
            self.path.pop();
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        let wanted = match scalar {
            Scalar::Untyped => return,
            Scalar::String | Scalar::Byte => "a text",
            Scalar::Integer => "a whole number",
            Scalar::Number => "a number",
            Scalar::Boolean => "true or false",
            Scalar::Time => "a time such as 2006-01-02T15:04:05Z",
            Scalar::IntOrString => "a whole number or a text",
            Scalar::Quantity => "a quantity such as 500m or 2Gi",
        };
        let fractional = |value: &Value| value.as_f64().is_some_and(|number| number.fract() != 0.0);
        match encode_scalar(scalar, value) {
            Ok(_) if scalar == Scalar::Integer && fractional(value) => self.mismatch(wanted, value),
            Ok(_) => {}
            Err(fault) => match fault.problem {
                Problem::Mismatch { .. } => self.mismatch(wanted, value),
                Problem::Base64 { at } => {
                    self.tell(&format!("it is not valid base64, from byte {at} on"));
                }
                Problem::Quantity(_) | Problem::Time(_) => {
                    self.tell(&format!("it must be {wanted}"))
                }
            },
        }
    }

    fn mismatch(&mut self, wanted: &str, value: &Value) {
        let (found, quotes) = match value {
            Value::Null => ("nothing", false),
            Value::Bool(_) => ("true or false", true),
            Value::Number(_) => ("a number", true),
            Value::String(_) => ("a text", false),
            Value::Array(_) => ("a list", false),
            Value::Object(_) => ("a mapping", false),
        };
        let quotes = match wanted == "a text" && quotes {
            true => "; put it in quotes",
            false => "",
        };
        self.tell(&format!("it must be {wanted}, and is {found}{quotes}"));
    }

    fn tell(&mut self, message: &str) {
        self.found.push(TypeFinding::new(&self.path, message));
    }
}
