//! Taking a set of fields out of an object.

use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::path::PathElement;
use super::schema::{ListKind, Schema, TypeId};
use super::typed::{Shape, item_element, shape};

/// The value without the members of `unwanted`; containers that become empty turn into null.
pub(crate) fn remove(schema: &Schema, ty: TypeId, value: &Value, unwanted: &FieldSet) -> Value {
    match shape(schema.atom(ty), Some(value)) {
        Shape::Scalar(_) | Shape::Nothing => value.clone(),
        Shape::List(list) => {
            let Value::Array(items) = value else {
                return Value::Null;
            };
            if items.is_empty() || list.kind == ListKind::Atomic {
                return Value::Null;
            }
            let kept = items.iter().filter_map(|item| {
                let Ok(element) = item_element(schema, list, item) else {
                    return Some(item.clone());
                };
                if unwanted.members.contains(&element) {
                    return None;
                }
                Some(
                    match unwanted.children.get(&element).filter(|s| !s.is_empty()) {
                        Some(below) => remove(schema, list.element, item, below),
                        None => item.clone(),
                    },
                )
            });
            let kept: Vec<_> = kept.collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        Shape::Map(map) => {
            let Value::Object(entries) = value else {
                return Value::Null;
            };
            if entries.is_empty() || map.atomic {
                return Value::Null;
            }
            let mut out = Map::new();
            for (key, entry) in entries {
                let element = PathElement::field(key);
                if unwanted.members.contains(&element) {
                    continue;
                }
                let ty = map.fields.get(key).map(|f| f.ty).or(map.element);
                let below = unwanted.children.get(&element).filter(|s| !s.is_empty());
                let left = match (ty, below) {
                    (Some(ty), Some(below)) => remove(schema, ty, entry, below),
                    _ => entry.clone(),
                };
                out.insert(key.clone(), left);
            }
            if out.is_empty() {
                Value::Null
            } else {
                Value::Object(out)
            }
        }
    }
}
