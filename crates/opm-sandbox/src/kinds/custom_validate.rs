//! Validation of custom resources against their schema: types, required fields, enumerations and
//! bounds. Rules in CEL, formats and patterns are not evaluated.

use serde_json::Value;

use crate::apply::value::quoted;
use crate::status::{Cause, CauseKind};

/// How many findings are looked for: each may quote all values that a schema allows.
const FINDINGS: usize = 1000;

pub(crate) fn check(schema: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    visit(schema, object, "", &mut causes);
    causes
}

fn visit(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if (value.is_null() && schema["nullable"] == true) || causes.len() >= FINDINGS {
        return;
    }
    if let Some(wanted) = schema["type"].as_str()
        && !fits(wanted, value)
        && schema["x-kubernetes-int-or-string"] != true
    {
        causes.push(Cause {
            kind: CauseKind::TypeInvalid,
            field: shown_path(path),
            value: Some(shown(value)),
            detail: format!(
                "{} in body must be of type {wanted}: {}",
                shown_path(path),
                quoted(type_name(value))
            ),
        });
        return;
    }
    bounds(schema, value, path, causes);
    match value {
        Value::Object(map) => {
            for name in schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !map.contains_key(name) {
                    causes.push(Cause::required(&join(path, name), ""));
                }
            }
            for (key, entry) in map {
                if let Some(below) = schema["properties"].get(key) {
                    visit(below, entry, &join(path, key), causes);
                } else if schema["additionalProperties"].is_object() {
                    visit(
                        &schema["additionalProperties"],
                        entry,
                        &join(path, key),
                        causes,
                    );
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(&schema["items"], item, &format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

fn bounds(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let names: Vec<_> = allowed
            .iter()
            .map(|v| v.as_str().unwrap_or_default())
            .collect();
        let given = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_string);
        causes.push(Cause::unsupported(path, &given, &names));
    }
    let Some(number) = value.as_f64() else { return };
    let mut beyond = |limit: Option<f64>, wrong: bool, words: &str| {
        if let Some(limit) = limit.filter(|_| wrong) {
            let detail = format!("{path} in body should be {words} {limit}");
            causes.push(Cause::invalid(path, value.to_string(), &detail));
        }
    };
    let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    beyond(
        least,
        least.is_some_and(|l| number < l),
        "greater than or equal to",
    );
    beyond(
        most,
        most.is_some_and(|m| number > m),
        "less than or equal to",
    );
}

fn fits(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => true,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn shown(value: &Value) -> String {
    quoted(type_name(value))
}

fn shown_path(path: &str) -> String {
    if path.is_empty() {
        "<nil>".into()
    } else {
        path.to_string()
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}
