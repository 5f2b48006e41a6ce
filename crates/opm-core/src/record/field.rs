//! The fields of the stored JSON: each type lists its own once, and both ways follow from it.
//!
//! No serde derive reads here, for three guarantees that it would lose: an error never quotes
//! what is stored, it names the whole path also inside flattened fields, and null counts as left
//! out. What a type does not list stays in its [`Extra`] and is written back.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Extra, Finding, FindingKind};
use crate::digest::ObjectHash;
use crate::manifest::type_name;

/// A value of the stored JSON.
pub(super) trait StoredValue: Sized {
    /// What a field stands for that is left out; none if it must be there.
    fn absent() -> Option<Self> {
        None
    }

    fn read(value: Value) -> Result<Self, Finding>;

    /// Null leaves the field out.
    fn write(&self) -> Value;
}

/// A value whose JSON is a mapping. [`stored_fields`] implements it.
pub(super) trait StoredObject: Sized {
    fn read_fields(fields: &mut FieldReader) -> Result<Self, Finding>;

    fn write_fields(&self, fields: &mut FieldWriter);
}

/// Lists the fields of a type: each with the method of [`FieldReader`] that reads it and the
/// method of [`FieldWriter`] that writes it. Findings come in this order. What `then` names
/// checks the whole.
macro_rules! stored_fields {
    ($type:ty { $($field:ident: $method:ident($($name:literal)?),)* } $(then $check:path)?) => {
        impl $crate::record::field::StoredObject for $type {
            fn read_fields(
                fields: &mut $crate::record::field::FieldReader,
            ) -> Result<Self, $crate::record::Finding> {
                let read = Self { $($field: fields.$method($($name)?)?,)* };
                $(let read = $check(read)?;)?
                Ok(read)
            }

            fn write_fields(&self, fields: &mut $crate::record::field::FieldWriter) {
                $(fields.$method($($name,)? &self.$field);)*
            }
        }
    };
}
pub(super) use stored_fields;

/// Takes the fields of a mapping out one by one.
pub(super) struct FieldReader(Map<String, Value>);

impl FieldReader {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// A field whose type says what it stands for when it is left out.
    pub(super) fn field<T: StoredValue>(&mut self, name: &str) -> Result<T, Finding> {
        match self.take(name) {
            Some(value) => T::read(value).map_err(|finding| finding.within(name)),
            None => T::absent().ok_or_else(|| missing(name)),
        }
    }

    /// A field that is left out when it has its default value.
    pub(super) fn or_default<T: StoredValue + Default>(
        &mut self,
        name: &str,
    ) -> Result<T, Finding> {
        Ok(self.field::<Option<T>>(name)?.unwrap_or_default())
    }

    /// A field that must be there, whatever its type says.
    pub(super) fn present<T: StoredValue>(&mut self, name: &str) -> Result<T, Finding> {
        self.field::<Option<T>>(name)?.ok_or_else(|| missing(name))
    }

    /// A text that must be there and must not be empty.
    pub(super) fn nonempty(&mut self, name: &str) -> Result<String, Finding> {
        let text: String = self.field(name)?;
        match text.is_empty() {
            true => Err(missing(name)),
            false => Ok(text),
        }
    }

    /// A hash. It only ever saves a request, so one that cannot be read is as good as none.
    pub(super) fn hash(&mut self, name: &str) -> Result<Option<ObjectHash>, Finding> {
        let text: Option<String> = self.field(name)?;
        Ok(text.and_then(|text| text.parse().ok()))
    }

    /// A part whose fields stand among those of the whole.
    pub(super) fn flat<T: StoredObject>(&mut self) -> Result<T, Finding> {
        T::read_fields(self)
    }

    /// The id, which is the data key and not a field: the reader of the key fills it in.
    pub(super) fn data_key(&mut self) -> Result<String, Finding> {
        Ok(String::new())
    }

    /// Everything that was not read.
    pub(super) fn rest(&mut self) -> Result<Extra, Finding> {
        Ok(Extra(std::mem::take(&mut self.0)))
    }
}

/// Puts the fields of a mapping in one by one: the methods of [`FieldReader`], the other way.
#[derive(Default)]
pub(super) struct FieldWriter(Map<String, Value>);

impl FieldWriter {
    pub(super) fn field<T: StoredValue>(&mut self, name: &str, value: &T) {
        let value = value.write();
        if !value.is_null() {
            self.0.insert(name.to_owned(), value);
        }
    }

    pub(super) fn or_default<T: StoredValue + Default + PartialEq>(
        &mut self,
        name: &str,
        value: &T,
    ) {
        if *value != T::default() {
            self.field(name, value);
        }
    }

