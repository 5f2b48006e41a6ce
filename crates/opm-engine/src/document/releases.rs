//! How releases stand: status, lists, and what a repair found.

use opm_core::drift::FieldDrift;
use opm_core::repair::{ChangeSource, FoundObject, RecoveredChange};
use opm_core::status::{ComponentStatus, ObjectStatus, Presence};
use serde::{Serialize, Serializer};

use super::{EntryDocument, IdentityDocument, ModuleDocument, OtherReleaseDocument, all};
use crate::list::{ListedRelease, Listing, UnreadableNamespace};
use crate::repair::{RepairReport, SecretState};
use crate::report::{Release, TrackedObject};
use crate::status::{LockStatus, Status, TrackedStatus};

#[derive(Serialize)]
struct DriftDocument<'a> {
    field: &'a str,
    by: Option<&'a str>,
    at: Option<&'a str>,
}

impl<'a> From<&'a FieldDrift> for DriftDocument<'a> {
    fn from(drift: &'a FieldDrift) -> Self {
        Self {
            field: &drift.field,
            by: drift.by.as_deref(),
            at: drift.at.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ObjectDocument<'a> {
    #[serde(flatten)]
    entry: EntryDocument<'a>,
    health: &'static str,
    message: &'a str,
    drifted: bool,
    drift: Vec<DriftDocument<'a>>,
}

impl<'a> From<&'a ObjectStatus> for ObjectDocument<'a> {
    fn from(object: &'a ObjectStatus) -> Self {
        Self {
            entry: (&object.entry).into(),
            health: object.word(),
            message: &object.health.message,
            drifted: object.is_drifted(),
            drift: all(&object.drift),
        }
    }
}

#[derive(Serialize)]
struct ComponentDocument<'a> {
    name: &'a str,
    health: &'static str,
    resources: Vec<ObjectDocument<'a>>,
}

impl<'a> From<&'a ComponentStatus> for ComponentDocument<'a> {
    fn from(component: &'a ComponentStatus) -> Self {
        Self {
            name: &component.name,
            health: component.health.word(),
            resources: all(&component.objects),
        }
    }
}

#[derive(Serialize)]
struct TransferredDocument<'a> {
    #[serde(flatten)]
    entry: EntryDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<OtherReleaseDocument<'a>>,
}

impl<'a> From<&'a ObjectStatus> for TransferredDocument<'a> {
    fn from(object: &'a ObjectStatus) -> Self {
        Self {
            entry: (&object.entry).into(),
            to: match &object.presence {
                Presence::Transferred(to) => Some(to.into()),
                _ => None,
            },
        }
    }
}

impl Serialize for TrackedStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            tracked: &'a TrackedObject,
            exists: Option<bool>,
        }
        let document = Document {
            tracked: &self.tracked,
            exists: self.exists,
        };
        document.serialize(serializer)
    }
}

impl Serialize for LockStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            holder: &'a str,
            since: &'a str,
            host: &'a str,
            command: &'a str,
            expired: bool,
        }
        let lock = &self.lock;
        let document = Document {
            holder: &lock.holder,
            since: &lock.since,
            host: &lock.host,
            command: &lock.command,
            expired: self.expired,
        };
        document.serialize(serializer)
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: &'a Release,
            module: Option<ModuleDocument<'a>>,
            change_id: Option<&'a str>,
            last_transition_time: Option<&'a str>,
            health: &'static str,
            source: &'static str,
            components: Vec<ComponentDocument<'a>>,
            transferred: Vec<TransferredDocument<'a>>,
            pending: &'a [TrackedStatus],
            kept: &'a [TrackedStatus],
            orphans: Vec<EntryDocument<'a>>,
            lock: Option<&'a LockStatus>,
            warnings: &'a [String],
        }
        let document = Document {
            release: &self.release,
            module: self.module.as_ref().map(ModuleDocument::from),
            change_id: self.change_id.as_deref(),
            last_transition_time: self.last_transition_time.as_deref(),
            health: self.health.word(),
            source: self.source.word(),
            components: all(&self.components),
            transferred: all(&self.transferred),
            pending: &self.pending,
            kept: &self.kept,
            orphans: all(&self.orphans),
            lock: self.lock.as_ref(),
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}

