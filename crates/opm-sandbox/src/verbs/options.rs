//! Query parameters that requests understand, and the answers to wrong ones.

use http::Method;

use super::delete_options::DeleteOptions;
use crate::apply::value::quoted;
use crate::status::{ApiError, Cause};
use crate::wire::call::Call;

const META: &str = "meta.k8s.io";

fn kind_of(method: &Method) -> &'static str {
    match *method {
        Method::PATCH => "PatchOptions",
        Method::PUT => "UpdateOptions",
        Method::DELETE => "DeleteOptions",
        Method::GET => "ListOptions",
        _ => "CreateOptions",
    }
}

/// Whether nothing is to be stored. A DELETE with a body is asked there alone.
pub(crate) fn is_dry_run(call: &Call) -> Result<bool, ApiError> {
    if call.method == Method::DELETE {
        return Ok(DeleteOptions::read(call)?.dry_run);
    }
    let given = call.query.all("dryRun");
    let given: Vec<_> = given.into_iter().map(str::to_string).collect();
    let causes: Vec<_> = dry_run(&given).into_iter().collect();
    refuse(&call.method, &causes)?;
    Ok(!given.is_empty())
}

/// What is wrong with the values of `dryRun`.
pub(crate) fn dry_run(given: &[String]) -> Option<Cause> {
    if given.iter().all(|v| v == "All") {
        return None;
    }
    let shown: Vec<_> = given.iter().map(|v| quoted(v)).collect();
    let mut cause = Cause::unsupported("dryRun", "", &["All"]);
    cause.value = Some(format!("[{}]", shown.join(",")));
    Some(cause)
}

/// What an apply patch must and other patches must not say.
pub(crate) fn check_patch(call: &Call, applying: bool) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    if applying {
        if call.query.get("fieldManager").is_none_or(str::is_empty) {
            causes.push(Cause::required(
                "fieldManager",
                "is required for apply patch",
            ));
        }
    } else if call.query.get("force").is_some() {
        causes.push(Cause::forbidden(
            "force",
            "may not be specified for non-apply patch",
        ));
    }
    causes.extend(field_manager(call));
    causes.extend(field_validation(call));
    refuse(&call.method, &causes)
}

pub(crate) fn check_write(call: &Call) -> Result<(), ApiError> {
    let mut causes: Vec<_> = field_manager(call).into_iter().collect();
    causes.extend(field_validation(call));
    refuse(&call.method, &causes)
}

pub(crate) fn refuse(method: &Method, causes: &[Cause]) -> Result<(), ApiError> {
    match causes {
        [] => Ok(()),
        causes => Err(ApiError::invalid(META, kind_of(method), "", causes)),
    }
}

fn field_manager(call: &Call) -> Option<Cause> {
    let manager = call.query.get("fieldManager")?;
    if manager.len() > 128 {
        let mut cause = Cause::invalid("fieldManager", "", "may not be more than 128 bytes");
        cause.kind = crate::status::CauseKind::TooLong;
        cause.value = None;
        return Some(cause);
    }
    let (at, odd) = manager.char_indices().find(|(_, c)| c.is_control())?;
    let detail = format!("invalid character U+{:04X} (at position {at})", odd as u32);
    Some(Cause::invalid("fieldManager", quoted(manager), &detail))
}

fn field_validation(call: &Call) -> Option<Cause> {
    let given = call.query.get("fieldValidation")?;
    let known = ["", "Ignore", "Strict", "Warn"];
    (!known.contains(&given)).then(|| Cause::unsupported("fieldValidation", given, &known))
}

/// A parameter that is a whole number; none where it is not given.
pub(crate) fn number(call: &Call, name: &str) -> Result<Option<i64>, ApiError> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            let text = quoted(text);
            ApiError::bad_request(format!("strconv.ParseInt: parsing {text}: invalid syntax"))
        })
    };
    call.query.get(name).map(parse).transpose()
}

/// The version that a read is about, and what is wrong with it.
pub(crate) fn version(call: &Call) -> Result<Option<u64>, String> {
    let given = call.query.get("resourceVersion").unwrap_or_default();
    if given.is_empty() {
        return Ok(None);
    }
    given.parse().map(Some).map_err(|_| {
        let text = quoted(given);
        format!(
            "resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid \
             syntax"
        )
    })
}

/// What a list or a watch may not ask for.
pub(crate) fn check_list(call: &Call, watching: bool) -> Result<(), ApiError> {
    number(call, "limit")?;
    number(call, "timeoutSeconds")?;
    let matching = call.query.get("resourceVersionMatch").unwrap_or_default();
    let initial = call.query.get("sendInitialEvents").is_some();
    let causes = if watching {
        watch_causes(matching, initial)
    } else {
        list_causes(call, matching, initial)
    };
    refuse(&call.method, &causes)
}

const MATCH: &str = "resourceVersionMatch";

fn watch_causes(matching: &str, initial: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if initial && matching != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(Cause::forbidden(MATCH, detail));
        if !matching.is_empty() {
            causes.push(Cause::unsupported(MATCH, matching, &["NotOlderThan"]));
        }
    }
    if !initial && !matching.is_empty() {
        let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
                      provided";
        causes.push(Cause::forbidden(MATCH, detail));
    }
    causes
}

fn list_causes(call: &Call, matching: &str, initial: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let version = call.query.get("resourceVersion").unwrap_or_default();
    if !matching.is_empty() {
        if version.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(MATCH, detail));
        }
        if call.query.get("continue").is_some_and(|c| !c.is_empty()) {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            causes.push(Cause::forbidden(MATCH, detail));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""];
            causes.push(Cause::unsupported(MATCH, matching, &known));
        }
        if matching == "Exact" && version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(MATCH, detail));
        }
    }
    if initial {
        let detail = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", detail));
    }
    causes
}

/// How unknown fields are treated; the server's default is to warn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    Ignore,
    Warn,
    Strict,
}

pub(crate) fn strictness(call: &Call) -> Strictness {
    match call.query.get("fieldValidation") {
        Some("Strict") => Strictness::Strict,
        Some("Ignore") => Strictness::Ignore,
        _ => Strictness::Warn,
    }
}
