//! Strategic merge patches, as far as kubectl's label, annotate, scale and set commands need them:
//! maps merge, null removes, lists with merge keys merge by key, `$patch: delete` and `replace`
//! are understood. `$setElementOrder`, `$retainKeys` and `$deleteFromPrimitiveList` are accepted
//! and only the last has an effect.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::apply::schema::{ListKind, Schema, TypeId};
use crate::apply::value::compare;
use crate::kinds::Resource;
use crate::work;

pub(crate) fn merge(resource: &Resource, current: &Value, patch: &Value) -> Value {
    let mut result = current.clone();
    merge_value(&resource.schema, Some(resource.ty), &mut result, patch);
    result
}

fn merge_value(schema: &Schema, ty: Option<TypeId>, target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if changes.get("$patch").is_some_and(|p| p == "replace") {
        let mut whole = changes.clone();
        whole.remove("$patch");
        *target = Value::Object(whole);
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let map_type = ty.and_then(|t| schema.atom(t).map.as_ref());
    for (key, change) in changes.iter().filter(|(k, _)| !k.starts_with('$')) {
        let below = map_type.and_then(|m| m.fields.get(key).map(|f| f.ty).or(m.element));
        let Value::Object(map) = &mut *target else {
            return;
        };
        if change.is_null() || change["$patch"] == "delete" {
            map.remove(key);
            continue;
        }
        let slot = map.entry(key.clone()).or_insert(Value::Null);
        match change {
            Value::Array(items) => merge_list(schema, below, slot, items),
            _ => merge_value(schema, below, slot, change),
        }
    }
    for (key, gone) in changes {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let unwanted = gone.as_array().into_iter().flatten();
            let unwanted: BTreeSet<_> = unwanted.map(Ordered::of).collect();
            if let Some(Value::Array(items)) = target.get_mut(field) {
                items.retain(|i| !unwanted.contains(&Ordered::of(i)));
            }
        }
    }
}

fn merge_list(schema: &Schema, ty: Option<TypeId>, slot: &mut Value, changes: &[Value]) {
    let list = ty.and_then(|t| schema.atom(t).list.as_ref());
    let current = slot.as_array().cloned().unwrap_or_default();
    let merged = match list.map(|l| (&l.kind, l.element)) {
        Some((ListKind::Map(keys), element)) => {
            // Strategic merge knows one key per list: the first.
            let key = keys.first().cloned().unwrap_or_default();
            merge_by_key(schema, element, &key, current, changes)
        }
        Some((ListKind::Set, _)) => {
            let mut known: BTreeSet<_> = current.iter().map(Ordered::of).collect();
            let fresh = changes.iter().filter(|c| known.insert(Ordered::of(c)));
            let fresh: Vec<_> = fresh.cloned().collect();
            current.iter().cloned().chain(fresh).collect()
        }
        _ => changes.to_vec(),
    };
    *slot = Value::Array(merged);
}

fn merge_by_key(
    schema: &Schema,
    element: TypeId,
    key: &str,
    items: Vec<Value>,
    changes: &[Value],
) -> Vec<Value> {
    if changes.iter().any(|c| c["$patch"] == "replace") {
        return changes
            .iter()
            .filter(|c| c["$patch"] != "replace")
            .cloned()
            .collect();
    }
    // Where each key stands; one that stands there twice is changed at its first place.
    let mut places: BTreeMap<Ordered, VecDeque<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let place = places.entry(Ordered::of(&item[key])).or_default();
        place.push_back(at);
    }
    let mut items: Vec<Option<Value>> = items.into_iter().map(Some).collect();
    for change in changes {
        let place = places.entry(Ordered::of(&change[key])).or_default();
        let at = place.front().copied();
        let slot = at.and_then(|at| items.get_mut(at)).and_then(Option::as_mut);
        match (slot, change["$patch"] == "delete") {
            (Some(_), true) => {
                if let Some(gone) = place.pop_front() {
                    items[gone] = None;
                }
            }
            (None, true) => {}
            (Some(item), false) => merge_value(schema, Some(element), item, change),
            (None, false) => {
                place.push_back(items.len());
                items.push(Some(change.clone()));
            }
        }
    }
    items.into_iter().flatten().collect()
}

/// A value in the server's order of values, to be looked up by.
#[derive(Clone)]
struct Ordered(Value);

impl Ordered {
    fn of(value: &Value) -> Ordered {
        Ordered(value.clone())
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        work::step(1);
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}
