//! What a DELETE asks for, in its body or, without one, in the query. What is not as it should be
//! is refused as the real server refuses it: a precondition that cannot be read is not absent.

use http::Method;
use serde_json::Value;

use super::{decode, options};
use crate::apply::value::{json_type, quoted};
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: bool,
}

/// As they were given: the right types, but nothing checked yet.
#[derive(Default)]
struct Given {
    uid: Option<String>,
    version: Option<String>,
    policy: Option<String>,
    orphan: Option<bool>,
    dry_run: Vec<String>,
}

impl DeleteOptions {
    pub(crate) fn read(call: &Call) -> Result<DeleteOptions, ApiError> {
        let given = if call.body.is_empty() {
            from_query(call)?
        } else {
            match decode::parse(call)?.map_err(ApiError::untyped)? {
                Value::Null => Given::default(),
                body => from_body(&body)?,
            }
        };
        check(&given)?;
        let propagation = match (given.orphan, given.policy.as_deref()) {
            (Some(true), _) | (_, Some("Orphan")) => Some(Propagation::Orphan),
            (Some(false), _) | (_, Some("Background")) => Some(Propagation::Background),
            (_, Some(_)) => Some(Propagation::Foreground),
            (None, None) => None,
        };
        Ok(DeleteOptions {
            uid: given.uid,
            version: given.version,
            propagation,
            dry_run: !given.dry_run.is_empty(),
        })
    }
}

fn check(given: &Given) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    if let Some(policy) = &given.policy {
        if given.orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", quoted(policy), detail));
        }
        if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") {
            let all = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(Cause::unsupported("propagationPolicy", policy, &all));
        }
    }
    causes.extend(options::dry_run(&given.dry_run));
    options::refuse(&Method::DELETE, &causes)
}

fn from_query(call: &Call) -> Result<Given, ApiError> {
    let query = &call.query;
    options::number(call, "gracePeriodSeconds")?;
    Ok(Given {
        policy: query.get("propagationPolicy").map(str::to_string),
        orphan: query
            .get("orphanDependents")
            .map(|_| query.flag("orphanDependents")),
        dry_run: query
            .all("dryRun")
            .into_iter()
            .map(str::to_string)
            .collect(),
        ..Given::default()
    })
}

const OPTIONS: &str = "DeleteOptions";

fn from_body(body: &Value) -> Result<Given, ApiError> {
    if !body.is_object() {
        return Err(ApiError::untyped(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value \
             of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
             \"json:\\\"kind,omitempty\\\"\" }}",
            json_type(body)
        )));
    }
    let kind = body["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && kind != OPTIONS {
        return Err(ApiError::untyped(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:110\"",
            quoted(kind),
            quoted(body["apiVersion"].as_str().unwrap_or_default())
        )));
    }
    let preconditions = &body["preconditions"];
    if !preconditions.is_null() && !preconditions.is_object() {
        let place = "DeleteOptions.preconditions";
        return Err(mismatch(preconditions, place, "v1.Preconditions"));
    }
    whole_number(&body["gracePeriodSeconds"])?;
    Ok(Given {
        uid: text(
            &preconditions["uid"],
            "Preconditions.preconditions.uid",
            "types.UID",
        )?,
        version: text(
            &preconditions["resourceVersion"],
            "Preconditions.preconditions.resourceVersion",
            "string",
        )?,
        policy: text(
            &body["propagationPolicy"],
            "DeleteOptions.propagationPolicy",
            "v1.DeletionPropagation",
        )?,
        orphan: match &body["orphanDependents"] {
            Value::Null => None,
            Value::Bool(orphan) => Some(*orphan),
            other => return Err(mismatch(other, "DeleteOptions.orphanDependents", "bool")),
        },
        dry_run: match &body["dryRun"] {
            Value::Null => Vec::new(),
            Value::Array(items) => {
                let items = items.iter();
                let texts = items.map(|item| text(item, "DeleteOptions.dryRun", "string"));
                let texts = texts.collect::<Result<Vec<_>, _>>()?;
                texts.into_iter().map(Option::unwrap_or_default).collect()
            }
            other => return Err(mismatch(other, "DeleteOptions.dryRun", "[]string")),
        },
    })
}

fn text(value: &Value, place: &str, wanted: &str) -> Result<Option<String>, ApiError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(mismatch(other, place, wanted)),
    }
}

fn whole_number(value: &Value) -> Result<(), ApiError> {
    let place = "DeleteOptions.gracePeriodSeconds";
    match value {
        Value::Null => Ok(()),
        Value::Number(number) if number.is_i64() => Ok(()),
        Value::Number(number) => Err(ApiError::untyped(format!(
            "json: cannot unmarshal number {number} into Go struct field {place} of type int64"
        ))),
        other => Err(mismatch(other, place, "int64")),
    }
}

fn mismatch(value: &Value, place: &str, wanted: &str) -> ApiError {
    ApiError::untyped(format!(
        "json: cannot unmarshal {} into Go struct field {place} of type {wanted}",
        json_type(value)
    ))
}
