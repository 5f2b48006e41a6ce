//! From an HTTP answer to an [`ApiError`]: what went wrong, told apart as far as a decision
//! depends on it, in words that quote no Secret.

pub(crate) mod words;

use opm_core::api_error::is_not_up_yet;
use opm_engine::ports::{ApiError, ApiErrorKind, Cause};
use serde::Deserialize;

use crate::redact::{KnownValues, rule_words};

/// More causes than these help nobody.
const MOST_CAUSES: usize = 100;

/// The server's `Status`, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StatusBody {
    kind: String,
    status: String,
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) code: u16,
    pub(crate) details: Details,
}

/// The details of a `Status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Details {
    name: String,
    pub(crate) kind: String,
    pub(crate) uid: String,
    pub(crate) retry_after_seconds: u64,
    causes: Vec<CauseBody>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CauseBody {
    reason: String,
    message: String,
    field: String,
}

impl Details {
    /// Whether it names another object than this one.
    pub(crate) fn is_about_another(&self, name: Option<&str>) -> bool {
        !self.name.is_empty() && name.is_some_and(|name| name != self.name)
    }
}

impl StatusBody {
    /// Reads a `Status`, or `None` if the body is something else (plain text, HTML, an object).
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body)
            .ok()
            .filter(|status| status.kind == "Status")
    }

    /// Whether it says of the delete of this object that it succeeded.
    pub(crate) fn accepts(&self, name: &str, uid: &str) -> bool {
        let same = |said: &str, asked: &str| said.is_empty() || said == asked;
        self.status == "Success"
            && !self.details.is_about_another(Some(name))
            && same(&self.details.uid, uid)
    }

    fn has_cause(&self, reason: &str) -> bool {
        self.details
            .causes
            .iter()
            .any(|cause| cause.reason == reason)
    }
}

/// What was asked, as far as the meaning of the answer depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedResource<'a> {
    /// The plural in the path.
    pub(crate) plural: &'a str,
    /// The object's name, if one was asked for by name.
    pub(crate) name: Option<&'a str>,
    /// Whether the answer may quote a Secret.
    pub(crate) secret: bool,
}

/// The error that an answer with a status of 400 or more stands for.
pub(crate) fn classify(
    status: u16,
    body: &[u8],
    asked: RequestedResource<'_>,
    known: &KnownValues,
) -> ApiError {
    let parsed = StatusBody::read(body);
    let text = match &parsed {
        Some(answer) => answer.message.as_str().into(),
        None => String::from_utf8_lossy(body),
    };
    let kind = match is_not_up_yet(status, &text) {
        true => ApiErrorKind::NotUpYet,
        false => kind_of(status, parsed.as_ref(), asked),
    };
    let Some(answer) = parsed else {
        return ApiError {
            kind,
            status: Some(status),
            reason: String::new(),
            message: known.redact(&plain_text(status, body, asked.secret)),
            causes: Vec::new(),
        };
    };
    let causes = causes(&answer, asked.secret, known);
    let message = if asked.secret && may_quote(kind, &answer.message) {
        withheld(status, &answer, &causes)
    } else if answer.message.is_empty() {
        format!("the server answered {status} {}", answer.reason)
    } else if status == 401 {
        format!("the cluster does not accept the credentials ({UNAUTHENTICATED})")
    } else {
        shorten(&words::plain(&answer.message))
    };
    ApiError {
        kind,
        status: Some(status),
        reason: shorten(&answer.reason),
        message: known.redact(&message),
        causes,
    }
}

/// The credentials are not accepted, in short.
const UNAUTHENTICATED: &str = "401 Unauthorized";

