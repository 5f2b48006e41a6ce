//! JSON patches (RFC 6902), bounded in what they may copy, move and nest: a few lines can otherwise
//! ask for any amount of memory.

use serde_json::Value;

use crate::apply::value::json_type;
use crate::limits::{self, REQUEST_BYTES};
use crate::status::ApiError;
use crate::work;

/// As the real server has it.
const OPERATIONS: usize = 10_000;
/// How many list items all operations together may push aside.
const SHIFTS: usize = 100_000_000;

pub(crate) fn apply(document: Value, patch: &Value) -> Result<Value, ApiError> {
    let wrong = |found: &Value, wanted: &str| {
        ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type {wanted}",
            json_type(found)
        ))
    };
    let Some(operations) = patch.as_array() else {
        return Err(wrong(patch, "[]handlers.jsonPatchOp"));
    };
    if let Some(other) = operations.iter().find(|o| !o.is_object()) {
        return Err(wrong(other, "handlers.jsonPatchOp"));
    }
    if operations.len() > OPERATIONS {
        return Err(ApiError::too_large(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is \
             {OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut patching = Patching {
        document,
        copied: 0,
        shifted: 0,
    };
    for operation in operations {
        patching
            .apply(operation)
            .ok_or_else(ApiError::unprocessable)?;
    }
    Ok(patching.document)
}

/// A document on its way through a patch, and what that has cost.
struct Patching {
    document: Value,
    copied: usize,
    shifted: usize,
}

impl Patching {
    fn apply(&mut self, operation: &Value) -> Option<()> {
        let path = operation["path"].as_str()?;
        let value = || operation.get("value").cloned().unwrap_or(Value::Null);
        match operation["op"].as_str()? {
            "add" => self.insert(path, value()),
            "remove" => self.take(path).map(drop),
            "replace" => {
                let value = value();
                self.check_depth(path, &value)?;
                *self.document.pointer_mut(path)? = value;
                Some(())
            }
            "move" => {
                let moved = self.take(operation["from"].as_str()?)?;
                self.insert(path, moved)
            }
            "copy" => {
                let copied = source(&self.document, operation["from"].as_str()?)?;
                self.copied += limits::size(copied);
                if self.copied > REQUEST_BYTES {
                    return None;
                }
                let copied = copied.clone();
                self.insert(path, copied)
            }
            "test" => {
                let wanted = operation.get("value").unwrap_or(&Value::Null);
                let actual = self.document.pointer(path).unwrap_or(&Value::Null);
                crate::apply::value::equal(actual, wanted).then_some(())
            }
            _ => None,
        }
    }

    fn check_depth(&self, path: &str, value: &Value) -> Option<()> {
        let above = path.matches('/').count();
        (!limits::too_deep(value, above)).then_some(())
    }

    fn insert(&mut self, path: &str, value: Value) -> Option<()> {
        self.check_depth(path, &value)?;
        if path.is_empty() {
            self.document = value;
            return Some(());
        }
        let (container, key) = parent(&mut self.document, path)?;
        match container {
            Value::Object(map) => {
                map.insert(key, value);
            }
            Value::Array(items) if key == "-" => items.push(value),
            Value::Array(items) => {
                let at: usize = key.parse().ok().filter(|at| *at <= items.len())?;
                shift(&mut self.shifted, items.len() - at)?;
                items.insert(at, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn take(&mut self, path: &str) -> Option<Value> {
        let (container, key) = parent(&mut self.document, path)?;
        match container {
            Value::Object(map) => map.remove(&key),
            Value::Array(items) => {
                let at: usize = key.parse().ok().filter(|at| *at < items.len())?;
                shift(&mut self.shifted, items.len() - at)?;
                Some(items.remove(at))
            }
            _ => None,
        }
    }
}

/// What a copy is of. The real server copies null from where a map has no such key.
fn source<'a>(document: &'a Value, from: &str) -> Option<&'a Value> {
    let missing = || {
        let (above, _) = from.rsplit_once('/')?;
        let container = document.pointer(above)?;
        container.is_object().then_some(&Value::Null)
    };
    document.pointer(from).or_else(missing)
}

fn shift(all: &mut usize, items: usize) -> Option<()> {
    work::step(items);
    *all += items;
    (*all <= SHIFTS).then_some(())
}

fn parent<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (above, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Some((document.pointer_mut(above)?, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations() {
        let document = json!({"a": {"b": [1, 2]}, "c": 3});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/a/b/1", "value": 9}]),
                Some(json!({"a": {"b": [1, 9, 2]}, "c": 3})),
            ),
            (
                json!([{"op": "remove", "path": "/c"}]),
                Some(json!({"a": {"b": [1, 2]}})),
            ),
            (
                json!([{"op": "move", "from": "/c", "path": "/a/d"}]),
                Some(json!({"a": {"b": [1, 2], "d": 3}})),
            ),
            (json!([{"op": "test", "path": "/c", "value": 4}]), None),
            (json!([{"op": "replace", "path": "/x", "value": 4}]), None),
        ] {
            assert_eq!(apply(document.clone(), &patch).ok(), expected, "{patch}");
        }
    }

    #[test]
    fn copies_that_double_are_refused_before_they_are_made() {
        let mut patch = vec![json!({"op": "add", "path": "/data", "value": {"a": "x"}})];
        for n in 0..40 {
            patch.push(json!({"op": "copy", "from": "/data", "path": format!("/data/c{n}")}));
        }
        let (steps, result) = work::of(|| apply(json!({}), &json!(patch)));
        assert_eq!(result.unwrap_err().code, 422);
        assert!(steps < 4 * REQUEST_BYTES, "{steps}");
    }

    #[test]
    fn nesting_by_copies_is_refused() {
        let mut patch = vec![json!({"op": "add", "path": "/a", "value": {"a": {}}})];
        let mut place = "/a/a".to_string();
        for _ in 0..12 {
            patch.push(json!({"op": "copy", "from": "/a", "path": format!("{place}/a")}));
            place = format!("{place}{place}");
        }
        assert_eq!(apply(json!({}), &json!(patch)).unwrap_err().code, 422);
    }

    #[test]
    fn pushing_aside_a_long_list_over_and_over_is_refused() {
        let document = json!({"l": vec![0; 200_000]});
        let first = json!({"op": "remove", "path": "/l/0"});
        let patch = json!(vec![first; 9_999]);
        let (steps, result) = work::of(|| apply(document, &patch));
        assert_eq!(result.unwrap_err().code, 422);
        assert!(steps <= SHIFTS + 200_000);
    }

    #[test]
    fn too_many_operations_are_refused() {
        let test = json!({"op": "test", "path": "/a", "value": 1});
        let patch = json!(vec![test; OPERATIONS + 1]);
        assert_eq!(apply(json!({"a": 1}), &patch).unwrap_err().code, 413);
    }
}
