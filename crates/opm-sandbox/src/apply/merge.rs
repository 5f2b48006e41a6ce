//! Merging an applied configuration into a live object: leaves from the right, containers from
//! both, list items in the order of the right with foreign ones in between.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::PathElement;
use super::schema::{ListKind, ListType, MapType, Schema, TypeId};
use super::typed::{Shape, item_element, shape};

/// `None` when nothing is left, for example two empty lists where one was absent.
pub(crate) fn merge(
    schema: &Schema,
    ty: TypeId,
    left: Option<&Value>,
    right: Option<&Value>,
) -> Option<Value> {
    let decisive = if right.is_some() { right } else { left };
    let atom = schema.atom(ty);
    let mut chosen = shape(atom, decisive);
    if matches!(right, Some(Value::Null))
        && let Some(l) = left
    {
        chosen = shape(atom, Some(l));
    }
    match chosen {
        Shape::Scalar(_) | Shape::Nothing => decisive.cloned(),
        Shape::List(list) => {
            let (l, r) = (items(left), items(right));
            if list.kind == ListKind::Atomic || (l.is_empty() && r.is_empty()) {
                return decisive.cloned();
            }
            merge_items(schema, list, l, r)
        }
        Shape::Map(map) => {
            let (l, r) = (entries(left), entries(right));
            let nothing = l.is_none_or(Map::is_empty) && r.is_none_or(Map::is_empty);
            if map.atomic || nothing {
                return decisive.cloned();
            }
            merge_map(schema, map, l, r)
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn merge_map(
    schema: &Schema,
    map: &MapType,
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
) -> Option<Value> {
    let mut out = Map::new();
    let keys = left.into_iter().chain(right).flat_map(Map::keys);
    let keys: std::collections::BTreeSet<_> = keys.collect();
    for key in keys {
        let (l, r) = (
            left.and_then(|m| m.get(key)),
            right.and_then(|m| m.get(key)),
        );
        let ty = map.fields.get(key).map(|f| f.ty).or(map.element);
        let merged = match ty {
            Some(ty) => merge(schema, ty, l, r),
            None => r.or(l).cloned(),
        };
        if let Some(value) = merged {
            out.insert(key.clone(), value);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// The items of one side with their path elements; a repeated element is never merged.
struct Side<'a> {
    order: Vec<PathElement>,
    unique: BTreeMap<PathElement, Option<&'a Value>>,
}

impl<'a> Side<'a> {
    fn of(schema: &Schema, list: &ListType, items: &'a [Value]) -> Side<'a> {
        let mut side = Side {
            order: Vec::new(),
            unique: BTreeMap::new(),
        };
        for item in items {
            let Ok(element) = item_element(schema, list, item) else {
                continue;
            };
            let known = side.unique.get_mut(&element);
            match known {
                Some(slot) => *slot = None,
                None => {
                    side.unique.insert(element.clone(), Some(item));
                }
            }
            side.order.push(element);
        }
        side
    }

    fn has(&self, element: &PathElement) -> bool {
        self.unique.contains_key(element)
    }

    fn get(&self, element: &PathElement) -> Option<&'a Value> {
        self.unique.get(element).copied().flatten()
    }
}

fn merge_items(schema: &Schema, list: &ListType, left: &[Value], right: &[Value]) -> Option<Value> {
    let (l, r) = (Side::of(schema, list, left), Side::of(schema, list, right));
    let mut shared = r.order.iter().filter(|e| l.has(e));
    let mut next_shared = shared.next();
    let mut done = std::collections::BTreeSet::new();
    let mut out = Vec::with_capacity(l.order.len().max(r.order.len()));
    let mut push = |a: Option<&Value>, b: Option<&Value>| {
        if let Some(value) = merge(schema, list.element, a, b) {
            out.push(value);
        }
    };
    let (mut li, mut ri) = (0, 0);
    while li < l.order.len() || ri < r.order.len() {
        if li < l.order.len() && ri < r.order.len() {
            let element = &l.order[li];
            if *element == r.order[ri] {
                done.insert(element.clone());
                push(l.get(element), r.get(element));
                li += 1;
                ri += 1;
                next_shared = shared.next();
                continue;
            }
            if r.has(element) && next_shared.is_some_and(|n| n != element) {
                // Shared with the right side, but its turn comes later.
                li += 1;
                continue;
            }
        }
        if li < l.order.len() {
            let element = &l.order[li];
            if !r.has(element) {
                push(Some(&left[li]), None);
                li += 1;
                continue;
            } else if done.contains(element) {
                li += 1;
            }
        }
        if ri < r.order.len() {
            let element = &r.order[ri];
            done.insert(element.clone());
            push(l.get(element), r.get(element));
            ri += 1;
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
