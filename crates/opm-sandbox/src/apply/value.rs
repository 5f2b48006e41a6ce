//! How the server compares and prints JSON values: a total order over all of them, with integers
//! and floats compared as numbers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// What a JSON value is, in the words of Go's decoder.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equality that ignores how a number was written.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| equal(v, w)))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(v, w)| equal(v, w))
        }
        (Value::Number(x), Value::Number(y)) => compare_numbers(x, y) == Ordering::Equal,
        _ => a == b,
    }
}

/// Numbers before strings, booleans, lists, maps and null.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => compare_numbers(x, y),
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Array(x), Value::Array(y)) => {
            let first = x
                .iter()
                .zip(y)
                .map(|(v, w)| compare(v, w))
                .find(|o| o.is_ne());
            first.unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (Value::Object(x), Value::Object(y)) => {
            let pairs = x
                .iter()
                .zip(y)
                .map(|((k, v), (l, w))| k.cmp(l).then(compare(v, w)));
            let first = pairs.into_iter().find(|o| o.is_ne());
            first.unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(x), Some(y)) => x.cmp(&y),
        _ => {
            let (x, y) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            x.partial_cmp(&y).unwrap_or(Ordering::Equal)
        }
    }
}

/// A value as it appears inside a path: `[name="c"]`.
pub(crate) fn in_path(value: &Value) -> String {
    match value {
        Value::String(s) => quoted(s),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(in_path).collect::<Vec<_>>().join(",")
            )
        }
        Value::Object(map) => map
            .iter()
            .map(|(k, v)| format!("{k}={}", in_path(v)))
            .collect(),
        other => other.to_string(),
    }
}

/// A string in double quotes, escaped as Go's `%q` does for what occurs in names and values.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as Go's `%v` prints it, as the server does inside error messages.
pub(crate) fn go_print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(s) => s.clone(),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(go_print).collect::<Vec<_>>().join(" ")
            )
        }
        Value::Object(map) => {
            let all: Vec<_> = map
                .iter()
                .map(|(k, v)| format!("{k}:{}", go_print(v)))
                .collect();
            format!("map[{}]", all.join(" "))
        }
        other => other.to_string(),
    }
}
