//! The changes that record Secrets keep beside their manifests: read back, and believed only if
//! manifests, digest and id belong together.

use std::collections::BTreeMap;

use opm_core::digest::{ManifestDigest, ObjectHash};
use opm_core::ids::ChangeId;
use opm_core::record::{
    Body, Change, LogEntry, PartLocation, RecordPart, RecordRef, decode_change, decode_log,
};

use crate::failure::Failure;
use crate::ports::StoredSecret;
use crate::record::{
    CHANGE_ANNOTATION, CHANGE_KEY, LOG_KEY, PayloadFormat, RecordSecretScope, UnpackBudget, unpack,
};
use crate::report::Release;
use crate::run::Run;

/// One change, as its record Secrets hold it.
#[derive(Default)]
struct ChangePieces {
    places: Vec<u8>,
    packed: Vec<u8>,
    change: Option<Vec<u8>>,
    log: Option<Vec<u8>>,
}

/// What record Secrets keep for the day on which the release's Secret is lost.
#[derive(Default)]
pub(super) struct KeptChanges {
    /// The changes, in no order.
    pub(super) changes: Vec<Change>,
    /// Copies of the log, in no order.
    pub(super) logs: Vec<Vec<LogEntry>>,
}

impl Run<'_> {
    /// All changes that can be had, and copies of the log.
    pub(super) async fn kept_changes(
        &self,
        release: &Release,
        warnings: &mut Vec<String>,
    ) -> Result<KeptChanges, Failure> {
        let what = format!("cannot read the records of release {}", release.name);
        let failed = |error| Failure::before_writing(&what, &error);
        let nothing = release.empty_record();
        let existing = self.record_secrets(release, &nothing, RecordSecretScope::All);
        let mut by_change: BTreeMap<String, BTreeMap<u8, StoredSecret>> = BTreeMap::new();
        for secret in existing.await.map_err(failed)? {
            let name = secret.name();
            let stored = self
                .backend
                .get_secret(release.namespace.as_str(), name)
                .await;
            let Some(stored) = stored.map_err(failed)? else {
                continue;
            };
            let change = stored.content.annotations.get(CHANGE_ANNOTATION).cloned();
            let place = name.rsplit('.').next().and_then(|place| place.parse().ok());
            if let (Some(change), Some(place)) = (change, place) {
                by_change.entry(change).or_default().insert(place, stored);
            }
        }
        let mut kept = KeptChanges::default();
        for (id, secrets) in by_change {
            let pieces = pieces(&secrets);
            match verified(&id, &pieces, &self.unpacked) {
                Some(change) => {
                    kept.changes.push(change);
                    kept.logs.extend(copied_log(&pieces, &self.unpacked));
                }
                None => warnings.push(format!(
                    "the records of {id} are damaged, and were not used"
                )),
            }
        }
        Ok(kept)
    }
}

/// The pieces of one change, in the order of their places.
fn pieces(secrets: &BTreeMap<u8, StoredSecret>) -> ChangePieces {
    let mut pieces = ChangePieces::default();
    for (place, stored) in secrets {
        let data = &stored.content.data;
        if let Some(piece) = data.get(RecordPart::Manifests.word()) {
            pieces.places.push(*place);
            pieces.packed.extend_from_slice(piece);
        }
        if let Some(change) = data.get(CHANGE_KEY) {
            pieces.change = Some(change.clone());
        }
        if let Some(log) = data.get(LOG_KEY) {
            pieces.log = Some(log.clone());
        }
    }
    pieces
}

/// The copy of the log, if it can be read.
fn copied_log(pieces: &ChangePieces, budget: &UnpackBudget) -> Option<Vec<LogEntry>> {
    let log = unpack(pieces.log.as_deref()?, PayloadFormat::Json, budget).ok()?;
    decode_log(&log).ok()
}

/// The change, if its manifests are what it says, and it is what its id says.
fn verified(id: &str, pieces: &ChangePieces, budget: &UnpackBudget) -> Option<Change> {
    let change = unpack(pieces.change.as_deref()?, PayloadFormat::Json, budget).ok()?;
    let mut change = decode_change(id, &change).ok()?;
    let used = budget.used();
    // Only looked at, not read.
    let manifests = unpack(&pieces.packed, PayloadFormat::Text, budget).ok()?;
    budget.give_back_to(used);
    let digest = ManifestDigest::of_canonical(&manifests);
    let Body::Here(values) = &change.values else {
        return None;
    };
    let module = &change.module;
    let own = ChangeId::of(&module.path, module.version.as_deref(), &values.0, &digest);
    if change.manifest_digest != digest.as_str() || own.as_str() != id {
        return None;
    }
    let held = PartLocation {
        places: pieces.places.clone(),
        bytes: pieces.packed.len() as u64,
        hash: Some(ObjectHash::of_bytes(&manifests)),
    };
    let mut record = RecordRef::default();
    record.parts.insert(RecordPart::Manifests, held);
    change.record = Some(record);
    Some(change)
}
