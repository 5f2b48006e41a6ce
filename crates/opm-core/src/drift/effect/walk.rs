//! The walk through what `opm` applied, beside what is sent and what is live.

use serde_json::{Map, Value};

use super::super::managers::{FieldTree, item_label};
use super::super::walk::is_item;
use super::{ApplyEffect, has_all_keys};
use crate::canonical::value_bytes;
use crate::diff::{PathStep, path, same_quantity, same_value};

/// A field that the live object has in other words than what is sent.
pub(super) struct RewrittenField {
    pub(super) keys: Vec<String>,
    pub(super) path: String,
}

/// The walk through what `opm` applied, beside what is sent and what is live. An error is what the
/// apply would do, whatever the rest looks like.
#[derive(Default)]
pub(super) struct EffectWalk<'a> {
    trail: Vec<PathStep<'a>>,
    keys: Vec<String>,
    pub(super) rewritten: Vec<RewrittenField>,
}

type Step = Result<(), ApplyEffect>;

impl<'a> EffectWalk<'a> {
    pub(super) fn top(
        &mut self,
        own: &'a FieldTree,
        desired: &'a Map<String, Value>,
        live: &'a Map<String, Value>,
    ) -> Step {
        if desired.contains_key("stringData") {
            return Err(self.doubt("the server makes something else of it"));
        }
        self.fields(own, desired, live)
    }

    fn value(&mut self, own: &'a FieldTree, desired: &'a Value, live: Option<&'a Value>) -> Step {
        let Some(shape) = Shape::of(own) else {
            return Err(self.doubt("its owned fields are of several kinds"));
        };
        match (shape, desired, live) {
            (Shape::Leaf, _, _) => self.leaf(desired, live),
            (_, Value::Null, _) => Err(self.doubt("it is null")),
            (_, _, None) => self.left_out(desired),
            (Shape::Fields, Value::Object(desired), Some(Value::Object(live))) => {
                self.fields(own, desired, live)
            }
            (Shape::Items, Value::Array(desired), Some(Value::Array(live))) => {
                self.items(own, desired, live)
            }
            (Shape::Set, Value::Array(desired), Some(Value::Array(live))) => {
                self.set(own, desired, live)
            }
            _ => Err(self.doubt("it is of another type than what was applied")),
        }
    }

    fn fields(
        &mut self,
        own: &'a FieldTree,
        desired: &'a Map<String, Value>,
        live: &'a Map<String, Value>,
    ) -> Step {
        for (key, value) in desired {
            if self.is_identity(key) {
                continue;
            }
            if own.get(&format!("f:{key}")).is_none() {
                return Err(self.at(key, |walk| match value {
                    Value::Null => walk.doubt("it is null"),
                    _ => walk.changed(),
                }));
            }
        }
        for (key, below) in own.iter().filter(|(key, _)| *key != ".") {
            let name = key.get(2..).unwrap_or_default();
            let Value::Object(below) = below else {
                return Err(self.doubt("its owned fields cannot be read"));
            };
            self.trail.push(PathStep::Field(name));
            self.keys.push(key.clone());
            match desired.get(name) {
                Some(value) => self.value(below, value, live.get(name))?,
                None => return Err(self.changed()),
            }
            self.keys.pop();
            self.trail.pop();
        }
        Ok(())
    }

    /// A list whose items have keys: every item that is sent is owned, and the other way round.
    fn items(&mut self, own: &'a FieldTree, desired: &'a [Value], live: &'a [Value]) -> Step {
        let owned: Vec<_> = own.iter().filter(|(key, _)| *key != ".").collect();
        if owned.len() != desired.len() {
            return Err(self.changed());
        }
        let mut used = vec![false; owned.len()];
        let mut last = None;
        for item in desired {
            let is = |(_, (key, _)): &(usize, &(&'a String, &'a Value))| is_item(item, &key[2..]);
            let mut found = owned.iter().enumerate().filter(is);
            let (Some((at, (key, below))), None) = (found.next(), found.next()) else {
                return Err(self.changed());
            };
            if std::mem::replace(&mut used[at], true) {
                return Err(self.changed());
            }
            let Value::Object(below) = below else {
                return Err(self.doubt("its owned fields cannot be read"));
            };
            let has_keys = |live: &Value| has_all_keys(live, &key[2..]);
            let mut there = live.iter().enumerate().filter(|(_, live)| has_keys(live));
            let (Some((place, there)), None) = (there.next(), there.next()) else {
                return Err(self.doubt("an item is not there exactly once"));
            };
            if last.is_some_and(|last| place < last) {
                return Err(self.changed());
            }
            last = Some(place);
            self.trail.push(PathStep::Item(item_label(&key[2..])));
            self.keys.push((*key).clone());
            self.value(below, item, Some(there))?;
            self.keys.pop();
            self.trail.pop();
        }
        Ok(())
    }

