//! The checks that a JSON value passes to become a [`Manifest`].
//!
//! Names end up in request paths, so that what could leave its path segment is refused here.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Manifest, ManifestBody, ManifestError, ManifestProblem, type_name};
use crate::identity::{GroupKind, Identity};
use crate::name::{MAX_NAME, NamespaceName, is_group, is_kind, is_label};
use crate::packed::PackedObject;

type Object = Map<String, Value>;

pub(super) fn manifest(value: Value) -> Result<Manifest, ManifestError> {
    let Value::Object(object) = value else {
        return Err(ManifestError::NotAMapping(type_name(&value)));
    };
    let wrong = |problem| ManifestError::Object {
        object: described(&object),
        problem,
    };
    let (group_kind, version) = kind_and_version(&object).map_err(wrong)?;
    refuse_list(&object, &group_kind.kind)?;
    let identity = identity(&object, group_kind).map_err(wrong)?;
    let deep = |value| deeper_than(value, MAX_DEPTH - 1);
    if object.values().any(deep) {
        return Err(ManifestError::Object {
            object: identity.to_string(),
            problem: ManifestProblem::TooDeep,
        });
    }
    Ok(Manifest {
        template: None,
        generated: Vec::new(),
        home: None,
        identity,
        version,
        object: ManifestBody::Packed(PackedObject::new(&object)),
    })
}

fn kind_and_version(object: &Object) -> Result<(GroupKind, String), ManifestProblem> {
    let api_version = required(object, "apiVersion", "apiVersion")?;
    let (group, version) = split_api_version(api_version)?;
    let kind = required(object, "kind", "kind")?;
    check_kind(kind)?;
    Ok((GroupKind::new(group, kind), version.to_owned()))
}

fn identity(object: &Object, group_kind: GroupKind) -> Result<Identity, ManifestProblem> {
    let metadata = mapping(object, "metadata", "metadata")?;
    let metadata = metadata.ok_or(ManifestProblem::Missing("metadata"))?;
    let name = name(metadata)?;
    let namespace = namespace(metadata)?;
    check_texts(metadata, "labels", "metadata.labels")?;
    check_texts(metadata, "annotations", "metadata.annotations")?;
    Ok(Identity::new(group_kind, namespace, name))
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
) -> Result<&'a str, ManifestProblem> {
    let text = text(object, key, field)?.filter(|text| !text.is_empty());
    text.ok_or(ManifestProblem::Missing(field))
}

fn text<'a>(
    object: &'a Object,
    key: &str,
    field: &str,
) -> Result<Option<&'a str>, ManifestProblem> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(field, "a string", other)),
    }
}

fn mapping<'a>(
    object: &'a Object,
    key: &str,
    field: &str,
) -> Result<Option<&'a Object>, ManifestProblem> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(mapping)) => Ok(Some(mapping)),
        Some(other) => Err(wrong_type(field, "a mapping", other)),
    }
}

fn check_texts(metadata: &Object, key: &str, field: &str) -> Result<(), ManifestProblem> {
    let texts = mapping(metadata, key, field)?;
    let wrong = texts
        .into_iter()
        .flatten()
        .find(|(_, value)| !value.is_string());
    match wrong {
        Some((key, value)) => Err(wrong_type(&format!("{field}[{key:?}]"), "a string", value)),
        None => Ok(()),
    }
}

fn wrong_type(field: &str, expected: &'static str, found: &Value) -> ManifestProblem {
    ManifestProblem::WrongType {
        field: shorten(field),
        expected,
        found: type_name(found),
    }
}

fn split_api_version(api_version: &str) -> Result<(&str, &str), ManifestProblem> {
    let (group, version) = match api_version.split_once('/') {
        Some((group, version)) => (Some(group), version),
        None => (None, api_version),
    };
    let group_fits = group.is_none_or(|group| !group.is_empty() && is_group(group));
    if group_fits && is_label(version) {
        return Ok((group.unwrap_or_default(), version));
    }
    let (field, rule) = ("apiVersion", "it must look like `v1` or `apps/v1`");
    Err(ManifestProblem::Invalid { field, rule })
}

fn check_kind(kind: &str) -> Result<(), ManifestProblem> {
    let (field, rule) = ("kind", "it must be one word of letters and digits");
    match is_kind(kind) {
        true => Ok(()),
        false => Err(ManifestProblem::Invalid { field, rule }),
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

fn name(metadata: &Object) -> Result<&str, ManifestProblem> {
    let field = "metadata.name";
    let name = text(metadata, "name", field)?.unwrap_or_default();
    let generated = metadata.get("generateName").is_some_and(|g| !g.is_null());
    let rule = match name {
        "" if generated => return Err(ManifestProblem::GenerateName),
        "" => return Err(ManifestProblem::Missing(field)),
        "." | ".." => "it must not be '.' or '..'",
        name if name.contains(['/', '%']) => "it must not contain '/' or '%'",
        name if name.len() > MAX_NAME => "it must have at most 253 characters",
        name if name.contains(|c: char| c.is_control() || c.is_whitespace()) => {
            "it must not contain spaces or control characters"
        }
        _ => return Ok(name),
    };
    Err(ManifestProblem::Invalid { field, rule })
}

fn namespace(metadata: &Object) -> Result<Option<&str>, ManifestProblem> {
    let field = "metadata.namespace";
    let namespace = text(metadata, "namespace", field)?.filter(|namespace| !namespace.is_empty());
    match namespace.map(NamespaceName::new) {
        Some(Err(error)) => {
            let rule = error.rule;
            Err(ManifestProblem::Invalid { field, rule })
        }
        _ => Ok(namespace),
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
