//! The walk through two objects side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::lists::{ItemMatch, match_items};
use super::place::{self, PathStep, holds_quantity};
use super::quantity::same_value;
use super::{ChangeKind, FieldChange, ShownValue};
use crate::identity::GroupKind;
use crate::scope;

pub(super) fn changes(
    kind: &GroupKind,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<FieldChange> {
    let mut walk = DiffWalk {
        secret: kind.is("", "Secret"),
        quantities: scope::builtin(kind).is_some(),
        trail: Vec::new(),
        changes: Vec::new(),
    };
    walk.mappings(Some(old), Some(new));
    walk.changes
}

struct DiffWalk<'a> {
    secret: bool,
    /// Whether the server reads quantities where this kind has them. A custom resource's are
    /// texts to it.
    quantities: bool,
    trail: Vec<PathStep<'a>>,
    changes: Vec<FieldChange>,
}

impl<'a> DiffWalk<'a> {
    fn mappings(
        &mut self,
        old: Option<&'a Map<String, Value>>,
        new: Option<&'a Map<String, Value>>,
    ) {
        let keys: BTreeSet<&String> = [old, new]
            .into_iter()
            .flatten()
            .flat_map(Map::keys)
            .collect();
        for key in keys {
            let of = |mapping: Option<&'a Map<String, Value>>| mapping.and_then(|m| m.get(key));
            self.step(PathStep::Field(key), of(old), of(new));
        }
    }

    fn step(&mut self, step: PathStep<'a>, old: Option<&'a Value>, new: Option<&'a Value>) {
        self.trail.push(step);
        let present = |value: Option<&'a Value>| value.filter(|value| !value.is_null());
        if !place::is_server_made(&self.trail) {
            self.values(present(old), present(new));
        }
        self.trail.pop();
    }

    fn values(&mut self, old: Option<&'a Value>, new: Option<&'a Value>) {
        let is_mapping = [old, new].into_iter().flatten().all(Value::is_object);
        if place::is_masked(&self.trail, self.secret, is_mapping) {
            if old != new {
                self.report(
                    old.map(|_| ShownValue::masked()),
                    new.map(|_| ShownValue::masked()),
                );
            }
            return;
        }
        let by_key = place::is_reported_by_key(&self.trail, self.secret);
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                self.mappings(Some(old), Some(new))
            }
            (Some(Value::Object(old)), None) if by_key => self.mappings(Some(old), None),
            (None, Some(Value::Object(new))) if by_key => self.mappings(None, Some(new)),
            (Some(Value::Array(old)), Some(Value::Array(new))) => self.lists(old, new),
            (None, None) => {}
            (Some(old), Some(new)) if self.same(old, new) => {}
            _ => self.report(old.map(ShownValue::plain), new.map(ShownValue::plain)),
        }
    }

    fn lists(&mut self, old: &'a [Value], new: &'a [Value]) {
        let name = match self.trail.last() {
            Some(PathStep::Field(name)) => name,
            _ => "",
        };
        match match_items(name, old, new) {
            ItemMatch::Whole => {
                if old != new {
                    let shown =
                        |items: &[Value]| Some(ShownValue::plain(&Value::from(items.to_vec())));
                    self.report(shown(old), shown(new));
                }
            }
            ItemMatch::Index => {
                for index in 0..old.len().max(new.len()) {
                    let step = PathStep::Item(index.to_string());
                    self.step(step, old.get(index), new.get(index));
                }
            }
            ItemMatch::Keys(old_keys, new_keys) => {
                let old: Vec<_> = old_keys.iter().zip(old).collect();
                let new: Vec<_> = new_keys.iter().zip(new).collect();
                self.keyed(&old, &new);
            }
        }
    }

    fn keyed(&mut self, old: &[(&String, &'a Value)], new: &[(&String, &'a Value)]) {
        let old_by_key: BTreeMap<&String, &'a Value> = old.iter().copied().collect();
        let new_by_key: BTreeMap<&String, &'a Value> = new.iter().copied().collect();
        let in_both = |(key, _): &&(&String, &Value)| {
            old_by_key.contains_key(*key) && new_by_key.contains_key(*key)
        };
        let order = |items: &[(&String, &Value)]| -> Vec<String> {
            items
                .iter()
                .filter(in_both)
                .map(|(key, _)| (*key).clone())
                .collect()
        };
        let (before, after) = (order(old), order(new));
        if before != after {
            let shown = |order: Vec<String>| Some(ShownValue::plain(&Value::from(order)));
            self.report(shown(before), shown(after));
        }
        let added = new.iter().filter(|(key, _)| !old_by_key.contains_key(key));
        for (key, _) in old.iter().chain(added) {
            let step = PathStep::Item((*key).clone());
            self.step(
                step,
                old_by_key.get(key).copied(),
                new_by_key.get(key).copied(),
            );
        }
    }

    fn same(&self, old: &Value, new: &Value) -> bool {
        same_value(old, new, self.quantities && holds_quantity(&self.trail))
    }

    fn report(&mut self, old: Option<ShownValue>, new: Option<ShownValue>) {
        let kind = match (&old, &new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        self.changes.push(FieldChange {
            path: place::path(&self.trail),
            kind,
            old,
            new,
        });
    }
}