/// The module as every document names it, as far as it is known.
#[derive(Serialize)]
struct ListedModule<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    local: bool,
}

/// What a marked release does not tell is null.
impl Serialize for ListedRelease {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            name: &'a str,
            namespace: &'a str,
            release_id: &'a str,
            module: ListedModule<'a>,
            change_id: Option<&'a str>,
            objects: Option<u64>,
            pending: Option<u64>,
            kept: Option<u64>,
            last_transition_time: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            last_result: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            note: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            health: Option<&'static str>,
        }
        let summary = &self.summary;
        let told = |count| self.mark.is_none().then_some(count);
        let document = Document {
            name: &summary.name,
            namespace: &summary.namespace,
            release_id: &summary.release_id,
            module: ListedModule {
                name: &summary.module,
                path: &summary.path,
                version: summary.version.as_deref(),
                local: summary.version.is_none() && !summary.path.is_empty(),
            },
            change_id: summary.change_id.as_deref(),
            objects: told(summary.objects),
            pending: told(summary.pending),
            kept: told(summary.kept),
            last_transition_time: summary.last_transition_time.as_deref(),
            last_result: summary.last_result.as_deref(),
            note: self.mark,
            health: self.health.map(|health| health.word()),
        };
        document.serialize(serializer)
    }
}

impl Serialize for UnreadableNamespace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            namespace: Option<&'a str>,
            reason: &'a str,
        }
        let document = Document {
            namespace: self.namespace.as_deref(),
            reason: &self.reason,
        };
        document.serialize(serializer)
    }
}

impl Serialize for Listing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            releases: &'a [ListedRelease],
            unseen: &'a [UnreadableNamespace],
        }
        let document = Document {
            releases: &self.releases,
            unseen: &self.unseen,
        };
        document.serialize(serializer)
    }
}

#[derive(Serialize)]
struct RecoveredDocument<'a> {
    id: &'a str,
    source: &'static str,
    objects: usize,
}

impl<'a> From<&'a RecoveredChange> for RecoveredDocument<'a> {
    fn from(change: &'a RecoveredChange) -> Self {
        Self {
            id: &change.id,
            source: match change.source {
                ChangeSource::Secret => "secret",
                ChangeSource::Records => "records",
            },
            objects: change.objects,
        }
    }
}

#[derive(Serialize)]
struct FoundDocument<'a> {
    #[serde(flatten)]
    entry: EntryDocument<'a>,
    #[serde(rename = "as")]
    found_as: &'static str,
}

impl<'a> From<&'a FoundObject> for FoundDocument<'a> {
    fn from(object: &'a FoundObject) -> Self {
        Self {
            entry: (&object.entry).into(),
            found_as: object.taken.word(),
        }
    }
}

impl Serialize for RepairReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            release: &'a Release,
            dry_run: bool,
            needed: bool,
            secret: &'static str,
            findings: Vec<String>,
            changes: Vec<RecoveredDocument<'a>>,
            lost: &'a [String],
            current: Option<&'a str>,
            undetermined: bool,
            objects: Vec<FoundDocument<'a>>,
            foreign: Vec<IdentityDocument<'a>>,
            pending: &'a [TrackedObject],
            kept: &'a [TrackedObject],
            warnings: &'a [String],
        }
        let findings = self.findings.iter().map(ToString::to_string);
        let current = self.changes.iter().find(|change| change.current);
        let document = Document {
            release: &self.release,
            dry_run: self.dry_run,
            needed: self.needed,
            secret: match self.secret {
                SecretState::Whole => "whole",
                SecretState::Missing => "missing",
                SecretState::Damaged => "damaged",
            },
            findings: findings.chain(self.faults.iter().cloned()).collect(),
            changes: all(&self.changes),
            lost: &self.lost,
            current: current.map(|change| change.id.as_str()),
            undetermined: self.undetermined,
            objects: all(&self.objects),
            foreign: all(&self.foreign),
            pending: &self.pending,
            kept: &self.kept,
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}
