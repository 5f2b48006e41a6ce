//! The checks that a JSON value passes to become a [`Manifest`].
//!
//! Names end up in request paths, so that what could leave its path segment is refused here.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Manifest, ManifestError, type_name};
use crate::identity::{GroupKind, Identity};
use crate::name::{NamespaceName, is_label};

type Object = Map<String, Value>;

/// The longest name of a Kubernetes object.
const MAX_NAME: usize = 253;

pub(super) fn manifest(value: Value) -> Result<Manifest, ManifestError> {
    let Value::Object(object) = value else {
        return Err(ManifestError::NotAMapping(type_name(&value)));
    };
    let named = described(&object);
    let api_version = required(&object, "apiVersion", "apiVersion", &named)?;
    let (group, version) = split_api_version(api_version, &named)?;
    let kind = required(&object, "kind", "kind", &named)?;
    check_kind(kind, &named)?;
    refuse_list(&object, kind)?;
    let group_kind = GroupKind::new(group, kind);
    let version = version.to_owned();

    let metadata = mapping(&object, "metadata", "metadata", &named)?.ok_or_else(|| {
        ManifestError::Missing {
            object: named.clone(),
            field: "metadata",
        }
    })?;
    let name = name(metadata, &named)?;
    let namespace = namespace(metadata, &named)?;
    check_texts(metadata, "labels", "metadata.labels", &named)?;
    check_texts(metadata, "annotations", "metadata.annotations", &named)?;
    let identity = Identity::new(group_kind, namespace, name);
    if object
        .values()
        .any(|value| deeper_than(value, MAX_DEPTH - 1))
    {
        return Err(ManifestError::TooDeep {
            object: identity.to_string(),
        });
    }
    Ok(Manifest {
        identity,
        version,
        object,
    })
}

/// As much of an object's identity as can be read from it, for error messages.
fn described(object: &Object) -> String {
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty());
    let metadata = object.get("metadata");
    let name = ["name", "generateName"].iter().find_map(|field| {
        metadata?
            .get(field)?
            .as_str()
            .filter(|name| !name.is_empty())
    });
    match (kind, name) {
        (Some(kind), Some(name)) => shorten(&format!("{kind}/{name}")),
        (Some(kind), None) => shorten(&format!("a {kind}")),
        (None, Some(name)) => shorten(&format!("the object named {name:?}")),
        (None, None) => "an object".to_owned(),
    }
}

/// An error message is no place for a megabyte, nor for what a terminal would obey.
fn shorten(text: &str) -> String {
    let safe = |c: char| match c.is_control() {
        true => c.escape_debug().collect::<String>(),
        false => c.to_string(),
    };
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(120).map(safe).collect();
    match characters.next() {
        Some(_) => format!("{short}…"),
        None => short,
    }
}

fn required<'a>(
    object: &'a Object,
    key: &str,
    field: &'static str,
    named: &str,
) -> Result<&'a str, ManifestError> {
    match text(object, key, field, named)? {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(ManifestError::Missing {
            object: named.to_owned(),
            field,
        }),
    }
}

fn text<'a>(
    object: &'a Object,
    key: &str,
    field: &str,
    named: &str,
) -> Result<Option<&'a str>, ManifestError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(field, "a string", other, named)),
    }
}

fn mapping<'a>(
    object: &'a Object,
    key: &str,
    field: &str,
    named: &str,
) -> Result<Option<&'a Object>, ManifestError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(mapping)) => Ok(Some(mapping)),
        Some(other) => Err(wrong_type(field, "a mapping", other, named)),
    }
}

fn check_texts(
    metadata: &Object,
    key: &str,
    field: &str,
    named: &str,
) -> Result<(), ManifestError> {
    let Some(texts) = mapping(metadata, key, field, named)? else {
        return Ok(());
    };
    match texts.iter().find(|(_, value)| !value.is_string()) {
        Some((key, value)) => Err(wrong_type(
            &format!("{field}[{key:?}]"),
            "a string",
            value,
            named,
        )),
        None => Ok(()),
    }
}

fn wrong_type(field: &str, expected: &'static str, found: &Value, named: &str) -> ManifestError {
    ManifestError::WrongType {
        object: named.to_owned(),
        field: shorten(field),
        expected,
        found: type_name(found),
    }
}

fn invalid(field: &'static str, rule: &'static str, named: &str) -> ManifestError {
    ManifestError::Invalid {
        object: named.to_owned(),
        field,
        rule,
    }
}

fn split_api_version<'a>(
    api_version: &'a str,
    named: &str,
) -> Result<(&'a str, &'a str), ManifestError> {
    let (group, version) = match api_version.split_once('/') {
        Some((group, version)) => (Some(group), version),
        None => (None, api_version),
    };
    let group_fits = group.is_none_or(|g| g.len() <= MAX_NAME && g.split('.').all(is_label));
    if group_fits && is_label(version) {
        return Ok((group.unwrap_or_default(), version));
    }
    Err(invalid(
        "apiVersion",
        "it must look like `v1` or `apps/v1`",
        named,
    ))
}

fn check_kind(kind: &str, named: &str) -> Result<(), ManifestError> {
    let fits = kind.len() <= 63
        && kind.starts_with(|first: char| first.is_ascii_alphabetic())
        && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match fits {
        true => Ok(()),
        false => Err(invalid(
            "kind",
            "it must be one word of letters and digits",
            named,
        )),
    }
}

fn refuse_list(object: &Object, kind: &str) -> Result<(), ManifestError> {
    let has_items = object.get("items").is_some_and(Value::is_array);
    if kind == "List" || (kind.ends_with("List") && has_items) {
        return Err(ManifestError::List {
            kind: kind.to_owned(),
        });
    }
    Ok(())
}

fn name<'a>(metadata: &'a Object, named: &str) -> Result<&'a str, ManifestError> {
    const FIELD: &str = "metadata.name";
    let name = text(metadata, "name", FIELD, named)?.unwrap_or_default();
    let generated = metadata.get("generateName").is_some_and(|g| !g.is_null());
    if name.is_empty() && generated {
        return Err(ManifestError::GenerateName {
            object: named.to_owned(),
        });
    }
    if name.is_empty() {
        return Err(ManifestError::Missing {
            object: named.to_owned(),
            field: FIELD,
        });
    }
    let rule = match name {
        "." | ".." => "it must not be '.' or '..'",
        name if name.contains(['/', '%']) => "it must not contain '/' or '%'",
        name if name.len() > MAX_NAME => "it must have at most 253 characters",
        name if name.contains(|c: char| c.is_control() || c.is_whitespace()) => {
            "it must not contain spaces or control characters"
        }
        _ => return Ok(name),
    };
    Err(invalid(FIELD, rule, named))
}

fn namespace<'a>(metadata: &'a Object, named: &str) -> Result<Option<&'a str>, ManifestError> {
    const FIELD: &str = "metadata.namespace";
    match text(metadata, "namespace", FIELD, named)? {
        None | Some("") => Ok(None),
        Some(namespace) => match NamespaceName::new(namespace) {
            Ok(_) => Ok(Some(namespace)),
            Err(error) => Err(invalid(FIELD, error.rule, named)),
        },
    }
}

/// Whether a value has more levels of nesting than `left`. Looks no deeper than that.
fn deeper_than(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|v| deeper_than(v, left - 1)),
        Value::Object(fields) => left == 0 || fields.values().any(|v| deeper_than(v, left - 1)),
        _ => false,
    }
}
