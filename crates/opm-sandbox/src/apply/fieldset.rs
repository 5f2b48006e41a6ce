//! A set of paths into an object: the currency of ownership.
//!
//! A path may be a member by itself, have members below it, or both; the set operations treat the
//! two independently, except where a name says `recursive`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::path::PathElement;
use super::schema::{Schema, TypeId};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) members: BTreeSet<PathElement>,
    pub(crate) children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// A set of plain field paths, each written with dots.
    pub(crate) fn of(paths: &[&str]) -> Self {
        let mut set = FieldSet::default();
        for path in paths {
            let elements: Vec<_> = path.split('.').map(PathElement::field).collect();
            set.insert(&elements);
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(FieldSet::is_empty)
    }

    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = self.clone();
        out.extend(other);
        out
    }

    pub(crate) fn extend(&mut self, other: &FieldSet) {
        self.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            self.children
                .entry(element.clone())
                .or_default()
                .extend(set);
        }
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, set)| {
            let both = set.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        FieldSet {
            members,
            children: children.collect(),
        }
    }

    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, set)| {
            let left = match other.children.get(element) {
                Some(removed) => set.difference(removed),
                None => return Some((element.clone(), set.clone())),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        FieldSet {
            members,
            children: children.collect(),
        }
    }

    /// Like `difference`, but a member of `other` takes everything below it along.
    pub(crate) fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, set)| {
            if other.members.contains(element) {
                return None;
            }
            let left = match other.children.get(element) {
                Some(removed) => set.recursive_difference(removed),
                None => return Some((element.clone(), set.clone())),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        FieldSet {
            members,
            children: children.collect(),
        }
    }

    /// Adds every declared field that has members below it; map entries and list items stay out.
    pub(crate) fn with_named_fields(&self, schema: &Schema, ty: Option<TypeId>) -> FieldSet {
        let atom = ty.map(|t| schema.atom(t));
        let mut out = FieldSet {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            let mut child = None;
            match element {
                PathElement::Field(name) => {
                    if let Some(map) = atom.and_then(|a| a.map.as_ref()) {
                        child = map.element;
                        if let Some(field) = map.fields.get(name) {
                            out.members.insert(element.clone());
                            child = Some(field.ty);
                        }
                    }
                }
                PathElement::Key(_) => {
                    child = atom.and_then(|a| a.list.as_ref()).map(|l| l.element)
                }
                _ => {}
            }
            out.children
                .insert(element.clone(), set.with_named_fields(schema, child));
        }
        out
    }

    /// Every member path, members before what lies below, as the server lists conflicts.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect(&mut String::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut String, out: &mut Vec<String>) {
        out.extend(self.members.iter().map(|m| format!("{prefix}{m}")));
        for (element, set) in &self.children {
            let length = prefix.len();
            prefix.push_str(&element.to_string());
            set.collect(prefix, out);
            prefix.truncate(length);
        }
    }

    pub(crate) fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for element in &self.members {
            map.insert(element.encode(), json!({}));
        }
        for (element, set) in &self.children {
            if set.is_empty() {
                continue;
            }
            let mut below = set.to_fields_v1();
            if self.members.contains(element)
                && let Value::Object(fields) = &mut below
            {
                fields.insert(".".into(), json!({}));
            }
            map.insert(element.encode(), below);
        }
        Value::Object(map)
    }

    pub(crate) fn from_fields_v1(fields: &Value) -> FieldSet {
        let mut set = FieldSet::default();
        for (key, below) in fields.as_object().into_iter().flatten() {
            let Some(element) = PathElement::decode(key) else {
                continue;
            };
            let map = below.as_object();
            let empty = map.is_none_or(Map::is_empty);
            if empty || map.is_some_and(|m| m.contains_key(".")) {
                set.members.insert(element.clone());
            }
            if !empty {
                let child = FieldSet::from_fields_v1(below);
                if !child.is_empty() {
                    set.children.insert(element, child);
                }
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_v1_round_trip() {
        let text = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
            "f:set": {"v:\"x\"": {}, "v:1": {}}
        });
        assert_eq!(FieldSet::from_fields_v1(&text).to_fields_v1(), text);
    }

    #[test]
    fn differences() {
        let set = FieldSet::of(&["a", "a.b", "c.d"]);
        assert_eq!(
            set.difference(&FieldSet::of(&["a"])),
            FieldSet::of(&["a.b", "c.d"])
        );
        assert_eq!(
            set.recursive_difference(&FieldSet::of(&["a"])),
            FieldSet::of(&["c.d"])
        );
        assert_eq!(set.difference(&FieldSet::of(&["c"])), set);
        assert_eq!(
            set.recursive_difference(&FieldSet::of(&["c"])),
            FieldSet::of(&["a", "a.b"])
        );
    }
}
