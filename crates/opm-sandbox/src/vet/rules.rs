//! What a server has against an object whose types fit: names, labels, sizes, and the rules of its
//! kind, as the sandbox's own answers have them.

use serde_json::Value;

use super::TypeFinding;
use crate::apply::encode::ValueForm;
use crate::kinds::{Resource, custom, custom_validate, defaults, metadata, validate};
use crate::limits::{self, REQUEST_BYTES};
use crate::status::Cause;
use crate::verbs::decode;

/// What the annotations of one object may take together.
const ANNOTATION_BYTES: usize = 256 * 1024;

/// Adds what is wrong, unless something is known to be wrong at the same place.
pub(super) fn check(resource: Option<&Resource>, object: &Value, found: &mut Vec<TypeFinding>) {
    let meta = &object["metadata"];
    let mut more = labels(meta, &["metadata"]);
    more.extend(annotations(meta));
    if let Some(resource) = resource {
        let name = meta["name"].as_str().unwrap_or_default();
        let template = &object["spec"]["template"]["metadata"];
        more.extend(findings(&metadata::check_name(resource, name)));
        more.extend(labels(template, &["spec", "template", "metadata"]));
        more.extend(findings(&of_kind(resource, object)));
        more.extend(size(resource, object));
    }
    for finding in more {
        if !found.iter().any(|known| known.path == finding.path) {
            found.push(finding);
        }
    }
}

/// The rules of its kind, for the object as the server would store it.
fn of_kind(resource: &Resource, object: &Value) -> Vec<Cause> {
    // What does not fit its types is told already.
    let Ok(mut object) = decode::encode(resource, object, ValueForm::Given) else {
        return Vec::new();
    };
    let Some(version) = &resource.custom else {
        defaults::set(resource, &mut object);
        return validate::check(resource, &object);
    };
    let Some(schema) = &version.open_api else {
        return Vec::new();
    };
    let mut room = REQUEST_BYTES;
    match custom::set_defaults(schema, &mut object, &mut room) {
        true => custom_validate::check(schema, &object),
        false => Vec::new(),
    }
}

fn labels(meta: &Value, at: &[&str]) -> Vec<TypeFinding> {
    let mut found = Vec::new();
    for (key, value) in meta["labels"].as_object().into_iter().flatten() {
        let mut path: Vec<String> = at.iter().map(ToString::to_string).collect();
        path.extend(["labels".to_string(), key.clone()]);
        let mut causes = metadata::check_key("", key);
        causes.extend(metadata::check_label_value(
            "",
            value.as_str().unwrap_or_default(),
        ));
        found.extend(
            causes
                .iter()
                .map(|cause| TypeFinding::new(&path, told(cause))),
        );
    }
    found
}

fn annotations(meta: &Value) -> Vec<TypeFinding> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut largest: (usize, &str) = (0, "");
    let at = |key: &str| ["metadata", "annotations", key].map(str::to_string);
    for (key, value) in meta["annotations"].as_object().into_iter().flatten() {
        let size = key.len() + value.as_str().map_or(0, str::len);
        bytes += size;
        largest = largest.max((size, key));
        let causes = metadata::check_key("", &key.to_lowercase());
        found.extend(
            causes
                .iter()
                .map(|cause| TypeFinding::new(&at(key), told(cause))),
        );
    }
    if bytes > ANNOTATION_BYTES {
        let message = format!(
            "the annotations take {bytes} bytes, and {ANNOTATION_BYTES} are allowed; this is the largest"
        );
        found.push(TypeFinding::new(&at(largest.1), message));
    }
    found
}

fn size(resource: &Resource, object: &Value) -> Option<TypeFinding> {
    let too_large = limits::too_large(object, resource.custom.is_some());
    let message = || {
        format!(
            "it takes {} bytes, more than a cluster stores",
            limits::size(object)
        )
    };
    too_large.then(|| TypeFinding::new(&[], message()))
}

fn findings(causes: &[Cause]) -> Vec<TypeFinding> {
    let one = |cause: &Cause| TypeFinding::new(&steps(&cause.field), told(cause));
    causes.iter().map(one).collect()
}

/// The server's words. A sentence of it begins small, behind the name of the field.
fn told(cause: &Cause) -> String {
    let message = cause.message();
    let mut chars = message.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// The steps of a field as the server writes it: `spec.ports[0].name`, `data[key.with.dots]`.
fn steps(field: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = field;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').unwrap_or(inside.len());
            steps.push(inside[..end].to_string());
            rest = inside.get(end + 1..).unwrap_or_default();
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            steps.push(plain[..end].to_string());
            rest = &plain[end..];
        }
    }
    steps.retain(|step| !step.is_empty() && step != "<nil>");
    steps
}
