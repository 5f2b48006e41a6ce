//! Sets of fields, as `managedFields` writes them: trees whose keys name fields (`f:`), items of
//! lists by key (`k:`), by value (`v:`) or by place (`i:`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::canonical::value_bytes;
use crate::diff::{PathStep, path};
use crate::drift::{is_item, path_step};

/// A set of fields, seen from one place of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    /// Whether this place itself is in the set, not only something below it.
    pub(super) member: bool,
    pub(super) below: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// Reads the `fieldsV1` of an entry.
    pub(super) fn read(tree: &Map<String, Value>) -> Self {
        let mut set = Self::default();
        for (key, value) in tree {
            match (key.as_str(), value.as_object()) {
                (".", _) => set.member = true,
                (_, Some(below)) if !below.is_empty() => {
                    set.below.insert(key.clone(), Self::read(below));
                }
                _ => {
                    set.below.insert(key.clone(), Self::leaf());
                }
            }
        }
        set
    }

    fn leaf() -> Self {
        Self {
            member: true,
            below: BTreeMap::new(),
        }
    }

    /// The set as an entry has it.
    pub(super) fn write(&self) -> Map<String, Value> {
        let mut tree = Map::new();
        if self.member && !self.below.is_empty() {
            tree.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (key, below) in self.below.iter().filter(|(_, below)| !below.is_empty()) {
            tree.insert(key.clone(), Value::Object(below.write()));
        }
        tree
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.below.values().all(Self::is_empty)
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.member && self.below.is_empty()
    }

    pub(super) fn at(&self, key: &str) -> Option<&Self> {
        self.below.get(key)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (key, below) in &other.below {
            self.below.entry(key.clone()).or_default().add(below);
        }
    }

    /// What of the set there is in a value.
    pub(super) fn found_in(&self, value: &Value) -> Self {
        let below = self.below.iter().filter_map(|(key, below)| {
            let found = below.found_in(value_at(value, key)?);
            (!found.is_empty()).then(|| (key.clone(), found))
        });
        Self {
            member: self.member,
            below: below.collect(),
        }
    }

    /// The places in words, each as far up as the set has it whole.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect<'a>(&'a self, trail: &mut Vec<PathStep<'a>>, paths: &mut Vec<String>) {
        if self.member {
            return paths.push(path(trail));
        }
        for (key, below) in &self.below {
            trail.push(path_step(key));
            below.collect(trail, paths);
            trail.pop();
        }
    }
}

/// What stands in a value where a key leads.
pub(super) fn value_at<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match (key.split_at_checked(2)?, value) {
        (("f:", name), Value::Object(fields)) => fields.get(name),
        (_, Value::Array(items)) => items.get(position(items, key)?),
        _ => None,
    }
}

/// Which item of a list a key names.
pub(super) fn position(items: &[Value], key: &str) -> Option<usize> {
    match key.split_at_checked(2)? {
        ("k:", keys) => items.iter().position(|item| is_item(item, keys)),
        ("v:", value) => items
            .iter()
            .position(|item| value_bytes(item) == value.as_bytes()),
        ("i:", index) => index.parse().ok().filter(|at| *at < items.len()),
        _ => None,
    }
}
