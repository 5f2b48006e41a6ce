//! What became of a use case, and how it failed.

use serde::{Serialize, Serializer};

use super::{EntryDocument, IdentityDocument};
use crate::failure::{FailedObject, Failure};
use crate::report::{ObjectOutcome, Release, Report, TrackedObject};

impl Serialize for ObjectOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            entry: EntryDocument<'a>,
            action: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        }
        let document = Document {
            entry: EntryDocument::new(&self.identity, &self.version, &self.component),
            action: self.action.word(),
            reason: self.reason.as_deref(),
        };
        document.serialize(serializer)
    }
}

impl Serialize for TrackedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            entry: EntryDocument<'a>,
            why: &'static str,
            change: &'a str,
            since: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        }
        let document = Document {
            entry: EntryDocument::new(&self.identity, &self.version, &self.component),
            why: self.why,
            change: &self.change,
            since: &self.since,
            reason: self.reason.as_deref(),
        };
        document.serialize(serializer)
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: Option<&'a Release>,
            change_id: Option<&'a str>,
            manifest_digest: Option<&'a str>,
            first_apply: bool,
            dry_run: bool,
            resources: &'a [ObjectOutcome],
            pending: &'a [TrackedObject],
            kept: &'a [TrackedObject],
            #[serde(skip_serializing_if = "Option::is_none")]
            state: Option<&'a str>,
            warnings: &'a [String],
        }
        let document = Document {
            release: self.release.as_ref(),
            change_id: self.change_id.as_ref().map(|id| id.as_str()),
            manifest_digest: self.manifest_digest.as_deref(),
            first_apply: self.first_apply,
            dry_run: self.dry_run,
            resources: &self.resources,
            pending: &self.pending,
            kept: &self.kept,
            state: self.state.word(),
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}

impl Serialize for FailedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            identity: IdentityDocument<'a>,
            reason: &'a str,
        }
        let document = Document {
            identity: (&self.identity).into(),
            reason: &self.reason,
        };
        document.serialize(serializer)
    }
}

/// As the contract's `error`. Hints are in words that name no way of calling a use case; who
/// has such a way says them in its own words.
impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            kind: &'static str,
            message: &'a str,
            hints: Vec<String>,
            objects: &'a [FailedObject],
        }
        let document = Document {
            kind: self.kind.word(),
            message: &self.message,
            hints: self.remedies.iter().map(ToString::to_string).collect(),
            objects: &self.objects,
        };
        document.serialize(serializer)
    }
}
