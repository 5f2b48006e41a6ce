//! The values in which two changes differ.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use crate::diff::{ChangeKind, FieldChange, ShownValue};
use crate::manifest::Manifest;
use crate::values::Value;

/// What the names of values that are nobody's business have in them.
const PRIVATE: [&str; 7] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "privatekey",
];

/// Shorter texts say nothing about what a Secret holds.
const SHORTEST: usize = 3;

/// The values in which `new` differs from `old`, by their paths. Those that Secrets among these
/// manifests hold, and those whose names say that they are private, are masked.
pub fn values_between(old: &Value, new: &Value, manifests: &[&[Manifest]]) -> Vec<FieldChange> {
    let held = held_in_secrets(manifests);
    let paths: BTreeSet<String> = old.paths().into_iter().chain(new.paths()).collect();
    let changes = paths.into_iter().filter_map(|path| {
        let (before, after) = (old.at_path(&path), new.at_path(&path));
        let kind = match (before, after) {
            (before, after) if before == after => return None,
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        let hidden = is_private(&path)
            || [before, after]
                .into_iter()
                .flatten()
                .any(|value| is_held(value, &held));
        let shown = |value: Option<&Value>| {
            value.map(|value| match hidden {
                true => ShownValue::masked(),
                false => ShownValue::plain(&value.to_json()),
            })
        };
        Some(FieldChange {
            kind,
            old: shown(before),
            new: shown(after),
            path,
        })
    });
    changes.collect()
}

fn is_private(path: &str) -> bool {
    let letters = path.chars().filter(char::is_ascii_alphanumeric);
    let letters = letters.collect::<String>().to_ascii_lowercase();
    PRIVATE.iter().any(|word| letters.contains(word))
}

/// Every text that a Secret holds.
fn held_in_secrets(manifests: &[&[Manifest]]) -> Vec<String> {
    let secrets = manifests.iter().copied().flatten();
    let secrets = secrets.filter(|one| one.identity().group_kind.is("", "Secret"));
    let mut held = Vec::new();
    for secret in secrets {
        let object = secret.object();
        let texts = |field: &str| {
            let texts = object.get(field).and_then(Json::as_object);
            let texts = texts.into_iter().flat_map(|texts| texts.values());
            texts.filter_map(|text| Some(text.as_str()?.to_owned()))
        };
        held.extend(texts("stringData"));
        held.extend(texts("data").filter_map(|text| {
            let bytes = BASE64_STANDARD.decode(&text).ok()?;
            String::from_utf8(bytes).ok()
        }));
    }
    held
}

/// Whether a Secret holds this, or a text somewhere inside of it.
fn is_held(value: &Value, held: &[String]) -> bool {
    let text = match value {
        Value::Struct(fields) => return fields.values().any(|value| is_held(value, held)),
        Value::List(items) => return items.iter().any(|item| is_held(item, held)),
        Value::String(text) => text.as_str(),
        Value::Number(number) => number.as_str(),
        Value::Null | Value::Bool(_) => return false,
    };
    held.iter()
        .any(|held| held == text || (text.len() >= SHORTEST && held.contains(text)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail loudly")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_and_what_secrets_hold_is_not() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
            "stringData": {"url": "postgres://web:hunter2@db"}, "data": {"pin": "NDcxMQ=="}});
        let secret = Manifest::parse(secret).unwrap();
        let value = |text: &str| Value::from_json(text).unwrap();
        let old = value(r#"{"port": 80, "same": 1, "db": {"pass": "hunter1", "pin": 4711}}"#);
        let new = value(
            r#"{"port": 81, "same": 1, "db": {"pass": "hunter2"}, "api-key": "x", "hosts": ["a"]}"#,
        );
        let changes = values_between(&old, &new, &[&[secret]]);
        let shown = |side: &Option<ShownValue>| match side {
            Some(value) => value.to_string(),
            None => "-".to_owned(),
        };
        let told: Vec<_> = changes
            .iter()
            .map(|one| format!("{} {} {}", one.path, shown(&one.old), shown(&one.new)))
            .collect();
        assert_eq!(
            told,
            [
                "api-key - (masked)",
                "db.pass (masked) (masked)",
                "db.pin (masked) -",
                "hosts - [\"a\"]",
                "port 80 81",
            ]
        );
    }
}
