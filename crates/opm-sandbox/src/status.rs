//! The server's errors: `Status` objects with the exact code, reason, message and details.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::store::StoreError;

/// A failed request.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    pub(crate) body: ErrorBody,
    pub(crate) retry_after: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) enum ErrorBody {
    Status(Value),
    /// Where the real server answers before it knows about objects at all.
    Text(String),
}

/// One reason why an object is invalid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) field: String,
    /// The offending value as it is printed, where the kind of cause shows one.
    pub(crate) value: Option<String>,
    pub(crate) detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CauseKind {
    Required,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TypeInvalid,
    Duplicate,
    NotFound,
}

impl Cause {
    pub(crate) fn required(field: &str, detail: &str) -> Self {
        Cause {
            kind: CauseKind::Required,
            field: field.into(),
            value: None,
            detail: detail.into(),
        }
    }

    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Cause {
            kind: CauseKind::Forbidden,
            field: field.into(),
            value: None,
            detail: detail.into(),
        }
    }

    pub(crate) fn invalid(field: &str, value: impl Into<String>, detail: &str) -> Self {
        let value = Some(value.into());
        Cause {
            kind: CauseKind::Invalid,
            field: field.into(),
            value,
            detail: detail.into(),
        }
    }

    pub(crate) fn unsupported(field: &str, value: &str, allowed: &[&str]) -> Self {
        let all: Vec<_> = allowed
            .iter()
            .map(|a| crate::apply::value::quoted(a))
            .collect();
        let detail = format!("supported values: {}", all.join(", "));
        let value = Some(crate::apply::value::quoted(value));
        Cause {
            kind: CauseKind::NotSupported,
            field: field.into(),
            value,
            detail,
        }
    }

    fn reason(&self) -> &'static str {
        match self.kind {
            CauseKind::Required => "FieldValueRequired",
            CauseKind::Invalid => "FieldValueInvalid",
            CauseKind::NotSupported => "FieldValueNotSupported",
            CauseKind::Forbidden => "FieldValueForbidden",
            CauseKind::TooLong => "FieldValueTooLong",
            CauseKind::TypeInvalid => "FieldValueTypeInvalid",
            CauseKind::Duplicate => "FieldValueDuplicate",
            CauseKind::NotFound => "FieldValueNotFound",
        }
    }

    pub(crate) fn message(&self) -> String {
        let title = match self.kind {
            CauseKind::Required => "Required value",
            CauseKind::Invalid | CauseKind::TypeInvalid => "Invalid value",
            CauseKind::NotSupported => "Unsupported value",
            CauseKind::Forbidden => "Forbidden",
            CauseKind::TooLong => "Too long",
            CauseKind::Duplicate => "Duplicate value",
            CauseKind::NotFound => "Not found",
        };
        let mut text = title.to_string();
        if let Some(value) = &self.value {
            text.push_str(&format!(": {value}"));
        }
        if !self.detail.is_empty() {
            text.push_str(&format!(": {}", self.detail));
        }
        text
    }
}

/// A resource as messages name it: `deployments.apps`.
pub(crate) fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() {
        name.to_string()
    } else {
        format!("{name}.{group}")
    }
}

impl ApiError {
    fn status(code: u16, reason: &str, message: impl Into<String>, details: Option<Value>) -> Self {
        let mut body = Map::new();
        body.insert("kind".into(), json!("Status"));
        body.insert("apiVersion".into(), json!("v1"));
        body.insert("metadata".into(), json!({}));
        body.insert("status".into(), json!("Failure"));
        body.insert("message".into(), json!(message.into()));
        if !reason.is_empty() {
            body.insert("reason".into(), json!(reason));
        }
        if let Some(details) = details {
            body.insert("details".into(), details);
        }
        body.insert("code".into(), json!(code));
        ApiError {
            code,
            body: ErrorBody::Status(Value::Object(body)),
            retry_after: None,
        }
    }

    pub(crate) fn text(code: u16, text: &str) -> Self {
        ApiError {
            code,
            body: ErrorBody::Text(text.to_string()),
            retry_after: None,
        }
    }

    pub(crate) fn page_not_found() -> Self {
        Self::text(404, "404 page not found\n")
    }

    pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", qualified(group, resource));
        Self::status(
            404,
            "NotFound",
            message,
            Some(details(name, group, resource)),
        )
    }

    pub(crate) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::status(404, "NotFound", message, Some(json!({})))
    }

    pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", qualified(group, resource));
        Self::status(
            409,
            "AlreadyExists",
            message,
            Some(details(name, group, resource)),
        )
    }

    pub(crate) fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, resource);
        let message = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
        Self::status(
            409,
            "Conflict",
            message,
            Some(details(name, group, resource)),
        )
    }

    pub(crate) fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Self::conflict(group, resource, name, why)
    }

    pub(crate) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        Self::status(409, "Conflict", message, Some(json!({"causes": causes})))
    }

    pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let named = if name.is_empty() {
            String::new()
        } else {
            format!("\"{name}\" ")
        };
        let message = format!("{} {named}is forbidden: {why}", qualified(group, resource));
        Self::status(
            403,
            "Forbidden",
            message,
            Some(details(name, group, resource)),
        )
    }

    pub(crate) fn namespace_terminating(
        group: &str,
        resource: &str,
        name: &str,
        namespace: &str,
    ) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut error = Self::forbidden(group, resource, name, &why);
        if let ErrorBody::Status(body) = &mut error.body {
            body["details"]["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace"
            }]);
        }
        error
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::status(405, "MethodNotAllowed", message, Some(json!({})))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::status(400, "BadRequest", message, None)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::status(415, "UnsupportedMediaType", message, None)
    }

    /// What the real server's router says before its handlers see the request.
    pub(crate) fn unsupported_patch_type() -> Self {
        let message = "415: Unsupported Media Type";
        Self::status(415, "UnsupportedMediaType", message, Some(json!({})))
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::status(413, "RequestEntityTooLarge", message, None)
    }

    /// What the real server's storage says.
    pub(crate) fn too_large_to_store() -> Self {
        Self::untyped("etcdserver: request is too large")
    }

    pub(crate) fn unauthorized() -> Self {
        Self::status(401, "Unauthorized", "Unauthorized", None)
    }

    /// Refused whoever asks, before anything is looked at.
    pub(crate) fn refused(message: &str) -> Self {
        Self::status(403, "Forbidden", message, None)
    }

    pub(crate) fn body_timeout() -> Self {
        let message = "the body of the request did not arrive in time";
        Self::status(408, "Timeout", message, None)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::status(410, "Expired", message, None)
    }

    /// A 422 that names nothing, as for a JSON patch that does not apply.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::status(422, "Invalid", message, Some(json!({})))
    }

    /// The 500 that the real server gives for what is in truth a bad request; it has no reason.
    pub(crate) fn untyped(message: impl Into<String>) -> Self {
        Self::status(500, "", message, None)
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        let text = format!("Internal error occurred: {message}");
        let details = json!({"causes": [{"message": message.to_string()}]});
        Self::status(500, "InternalError", text, Some(details))
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let each: Vec<_> = causes
            .iter()
            .map(|c| format!("{}: {}", c.field, c.message()))
            .collect();
        let mut seen = HashSet::new();
        let distinct: Vec<_> = each.iter().filter(|text| seen.insert(*text)).collect();
        let all = match distinct.as_slice() {
            [one] => (*one).clone(),
            many => {
                let many: Vec<_> = many.iter().map(|text| text.as_str()).collect();
                format!("[{}]", many.join(", "))
            }
        };
        let message = format!("{} \"{name}\" is invalid: {all}", qualified(group, kind));
        let causes: Vec<_> = causes
            .iter()
            .map(|c| json!({"reason": c.reason(), "message": c.message(), "field": c.field}))
            .collect();
        let mut d = details(name, group, kind);
        d["causes"] = json!(causes);
        Self::status(422, "Invalid", message, Some(d))
    }
}

fn details(name: &str, group: &str, kind: &str) -> Value {
    let mut d = Map::new();
    if !name.is_empty() {
        d.insert("name".into(), json!(name));
    }
    if !group.is_empty() {
        d.insert("group".into(), json!(group));
    }
    if !kind.is_empty() {
        d.insert("kind".into(), json!(kind));
    }
    Value::Object(d)
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy { .. } => {
                let mut busy = Self::status(503, "ServiceUnavailable", error.to_string(), None);
                busy.retry_after = Some(1);
                busy
            }
            // The reason alone names the cause, also to clients that do not show the message.
            StoreError::Full { .. } | StoreError::Write { .. } => {
                Self::status(507, "InsufficientStorage", error.to_string(), None)
            }
            other => Self::internal(other),
        }
    }
}
