//! A JSON Schema that values are held against. The only module that knows the schema library.
//!
//! Nothing is fetched: a schema that refers to another file or URL is refused. What was given is
//! not quoted.

use std::fmt;

use opm_core::values::{Value, value_path};

/// A schema, ready to be used.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: jsonschema::Validator,
}

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where, from the top of the values.
    pub(crate) path: Vec<String>,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = value_path(self.path.iter().map(String::as_str));
        let dot = if path.is_empty() { "" } else { "." };
        write!(f, "values{dot}{path}: {}", self.message)
    }
}

impl Schema {
    /// Takes a schema, or says what is wrong with it.
    pub(crate) fn new(schema: &serde_json::Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        Ok(Self { validator })
    }

    /// What does not fit, in the schema's order.
    pub(crate) fn check(&self, values: &Value) -> Vec<Violation> {
        let values = values.to_json();
        let errors = self.validator.iter_errors(&values);
        errors
            .map(|error| Violation {
                path: steps(error.instance_path().as_str()),
                message: error.masked_with("it").to_string(),
            })
            .collect()
    }
}

/// The steps of a JSON pointer.
fn steps(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    steps
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}
