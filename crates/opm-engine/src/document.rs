//! The documents that scripts see, where they are not the fields of a value one by one.
//!
//! Their shapes are those of the command line contract; whoever serves them, prints the same.

use std::collections::BTreeMap;

use opm_core::check::TransferredObject;
use opm_core::entry::Entry;
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::record::ModuleRef;
use opm_core::repair::{FoundObject, RecoveredChange};
use serde::{Serialize, Serializer};

use crate::diff::{DiffReport, Difference};
use crate::history::HistoryEntry;
use crate::list::ListedRelease;
use crate::repair::{RepairReport, SecretState};
use crate::report::{Release, TrackedObject};

impl Serialize for DiffReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct DiffDocument<'a> {
            release: &'a Release,
            change_id: &'a str,
            manifest_digest: &'a str,
            current_change_id: Option<&'a str>,
            differences: bool,
            resources: &'a [Difference],
            transferred: &'a [TransferredObject],
            pending: &'a [TrackedObject],
            kept: &'a [TrackedObject],
            orphans: &'a [Entry],
            warnings: &'a [String],
        }
        let document = DiffDocument {
            release: &self.release,
            change_id: self.change_id.as_str(),
            manifest_digest: &self.manifest_digest,
            current_change_id: self.current.as_deref(),
            differences: self.differs(),
            resources: &self.objects,
            transferred: &self.transferred,
            pending: &self.pending,
            kept: &self.kept,
            orphans: &self.orphans,
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}

impl Serialize for HistoryEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct HistoryDocument<'a> {
            id: &'a str,
            module: Option<&'a ModuleRef>,
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
        let document = HistoryDocument {
            id: &self.id,
            module: change.map(|change| &change.module),
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
        struct ListedDocument<'a> {
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
            state: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            last_result: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            note: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            managed_by: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            health: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            ready: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            drifted: Option<usize>,
        }
        let summary = &self.summary;
        let overview = self.overview.as_ref().filter(|one| one.health.is_some());
        let told = |count| self.mark.is_none().then_some(count);
        let document = ListedDocument {
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
            state: summary.state.as_deref(),
            last_result: summary.last_result.as_deref(),
            note: self.mark,
            managed_by: self.manager.as_ref().map(ToString::to_string),
            health: overview.and_then(|one| one.health.map(HealthState::word)),
            ready: overview.map(|one| one.ready),
            drifted: overview.map(|one| one.drifted),
        };
        document.serialize(serializer)
    }
}

impl Serialize for RepairReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct RepairDocument<'a> {
            release: &'a Release,
            dry_run: bool,
            needed: bool,
            secret: &'static str,
            findings: Vec<String>,
            changes: &'a [RecoveredChange],
            current: Option<&'a str>,
            undetermined: bool,
            lost: &'a [String],
            objects: &'a [FoundObject],
            foreign: &'a [Identity],
            pending: &'a [TrackedObject],
            kept: &'a [TrackedObject],
            warnings: &'a [String],
        }
        let findings = self.findings.iter().map(ToString::to_string);
        let current = self.changes.iter().find(|change| change.current);
        let document = RepairDocument {
            release: &self.release,
            dry_run: self.dry_run,
            needed: self.needed,
            secret: match self.secret {
                SecretState::Whole => "whole",
                SecretState::Missing => "missing",
                SecretState::Damaged => "damaged",
            },
            findings: findings.chain(self.faults.iter().cloned()).collect(),
            changes: &self.changes,
            current: current.map(|change| change.id.as_str()),
            undetermined: self.undetermined,
            lost: &self.lost,
            objects: &self.objects,
            foreign: &self.foreign,
            pending: &self.pending,
            kept: &self.kept,
            warnings: &self.warnings,
        };
        document.serialize(serializer)
    }
}