    /// A set: the items that are sent are those that are owned, and live in the same order.
    fn set(&mut self, own: &'a FieldTree, desired: &'a [Value], live: &'a [Value]) -> Step {
        let owned = own.keys().filter(|key| *key != ".").count();
        if owned != desired.len() {
            return Err(self.changed());
        }
        let mut last = None;
        for (at, item) in desired.iter().enumerate() {
            let written = value_bytes(item);
            let is_owned = own
                .keys()
                .any(|key| key.as_bytes().get(2..) == Some(&written));
            if !is_owned || desired[..at].contains(item) {
                return Err(self.changed());
            }
            let place = live.iter().position(|live| value_bytes(live) == written);
            match place {
                Some(place) if last.is_none_or(|last| last < place) => last = Some(place),
                _ => return Err(self.changed()),
            }
        }
        Ok(())
    }

    /// A field that is owned as a whole.
    fn leaf(&mut self, desired: &'a Value, live: Option<&'a Value>) -> Step {
        let Some(live) = live else {
            return self.left_out(desired);
        };
        if value_bytes(desired) == value_bytes(live) {
            if is_empty_composite(desired) || holds_null(desired) {
                self.rewritten();
            }
            return Ok(());
        }
        if !is_alike(desired, live) {
            return Err(self.changed());
        }
        self.rewritten();
        Ok(())
    }

    /// What is owned and not there: null or a zero, which the server leaves out, or it is gone. Some
    /// servers write an object each time that an empty list is sent.
    fn left_out(&mut self, desired: &Value) -> Step {
        match desired {
            _ if holds_list(desired) => return Err(self.doubt("the server left out a list")),
            _ if !is_zero(desired) => return Err(self.changed()),
            _ => {}
        }
        self.rewritten();
        Ok(())
    }

    fn rewritten(&mut self) {
        self.rewritten.push(RewrittenField {
            keys: self.keys.clone(),
            path: path(&self.trail),
        });
    }

    fn at(&mut self, key: &'a str, say: impl Fn(&Self) -> ApplyEffect) -> ApplyEffect {
        self.trail.push(PathStep::Field(key));
        let said = say(self);
        self.trail.pop();
        said
    }

    fn changed(&self) -> ApplyEffect {
        ApplyEffect::Changed(path(&self.trail))
    }

    fn doubt(&self, why: &str) -> ApplyEffect {
        ApplyEffect::Doubt(format!("{}: {why}", path(&self.trail)))
    }

    /// Whether a field says which object it is: nobody owns that.
    fn is_identity(&self, key: &str) -> bool {
        match self.trail.as_slice() {
            [] => ["apiVersion", "kind"].contains(&key),
            [PathStep::Field("metadata")] => ["name", "namespace"].contains(&key),
            _ => false,
        }
    }
}

/// What a tree of owned fields is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Leaf,
    Fields,
    Items,
    Set,
}

impl Shape {
    /// None where it is about several things at once, or about a list by its places.
    fn of(own: &FieldTree) -> Option<Self> {
        let mut shape = Self::Leaf;
        for key in own.keys().filter(|key| *key != ".") {
            let here = match key.get(..2)? {
                "f:" => Self::Fields,
                "k:" => Self::Items,
                "v:" => Self::Set,
                _ => return None,
            };
            if shape != Self::Leaf && shape != here {
                return None;
            }
            shape = here;
        }
        Some(shape)
    }
}

/// Whether the server may have made one value of the other: the same number or quantity in other
/// words, a default of null, and defaults beside what was sent. What admission made of it is not
/// like it.
fn is_alike(desired: &Value, live: &Value) -> bool {
    match (desired, live) {
        (Value::Null, _) => true,
        (Value::Object(desired), Value::Object(live)) => {
            desired.iter().all(|(key, value)| match live.get(key) {
                Some(live) => is_alike(value, live),
                None => is_zero(value),
            })
        }
        (Value::Array(desired), Value::Array(live)) => {
            let mut pairs = desired.iter().zip(live);
            desired.len() == live.len() && pairs.all(|(desired, live)| is_alike(desired, live))
        }
        _ => same_value(desired, live, false) || same_quantity(desired, live),
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(fields) => fields.values().any(holds_null),
        _ => false,
    }
}

fn holds_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(holds_list),
        _ => false,
    }
}

/// What the server may leave out because it is what there is without it.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(_) => false,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

fn is_empty_composite(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
