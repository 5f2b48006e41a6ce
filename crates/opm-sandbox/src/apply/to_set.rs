//! The set of fields that an applied configuration names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fieldset::FieldSet;
use super::path::PathElement;
use super::schema::{ListKind, ListType, MapType, Schema, TypeId};
use super::typed::{Shape, item_element, shape};

pub(crate) fn to_set(schema: &Schema, ty: TypeId, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    if !matches!(
        shape(schema.atom(ty), Some(value)),
        Shape::Scalar(_) | Shape::Nothing
    ) {
        collect(schema, ty, value, &mut set);
    }
    set
}

/// Adds what lies below `value` to `set`; true if the value itself is a leaf.
fn collect(schema: &Schema, ty: TypeId, value: &Value, set: &mut FieldSet) -> bool {
    match shape(schema.atom(ty), Some(value)) {
        Shape::Scalar(_) => true,
        Shape::List(list) if list.kind == ListKind::Atomic => true,
        Shape::Map(map) if map.atomic => true,
        Shape::List(list) => {
            if let Value::Array(items) = value {
                collect_items(schema, list, items, set);
            }
            false
        }
        Shape::Map(map) => {
            collect_map(schema, map, value, set);
            false
        }
        Shape::Nothing => false,
    }
}

fn descend(
    schema: &Schema,
    ty: TypeId,
    value: &Value,
    set: &mut FieldSet,
    at: PathElement,
    own: bool,
) {
    let mut below = FieldSet::default();
    let leaf = collect(schema, ty, value, &mut below);
    if !below.is_empty() {
        set.children.insert(at.clone(), below);
    }
    if leaf || own {
        set.members.insert(at);
    }
}

fn collect_items(schema: &Schema, list: &ListType, items: &[Value], set: &mut FieldSet) {
    let elements: Vec<_> = items
        .iter()
        .filter_map(|i| Some((item_element(schema, list, i).ok()?, i)))
        .collect();
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<_> = elements
        .iter()
        .filter(|(e, _)| !seen.insert(e))
        .map(|(e, _)| e.clone())
        .collect();
    set.members.extend(twice.iter().cloned());
    for (element, item) in elements {
        if !twice.contains(&element) {
            descend(schema, list.element, item, set, element, true);
        }
    }
}

fn collect_map(schema: &Schema, map: &MapType, value: &Value, set: &mut FieldSet) {
    for (key, entry) in value.as_object().into_iter().flatten() {
        let declared = map.fields.get(key);
        let Some(ty) = declared.map(|f| f.ty).or(map.element) else {
            continue;
        };
        let empty = entry.is_null() || entry.as_object().is_some_and(|m| m.is_empty());
        descend(
            schema,
            ty,
            entry,
            set,
            PathElement::field(key),
            empty || declared.is_none(),
        );
    }
}
