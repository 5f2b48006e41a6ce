//! What changed between two objects, as sets of fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::path::PathElement;
use super::schema::{ListKind, ListType, MapType, Schema, TypeId};
use super::typed::{Shape, item_element, same_shape, shape};
use super::value::equal;

#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

impl Comparison {
    pub(crate) fn without(&self, ignored: &FieldSet) -> Comparison {
        Comparison {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

pub(crate) fn compare(schema: &Schema, ty: TypeId, left: &Value, right: &Value) -> Comparison {
    let mut walk = Walk {
        schema,
        path: Vec::new(),
        out: Comparison::default(),
    };
    walk.visit(ty, Some(left), Some(right));
    walk.out
}

struct Walk<'a> {
    schema: &'a Schema,
    path: Vec<PathElement>,
    out: Comparison,
}

impl Walk<'_> {
    fn visit(&mut self, ty: TypeId, left: Option<&Value>, right: Option<&Value>) {
        let atom = self.schema.atom(ty);
        let (l, r) = (shape(atom, left), shape(atom, right));
        let leaf = if right.is_none() {
            self.handle(l, left, right)
        } else if left.is_none() || same_shape(l, r) {
            self.handle(r, left, right)
        } else {
            self.handle(l, left, right);
            self.handle(r, left, right)
        };
        if !leaf {
            match (left, right) {
                (None, _) => self.out.added.insert(&self.path),
                (_, None) => self.out.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    /// True if the value was compared as one leaf.
    fn handle(&mut self, shape: Shape<'_>, left: Option<&Value>, right: Option<&Value>) -> bool {
        match shape {
            Shape::Scalar(_) | Shape::Nothing => self.leaf(left, right),
            Shape::List(list) => {
                let (l, r) = (items(left), items(right));
                if list.kind == ListKind::Atomic || (l.is_empty() && r.is_empty()) {
                    return self.leaf(left, right);
                }
                self.visit_items(list, l, r);
                false
            }
            Shape::Map(map) => {
                let (l, r) = (
                    left.and_then(Value::as_object),
                    right.and_then(Value::as_object),
                );
                let nothing = l.is_none_or(Map::is_empty) && r.is_none_or(Map::is_empty);
                if map.atomic || nothing {
                    return self.leaf(left, right);
                }
                self.visit_map(map, l, r);
                false
            }
        }
    }

    fn leaf(&mut self, left: Option<&Value>, right: Option<&Value>) -> bool {
        match (left, right) {
            (None, _) => self.out.added.insert(&self.path),
            (_, None) => self.out.removed.insert(&self.path),
            (Some(l), Some(r)) if !equal(l, r) => self.out.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn visit_map(
        &mut self,
        map: &MapType,
        left: Option<&Map<String, Value>>,
        right: Option<&Map<String, Value>>,
    ) {
        let keys: BTreeSet<_> = left.into_iter().chain(right).flat_map(Map::keys).collect();
        for key in keys {
            let Some(ty) = map.fields.get(key).map(|f| f.ty).or(map.element) else {
                continue;
            };
            self.path.push(PathElement::field(key));
            self.visit(
                ty,
                left.and_then(|m| m.get(key)),
                right.and_then(|m| m.get(key)),
            );
            self.path.pop();
        }
    }

    fn visit_items(&mut self, list: &ListType, left: &[Value], right: &[Value]) {
        let l = self.by_element(list, left);
        let r = self.by_element(list, right);
        let elements: BTreeSet<_> = l.keys().chain(r.keys()).cloned().collect();
        let none = Vec::new();
        for element in elements {
            let (a, b) = (
                l.get(&element).unwrap_or(&none),
                r.get(&element).unwrap_or(&none),
            );
            self.path.push(element);
            match (a.as_slice(), b.as_slice()) {
                ([_, _, ..], [_, _, ..]) => {
                    if a.len() != b.len() || !a.iter().zip(b).all(|(x, y)| equal(x, y)) {
                        self.out.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], rest) => {
                    if let Some(item) = rest.first() {
                        self.visit(list.element, None, Some(item));
                    }
                    self.out.removed.insert(&self.path);
                }
                (rest, [_, _, ..]) => {
                    if let Some(item) = rest.first() {
                        self.visit(list.element, Some(item), None);
                    }
                    self.out.added.insert(&self.path);
                }
                (a, b) => self.visit(list.element, a.first().copied(), b.first().copied()),
            }
            self.path.pop();
        }
    }

    fn by_element<'v>(
        &self,
        list: &ListType,
        items: &'v [Value],
    ) -> BTreeMap<PathElement, Vec<&'v Value>> {
        let mut out: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for item in items {
            if let Ok(element) = item_element(self.schema, list, item) {
                out.entry(element).or_default().push(item);
            }
        }
        out
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
