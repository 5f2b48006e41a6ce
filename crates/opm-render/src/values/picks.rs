//! Layers of values, later over earlier: which part of the result comes from which layer.
//!
//! Merged by key: a list replaces a list, and null removes a key. What comes out are not values
//! alone but references into the layers, so that whoever evaluates them can still name the place
//! where a value was written.

use std::collections::BTreeMap;

use opm_core::values::Value;

use super::{KeyPath, Segment};

/// A part of the merged values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pick {
    /// All of what a layer has at this place.
    Whole {
        /// The layer's number.
        layer: usize,
        /// How the place is referred to.
        reference: String,
        /// What is there.
        value: Value,
    },
    /// Fields that come from several layers.
    Fields(BTreeMap<String, Pick>),
    /// Items of which some were set.
    Items(Vec<Pick>),
    /// An item that nobody has set.
    Open,
}

impl Pick {
    /// No values at all.
    pub(crate) fn nothing() -> Self {
        Self::Fields(BTreeMap::new())
    }

    /// The values that everything else comes over, as they are.
    pub(crate) fn base(layer: Layer<'_>) -> Self {
        let Layer {
            number,
            reference,
            value,
        } = layer;
        Self::Whole {
            layer: number,
            value: value.clone(),
            reference: reference.to_owned(),
        }
    }

    /// Another layer over this.
    #[must_use]
    pub(crate) fn under(self, layer: Layer<'_>) -> Self {
        overridden(Some(self), layer).unwrap_or_else(Self::nothing)
    }

    /// A value set at a path.
    #[must_use]
    pub(crate) fn assigned(self, key: &KeyPath, layer: Layer<'_>) -> Self {
        assigned(Some(self), &key.0, layer).unwrap_or_else(Self::nothing)
    }

    /// The fields, where there are any.
    fn into_fields(self) -> BTreeMap<String, Self> {
        match self {
            Self::Fields(fields) => fields,
            Self::Whole {
                layer,
                reference,
                value: Value::Struct(fields),
            } => {
                let whole = |(key, value): (String, Value)| {
                    let reference = selected(&reference, &key);
                    let pick = Self::Whole {
                        layer,
                        reference,
                        value,
                    };
                    (key, pick)
                };
                fields.into_iter().map(whole).collect()
            }
            Self::Whole { .. } | Self::Items(_) | Self::Open => BTreeMap::new(),
        }
    }

    fn into_items(self) -> Vec<Self> {
        match self {
            Self::Items(items) => items,
            Self::Whole {
                layer,
                reference,
                value: Value::List(items),
            } => {
                let whole = |(place, value)| Self::Whole {
                    layer,
                    reference: format!("{reference}[{place}]"),
                    value,
                };
                items.into_iter().enumerate().map(whole).collect()
            }
            Self::Whole { .. } | Self::Fields(_) | Self::Open => Vec::new(),
        }
    }

    fn has_fields(&self) -> bool {
        match self {
            Self::Fields(_) => true,
            Self::Whole { value, .. } => matches!(value, Value::Struct(_)),
            Self::Items(_) | Self::Open => false,
        }
    }

