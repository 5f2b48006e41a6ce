//! Telling a refusal for an immutable field from any other.
//!
//! The server has many ways to say it. Each is matched by reason, field and the fixed part of
//! the message, never by a word somewhere in it: messages quote the user's own values. One cause
//! that is anything else makes the whole refusal an ordinary one, because the object would be
//! refused again after it had been deleted.

use serde_json::{Map, Value};

use crate::api_error::{ApiError, Cause};

/// The immutable fields for which an apply was refused, or none if that was not the reason, or
/// not the only one. `desired` is what was applied.
pub fn immutable_fields(error: &ApiError, desired: &Map<String, Value>) -> Option<Vec<String>> {
    if error.status != Some(422) || error.reason != "Invalid" {
        return None;
    }
    let (immutable, others): (Vec<&Cause>, Vec<&Cause>) =
        error.causes.iter().partition(|cause| is_immutable(cause));
    let harmless = |cause: &&Cause| is_selector_mismatch(cause) && selects_its_template(desired);
    if immutable.is_empty() || !others.iter().all(harmless) {
        return None;
    }
    let mut fields: Vec<String> = immutable.iter().map(|cause| cause.field.clone()).collect();
    fields.sort();
    fields.dedup();
    Some(fields)
}

fn is_immutable(cause: &Cause) -> bool {
    if cause.field.starts_with("metadata.") {
        return false;
    }
    match cause.reason.as_str() {
        "FieldValueInvalid" => says_invalid(cause),
        "FieldValueForbidden" => says_forbidden(cause),
        _ => false,
    }
}

/// `Invalid value: <value>: <detail>`: the detail comes last, so only the end is looked at.
fn says_invalid(Cause { field, message, .. }: &Cause) -> bool {
    let message = message.trim_end_matches('.');
    message.ends_with(" is immutable")
        || message.ends_with("failed rule: self == oldSelf")
        || (message.ends_with(": may not change once set") && field.starts_with("spec."))
        || (message.ends_with(": cannot change roleRef") && field == "roleRef")
}

/// `Forbidden: <detail>`: no value is quoted before the detail, so its beginning is looked at.
fn says_forbidden(Cause { field, message, .. }: &Cause) -> bool {
    let detail = message.strip_prefix("Forbidden: ").unwrap_or(message);
    if detail.starts_with("field is immutable") {
        return true;
    }
    match field.as_str() {
        "spec" => [
            "updates to statefulset spec for fields other than",
            "spec is immutable after creation",
            "pod updates may not change fields other than",
        ]
        .iter()
        .any(|beginning| detail.starts_with(beginning)),
        "spec.persistentvolumesource" => {
            detail.starts_with("spec.persistentvolumesource is immutable after creation")
        }
        "value" => detail.starts_with("may not be changed in an update"),
        "provisioner" | "parameters" | "reclaimPolicy" => {
            detail.trim_end_matches('.') == format!("updates to {field} are forbidden")
        }
        _ => false,
    }
}

/// Comes along with a changed selector. It is harmless only if it is about the merged object,
/// not about the new one, which could not be created either.
fn is_selector_mismatch(cause: &Cause) -> bool {
    cause.reason == "FieldValueInvalid"
        && cause.field == "spec.template.metadata.labels"
        && cause
            .message
            .replace('`', "")
            .ends_with(": selector does not match template labels")
}

/// Whether a workload's selector fits its own template. One with expressions counts as not.
fn selects_its_template(desired: &Map<String, Value>) -> bool {
    let Some(spec) = desired.get("spec") else {
        return false;
    };
    let selector = spec.get("selector");
    let simple = selector.is_some_and(|s| s.get("matchExpressions").is_none_or(is_empty));
    let wanted = selector
        .and_then(|s| s.get("matchLabels"))
        .and_then(Value::as_object);
    let labels = spec
        .get("template")
        .and_then(|template| template.get("metadata")?.get("labels")?.as_object());
    match (wanted, labels) {
        (Some(wanted), Some(labels)) => {
            simple
                && wanted
                    .iter()
                    .all(|(key, value)| labels.get(key) == Some(value))
        }
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
