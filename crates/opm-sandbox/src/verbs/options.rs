//! Query parameters that every change understands, and the answers to wrong ones.

use crate::apply::value::quoted;
use crate::status::{ApiError, Cause};
use crate::verbs::delete::DeleteOptions;
use crate::wire::call::Call;
use crate::wire::route::Target;

const META: &str = "meta.k8s.io";

fn kind_of(call: &Call) -> &'static str {
    match call.method {
        http::Method::PATCH => "PatchOptions",
        http::Method::PUT => "UpdateOptions",
        http::Method::DELETE => "DeleteOptions",
        _ => "CreateOptions",
    }
}

/// Whether nothing is to be stored. A DELETE with a body is asked there alone.
pub(crate) fn is_dry_run(call: &Call, _target: &Target) -> Result<bool, ApiError> {
    let given: Vec<String> = if call.method == http::Method::DELETE {
        DeleteOptions::read(call)?.dry_run
    } else {
        call.query
            .all("dryRun")
            .into_iter()
            .map(str::to_string)
            .collect()
    };
    if given.is_empty() {
        return Ok(false);
    }
    if given.iter().all(|v| v == "All") {
        return Ok(true);
    }
    let shown: Vec<_> = given.iter().map(|v| quoted(v)).collect();
    let value = format!("[{}]", shown.join(","));
    let causes: Vec<_> = given
        .iter()
        .filter(|v| *v != "All")
        .map(|_| {
            let mut cause = Cause::unsupported("dryRun", "", &["All"]);
            cause.value = Some(value.clone());
            cause
        })
        .collect();
    Err(ApiError::invalid(META, kind_of(call), "", &causes[..1]))
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
    refuse(call, &causes)
}

pub(crate) fn check_write(call: &Call) -> Result<(), ApiError> {
    let mut causes = field_manager(call);
    causes.extend(field_validation(call));
    refuse(call, &causes)
}

fn refuse(call: &Call, causes: &[Cause]) -> Result<(), ApiError> {
    match causes {
        [] => Ok(()),
        causes => Err(ApiError::invalid(META, kind_of(call), "", causes)),
    }
}

fn field_manager(call: &Call) -> Vec<Cause> {
    let Some(manager) = call.query.get("fieldManager") else {
        return Vec::new();
    };
    if manager.chars().count() > 128 {
        let mut cause = Cause::invalid("fieldManager", "", "may not be more than 128 bytes");
        cause.kind = crate::status::CauseKind::TooLong;
        cause.value = None;
        return vec![cause];
    }
    Vec::new()
}

fn field_validation(call: &Call) -> Option<Cause> {
    let given = call.query.get("fieldValidation")?;
    let known = ["", "Ignore", "Strict", "Warn"];
    (!known.contains(&given)).then(|| Cause::unsupported("fieldValidation", given, &known))
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
