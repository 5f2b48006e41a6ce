//! Reading a live object by path, with Kubernetes' defaults for what is left out.

use serde_json::{Map, Value};

/// A live object, read by JSON pointers.
pub(super) struct ObjectFields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> ObjectFields<'a> {
    pub(super) fn get(&self, pointer: &str) -> Option<&'a Value> {
        let mut parts = pointer.split('/').skip(1);
        let mut value = self.0.get(parts.next()?)?;
        for part in parts {
            value = value.get(part)?;
        }
        Some(value)
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&'a str> {
        self.get(pointer)?.as_str()
    }

    pub(super) fn number(&self, pointer: &str) -> Option<i64> {
        self.get(pointer)?.as_i64()
    }

    /// A count that the server leaves out when it is zero.
    pub(super) fn count(&self, pointer: &str) -> i64 {
        self.number(pointer).unwrap_or(0)
    }

    pub(super) fn is_true(&self, pointer: &str) -> bool {
        self.get(pointer) == Some(&Value::Bool(true))
    }

    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.get(pointer)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn kind(&self) -> &'a str {
        self.text("/kind").unwrap_or_default()
    }

    pub(super) fn api_version(&self) -> &'a str {
        self.text("/apiVersion").unwrap_or_default()
    }

    pub(super) fn condition(&self, kind: &str) -> Option<Condition<'a>> {
        self.list("/status/conditions")
            .iter()
            .find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
            .map(Condition)
    }

    /// A condition, if it has this status.
    pub(super) fn condition_is(&self, kind: &str, status: &str) -> Option<Condition<'a>> {
        self.condition(kind)
            .filter(|condition| condition.is(status))
    }
}

/// Reason and message of a condition or of a container's state, as far as there are any.
pub(super) fn reason_and_message(value: &Value) -> String {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    match (text("reason"), text("message")) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// One entry of `status.conditions`.
pub(super) struct Condition<'a>(&'a Value);

impl Condition<'_> {
    fn text(&self, field: &str) -> &str {
        self.0
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(super) fn is(&self, status: &str) -> bool {
        self.text("status") == status
    }

    pub(super) fn reason(&self) -> &str {
        self.text("reason")
    }

    /// Whether it was written about an earlier generation of the object.
    pub(super) fn is_about_the_past(&self, generation: Option<i64>) -> bool {
        let observed = self.0.get("observedGeneration").and_then(Value::as_i64);
        observed
            .zip(generation)
            .is_some_and(|(observed, now)| observed < now)
    }

    /// Reason and message, or the condition itself where there are neither.
    pub(super) fn words_or(&self, kind: &str) -> String {
        match self.words() {
            words if words.is_empty() => format!("{kind} is {}", self.text("status")),
            words => words,
        }
    }

    /// Reason and message, as far as there are any.
    pub(super) fn words(&self) -> String {
        reason_and_message(self.0)
    }
}
