//! Objects as bytes, exactly as Go's `json.Marshal` writes what Kubernetes' `unstructured` reads.
//!
//! Keys are sorted by bytes; `<`, `>`, `&`, U+2028 and U+2029 are escaped, DEL is not; integers
//! beyond 64 signed bits are floating-point numbers; a whole float has no fraction. The order of
//! keys is that of [`serde_json::Map`], a sorted map as long as nobody enables `preserve_order`
//! (a test watches over that). A float −0 is written `-0`, as Go does: the JSON text `-0`, which
//! Go reads as the integer 0, reaches us as that same float.

use std::io::Write as _;

use serde_json::{Map, Number, Value};

/// The canonical bytes of an object.
pub fn object_bytes(object: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    write_object(&mut out, object);
    out
}

/// The canonical bytes of any JSON value.
pub fn value_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_value(&mut out, value);
    out
}

/// Appends the canonical bytes of an object.
pub fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>) {
    out.push(b'{');
    for (index, (key, value)) in object.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, key);
        out.push(b':');
        write_value(out, value);
    }
    out.push(b'}');
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, item);
            }
            out.push(b']');
        }
        Value::Object(object) => write_object(out, object),
    }
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    // Writing into a vector cannot fail.
    let _ = match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => write!(out, "{integer}"),
        (None, Some(float)) => write!(out, "{}", float_text(float)),
        // Only arbitrary-precision numbers come here: digits that fit no machine number.
        (None, None) => write!(out, "{number}"),
    };
}

/// Go writes the shortest digits that read back equal, as Rust does, and takes to an exponent
/// below 1e-6 and from 1e21 on; a positive exponent has its sign.
fn float_text(float: f64) -> String {
    let size = float.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut index = 0;
    while let Some(found) = bytes[index..]
        .iter()
        .position(|byte| SPECIAL[usize::from(*byte)])
    {
        index += found;
        let (escape, width) = escape(&bytes[index..]);
        if let Some(escape) = escape {
            out.extend_from_slice(&bytes[written..index]);
            out.extend_from_slice(escape.as_bytes());
            written = index + width;
        }
        index += width;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// What stands for the character at the beginning of `rest`, if it is not written as it is, and
/// how many bytes to go on by.
fn escape(rest: &[u8]) -> (Option<&'static str>, usize) {
    match rest {
        [b'"', ..] => (Some("\\\""), 1),
        [b'\\', ..] => (Some("\\\\"), 1),
        [b'<', ..] => (Some("\\u003c"), 1),
        [b'>', ..] => (Some("\\u003e"), 1),
        [b'&', ..] => (Some("\\u0026"), 1),
        [control @ 0x00..=0x1f, ..] => (Some(CONTROL[usize::from(*control)]), 1),
        [0xe2, 0x80, 0xa8, ..] => (Some("\\u2028"), 3),
        [0xe2, 0x80, 0xa9, ..] => (Some("\\u2029"), 3),
        _ => (None, 1),
    }
}

/// The bytes with which a character begins that may have to be escaped.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special[b'<' as usize] = true;
    special[b'>' as usize] = true;
    special[b'&' as usize] = true;
    special[0xe2] = true;
    special
};

const CONTROL: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b",
    "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012",
    "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a",
    "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];