    /// Whether there is an item that nobody has set.
    pub(crate) fn has_gap(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Whole { .. } => false,
            Self::Items(items) => items.iter().any(Self::has_gap),
            Self::Fields(fields) => fields.values().any(Self::has_gap),
        }
    }

    /// The merged values themselves; what nobody has set is null.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Whole { value, .. } => value,
            Self::Fields(fields) => {
                let fields = fields.into_iter();
                Value::Struct(fields.map(|(key, pick)| (key, pick.into_value())).collect())
            }
            Self::Items(items) => Value::List(items.into_iter().map(Self::into_value).collect()),
            Self::Open => Value::Null,
        }
    }

    /// What comes from one layer, as CUE text that refers to it; nothing if nothing does. Items
    /// of other layers are left open.
    pub(crate) fn of_layer(&self, number: usize) -> Option<String> {
        match self {
            Self::Whole {
                layer, reference, ..
            } => (*layer == number).then(|| reference.clone()),
            Self::Open => None,
            Self::Items(items) => {
                let picked: Vec<Option<String>> =
                    items.iter().map(|item| item.of_layer(number)).collect();
                picked.iter().flatten().next()?;
                let items = picked
                    .into_iter()
                    .map(|item| item.unwrap_or_else(|| "_".to_owned()));
                Some(format!("[{}]", items.collect::<Vec<_>>().join(", ")))
            }
            Self::Fields(fields) => {
                let field = |(key, pick): (&String, &Self)| {
                    Some(format!("{}: {}", quoted(key), pick.of_layer(number)?))
                };
                let fields: Vec<String> = fields.iter().filter_map(field).collect();
                (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(", ")))
            }
        }
    }

    /// Whether all of a layer's values are still there.
    pub(crate) fn has_all_of(&self, number: usize, value: &Value) -> bool {
        self.leaves_of(number) == leaves(value)
    }

    fn leaves_of(&self, number: usize) -> usize {
        match self {
            Self::Whole { layer, value, .. } if *layer == number => leaves(value),
            Self::Whole { .. } | Self::Open => 0,
            Self::Items(items) => items.iter().map(|item| item.leaves_of(number)).sum(),
            Self::Fields(fields) => fields.values().map(|pick| pick.leaves_of(number)).sum(),
        }
    }
}

/// A layer: its number, how its values are referred to, and what they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) number: usize,
    pub(crate) reference: &'a str,
    pub(crate) value: &'a Value,
}

/// How many values there are that hold no others.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Struct(fields) if !fields.is_empty() => fields.values().map(leaves).sum(),
        Value::List(items) if !items.is_empty() => items.iter().map(leaves).sum(),
        _ => 1,
    }
}

fn quoted(key: &str) -> String {
    Value::String(key.to_owned()).to_cue()
}

fn selected(reference: &str, key: &str) -> String {
    format!("{reference}.{}", quoted(key))
}

fn overridden(lower: Option<Pick>, layer: Layer<'_>) -> Option<Pick> {
    let fields = match layer.value {
        Value::Null => return None,
        Value::Struct(fields) => fields,
        _ => return Some(Pick::base(layer)),
    };
    let merges = lower.as_ref().is_some_and(Pick::has_fields);
    if !merges && !removes(layer.value) {
        return Some(Pick::base(layer));
    }
    let mut merged = lower.map(Pick::into_fields).unwrap_or_default();
    for (key, value) in fields {
        let reference = selected(layer.reference, key);
        let field = Layer {
            number: layer.number,
            reference: &reference,
            value,
        };
        if let Some(pick) = overridden(merged.remove(key), field) {
            merged.insert(key.clone(), pick);
        }
    }
    Some(Pick::Fields(merged))
}

/// Whether a key somewhere in it is null.
fn removes(value: &Value) -> bool {
    match value {
        Value::Struct(fields) => fields
            .values()
            .any(|value| *value == Value::Null || removes(value)),
        _ => false,
    }
}

