//! One step of a path into an object, and its form inside `fieldsV1`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use super::value;

/// A step from a map or list to one of its members.
#[derive(Clone, Debug)]
pub(crate) enum PathElement {
    Field(String),
    /// An item of a list with keys; sorted by key name.
    Key(Vec<(String, Value)>),
    /// An item of a set.
    Value(Value),
    Index(i64),
}

impl PathElement {
    pub(crate) fn field(name: &str) -> Self {
        PathElement::Field(name.to_string())
    }

    /// The key under which this step stands in `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            PathElement::Field(name) => format!("f:{name}"),
            PathElement::Key(keys) => {
                let map: Map<String, Value> = keys.iter().cloned().collect();
                format!("k:{}", Value::Object(map))
            }
            PathElement::Value(v) => format!("v:{v}"),
            PathElement::Index(i) => format!("i:{i}"),
        }
    }

    /// Reads a key of `fieldsV1`; `None` for forms that a later version may know.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(PathElement::field(rest)),
            "v" => serde_json::from_str(rest).ok().map(PathElement::Value),
            "k" => {
                let map: Map<String, Value> = serde_json::from_str(rest).ok()?;
                Some(PathElement::Key(map.into_iter().collect()))
            }
            "i" => rest.parse().ok().map(PathElement::Index),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => {
                let pairs = a.iter().zip(b);
                let steps =
                    pairs.map(|((k, v), (l, w))| k.cmp(l).then_with(|| value::compare(v, w)));
                let first = steps.into_iter().find(|o| o.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (PathElement::Value(a), PathElement::Value(b)) => value::compare(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(keys) => {
                let all: Vec<_> = keys
                    .iter()
                    .map(|(k, v)| format!("{k}={}", value::in_path(v)))
                    .collect();
                write!(f, "[{}]", all.join(","))
            }
            PathElement::Value(v) => write!(f, "[={}]", value::in_path(v)),
            PathElement::Index(i) => write!(f, "[{i}]"),
        }
    }
}