    pub(super) fn present<T: StoredValue>(&mut self, name: &str, value: &T) {
        self.field(name, value);
    }

    pub(super) fn nonempty(&mut self, name: &str, value: &String) {
        self.field(name, value);
    }

    pub(super) fn hash(&mut self, name: &str, value: &Option<ObjectHash>) {
        self.field(name, &value.as_ref().map(ToString::to_string));
    }

    pub(super) fn flat<T: StoredObject>(&mut self, value: &T) {
        value.write_fields(self);
    }

    pub(super) fn data_key(&mut self, _: &String) {}

    pub(super) fn rest(&mut self, extra: &Extra) {
        for (name, value) in &extra.0 {
            self.0.entry(name).or_insert_with(|| value.clone());
        }
    }
}

impl<T: StoredObject> StoredValue for T {
    fn read(value: Value) -> Result<Self, Finding> {
        match value {
            Value::Object(map) => T::read_fields(&mut FieldReader(map)),
            other => Err(wrong_type("a mapping", &other)),
        }
    }

    fn write(&self) -> Value {
        let mut fields = FieldWriter::default();
        self.write_fields(&mut fields);
        Value::Object(fields.0)
    }
}

impl StoredValue for String {
    /// Other writers leave out a text that is empty.
    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn read(value: Value) -> Result<Self, Finding> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(wrong_type("a string", &other)),
        }
    }

    fn write(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl StoredValue for u64 {
    fn absent() -> Option<Self> {
        Some(0)
    }

    fn read(value: Value) -> Result<Self, Finding> {
        let number = value.as_u64();
        number.ok_or_else(|| wrong_type("a whole number from zero up", &value))
    }

    fn write(&self) -> Value {
        Value::from(*self)
    }
}

impl StoredValue for bool {
    fn read(value: Value) -> Result<Self, Finding> {
        let flag = value.as_bool();
        flag.ok_or_else(|| wrong_type("a boolean", &value))
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl<T: StoredValue> StoredValue for Option<T> {
    fn absent() -> Option<Self> {
        Some(None)
    }

    fn read(value: Value) -> Result<Self, Finding> {
        T::read(value).map(Some)
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }
}

impl<T: StoredValue> StoredValue for Vec<T> {
    /// Go writes an empty slice that was never made as null.
    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn read(value: Value) -> Result<Self, Finding> {
        let Value::Array(items) = value else {
            return Err(wrong_type("a list", &value));
        };
        let each = items.into_iter().enumerate();
        each.map(|(at, item)| T::read(item).map_err(|f| f.within(&format!("[{at}]"))))
            .collect()
    }

    fn write(&self) -> Value {
        self.iter().map(T::write).collect()
    }
}

impl<T: StoredValue> StoredValue for BTreeMap<String, T> {
    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn read(value: Value) -> Result<Self, Finding> {
        let Value::Object(map) = value else {
            return Err(wrong_type("a mapping", &value));
        };
        let each = map.into_iter().map(|(name, value)| {
            let value = T::read(value).map_err(|finding| finding.within(&name))?;
            Ok((name, value))
        });
        each.collect()
    }

    fn write(&self) -> Value {
        self.iter()
            .map(|(name, value)| (name.clone(), value.write()))
            .collect()
    }
}

/// Reads the JSON of one data key.
pub(super) fn read_key<T: StoredValue>(key: &str, bytes: &[u8]) -> Result<T, Finding> {
    let value = serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Finding::new(key, "", FindingKind::Syntax { line, column })
    })?;
    T::read(value).map_err(|finding| Finding {
        key: key.to_owned(),
        ..finding
    })
}

/// The bytes of one data key. Maps print with sorted keys; nothing in here can fail to print.
pub(super) fn write_key(value: &impl StoredValue) -> Vec<u8> {
    serde_json::to_vec(&value.write()).unwrap_or_default()
}

/// Reads a word out of a closed set.
pub(super) fn read_word<T: Copy>(
    value: Value,
    all: &[T],
    spell: fn(T) -> &'static str,
    expected: &'static str,
) -> Result<T, Finding> {
    let word = String::read(value)?;
    let known = all.iter().copied().find(|one| spell(*one) == word);
    known.ok_or_else(|| Finding::new("", "", FindingKind::UnknownWord { expected }))
}

/// A finding about a value of the wrong type; the callers add where it is.
pub(super) fn wrong_type(expected: &'static str, found: &Value) -> Finding {
    let found = type_name(found);
    Finding::new("", "", FindingKind::WrongType { expected, found })
}

/// A finding about a field that is not there.
pub(super) fn missing(name: &str) -> Finding {
    Finding::new("", name, FindingKind::Missing)
}