fn kind_of(status: u16, answer: Option<&StatusBody>, asked: RequestedResource<'_>) -> ApiErrorKind {
    let message = answer.map_or("", |answer| answer.message.as_str());
    if is_admission(message) {
        return ApiErrorKind::Denied;
    }
    match (status, answer) {
        (403, Some(answer)) if answer.has_cause("NamespaceTerminating") => {
            ApiErrorKind::NamespaceTerminating
        }
        (401 | 403, _) => ApiErrorKind::Forbidden,
        (404, Some(answer)) => match answer.details.kind.as_str() {
            // The object is named by its kind; nothing is named when no such kind is served.
            "" => ApiErrorKind::KindNotServed,
            "namespaces" if asked.plural != "namespaces" => ApiErrorKind::NamespaceMissing,
            // Absent is what is said of this very object.
            _ if answer.details.is_about_another(asked.name) => ApiErrorKind::Rejected,
            _ => ApiErrorKind::NotFound,
        },
        (404, None) => ApiErrorKind::KindNotServed,
        (409, Some(answer)) if answer.has_cause("FieldManagerConflict") => {
            ApiErrorKind::FieldConflict
        }
        (409, Some(answer)) if answer.message.starts_with("Apply failed with ") => {
            ApiErrorKind::FieldConflict
        }
        (409, Some(answer)) if answer.reason == "AlreadyExists" => ApiErrorKind::AlreadyExists,
        (409, _) => ApiErrorKind::Stale,
        (413, _) => ApiErrorKind::TooLarge,
        (422, Some(answer)) => invalid_kind(answer),
        (429 | 502 | 503 | 504, _) => ApiErrorKind::Unreachable,
        (500, Some(answer)) if matches!(answer.reason.as_str(), "ServerTimeout" | "Timeout") => {
            ApiErrorKind::Unreachable
        }
        (_, Some(answer)) if answer.message.contains("request is too large") => {
            ApiErrorKind::TooLarge
        }
        _ => ApiErrorKind::Rejected,
    }
}

/// A 422 says many things: that the object is another one by now, that it is too large, that
/// it is not valid.
fn invalid_kind(answer: &StatusBody) -> ApiErrorKind {
    let causes = &answer.details.causes;
    let of_another_life = |cause: &CauseBody| {
        cause.field == "metadata.uid" && cause.message.contains("field is immutable")
    };
    // The size of the whole object; a name or a label that is too long is simply invalid.
    let of_its_size = |cause: &CauseBody| {
        cause.reason == "FieldValueTooLong"
            && matches!(
                cause.field.as_str(),
                "" | "[]" | "<nil>" | "data" | "metadata.annotations"
            )
    };
    if causes.iter().any(of_another_life) {
        ApiErrorKind::Stale
    } else if causes.iter().any(of_its_size) || answer.message.contains("request is too large") {
        ApiErrorKind::TooLarge
    } else {
        ApiErrorKind::Invalid
    }
}

/// Whether an admission plugin, webhook or policy said no, rather than an authorizer.
fn is_admission(message: &str) -> bool {
    const SAYINGS: &[&str] = &[
        "exceeded quota:",
        "failed quota:",
        "violates PodSecurity",
        "custom resource definition is terminating",
        "this namespace may not be deleted",
    ];
    (message.contains("admission webhook \"") && message.contains("denied the request"))
        || (message.contains("ValidatingAdmissionPolicy '") && message.contains("denied request"))
        || (message.contains(" is forbidden: ")
            && (message.contains(": maximum ") || message.contains(": minimum ")))
        || SAYINGS.iter().any(|saying| message.contains(saying))
}

fn causes(answer: &StatusBody, secret: bool, known: &KnownValues) -> Vec<Cause> {
    let listed = answer.details.causes.iter().take(MOST_CAUSES);
    let listed = listed.map(|cause| Cause {
        reason: shorten(&cause.reason),
        field: known.redact(&shorten(&cause.field)),
        message: match secret && cause.reason != "FieldManagerConflict" {
            true => rule_words(&cause.message),
            false => known.redact(&shorten(&cause.message)),
        },
    });
    let mut causes: Vec<Cause> = listed.collect();
    if causes.is_empty() && answer.message.starts_with("Apply failed with ") {
        causes = conflicts_in(&answer.message);
    }
    causes
}

