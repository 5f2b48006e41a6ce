//! Values as YAML text, with what must not be shown as escapes.
//!
//! The library escapes control characters and leaves others as they are, such as marks that turn
//! the direction of writing. Those are marked before it writes, and the marks turned into escapes
//! of YAML behind it.

use opm_core::printable::is_unprintable;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

use super::YamlError;

/// A character that the library always escapes; eight digits follow it.
const MARK: char = '\u{fffe}';
/// What the library makes of the mark.
const WRITTEN_MARK: &str = "\\uFFFE";

/// Appends a document to a text.
pub(super) fn append(text: &mut String, value: &impl Serialize) -> Result<(), YamlError> {
    let start = text.len();
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_fmt_writer_with_options(&mut *text, value, options)
        .map_err(|e| YamlError::Write(e.to_string()))?;
    if text[start..].contains(WRITTEN_MARK) {
        let escaped = text[start..].replace(WRITTEN_MARK, "\\U");
        text.truncate(start);
        text.push_str(&escaped);
    }
    Ok(())
}

/// A value whose texts are marked where they must not be shown.
pub(super) struct Marked<'a>(pub(super) &'a Value);

/// The fields of an object, marked likewise.
pub(super) struct MarkedFields<'a>(pub(super) &'a Map<String, Value>);

impl Serialize for Marked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => MarkedText(text).serialize(serializer),
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Marked(item))?;
                }
                list.end()
            }
            Value::Object(fields) => MarkedFields(fields).serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

impl Serialize for MarkedFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut mapping = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            mapping.serialize_entry(&MarkedText(key), &Marked(value))?;
        }
        mapping.end()
    }
}

struct MarkedText<'a>(&'a str);

impl Serialize for MarkedText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0;
        if !text.contains(needs_mark) && !text.contains(WRITTEN_MARK) {
            return serializer.serialize_str(text);
        }
        let mut marked = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            // A text that looks like a written mark must not be taken for one.
            match needs_mark(c) || c == '\\' {
                true => marked.push_str(&format!("{MARK}{:08X}", u32::from(c))),
                false => marked.push(c),
            }
        }
        serializer.serialize_str(&marked)
    }
}

fn needs_mark(c: char) -> bool {
    c == MARK || (is_unprintable(c) && !c.is_control())
}
