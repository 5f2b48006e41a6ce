//! YAML, read and written: the only file of this crate that knows which library does it.

use serde::Serialize;
use serde_json::Value;

/// Reads one document. An empty one is `null`.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Writes one document.
pub(crate) fn print(document: &impl Serialize) -> Result<String, String> {
    serde_saphyr::to_string(document).map_err(|error| error.to_string())
}
