//! From a request's body to an object of the resource, as the server's decoder does it.

use serde_json::{Map, Value, json};

use super::options::Strictness;
use crate::apply::encode::{Encoder, Problem, Undecodable, ValueForm, unknown_fields};
use crate::apply::schema::{ANY, Builtin};
use crate::apply::value::quoted;
use crate::kinds::{Resource, custom};
use crate::limits;
use crate::status::ApiError;
use crate::wire::call::Call;

const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Parses JSON or YAML by content type, JSON where there is none; the inner error is the parser's.
pub(crate) fn parse(call: &Call) -> Result<Result<Value, String>, ApiError> {
    let parsed = match call.content_type.as_str() {
        "" | "application/json" => serde_json::from_slice(&call.body).map_err(|error| {
            let detail = match call.body.is_empty() {
                true => "unexpected end of JSON input (<empty>)".to_string(),
                false => error.to_string(),
            };
            format!("couldn't get version/kind; json parse error: {detail}")
        }),
        "application/yaml" => parse_yaml(&call.body),
        _ => return Err(ApiError::unsupported_media_type(MEDIA_TYPES)),
    };
    Ok(parsed)
}

/// The body of a request that names a whole object.
pub(crate) fn parse_object(call: &Call, resource: &Resource) -> Result<Value, ApiError> {
    parse(call)?.map_err(|problem| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {problem}",
            resource.kind
        ))
    })
}

/// YAML with the last of duplicate keys winning, as the real server reads it.
pub(crate) fn parse_yaml(bytes: &[u8]) -> Result<Value, String> {
    // JSON is YAML, and much the most common.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    let value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|e| yaml_problem(&e.to_string()))?;
    match limits::too_deep(&value, 0) {
        true => Err("error converting YAML to JSON: exceeded max depth".to_string()),
        false => Ok(value),
    }
}

/// The parser's finding, without its picture of the text, in the words of the real server.
fn yaml_problem(report: &str) -> String {
    let line = report
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    let (place, finding) = line.split_once(": ").unwrap_or(("", line));
    let number = place
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse::<u32>().ok());
    let place = number
        .filter(|n| *n > 1)
        .map_or(String::new(), |n| format!("line {n}: "));
    format!("error converting YAML to JSON: yaml: {place}{finding}")
}

/// The first key that stands twice in one mapping, if any.
pub(crate) fn duplicate_key(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let strict: Result<Value, _> = serde_saphyr::from_str(text);
    strict.err().map(|e| e.to_string())
}

/// What an object says it is must be what the URL says.
pub(crate) fn check_kind(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let expected = resource.api_version();
    if kind.is_empty() && version.is_empty() {
        return Ok(());
    }
    if (kind.is_empty() || kind == resource.kind) && (version.is_empty() || version == expected) {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    let known = Builtin::get().kind(version, kind).is_some();
    let problem = if known {
        let package = |group: &str| match group.split('.').next() {
            None | Some("") => "core".to_string(),
            Some(first) => first.to_string(),
        };
        format!(
            "converting ({short}.{kind}) to ({}.{}): unknown conversion",
            package(&resource.group),
            resource.kind
        )
    } else {
        format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:110\"",
            quoted(kind),
            quoted(version)
        )
    };
    Err(ApiError::bad_request(format!(
        "{kind} in version {} cannot be handled as a {}: {problem}",
        quoted(short),
        resource.kind
    )))
}

/// What became of a body: the object, and warnings about what was dropped from it.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

/// Turns given JSON into an object as the server's structs would hold it.
pub(crate) fn decode(
    resource: &Resource,
    mut given: Value,
    strictness: Strictness,
) -> Result<Decoded, ApiError> {
    if let Value::Object(map) = &mut given {
        map.insert("apiVersion".into(), json!(resource.api_version()));
        map.insert("kind".into(), json!(resource.kind));
    }
    let unknown: Vec<_> = unknown_fields(&resource.schema, resource.ty, &given)
        .into_iter()
        .map(|path| format!("unknown field {}", quoted(&path)))
        .collect();
    if strictness == Strictness::Strict && !unknown.is_empty() {
        return Err(ApiError::bad_request(format!(
            "{}strict decoding error: {}",
            if resource.custom.is_some() {
                String::new()
            } else {
                cannot_be_handled(resource)
            },
            unknown.join(", ")
        )));
    }
    let wiped = given["metadata"]["managedFields"]
        .as_array()
        .is_some_and(Vec::is_empty);
    let mut object = encode(resource, &given, ValueForm::Given).map_err(|fault| {
        ApiError::bad_request(format!(
            "{}{}",
            cannot_be_handled(resource),
            explain(resource, &fault)
        ))
    })?;
    if wiped {
        // An empty list means something here, and only here.
        object["metadata"]["managedFields"] = json!([]);
    }
    let warnings = if strictness == Strictness::Warn {
        unknown
    } else {
        Vec::new()
    };
    Ok(Decoded { object, warnings })
}

fn cannot_be_handled(resource: &Resource) -> String {
    let (kind, version) = (&resource.kind, quoted(&resource.version));
    format!("{kind} in version {version} cannot be handled as a {kind}: ")
}

/// The decoder's own words.
pub(crate) fn explain(resource: &Resource, fault: &Undecodable) -> String {
    match &fault.problem {
        Problem::Mismatch { found, wanted } => format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            fault.owner.as_deref().unwrap_or(&resource.kind),
            fault.path
        ),
        Problem::Base64 { at } => format!("illegal base64 data at input byte {at}"),
        Problem::Quantity(_) => "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            .to_string(),
        Problem::Time(text) => format!(
            "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as \"2006\"",
            quoted(text),
            quoted(text)
        ),
    }
}

/// The object as it is stored and sent: see `apply::encode`. Custom resources are pruned instead.
pub(crate) fn encode(
    resource: &Resource,
    given: &Value,
    form: ValueForm,
) -> Result<Value, Undecodable> {
    let encoder = Encoder {
        schema: &resource.schema,
        form,
    };
    let Some(version) = &resource.custom else {
        return encoder.encode(resource.ty, given);
    };
    let mut object = given.clone();
    custom::prune(version.open_api.as_ref(), &mut object);
    if let Some(metadata) = object.get("metadata") {
        let builtin = &Builtin::get().schema;
        let ty = builtin
            .named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
            .unwrap_or(ANY);
        let encoder = Encoder {
            schema: builtin,
            form,
        };
        object["metadata"] = encoder.encode(ty, metadata)?;
    }
    Ok(object)
}

/// The empty object that a new one is compared with.
pub(crate) fn empty(resource: &Resource) -> Value {
    let mut object = match resource.custom {
        Some(_) => Value::Object(Map::new()),
        None => encode(resource, &json!({}), ValueForm::Stored).unwrap_or_else(|_| json!({})),
    };
    object["apiVersion"] = json!(resource.api_version());
    object["kind"] = json!(resource.kind);
    object
}
