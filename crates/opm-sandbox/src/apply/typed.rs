//! What all walks over a typed value share: which shape of its type a value takes, and how list
//! items are addressed.

use serde_json::Value;

use super::path::PathElement;
use super::schema::{Atom, ListKind, ListType, MapType, Scalar, Schema};
use super::value::quoted;

/// Where something does not fit its type. The path is built on the way out.
#[derive(Clone, Debug)]
pub(crate) struct Misfit {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Misfit {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Misfit {
            path: String::new(),
            message: message.into(),
        }
    }

    pub(crate) fn under(mut self, element: &PathElement) -> Self {
        self.path.insert_str(0, &element.to_string());
        self
    }
}

/// All misfits of a value as one message.
pub(crate) fn describe(misfits: &[Misfit]) -> String {
    let one = |m: &Misfit| match m.path.as_str() {
        "" => m.message.clone(),
        path => format!("{path}: {}", m.message),
    };
    match misfits {
        [only] => one(only),
        many => {
            let lines: Vec<_> = many.iter().map(|m| format!("  {}", one(m))).collect();
            format!("errors:\n{}", lines.join("\n"))
        }
    }
}

/// The part of a type that handles a value.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    Map(&'a MapType),
    Scalar(Scalar),
    List(&'a ListType),
    Nothing,
}

/// Which part of the type a value takes; an absent or null value takes the first there is.
pub(crate) fn shape<'a>(atom: &'a Atom, value: Option<&Value>) -> Shape<'a> {
    match value {
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            if let Some(scalar) = atom.scalar {
                return Shape::Scalar(scalar);
            }
        }
        Some(Value::Array(_)) => {
            if let Some(list) = &atom.list {
                return Shape::List(list);
            }
        }
        Some(Value::Object(_)) => {
            if let Some(map) = &atom.map {
                return Shape::Map(map);
            }
        }
        Some(Value::Null) | None => {}
    }
    match (&atom.map, atom.scalar, &atom.list) {
        (Some(map), _, _) => Shape::Map(map),
        (None, Some(scalar), _) => Shape::Scalar(scalar),
        (None, None, Some(list)) => Shape::List(list),
        (None, None, None) => Shape::Nothing,
    }
}

pub(crate) fn same_shape(a: Shape<'_>, b: Shape<'_>) -> bool {
    matches!(
        (a, b),
        (Shape::Map(_), Shape::Map(_))
            | (Shape::Scalar(_), Shape::Scalar(_))
            | (Shape::List(_), Shape::List(_))
    )
}

pub(crate) fn check_scalar(scalar: Scalar, value: &Value) -> Result<(), String> {
    let fits = match (scalar, value) {
        (_, Value::Null) => true,
        (Scalar::Integer | Scalar::Number, v) => v.is_number(),
        (Scalar::String | Scalar::Byte, v) => v.is_string(),
        (Scalar::Boolean, v) => v.is_boolean(),
        (_, v) => !v.is_array() && !v.is_object(),
    };
    if fits {
        return Ok(());
    }
    Err(match scalar {
        Scalar::Integer | Scalar::Number => {
            format!("expected numeric (int or float), got {}", go_type(value))
        }
        Scalar::String | Scalar::Byte => {
            format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(value)
            )
        }
        Scalar::Boolean => format!(
            "expected boolean, got &{{{}}}",
            super::value::go_print(value)
        ),
        _ => format!(
            "expected any scalar, got &{{{}}}",
            super::value::go_print(value)
        ),
    })
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(s) => quoted(s),
        Value::Array(items) => {
            let all: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", all.join(", "))
        }
        Value::Object(map) => {
            let all: Vec<_> = map
                .iter()
                .map(|(k, v)| format!("{}:{}", quoted(k), go_syntax(v)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", all.join(", "))
        }
        other => other.to_string(),
    }
}

/// The step that leads to an item of a set or of a list with keys.
pub(crate) fn item_element(
    schema: &Schema,
    list: &ListType,
    item: &Value,
) -> Result<PathElement, String> {
    let keys = match &list.kind {
        ListKind::Atomic => return Err("invalid indexing of non-associative list".into()),
        ListKind::Set => return set_element(item),
        ListKind::Map(keys) => keys,
    };
    let map = match item {
        Value::Null => {
            return Err("associative list with keys may not have a null element".into());
        }
        Value::Object(map) => map,
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let fields = schema.atom(list.element).map.as_ref().map(|m| &m.fields);
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let default = || {
            fields
                .and_then(|f| f.get(key))
                .and_then(|f| f.default.as_ref())
        };
        if let Some(value) = map.get(key).or_else(default) {
            found.push((key.clone(), value.clone()));
        }
    }
    if found.is_empty() {
        let names: Vec<_> = keys.iter().map(|k| quoted(k)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(PathElement::Key(found))
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => {
            Err("associative list without keys has an element that's a map type".into())
        }
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        scalar => Ok(PathElement::Value(scalar.clone())),
    }
}
