//! Rules for `metadata`: names and labels on creation, what an update may not touch.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Resource;
use crate::apply::value::quoted;
use crate::chance::Chance;
use crate::status::Cause;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or \
'-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  \
or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
'MyValue',  or 'my_value',  or '12345', regex used for validation is \
'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', \
and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label_value(text: &str) -> bool {
    let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.is_empty()
        || (text.chars().all(inner) && end(text.chars().next()) && end(text.chars().last()))
}

/// What is wrong with the name of a new object.
pub(crate) fn check_name(resource: &Resource, name: &str) -> Vec<Cause> {
    let field = "metadata.name";
    if name.is_empty() {
        return vec![Cause::required(field, "name or generateName is required")];
    }
    let value = quoted(name);
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io", _) => {
            if matches!(name, "." | "..") {
                return vec![Cause::invalid(
                    field,
                    value,
                    &format!("may not be '{name}'"),
                )];
            }
            let bad = ['/', '%'].into_iter().filter(|c| name.contains(*c));
            bad.map(|c| Cause::invalid(field, value.clone(), &format!("may not contain '{c}'")))
                .collect()
        }
        ("", "Namespace") => checked(field, value, is_label(name), LABEL, name.len(), 63),
        ("", "Service") => {
            let fits = is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
            checked(field, value, fits, LABEL_1035, name.len(), 63)
        }
        _ => checked(field, value, is_subdomain(name), SUBDOMAIN, name.len(), 253),
    }
}

/// What is wrong with a text that has to be a label of RFC 1123.
pub(crate) fn label_causes(field: &str, text: &str) -> Vec<Cause> {
    checked(field, quoted(text), is_label(text), LABEL, text.len(), 63)
}

fn checked(
    field: &str,
    value: String,
    fits: bool,
    rule: &str,
    length: usize,
    most: usize,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    if length > most {
        let detail = format!("must be no more than {most} characters");
        causes.push(Cause::invalid(field, value.clone(), &detail));
    }
    if !fits {
        causes.push(Cause::invalid(field, value, rule));
    }
    causes
}

/// What is wrong with labels, annotations and owner references.
pub(crate) fn check_maps(metadata: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        causes.extend(check_key("metadata.labels", key));
        let text = value.as_str().unwrap_or_default();
        causes.extend(check_label_value("metadata.labels", text));
    }
    for key in metadata["annotations"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, _)| k)
    {
        causes.extend(check_key("metadata.annotations", &key.to_lowercase()));
    }
    let owners = metadata["ownerReferences"].as_array();
    for owner in owners.into_iter().flatten() {
        for key in ["apiVersion", "kind", "name", "uid"] {
            if owner[key].as_str().is_none_or(str::is_empty) {
                let field = format!("metadata.ownerReferences.{key}");
                let detail = match key {
                    "apiVersion" => "version must not be empty",
                    _ => "must not be empty",
                };
                causes.push(Cause::invalid(&field, quoted(""), detail));
            }
        }
    }
    causes
}

pub(crate) fn check_label_value(field: &str, text: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text.len() > 63 {
        let detail = "must be no more than 63 characters";
        causes.push(Cause::invalid(field, quoted(text), detail));
    }
    if !is_label_value(text) {
        causes.push(Cause::invalid(field, quoted(text), LABEL_VALUE));
    }
    causes
}

pub(crate) fn check_key(field: &str, key: &str) -> Vec<Cause> {
    if key.matches('/').count() > 1 {
        let rule = QUALIFIED_NAME.trim_start_matches("name part ");
        let detail = format!(
            "a qualified name {rule} with an optional DNS subdomain prefix and '/' (e.g. \
             'example.com/MyName')"
        );
        return vec![Cause::invalid(field, quoted(key), &detail)];
    }
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let mut causes = Vec::new();
    if prefix.is_some_and(|p| !is_subdomain(p)) {
        let detail = format!("prefix part {SUBDOMAIN}");
        causes.push(Cause::invalid(field, quoted(key), &detail));
    }
    if name.is_empty() {
        causes.push(Cause::invalid(
            field,
            quoted(key),
            "name part must be non-empty",
        ));
    }
    if name.len() > 63 {
        causes.push(Cause::invalid(
            field,
            quoted(key),
            "name part must be no more than 63 characters",
        ));
    }
    if name.is_empty() || !is_label_value(name) {
        causes.push(Cause::invalid(field, quoted(key), QUALIFIED_NAME));
    }
    causes
}

/// Carries over what only the server sets, and reports attempts to change it.
pub(crate) fn carry_over(old: &Value, new: &mut Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let before = &old["metadata"];
    let Some(after) = new.get_mut("metadata") else {
        return causes;
    };
    for key in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let given = after.get(key).filter(|v| !v.is_null()).cloned();
        let kept = before.get(key).filter(|v| !v.is_null()).cloned();
        // A creation time that is sent along is ignored; everything else must be as it is.
        if let Some(given) =
            given.filter(|g| Some(g) != kept.as_ref() && key != "creationTimestamp")
        {
            let cause = Cause::invalid(
                &format!("metadata.{key}"),
                shown(&given),
                "field is immutable",
            );
            // The real server checks metadata twice, and says so twice.
            causes.extend([cause.clone(), cause]);
        }
        set_or_remove(after, key, kept);
    }
    set_or_remove(after, "generation", before.get("generation").cloned());
    if before.get("deletionTimestamp").is_some() {
        let texts = |v: &Value| -> Vec<String> {
            let items = v["finalizers"].as_array().into_iter().flatten();
            items
                .filter_map(|f| f.as_str().map(str::to_string))
                .collect()
        };
        let had: HashSet<_> = texts(before).into_iter().collect();
        let fresh: Vec<_> = texts(after)
            .into_iter()
            .filter(|f| !had.contains(f))
            .collect();
        if !fresh.is_empty() {
            let all: Vec<_> = fresh.iter().map(|f| quoted(f)).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                all.join(", ")
            );
            let cause = Cause::forbidden("metadata.finalizers", &detail);
            causes.extend([cause.clone(), cause]);
        }
    }
    causes
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quoted)
}

fn set_or_remove(target: &mut Value, key: &str, value: Option<Value>) {
    if let Value::Object(map) = target {
        match value {
            Some(value) => map.insert(key.to_string(), value),
            None => map.remove(key),
        };
    }
}

/// A name for an object that came with `generateName`.
pub(crate) fn generate_name(metadata: &mut Value, chance: &Chance) {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let named = metadata["name"].as_str().is_some_and(|n| !n.is_empty());
    let Some(prefix) = metadata["generateName"].as_str().filter(|_| !named) else {
        return;
    };
    let random = chance.uuid();
    let letters = random.as_bytes().iter().take(5);
    let tail: String = letters
        .map(|b| char::from(ALPHABET[usize::from(*b) % ALPHABET.len()]))
        .collect();
    metadata["name"] = json!(format!("{prefix}{tail}"));
}
