//! Values of Secrets never reach a message.
//!
//! Two nets. For answers about Secrets, only words that are known to quote nothing are kept
//! ([`rule_words`], used by `errors`). For everything else, the values of all Secrets that this
//! run has seen on their way out are taken out wherever they occur.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// What stands in place of a value.
const MASK: &str = "(hidden)";

/// Shorter values are too likely to be ordinary words or numbers of a message.
const SHORTEST: usize = 4;

/// A line of a longer value that is at least this long is hidden on its own as well.
const SHORTEST_LINE: usize = 16;

/// The values of Secrets, in the forms in which a message may quote them.
#[derive(Debug, Default)]
pub(crate) struct KnownValues(BTreeSet<String>);

impl KnownValues {
    /// Remembers the values of a Secret, if the object is one.
    pub(crate) fn learn(&mut self, object: &Map<String, Value>) {
        if object.get("kind").and_then(Value::as_str) != Some("Secret")
            || object.get("apiVersion").and_then(Value::as_str) != Some("v1")
        {
            return;
        }
        for value in strings_in(object.get("data")) {
            self.add(value);
            if let Some(text) = STANDARD
                .decode(value.trim())
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
            {
                self.add(&text);
            }
        }
        for value in strings_in(object.get("stringData")) {
            self.add(value);
            self.add(&STANDARD.encode(value));
        }
    }

    fn add(&mut self, value: &str) {
        for text in [value, value.trim()] {
            if text.len() >= SHORTEST {
                self.0.insert(text.to_owned());
                self.0.insert(quoted(text));
            }
        }
        for line in value.lines().map(str::trim) {
            if line.len() >= SHORTEST_LINE {
                self.0.insert(line.to_owned());
            }
        }
    }

    /// The text without any known value.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut hits: Vec<&String> = self
            .0
            .iter()
            .filter(|value| text.contains(value.as_str()))
            .collect();
        // Longest first: a value that is part of another must not leave the rest of it behind.
        hits.sort_by_key(|value| std::cmp::Reverse(value.len()));
        hits.into_iter()
            .fold(text.to_owned(), |text, value| text.replace(value, MASK))
    }
}

fn strings_in(map: Option<&Value>) -> impl Iterator<Item = &str> {
    map.and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_str)
}

/// The text as Go's `%q` or a JSON encoder writes it, without the quotes.
fn quoted(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inside = quoted.strip_prefix('"');
    let inside = inside.and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}

/// Phrases of the API machinery that say which rule was broken and quote nothing.
const RULES: &[&str] = &[
    "field is immutable when `immutable` is set",
    "field is immutable",
    "may not change once set",
    "Required value",
    "Too long",
    "Too many",
    "Unsupported value",
    "Duplicate value",
    "Invalid value",
    "Forbidden",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "must be no more than",
    "may not be more than",
    "a lowercase RFC 1123 subdomain must consist of",
    "illegal base64 data",
    "expected string",
    "expected map",
    "field not declared in schema",
    "duplicate entries for key",
    "metadata.managedFields must be nil",
    "invalid object type",
    "the name of the object",
    "exceeded quota",
    "denied the request",
    "denied request",
    "request is too large",
    "Request entity too large",
    "failed calling webhook",
];

/// The known rules that a message names, in a fixed order, and nothing else of it.
pub(crate) fn rule_words(message: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for rule in RULES {
        if message.contains(rule) && !words.iter().any(|word| word.contains(rule)) {
            words.push(rule);
        }
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(objects: &[Value]) -> KnownValues {
        let mut known = KnownValues::default();
        for object in objects {
            known.learn(object.as_object().unwrap());
        }
        known
    }

    #[test]
    fn every_form_of_a_value_is_hidden() {
        let plain = "canary-\"quoted\"\nsecond-line-of-the-canary\n";
        let known = known(&[json!({
            "apiVersion": "v1", "kind": "Secret",
            "data": {"a": STANDARD.encode(plain), "n": STANDARD.encode("abc")},
            "stringData": {"b": "canary-two"},
        })]);
        for text in [
            plain.to_owned(),
            plain.trim().to_owned(),
            STANDARD.encode(plain),
            format!("{plain:?}"),
            "second-line-of-the-canary".to_owned(),
            "canary-two".to_owned(),
            STANDARD.encode("canary-two"),
        ] {
            let message = known.redact(&format!("bad value {text} in field"));
            assert!(!message.contains("canary"), "{text:?}: {message}");
            assert!(!message.contains(&STANDARD.encode(plain)), "{message}");
            assert!(message.contains(MASK) && message.starts_with("bad value "));
        }
        assert_eq!(
            known.redact("abc is too short to hide"),
            "abc is too short to hide"
        );
    }

    #[test]
    fn the_longer_value_goes_first() {
        let known = known(&[json!({
            "apiVersion": "v1", "kind": "Secret",
            "stringData": {"a": "pass", "b": "passphrase"},
        })]);
        assert_eq!(known.redact("passphrase"), MASK);
    }

    #[test]
    fn only_secrets_are_learnt() {
        let known = known(&[
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "harmless"}}),
            json!({"apiVersion": "example.org/v1", "kind": "Secret", "data": {"a": "harmless"}}),
        ]);
        assert_eq!(known.redact("harmless"), "harmless");
    }

    #[test]
    fn rules_are_told_without_what_they_quote() {
        for (message, expected) in [
            (
                r#"Invalid value: "canary": field is immutable"#,
                "field is immutable, Invalid value",
            ),
            (
                "Forbidden: field is immutable when `immutable` is set",
                "field is immutable when `immutable` is set, Forbidden",
            ),
            (
                ".data.x: expected string, got &value.valueUnstructured{Value:7}",
                "expected string",
            ),
            ("canary canary", ""),
        ] {
            assert_eq!(rule_words(message), expected);
        }
    }
}
