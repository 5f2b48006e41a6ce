//! Objects that are held by the thousand: the bytes that it takes to make them anew, and no more.
//!
//! In a JSON tree every mapping costs over six hundred bytes, however little is in it, and an
//! object with its managed fields has a dozen of them. What is only kept for later is packed; who
//! reads or changes it unpacks that one object. Exact in both directions, numbers included. Nothing
//! here is stored or sent: the form may change with any version.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const POSITIVE: u8 = 3;
const NEGATIVE: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const MAPPING: u8 = 8;

/// A JSON object, packed.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedObject(Arc<[u8]>);

impl fmt::Debug for PackedObject {
    /// How large it is and no more: a Secret's data must not end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedObject({} bytes)", self.0.len())
    }
}

impl PackedObject {
    /// Packs an object.
    pub fn new(object: &Map<String, Value>) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        write_mapping(&mut bytes, object);
        Self(bytes.into())
    }

    /// The object.
    pub fn unpack(&self) -> Map<String, Value> {
        // What was packed can be unpacked.
        Reader(&self.0).mapping().unwrap_or_default()
    }

    /// The text at the end of a path of keys, if there is one.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        let mut reader = Reader(&self.0);
        for key in path {
            reader.enter(key)?;
        }
        (reader.byte()? == TEXT).then(|| reader.text()).flatten()
    }
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => {
            out.push(TEXT);
            write_text(out, text);
        }
        Value::Array(items) => {
            out.push(LIST);
            write_size(out, items.len());
            items.iter().for_each(|item| write_value(out, item));
        }
        Value::Object(object) => write_mapping(out, object),
    }
}

fn write_mapping(out: &mut Vec<u8>, object: &Map<String, Value>) {
    out.push(MAPPING);
    write_size(out, object.len());
    for (key, value) in object {
        write_text(out, key);
        write_value(out, value);
    }
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    let (tag, bytes) = match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) => (POSITIVE, number.to_le_bytes()),
        (None, Some(number), _) => (NEGATIVE, number.to_le_bytes()),
        (None, None, Some(number)) => (FLOAT, number.to_le_bytes()),
        (None, None, None) => return out.push(NULL),
    };
    out.push(tag);
    out.extend(bytes);
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_size(out, text.len());
    out.extend(text.as_bytes());
}

/// Seven bits a byte, the lowest first; the highest bit says that there is more.
fn write_size(out: &mut Vec<u8>, mut size: usize) {
    while size > 0x7f {
        out.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.bytes(8)?.try_into().ok()
    }

    fn size(&mut self) -> Option<usize> {
        let mut size: usize = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            size |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let size = self.size()?;
        str::from_utf8(self.bytes(size)?).ok()
    }

    fn mapping(&mut self) -> Option<Map<String, Value>> {
        match self.value()? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            POSITIVE => Value::from(u64::from_le_bytes(self.eight()?)),
            NEGATIVE => Value::from(i64::from_le_bytes(self.eight()?)),
            FLOAT => Value::from(f64::from_le_bytes(self.eight()?)),
            TEXT => Value::from(self.text()?),
            LIST => {
                let count = self.size()?;
                Value::Array((0..count).map(|_| self.value()).collect::<Option<_>>()?)
            }
            MAPPING => {
                let mut object = Map::new();
                for _ in 0..self.size()? {
                    object.insert(self.text()?.to_owned(), self.value()?);
                }
                Value::Object(object)
            }
            _ => return None,
        })
    }

    /// Goes on to the value of this key in the mapping that comes next.
    fn enter(&mut self, key: &str) -> Option<()> {
        if self.byte()? != MAPPING {
            return None;
        }
        for _ in 0..self.size()? {
            if self.text()? == key {
                return Some(());
            }
            self.skip()?;
        }
        None
    }

    fn skip(&mut self) -> Option<()> {
        match self.byte()? {
            POSITIVE | NEGATIVE | FLOAT => {
                self.eight()?;
            }
            TEXT => {
                let size = self.size()?;
                self.bytes(size)?;
            }
            LIST => {
                for _ in 0..self.size()? {
                    self.skip()?;
                }
            }
            MAPPING => {
                for _ in 0..self.size()? {
                    self.text()?;
                    self.skip()?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                objects(inner).prop_map(Value::Object),
            ]
        })
    }

    fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
        prop::collection::btree_map(".{0,12}", inner, 0..8)
            .prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_unpacked_is_what_was_packed(object in objects(values())) {
            prop_assert_eq!(PackedObject::new(&object).unpack(), object);
        }

        #[test]
        fn a_text_is_found_as_it_is_in_the_object(object in objects(values())) {
            let packed = PackedObject::new(&object);
            for (key, value) in &object {
                prop_assert_eq!(packed.text(&[key]), value.as_str());
                for (below, value) in value.as_object().into_iter().flatten() {
                    prop_assert_eq!(packed.text(&[key, below]), value.as_str());
                }
            }
        }
    }

    #[test]
    fn packing_takes_about_the_bytes_of_the_texts() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "labels": {"app": "web"}}, "data": {"text": "x".repeat(1000)}});
        let object = object.as_object().unwrap();
        let packed = PackedObject::new(object);
        assert!(packed.0.len() < serde_json::to_vec(object).unwrap().len());
        assert_eq!(packed.text(&["metadata", "labels", "app"]), Some("web"));
        assert_eq!(packed.text(&["metadata", "labels"]), None, "no text");
        assert_eq!(packed.text(&["metadata", "annotations", "app"]), None);
        assert_eq!(
            format!("{packed:?}"),
            format!("PackedObject({} bytes)", packed.0.len())
        );
    }

    #[test]
    fn objects_may_be_as_deep_as_manifests() {
        let deep =
            (0..crate::manifest::MAX_DEPTH).fold(json!(1.5), |value, _| json!({"a": [value]}));
        let deep = deep.as_object().unwrap();
        assert_eq!(PackedObject::new(deep).unpack(), *deep);
    }
}
