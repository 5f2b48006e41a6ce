//! Values as they are shown to users. A masked value is not kept.

use std::fmt;

use serde_json::Value;

/// The annotation in which `kubectl apply` keeps a copy of the whole object, Secrets included.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What stands in the place of a value that must not be seen.
pub(crate) const MASK: &str = "(masked)";

/// A value that may be shown, or the fact that there is one that may not.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownValue(Option<Value>);

impl ShownValue {
    /// A value that may be shown, save for copies of whole objects somewhere inside of it.
    pub(crate) fn plain(value: &Value) -> Self {
        let mut value = value.clone();
        scrub(&mut value);
        Self(Some(value))
    }

    /// A value that may not be shown. It is not kept.
    pub(crate) fn masked() -> Self {
        Self(None)
    }

    /// The value, unless it is masked.
    pub fn value(&self) -> Option<&Value> {
        self.0.as_ref()
    }

    /// Whether the value is masked.
    pub fn is_masked(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for ShownValue {
    /// JSON in one line, or a mask.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str(MASK),
        }
    }
}

/// Masks copies of whole objects, wherever they are.
pub(crate) fn scrub(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(scrub),
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    LAST_APPLIED => *value = MASK.into(),
                    _ => scrub(value),
                }
            }
        }
        _ => {}
    }
}
