//! How large and how deep an object may become, wherever something can multiply what was sent.

use std::io;

use serde_json::Value;

use crate::work;

/// As the real server: a request, and what the copies of a JSON patch add, have this many bytes.
pub(crate) const REQUEST_BYTES: usize = 3 * 1024 * 1024;
/// What the real server's storage takes of a custom resource, which it stores as JSON.
const CUSTOM_BYTES: usize = 1536 * 1024;
/// Beyond this the JSON of an object, with its managers, could not be read back.
const DEPTH: usize = 120;

/// Bytes of the value as JSON.
pub(crate) fn size(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail.
    let _ = serde_json::to_writer(&mut count, value);
    work::step(count.0);
    count.0
}

/// Whether the value would be too deep under so many levels.
pub(crate) fn too_deep(value: &Value, above: usize) -> bool {
    if above > DEPTH {
        return true;
    }
    match value {
        Value::Array(items) => items.iter().any(|v| too_deep(v, above + 1)),
        Value::Object(map) => map.values().any(|v| too_deep(v, above + 1)),
        _ => false,
    }
}

/// Whether an object is too large to be stored.
pub(crate) fn too_large(object: &Value, custom: bool) -> bool {
    size(object) > if custom { CUSTOM_BYTES } else { REQUEST_BYTES }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn depth_counts_from_where_a_value_is_put() {
        let nested = |levels| (0..levels).fold(json!(1), |inside, _| json!([inside]));
        assert!(!too_deep(&nested(DEPTH), 0));
        assert!(too_deep(&nested(DEPTH + 1), 0));
        assert!(too_deep(&nested(DEPTH), 1));
    }

    #[test]
    fn sizes_are_those_of_the_text() {
        let value = json!({"a": [1, "ä\n", null]});
        assert_eq!(size(&value), value.to_string().len());
    }
}
