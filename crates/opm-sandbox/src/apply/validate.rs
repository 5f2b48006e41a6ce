//! Whether a value fits its type: declared fields only, scalars of the right kind, no two list
//! items with the same key.

use serde_json::Value;

use super::path::PathElement;
use super::schema::{ListKind, ListType, MapType, Schema, TypeId};
use super::typed::{Misfit, Shape, check_scalar, item_element, shape};
use super::value::go_print;

/// Everything about `value` that does not fit `ty`.
pub(crate) fn validate(schema: &Schema, ty: TypeId, value: &Value) -> Vec<Misfit> {
    match shape(schema.atom(ty), Some(value)) {
        Shape::Scalar(scalar) => match check_scalar(scalar, value) {
            Ok(()) => Vec::new(),
            Err(message) => vec![Misfit::new(message)],
        },
        Shape::List(list) => match value {
            Value::Null => Vec::new(),
            Value::Array(items) => validate_items(schema, list, items),
            other => vec![Misfit::new(format!(
                "expected list, got &{{{}}}",
                go_print(other)
            ))],
        },
        Shape::Map(map) => validate_map(schema, map, value),
        Shape::Nothing => vec![Misfit::new("schema error: invalid atom")],
    }
}

fn validate_items(schema: &Schema, list: &ListType, items: &[Value]) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = if list.kind == ListKind::Atomic {
            PathElement::Index(index as i64)
        } else {
            match item_element(schema, list, item) {
                Ok(element) => element,
                Err(message) => {
                    misfits.push(Misfit::new(format!("element {index}: {message}")));
                    return misfits;
                }
            }
        };
        if list.kind != ListKind::Atomic && !seen.insert(element.clone()) {
            misfits.push(Misfit::new(format!("duplicate entries for key {element}")));
        }
        let below = validate(schema, list.element, item);
        misfits.extend(below.into_iter().map(|m| m.under(&element)));
    }
    misfits
}

fn validate_map(schema: &Schema, map: &MapType, value: &Value) -> Vec<Misfit> {
    let entries = match value {
        Value::Null => return Vec::new(),
        Value::Object(entries) => entries,
        other => {
            return vec![Misfit::new(format!(
                "expected map, got &{{{}}}",
                go_print(other)
            ))];
        }
    };
    let mut misfits = Vec::new();
    for (key, entry) in entries {
        let element = PathElement::field(key);
        match map.fields.get(key).map(|f| f.ty).or(map.element) {
            Some(ty) => {
                let below = validate(schema, ty, entry);
                misfits.extend(below.into_iter().map(|m| m.under(&element)));
            }
            None => {
                misfits.push(Misfit::new("field not declared in schema").under(&element));
                break;
            }
        }
    }
    misfits
}
