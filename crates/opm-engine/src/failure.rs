//! How a use case fails: what kind of failure it is, in words, what to do next, what caused it,
//! and what had been done by then.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use opm_core::check::{Refusal, Refusals};
pub use opm_core::failure::{FailureKind, Remedy};
use opm_core::identity::Identity;
use opm_core::name::ReleaseName;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::observe::UnseenKinds;
use crate::ports::{ApiError, Stopped};
use crate::record::WriteError;
use crate::report::{Release, Report};

/// One object that has to do with a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedObject {
    /// Which object.
    #[serde(flatten)]
    pub identity: Identity,
    /// What is the matter with it; empty where the failure says it all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether the message names it, so that people need not read it twice.
    #[serde(skip)]
    pub told: bool,
}

/// A use case that did not end well.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub remedies: Vec<Remedy>,
    /// The objects it is about.
    pub objects: Vec<FailedObject>,
    /// What had been done by then.
    pub report: Box<Report>,
    /// Whether the release is as it was before: what had been done was rolled back.
    pub went_back: bool,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure of this kind, about no object in particular, before anything was done.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            remedies: Vec::new(),
            objects: Vec::new(),
            report: Box::default(),
            went_back: false,
            cause: None,
        }
    }

    /// A check refused, the input is not valid, or a prompt was declined.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, message)
    }

    /// A request failed before anything was written.
    pub(crate) fn before_writing(what: &str, error: &ApiError) -> Self {
        let kind = FailureKind::before_writing(error);
        Self::new(kind, format!("{what}: {error}")).because(error.clone())
    }

    /// The run was stopped before anything was written.
    pub(crate) fn stopped(what: &str, stopped: Stopped) -> Self {
        Self::before_writing(what, &ApiError::stopped(stopped))
    }

    /// There is no such release.
    pub(crate) fn no_release(name: &impl fmt::Display, namespace: &impl fmt::Display) -> Self {
        let message = format!("there is no release {name} in namespace {namespace}");
        Self::new(FailureKind::NotFound, message).remedy(Remedy::ListReleases)
    }

    /// The same, for a release that something names and whose record was looked for. Why it may
    /// be there all the same, under another name, stands among the warnings.
    pub(crate) fn gone(release: &Release, warnings: &[String]) -> Self {
        let Release {
            name, namespace, ..
        } = release;
        let Some(warning) = warnings.first() else {
            return Self::no_release(name, namespace);
        };
        let message = format!(
            "cannot tell whether there is a release {name} in namespace {namespace}: {warning}"
        );
        Self::new(FailureKind::NotPermitted, message)
            .remedy("ask for the right to list Secrets in that namespace")
    }

    /// The same, where so many kinds could not be listed: objects may be left that have no record.
    #[must_use]
    pub(crate) fn unseen(mut self, kinds: UnseenKinds) -> Self {
        if kinds.count > 0 {
            self.message = format!(
                "{}: no record names it; whether objects with its labels are left cannot be told, \
                 because {} kinds could not be listed",
                self.message, kinds.count
            );
        }
        self
    }

    /// Somebody else wrote the record first, time and again.
    pub(crate) fn overtaken(release: &ReleaseName) -> Self {
        let message = format!("somebody else keeps writing the record of release {release}");
        Self::new(FailureKind::LockLost, message).remedy("try again when the other run is done")
    }

    /// Checks refused, with every reason at once.
    pub(crate) fn of_refusals(refusals: Refusals) -> Self {
        let mut failure = Self::new(refusals.kind(), refusals.to_string());
        for refusal in &refusals.0 {
            failure = refusal
                .remedies()
                .into_iter()
                .fold(failure, Failure::remedy);
            failure.objects.extend(refused_object(refusal));
        }
        failure.because(refusals)
    }

    /// The record could not be written while the run held its lock.
    pub(crate) fn unwritten(error: WriteError, what: &str) -> Self {
        match error {
            WriteError::Lost => Self::new(FailureKind::LockLost, "the release's lock was lost"),
            WriteError::Api(error) => {
                Self::new(FailureKind::Failed, format!("{what}: {error}")).because(error)
            }
        }
    }

    /// Two refusals at once.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.kind = self.kind.and(other.kind);
        self.message = format!("{}\n{}", self.message, other.message);
        self.remedies.extend(other.remedies);
        self.objects.extend(other.objects);
        self.cause = self.cause.or(other.cause);
        self
    }

    /// What the log says of it: the first object too, because the log has no list of them.
    pub(crate) fn for_the_log(&self) -> String {
        match self.objects.iter().find(|object| !object.told) {
            Some(first) => format!("{}: {}: {}", self.message, first.identity, first.reason),
            None => self.message.clone(),
        }
    }

    /// The same, with one more thing to do next; each is said once.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<Remedy>) -> Self {
        let remedy = remedy.into();
        if !self.remedies.contains(&remedy) {
            self.remedies.push(remedy);
        }
        self
    }

    /// The same, with one more object.
    #[must_use]
    pub fn object(mut self, identity: Identity, reason: impl Into<String>) -> Self {
        self.objects.push(FailedObject {
            identity,
            reason: reason.into(),
            told: false,
        });
        self
    }

    /// The same, about every object of a report that did not work.
    #[must_use]
    pub(crate) fn about_failed(self, report: &Report) -> Self {
        report.failed().fold(self, |failure, object| {
            let mut reason = object.reason.clone().unwrap_or_default();
            if let Some(template) = &object.template {
                reason = format!("{reason} (from {template})");
            }
            failure.object(object.identity.clone(), reason)
        })
    }

    /// The same, with what caused it.
    #[must_use]
    pub(crate) fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// The same, with what had been done by then.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = Box::new(report);
        self
    }
}

fn refused_object(refusal: &Refusal) -> Option<FailedObject> {
    let identity = refusal.object.clone()?;
    Some(FailedObject {
        identity,
        reason: refusal.message(),
        told: true,
    })
}

/// As the contract's `error`. Hints are in words that name no way of calling a use case; whoever
/// has such a way says them in its own words.
impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hints: Vec<String> = self.remedies.iter().map(ToString::to_string).collect();
        let mut fields = serializer.serialize_struct("Failure", 4)?;
        fields.serialize_field("kind", self.kind.word())?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("hints", &hints)?;
        fields.serialize_field("objects", &self.objects)?;
        fields.end()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    /// The typed cause: an [`ApiError`], [`Refusals`], or why a change or a record cannot be
    /// read.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}