/// The conflicts that a message spells out, for a server that does not list them as causes:
/// `conflict with "a" using v1: .data.x`, or `conflicts with "a":` and one field per line.
fn conflicts_in(message: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut heading = String::new();
    let cause = |heading: &str, field: &str| Cause {
        reason: "FieldManagerConflict".to_owned(),
        field: field.trim().to_owned(),
        message: heading.trim().to_owned(),
    };
    for line in message.lines().take(MOST_CAUSES) {
        if let Some(field) = line.strip_prefix("- ") {
            causes.push(cause(&heading, field));
        } else if let Some(start) = line.find("conflict with ").or(line.find("conflicts with ")) {
            match line[start..].rsplit_once(": ") {
                Some((one, field)) => causes.push(cause(one, field)),
                None => {
                    heading = line[start..].trim_end_matches(':').replacen(
                        "conflicts with",
                        "conflict with",
                        1,
                    );
                }
            }
        }
    }
    causes
}

/// Whether a message about a Secret may quote its values. The texts of the others are fixed.
fn may_quote(kind: ApiErrorKind, message: &str) -> bool {
    match kind {
        ApiErrorKind::NotFound
        | ApiErrorKind::NamespaceMissing
        | ApiErrorKind::NamespaceTerminating
        | ApiErrorKind::KindNotServed
        | ApiErrorKind::AlreadyExists
        | ApiErrorKind::Stale
        | ApiErrorKind::FieldConflict => false,
        ApiErrorKind::Forbidden => !message.contains(" cannot ") && message != "Unauthorized",
        _ => true,
    }
}

/// A message about a Secret, rebuilt from words that quote nothing.
fn withheld(status: u16, answer: &StatusBody, causes: &[Cause]) -> String {
    let mut said: Vec<String> = admission_name(&answer.message).into_iter().collect();
    said.extend(causes.iter().map(|cause| match cause.field.as_str() {
        "" => cause.message.clone(),
        field => format!("{field}: {}", cause.message),
    }));
    if causes.is_empty() {
        said.extend(typed_path(&answer.message));
        said.push(rule_words(&answer.message));
    }
    said.retain(|part| !part.is_empty());
    let reason = match answer.reason.as_str() {
        "" => format!("status {status}"),
        reason => reason.to_owned(),
    };
    let said = match said.is_empty() {
        true => String::new(),
        false => format!(": {}", said.join("; ")),
    };
    format!(
        "the server rejected the Secret ({reason}){said} (its own words are withheld, as they may quote values)"
    )
}

/// Which webhook or policy it was: the part of a denial that its author did not write.
fn admission_name(message: &str) -> Option<String> {
    for (before, quote) in [
        ("admission webhook ", '"'),
        ("failed calling webhook ", '"'),
        ("ValidatingAdmissionPolicy ", '\''),
    ] {
        if let Some((_, rest)) = message.split_once(before)
            && let Some((name, _)) = rest.strip_prefix(quote)?.split_once(quote)
        {
            return Some(format!("{before}{quote}{name}{quote}"));
        }
    }
    None
}

/// The field that a typed-patch error names: `.data.x` in
/// `failed to create typed patch object (ns/name; /v1, Kind=Secret): .data.x: expected …`.
fn typed_path(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("Kind=Secret)")?;
    let (_, rest) = rest.split_once(" .")?;
    let (path, _) = rest.split_once(": ")?;
    let path = format!(".{path}");
    (!path.contains(char::is_whitespace)).then_some(path)
}

/// What an answer without a `Status` says: the plain text of a missing path, a proxy's page.
fn plain_text(status: u16, body: &[u8], secret: bool) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) if !secret && !line.starts_with(['<', '{']) => {
            format!("the server answered {status}: {}", shorten(line))
        }
        _ if (300..400).contains(&status) => {
            format!("the server answered {status}, a redirect, which is not followed")
        }
        _ => format!("the server answered {status} without saying why"),
    }
}

/// Kilobytes of a quoted pod template help nobody; what comes first and last does.
pub(crate) fn shorten(text: &str) -> String {
    const HEAD: usize = 700;
    const TAIL: usize = 300;
    let count = text.chars().count();
    if count <= HEAD + TAIL + 3 {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(count.saturating_sub(TAIL)).collect();
    format!("{head} … {tail}")
}

#[cfg(test)]
mod quoting_tests;
#[cfg(test)]
mod tests;
