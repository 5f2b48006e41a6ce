//! One Kubernetes object as a module renders it: checked for what makes it an object at all
//! (apiVersion, kind, name), otherwise left exactly as written.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::identity::{GroupKind, Identity};

/// What keeps a JSON value from being a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The value is a list, a string, a number, …
    #[error("a manifest must be a mapping, not {0}")]
    NotAMapping(&'static str),
    /// A field that every object needs is missing or empty.
    #[error("{object}: `{field}` is missing")]
    Missing {
        /// As much of the object's identity as is known.
        object: String,
        /// The path of the field.
        field: &'static str,
    },
    /// A field has the wrong type.
    #[error("{object}: `{field}` must be {expected}, not {found}")]
    WrongType {
        /// As much of the object's identity as is known.
        object: String,
        /// The path of the field.
        field: String,
        /// What was expected there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A field has a value that Kubernetes would not take.
    #[error("{object}: `{field}` is not valid: {rule}")]
    Invalid {
        /// As much of the object's identity as is known.
        object: String,
        /// The path of the field.
        field: &'static str,
        /// The rule it breaks.
        rule: &'static str,
    },
}

/// One rendered Kubernetes object.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    identity: Identity,
    version: String,
    object: Map<String, Value>,
}

impl Manifest {
    /// Checks that `value` is an object with an identity, and takes it.
    pub fn parse(value: Value) -> Result<Self, ManifestError> {
        let Value::Object(object) = value else {
            return Err(ManifestError::NotAMapping(type_name(&value)));
        };
        let api_version = required(&object, "apiVersion", "an object")?.to_owned();
        let kind = required(&object, "kind", "an object")?.to_owned();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version.as_str()));
        let identity = Identity::new(GroupKind::new(group, kind.as_str()), None, "");
        Ok(Self { identity, version: version.to_owned(), object })
    }

    /// Group, kind, namespace and name.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The API version without its group, such as `v1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The whole object.
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }
}

fn required<'a>(
    object: &'a Map<String, Value>,
    field: &'static str,
    known: &str,
) -> Result<&'a str, ManifestError> {
    match object.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        None | Some(Value::Null | Value::String(_)) => {
            Err(ManifestError::Missing { object: known.to_owned(), field })
        }
        Some(other) => Err(ManifestError::WrongType {
            object: known.to_owned(),
            field: field.to_owned(),
            expected: "a string",
            found: type_name(other),
        }),
    }
}

/// The type of a JSON value, in words.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