fn assigned(lower: Option<Pick>, path: &[Segment], layer: Layer<'_>) -> Option<Pick> {
    match path {
        [] => overridden(lower, layer),
        [Segment::Field(key), rest @ ..] => {
            let mut fields = lower.map(Pick::into_fields).unwrap_or_default();
            if let Some(pick) = assigned(fields.remove(key), rest, layer) {
                fields.insert(key.clone(), pick);
            }
            Some(Pick::Fields(fields))
        }
        [Segment::Index(place), rest @ ..] => {
            let mut items = lower.map(Pick::into_items).unwrap_or_default();
            while items.len() <= *place {
                items.push(Pick::Open);
            }
            let lower = std::mem::replace(&mut items[*place], Pick::Open);
            // A list's item is no key: null is what it says.
            let set = assigned(Some(lower), rest, layer);
            items[*place] = set.unwrap_or_else(|| Pick::base(layer));
            Some(Pick::Items(items))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes from each layer, and what it comes to.
    fn merged(layers: &[&str], set: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut pick = Pick::nothing();
        let mut all = Vec::new();
        for (number, text) in layers.iter().enumerate() {
            let value = Value::from_json(text).unwrap();
            let layer = Layer {
                number,
                reference: &format!("_f{number}"),
                value: &value,
            };
            pick = match number {
                0 => Pick::base(layer),
                _ => pick.under(layer),
            };
            all.push(value);
        }
        for (key, given) in set {
            let value = Value::from_json(given).unwrap();
            let layer = Layer {
                number: all.len(),
                reference: &format!("_s{}", all.len() - layers.len()),
                value: &value,
            };
            pick = pick.assigned(&KeyPath::parse(key).unwrap(), layer);
            all.push(value);
        }
        let parts = all.iter().enumerate().map(|(number, value)| {
            let part = pick.of_layer(number).unwrap_or_default();
            match pick.has_all_of(number, value) {
                true => format!("all {part}"),
                false => part,
            }
        });
        let parts = parts.collect();
        (parts, pick.into_value().to_cue().replace(['\n', '\t'], ""))
    }

    #[test]
    fn later_beats_earlier_by_key() {
        for (layers, set, parts, result) in [
            (&[r#"{"a":1}"#][..], &[][..], &["all _f0"][..], "{a: 1}"),
            (
                &[r#"{"a":1,"b":2}"#, r#"{"b":3,"c":4}"#],
                &[],
                &[r#"{"a": _f0."a"}"#, r#"all {"b": _f1."b", "c": _f1."c"}"#],
                "{a: 1b: 3c: 4}",
            ),
            // A list replaces a list; null removes a key, also of another layer's struct.
            (
                &[
                    r#"{"a":[1,2],"b":{"x":1,"y":2}}"#,
                    r#"{"a":[3],"b":{"x":null}}"#,
                ],
                &[],
                &[r#"{"b": {"y": _f0."b"."y"}}"#, r#"{"a": _f1."a"}"#],
                "{a: [3,]b: {y: 2}}",
            ),
            (
                &[r#"{"a":1}"#, r#"{"b":{"x":null,"y":1}}"#],
                &[],
                &[r#"all {"a": _f0."a"}"#, r#"{"b": {"y": _f1."b"."y"}}"#],
                "{a: 1b: {y: 1}}",
            ),
            // What everything comes over keeps its nulls.
            (
                &[r#"{"a":null}"#, r#"{"b":1}"#],
                &[],
                &[r#"all {"a": _f0."a"}"#, r#"all {"b": _f1."b"}"#],
                "{a: nullb: 1}",
            ),
            // A struct replaces a scalar, and a scalar a struct.
            (
                &[r#"{"a":1,"b":{"x":1}}"#, r#"{"a":{"x":1},"b":2}"#],
                &[],
                &["", r#"all {"a": _f1."a", "b": _f1."b"}"#],
                "{a: {x: 1}b: 2}",
            ),
            (
                &[r#"{"a":{"b":[1,2]}}"#],
                &[("a.b[1]", "7"), ("a.c", "8"), ("a.c", "9")],
                &[
                    r#"{"a": {"b": [_f0."a"."b"[0], _]}}"#,
                    r#"all {"a": {"b": [_, _s0]}}"#,
                    "",
                    r#"all {"a": {"c": _s2}}"#,
                ],
                "{a: {b: [1,7,]c: 9}}",
            ),
            (
                &[r#"{"a":1,"b":2}"#],
                &[("a", "null"), ("l[1]", "1"), ("l[0]", "null")],
                &[
                    r#"{"b": _f0."b"}"#,
                    "",
                    r#"all {"l": [_, _s1]}"#,
                    r#"all {"l": [_s2, _]}"#,
                ],
                "{b: 2l: [null,1,]}",
            ),
        ] {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(merged(layers, set), (parts, result.to_owned()));
        }
    }
}
