//! What a values file holds, read by `opm` itself: YAML (as YAML 1.2 means it), JSON, and CUE that
//! is plain data.

use std::collections::BTreeMap;
use std::fmt;

use opm_core::values::{Number, Value};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{ValuesFile, ValuesFormat};
use crate::yaml;

/// The key under which a file may have all of its values.
const VALUES: &str = "values";

/// What a file holds, and how it is reached from the file's top.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlainValues {
    /// Whether it stands under `values`.
    pub(crate) is_nested: bool,
    pub(crate) value: Value,
}

impl PlainValues {
    /// Takes the values out of what a whole file holds.
    pub(crate) fn of_file(file: Value) -> Self {
        match file {
            Value::Struct(mut fields) if fields.len() == 1 && fields.contains_key(VALUES) => Self {
                is_nested: true,
                value: fields.remove(VALUES).unwrap_or(Value::Null),
            },
            value => Self {
                is_nested: false,
                value,
            },
        }
    }
}

impl ValuesFile {
    /// The values in the file, if they can be told without another program.
    pub(crate) fn plain(&self) -> Option<PlainValues> {
        let file = match self.format {
            ValuesFormat::Cue => Value::from_cue(&self.text)?,
            ValuesFormat::Json => Value::from_json(&self.text).ok()?,
            ValuesFormat::Yaml => yaml::document::<YamlData>(&self.text).ok()?.0,
        };
        matches!(file, Value::Struct(_)).then(|| PlainValues::of_file(file))
    }
}

/// Values as YAML spells them.
#[derive(Debug)]
pub(crate) struct YamlData(pub(crate) Value);

impl<'de> Deserialize<'de> for YamlData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DataVisitor).map(Self)
    }
}

struct DataVisitor;

fn number<E: Error>(text: &str) -> Result<Value, E> {
    Number::parse(text).map(Value::Number).map_err(E::custom)
}

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, given: bool) -> Result<Value, E> {
        Ok(Value::Bool(given))
    }

    fn visit_i64<E: Error>(self, given: i64) -> Result<Value, E> {
        number(&given.to_string())
    }

    fn visit_u64<E: Error>(self, given: u64) -> Result<Value, E> {
        number(&given.to_string())
    }

    fn visit_f64<E: Error>(self, given: f64) -> Result<Value, E> {
        match serde_json::Number::from_f64(given) {
            Some(given) => Ok(Value::Number(Number::from(&given))),
            None => Err(E::custom("a number is out of range")),
        }
    }

    fn visit_str<E: Error>(self, given: &str) -> Result<Value, E> {
        Ok(Value::String(given.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(YamlData(item)) = given.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((key, YamlData(value))) = given.next_entry::<String, YamlData>()? {
            fields.insert(key, value);
        }
        Ok(Value::Struct(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(format: ValuesFormat, text: &str) -> Option<(bool, String)> {
        let file = ValuesFile {
            shown: String::new(),
            format,
            text: text.to_owned(),
        };
        let read = file.plain()?;
        Some((
            read.is_nested,
            read.value.to_cue().replace(['\n', '\t'], ""),
        ))
    }

    #[test]
    fn files_in_every_language_come_to_the_same() {
        use ValuesFormat::{Cue, Json, Yaml};
        for (format, text, nested, expected) in [
            (Yaml, "a: 1\nb: [x, 1.10]\n", false, "{a: 1b: [\"x\",1.1,]}"),
            (
                Yaml,
                "values:\n  a: on\n  b: ~\n",
                true,
                "{a: \"on\"b: null}",
            ),
            (
                Yaml,
                "values: {a: 1}\nb: 2\n",
                false,
                "{b: 2values: {a: 1}}",
            ),
            (
                Yaml,
                "on: yes\n1: '2'\n",
                false,
                "{\"1\": \"2\"on: \"yes\"}",
            ),
            (
                Json,
                "{\"values\": {\"a\": 12345678901234567890123}}",
                true,
                "{a: 12345678901234567890123}",
            ),
            (Cue, "package x\nvalues: a: true\n", true, "{a: true}"),
        ] {
            assert_eq!(
                plain(format, text),
                Some((nested, expected.to_owned())),
                "{text}"
            );
        }
        for (format, text) in [
            (Cue, "a: int"),
            (Yaml, "a: .inf"),
            (Yaml, "- a"),
            (Json, "[1]"),
        ] {
            assert_eq!(plain(format, text), None, "{text}");
        }
    }
}
