//! What an apply would change, what changes changed, and what is recorded of them.

use std::collections::BTreeMap;

use opm_core::check::TransferredObject;
use opm_core::diff::{FieldChange, ShownValue};
use opm_core::history::{ObjectChange, ObjectChangeKind};
use opm_core::record::LogEntry;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{EntryDocument, IdentityDocument, ModuleDocument, OtherReleaseDocument, all};
use crate::diff::{DiffReport, Difference};
use crate::history::{Comparison, History, HistoryEntry};
use crate::history::{ShownManifests, ShownObject, ShownValues};
use crate::report::{ObjectOutcome, Release, TrackedObject};

/// What stands in place of a value that must not be seen; `masked` then says so too.
const MASK: &str = "(masked)";

/// A value that is not there is left out.
#[derive(Serialize)]
struct FieldDocument<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    masked: bool,
}

impl<'a> From<&'a FieldChange> for FieldDocument<'a> {
    fn from(change: &'a FieldChange) -> Self {
        let shown = |shown: &ShownValue| shown.value().cloned().unwrap_or_else(|| MASK.into());
        let sides = [&change.old, &change.new];
        Self {
            path: &change.path,
            before: change.old.as_ref().map(shown),
            after: change.new.as_ref().map(shown),
            masked: sides.into_iter().flatten().any(ShownValue::is_masked),
        }
    }
}

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            outcome: &'a ObjectOutcome,
            changes: Vec<FieldDocument<'a>>,
        }
        let document = Document {
            outcome: &self.outcome,
            changes: all(&self.changes),
        };
        document.serialize(serializer)
    }
}

#[derive(Serialize)]
struct TransferredDocument<'a> {
    #[serde(flatten)]
    entry: EntryDocument<'a>,
    to: OtherReleaseDocument<'a>,
}

impl<'a> From<&'a TransferredObject> for TransferredDocument<'a> {
    fn from(object: &'a TransferredObject) -> Self {
        Self {
            entry: (&object.entry).into(),
            to: (&object.to).into(),
        }
    }
}

impl Serialize for DiffReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: &'a Release,
            change_id: &'a str,
            manifest_digest: &'a str,
            current_change_id: Option<&'a str>,
            differences: bool,
            resources: &'a [Difference],
            transferred: Vec<TransferredDocument<'a>>,
            pending: &'a [TrackedObject],
            kept: &'a [TrackedObject],
            warnings: &'a [String],
        }
        let document = Document {
            release: &self.release,
            change_id: self.change_id.as_str(),
            manifest_digest: &self.manifest_digest,
            current_change_id: self.current.as_deref(),
            differences: self.differs(),
            resources: &self.objects,
            transferred: all(&self.transferred),
            pending: &self.pending,
            kept: &self.kept,
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}

impl Serialize for HistoryEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            id: &'a str,
            module: Option<ModuleDocument<'a>>,
            timestamp: Option<&'a str>,
            manifest_digest: Option<&'a str>,
            objects: Option<u64>,
            current: bool,
            rollback: bool,
            reason: Option<&'a str>,
            parent: Option<&'a str>,
            components: Option<&'a [String]>,
            features: Option<&'a BTreeMap<String, bool>>,
        }
        let change = self.change.as_ref();
        let document = Document {
            id: &self.id,
            module: change.map(|change| ModuleDocument::from(&change.module)),
            timestamp: change.map(|change| change.timestamp.as_str()),
            manifest_digest: change.map(|change| change.manifest_digest.as_str()),
            objects: self.objects(),
            current: self.current,
            rollback: self.no_way_back.is_none(),
            reason: self.no_way_back.as_deref(),
            parent: change.and_then(|change| change.parent.as_deref()),
            components: change.and_then(|change| change.components.as_deref()),
            features: change.and_then(|change| change.features.as_ref()),
        };
        document.serialize(serializer)
    }
}

#[derive(Serialize)]
struct LogDocument<'a> {
    id: &'a str,
    command: &'a str,
    time: &'a str,
    seconds: u64,
    who: &'a str,
    from: &'a str,
    opm: &'a str,
    message: Option<&'a str>,
    change: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<ModuleDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<&'a [String]>,
    result: &'a str,
    reason: Option<&'a str>,
    counts: &'a opm_core::record::Counts,
}

impl<'a> From<&'a LogEntry> for LogDocument<'a> {
    fn from(entry: &'a LogEntry) -> Self {
        Self {
            id: &entry.id,
            command: &entry.command,
            time: &entry.time,
            seconds: entry.seconds,
            who: &entry.who,
            from: &entry.from,
            opm: &entry.opm,
            message: entry.message.as_deref(),
            change: entry.change.as_deref(),
            module: entry.module.as_ref().map(ModuleDocument::from),
            values: entry.values.as_deref(),
            components: entry.components.as_deref(),
            result: entry.result.word(),
            reason: entry.reason.as_deref(),
            counts: &entry.counts,
        }
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            release: &'a Release,
            changes: &'a [HistoryEntry],
            log: Vec<LogDocument<'a>>,
        }
        let document = Document {
            release: &self.release,
            changes: &self.changes,
            log: all(&self.log),
        };
        document.serialize(serializer)
    }
}

#[derive(Serialize)]
struct ObjectChangeDocument<'a> {
    #[serde(flatten)]
    identity: IdentityDocument<'a>,
    happened: &'static str,
    changes: Vec<FieldDocument<'a>>,
}

impl<'a> From<&'a ObjectChange> for ObjectChangeDocument<'a> {
    fn from(change: &'a ObjectChange) -> Self {
        Self {
            identity: (&change.identity).into(),
            happened: change.happened.word(),
            changes: match &change.happened {
                ObjectChangeKind::Changed(fields) => all(fields),
                ObjectChangeKind::Added | ObjectChangeKind::Removed => Vec::new(),
            },
        }
    }
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            release: &'a Release,
            from: Option<&'a str>,
            to: &'a str,
            objects: Vec<ObjectChangeDocument<'a>>,
        }
        let document = Document {
            release: &self.release,
            from: self.from.as_deref(),
            to: &self.to,
            objects: all(&self.objects),
        };
        document.serialize(serializer)
    }
}

impl Serialize for ShownValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: &'a Release,
            change_id: &'a str,
            values: &'a str,
        }
        let document = Document {
            release: &self.release,
            change_id: &self.change,
            values: &self.values,
        };
        document.serialize(serializer)
    }
}

impl Serialize for ShownObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            component: &'a str,
            object: &'a serde_json::Map<String, Value>,
        }
        let document = Document {
            component: &self.component,
            object: &self.object,
        };
        document.serialize(serializer)
    }
}

impl Serialize for ShownManifests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: &'a Release,
            change_id: &'a str,
            manifest_digest: &'a str,
            resources: &'a [ShownObject],
        }
        let document = Document {
            release: &self.release,
            change_id: &self.change,
            manifest_digest: &self.digest,
            resources: &self.objects,
        };
        document.serialize(serializer)
    }
}
