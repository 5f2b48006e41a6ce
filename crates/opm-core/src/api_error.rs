//! What went wrong with one request, told apart as far as a decision depends on it.

mod not_up_yet;

use std::fmt;

pub use not_up_yet::is_not_up_yet;

/// Why nothing more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The caller asked to stop.
    Cancelled,
    /// The lock's deadline has passed without a successful renewal.
    LockUncertain,
}

/// The closed set of ways in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiErrorKind {
    /// No answer: connection refused, reset, timed out, TLS, a server that stayed overloaded.
    Unreachable,
    /// 401 or 403, except for a terminating namespace. Never the same as "not found".
    Forbidden,
    /// 404 for the object itself.
    NotFound,
    /// 404 because the object's namespace does not exist.
    NamespaceMissing,
    /// 403 because the object's namespace is being deleted.
    NamespaceTerminating,
    /// 404 because the server does not serve this kind or version.
    KindNotServed,
    /// 409: a create-only apply met an existing object.
    AlreadyExists,
    /// The object moved on since it was read: another resourceVersion, another uid, or gone.
    Stale,
    /// 409: other field managers own what was sent; the causes name fields and managers.
    FieldConflict,
    /// 422: the object, or the change to it, is not valid; the causes name fields.
    Invalid,
    /// 413 or a 422 for its size.
    TooLarge,
    /// An admission webhook or policy said no.
    Denied,
    /// A webhook or an aggregated API that has a say in it does not answer yet.
    NotUpYet,
    /// Any other answer of the server. Not to be repeated.
    Rejected,
    /// Nothing was sent: the run was cancelled, or its lock is no longer certain.
    Stopped(Stopped),
}

/// One cause as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldManagerConflict` or `FieldValueForbidden`.
    pub reason: String,
    /// The field, such as `spec.selector`.
    pub field: String,
    /// The message. Safe to print: values of Secrets are taken out.
    pub message: String,
}

impl Cause {
    /// The field manager that a `FieldManagerConflict` names: `kubectl` in
    /// `conflict with "kubectl" with subresource "scale" using apps/v1`.
    pub fn manager(&self) -> Option<&str> {
        if self.reason != "FieldManagerConflict" {
            return None;
        }
        let (_, rest) = self.message.split_once('"')?;
        rest.split_once('"').map(|(manager, _)| manager)
    }
}

/// One failed request, after all attempts that were safe to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// What kind of failure it is.
    pub kind: ApiErrorKind,
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// The server's machine-readable reason, such as `Invalid`.
    pub reason: String,
    /// What the server, or the network, said. Safe to print: values of Secrets are taken out.
    pub message: String,
    /// The causes the server listed.
    pub causes: Vec<Cause>,
}

impl ApiError {
    /// An error that is not an answer of the server.
    pub fn local(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            reason: String::new(),
            message: message.into(),
            causes: Vec::new(),
        }
    }

    /// Nothing was sent.
    pub fn stopped(stopped: Stopped) -> Self {
        let message = match stopped {
            Stopped::Cancelled => "interrupted",
            Stopped::LockUncertain => "the release's lock is no longer certain",
        };
        Self::local(ApiErrorKind::Stopped(stopped), message)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_conflict_names_a_manager() {
        let cause = |reason: &str, message: &str| Cause {
            reason: reason.to_owned(),
            field: ".data.x".to_owned(),
            message: message.to_owned(),
        };
        let scale = r#"conflict with "hpa" with subresource "scale" using apps/v1"#;
        assert_eq!(cause("FieldManagerConflict", scale).manager(), Some("hpa"));
        assert_eq!(cause("FieldManagerConflict", "no name").manager(), None);
        assert_eq!(cause("FieldValueInvalid", scale).manager(), None);
    }
}
