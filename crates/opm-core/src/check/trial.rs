//! What a pretended apply says about the real one, before anything is sent.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::api_error::{ApiError, ApiErrorKind};
use crate::identity::Identity;
use crate::immutable::immutable_fields;

/// What the server's refusal of a pretended apply means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialFinding {
    /// Others set fields of it to other values.
    Conflict,
    /// These fields cannot be changed in place.
    Immutable(Vec<String>),
    /// It would not be taken, for this cause.
    WouldFail {
        /// What the server says.
        cause: String,
        /// Whether that is for want of rights.
        forbidden: bool,
    },
    /// The real one may well be taken, as what it needs is not there yet or cannot be pretended.
    CannotTell,
    /// The server does not answer, or the run was stopped: no more is asked.
    Unanswered,
}

impl TrialFinding {
    /// Judges the server's refusal. `created` are the objects that this run brings along.
    pub fn of(
        error: &ApiError,
        desired: &Map<String, Value>,
        created: &BTreeSet<Identity>,
    ) -> Self {
        match error.kind {
            ApiErrorKind::Unreachable | ApiErrorKind::Stopped(_) => Self::Unanswered,
            ApiErrorKind::FieldConflict => Self::Conflict,
            ApiErrorKind::NotUpYet
            | ApiErrorKind::NamespaceMissing
            | ApiErrorKind::KindNotServed
            // It has moved on since the look, and is looked at again when it is sent.
            | ApiErrorKind::AlreadyExists
            | ApiErrorKind::Stale => Self::CannotTell,
            _ if error.message.contains("does not support dry run") => Self::CannotTell,
            _ if misses_one_of(created, &error.message) => Self::CannotTell,
            kind => match immutable_fields(error, desired) {
                Some(fields) => Self::Immutable(fields),
                None => Self::WouldFail {
                    cause: error.to_string(),
                    forbidden: kind == ApiErrorKind::Forbidden,
                },
            },
        }
    }
}

/// Whether the server misses something that this run brings along: the role of a binding, the
/// service account of a pod.
fn misses_one_of(created: &BTreeSet<Identity>, message: &str) -> bool {
    message.contains("not found")
        && created.iter().any(|object| {
            let name = &object.name;
            let quoted = [
                format!("\"{name}\""),
                format!("/{name}:"),
                format!("/{name}\""),
            ];
            quoted.iter().any(|quoted| message.contains(quoted))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_error::Cause;
    use crate::identity::GroupKind;

    fn error(kind: ApiErrorKind, message: &str) -> ApiError {
        ApiError {
            status: Some(422),
            reason: "Invalid".to_owned(),
            ..ApiError::local(kind, message)
        }
    }

    #[test]
    fn what_a_pretended_apply_tells() {
        use ApiErrorKind as Kind;
        let desired = Map::new();
        let account = Identity::new(
            GroupKind::new("", "ServiceAccount"),
            Some("games"),
            "runner",
        );
        let role = Identity::new(
            GroupKind::new("rbac.authorization.k8s.io", "Role"),
            None,
            "reader",
        );
        let created = BTreeSet::from([account, role]);
        let no_account = r#"pods "a" is forbidden: error looking up service account games/runner: serviceaccount "runner" not found"#;
        let no_role = r#"roles.rbac.authorization.k8s.io "reader" not found"#;
        let no_other = r#"roles.rbac.authorization.k8s.io "writer" not found"#;
        let no_dry_run = r#"admission webhook "a" does not support dry run"#;
        let would_fail = |cause: &str, forbidden: bool| TrialFinding::WouldFail {
            cause: cause.to_owned(),
            forbidden,
        };
        let table = [
            (Kind::FieldConflict, "", TrialFinding::Conflict),
            (Kind::Unreachable, "", TrialFinding::Unanswered),
            (Kind::NotUpYet, "", TrialFinding::CannotTell),
            (Kind::NamespaceMissing, "", TrialFinding::CannotTell),
            (Kind::KindNotServed, "", TrialFinding::CannotTell),
            (Kind::Stale, "", TrialFinding::CannotTell),
            (Kind::Rejected, no_dry_run, TrialFinding::CannotTell),
            (Kind::Forbidden, no_account, TrialFinding::CannotTell),
            (Kind::NotFound, no_role, TrialFinding::CannotTell),
            (Kind::NotFound, no_other, would_fail(no_other, false)),
            (Kind::Forbidden, "no", would_fail("no", true)),
            (Kind::Denied, "not today", would_fail("not today", false)),
            (Kind::Invalid, "bad", would_fail("bad", false)),
        ];
        for (kind, message, expected) in table {
            let found = TrialFinding::of(&error(kind, message), &desired, &created);
            assert_eq!(found, expected, "{kind:?} {message}");
        }
        let immutable = ApiError {
            causes: vec![Cause {
                reason: "FieldValueInvalid".to_owned(),
                field: "spec.template".to_owned(),
                message: "Invalid value: {}: field is immutable".to_owned(),
            }],
            ..error(Kind::Invalid, "")
        };
        let found = TrialFinding::of(&immutable, &desired, &created);
        assert_eq!(
            found,
            TrialFinding::Immutable(vec!["spec.template".to_owned()])
        );
    }
}
