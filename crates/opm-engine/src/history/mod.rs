//! `history` and `show`: what the record remembers of a release, read and never written.
//!
//! Everything here only reads. A change whose manifests are gone or damaged is shown as far as
//! it goes; the others stay usable.

mod compare;
pub(crate) mod request;
mod restored;
mod show;

use std::collections::BTreeSet;

use opm_core::name::NamespaceName;
use opm_core::record::{Change, Content, LogEntry, Record, RecordPart, ReleaseState, Stored};
use serde::Serialize;

use crate::failure::{Failure, FailureKind, Remedy};
use crate::record::{RecordLookup, RecordSecret, RecordSecretScope, held};
use crate::report::Release;
use crate::request::{HistoryRequest, ReleaseRef};
use crate::run::Run;

pub use compare::Comparison;
pub(crate) use restored::{RestoredChange, RestoredChangeError, values_of};
pub(crate) use show::unavailable;
pub use show::{ShownManifests, ShownObject, ShownValues};

/// What a record remembers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// Whose.
    pub release: Release,
    /// Its changes, newest first.
    pub changes: Vec<HistoryEntry>,
    /// Its deployments, newest first.
    pub log: Vec<LogEntry>,
    /// What became of the release as a whole.
    #[serde(skip_serializing_if = "ReleaseState::is_live")]
    pub state: ReleaseState,
    /// How many objects were left standing.
    #[serde(skip)]
    pub kept: usize,
    /// What the user should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// One change of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Its id.
    pub id: String,
    /// The change; none if it cannot be read.
    pub change: Option<Change>,
    /// Whether it is the one that is applied.
    pub current: bool,
    /// Why one cannot go back to it with what is kept; none if one can.
    pub no_way_back: Option<String>,
}

impl HistoryEntry {
    /// How many objects it applied, if that is known.
    pub fn objects(&self) -> Option<u64> {
        let change = self.change.as_ref()?;
        match change.inventory.here() {
            Some(inventory) => Some(inventory.entries.len() as u64),
            None => change.record.as_ref()?.objects,
        }
    }
}

impl Run<'_> {
    /// The changes and the deployments of a release.
    pub(crate) async fn history(&self, request: &HistoryRequest) -> Result<History, Failure> {
        let mut past = self.past(&request.release, &request.namespace).await?;
        let secrets = self
            .record_secrets(&past.release, &past.record, RecordSecretScope::Named)
            .await;
        let secrets = secrets.map_err(|error| {
            past.warnings.push(format!(
                "whether the manifests of changes are still there is unknown: {error}"
            ));
        });
        let mut changes = changes(&past.release, &past.record, secrets.ok().as_deref());
        if !past.writable {
            for change in &mut changes {
                change.no_way_back = Some("another version of opm wrote the record".to_owned());
            }
        }
        Ok(History {
            release: past.release,
            changes,
            state: past.record.metadata.state,
            kept: past.record.kept.objects.len(),
            log: past.record.log,
            warnings: past.warnings,
        })
    }

    /// The record of a release that must exist, to be looked at: also one that this version may
    /// not write.
    async fn past(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Result<ShownRecord, Failure> {
        let release = self.existing(reference, namespace).await?;
        let (found, warnings) = self.look_up_record(&release).await?;
        let (record, writable) = match found {
            RecordLookup::Absent => {
                return Err(Failure::gone(&release, &warnings));
            }
            RecordLookup::Damaged { secret, why } => {
                let message = format!("Secret/{secret}: {why}");
                return Err(Failure::refused(message).remedy(Remedy::Repair));
            }
            RecordLookup::Seen(read) => match read.stored {
                Stored::Writable(record) => (record, true),
                Stored::ReadOnly(newer) => (newer.shown().clone(), false),
            },
        };
        Ok(ShownRecord {
            release,
            record,
            writable,
            warnings,
        })
    }
}

/// A record that is only looked at.
struct ShownRecord {
    release: Release,
    record: Record,
    writable: bool,
    warnings: Vec<String>,
}

/// The change that a command names.
pub(crate) fn find_change<'a>(record: &'a Record, given: &str) -> Result<&'a Change, Failure> {
    let id = opm_core::history::named(record, given).map_err(|error| {
        Failure::new(FailureKind::NotFound, error.to_string()).remedy(Remedy::ShowHistoryToName)
    })?;
    readable(record, id)
}

/// A change of the history that has to be readable.
pub(crate) fn readable<'a>(record: &'a Record, id: &str) -> Result<&'a Change, Failure> {
    record.change(id).ok_or_else(|| {
        let message = format!("{id} is in the history, but cannot be read: it is damaged");
        Failure::refused(message).remedy(Remedy::ShowReadableHistory)
    })
}

fn changes(
    release: &Release,
    record: &Record,
    secrets: Option<&[RecordSecret]>,
) -> Vec<HistoryEntry> {
    let there: Option<BTreeSet<&str>> =
        secrets.map(|all| all.iter().map(RecordSecret::name).collect());
    let current = record.history.first().filter(|_| !record.is_deleted());
    let current = current.map(|slot| &slot.id);
    let slots = record.slots();
    slots
        .map(|slot| {
            let change = match &slot.content {
                Content::Read(change) => Some((**change).clone()),
                Content::Damaged(_) | Content::Absent => None,
            };
            HistoryEntry {
                id: slot.id.clone(),
                no_way_back: match &change {
                    Some(change) => no_way_back(release, change, there.as_ref()),
                    None => Some("it cannot be read".to_owned()),
                },
                change,
                current: Some(&slot.id) == current,
            }
        })
        .collect()
}

fn no_way_back(
    release: &Release,
    change: &Change,
    there: Option<&BTreeSet<&str>>,
) -> Option<String> {
    if let Err(error) = held(change) {
        return Some(error.to_string());
    }
    let record = change.record.as_ref()?;
    if let Some(why) = record.dropped.get(&RecordPart::Values) {
        return Some(format!("its values are no longer there: {why}"));
    }
    let names = record.places().into_iter();
    let mut names = names.filter_map(|place| release.id.record_secret(&release.name, place));
    let missing = names.find(|name| there.is_some_and(|there| !there.contains(&**name)))?;
    Some(format!(
        "Secret/{missing}, which holds a part of it, does not exist"
    ))
}
