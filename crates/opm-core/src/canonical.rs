//! Objects as bytes, exactly as Go's `json.Marshal` writes what Kubernetes' `unstructured` reads.
//!
//! Keys are sorted by bytes; `<`, `>`, `&`, U+2028 and U+2029 are escaped, DEL is not; integers
//! beyond 64 signed bits are floating-point numbers; a whole float has no fraction. The order of
//! keys is that of [`serde_json::Map`], a sorted map as long as nobody enables `preserve_order`
//! (a test watches over that). A float −0 is written `-0`, as Go does: the JSON text `-0`, which
//! Go reads as the integer 0, reaches us as that same float.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value};

/// The canonical bytes of an object.
pub fn object_bytes(object: &Map<String, Value>) -> Vec<u8> {
    bytes(object)
}

/// The canonical bytes of any JSON value.
pub fn value_bytes(value: &Value) -> Vec<u8> {
    bytes(value)
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    // JSON values print without fail, and so does writing into a vector.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, GoFormatter));
    out
}

/// Writes what Go writes where that differs from `serde_json`.
struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_u64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: u64) -> io::Result<()> {
        match i64::try_from(value) {
            Ok(integer) => write!(out, "{integer}"),
            Err(_) => self.write_f64(out, value as f64),
        }
    }

    /// Go writes the shortest digits that read back equal, as Rust does, and takes to an
    /// exponent below 1e-6 and from 1e21 on; a positive exponent has its sign.
    fn write_f64<W: io::Write + ?Sized>(&mut self, out: &mut W, float: f64) -> io::Result<()> {
        let size = float.abs();
        if size == 0.0 || (1e-6..1e21).contains(&size) {
            return write!(out, "{float}");
        }
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if size >= 1.0 => write!(out, "{digits}e+{exponent}"),
            _ => out.write_all(text.as_bytes()),
        }
    }

    /// Escapes what could end a script or a line when JSON stands in a page.
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Most texts have none of these, and bytes are searched faster than characters.
        let first_bytes = |byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
        if !fragment.bytes().any(first_bytes) {
            return out.write_all(fragment.as_bytes());
        }
        let mut written = 0;
        for (at, special) in fragment.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            out.write_all(&fragment.as_bytes()[written..at])?;
            let code = special.chars().next().map_or(0, u32::from);
            write!(out, "\\u{code:04x}")?;
            written = at + special.len();
        }
        out.write_all(&fragment.as_bytes()[written..])
    }
}
