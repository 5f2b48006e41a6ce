//! The notes of the last apply, in a record Secret of their own.
//!
//! They are written over in place, before the record that names them: a run that ends in between
//! leaves notes that do not fit the record, which count as none.

use std::collections::BTreeMap;

use opm_core::record::{
    AppliedNotes, PartLocation, Record, RecordPart, decode_notes, encode_notes, labels_beside,
};

use super::payload::{PackedPayload, PayloadPlaces, PayloadTarget};
use crate::ports::Permit;
use crate::report::Release;
use crate::run::Run;

/// What is remembered of the last apply, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredNotes {
    pub(crate) notes: AppliedNotes,
    /// Whether the manifests of the current change are where the record says.
    pub(crate) manifests_there: bool,
    /// Whether nothing is left at the places that an earlier run has given up.
    pub(crate) swept: bool,
    /// Where they are, if they could be read.
    held: Option<PartLocation>,
    /// The resourceVersions of the Secrets that hold them, by place.
    versions: BTreeMap<u8, String>,
}

impl Run<'_> {
    /// The notes of the current change. None where there are none, or they cannot be read.
    /// Whether its manifests are there matters only to who might have nothing to do.
    pub(crate) async fn stored_notes(
        &self,
        release: &Release,
        record: &Record,
        same_change: bool,
    ) -> StoredNotes {
        let held = |part| {
            let parts = &record.current()?.record.as_ref()?.parts;
            parts.get(&part)
        };
        let Some(held_notes) = held(RecordPart::Applied) else {
            return StoredNotes::default();
        };
        let manifests = held(RecordPart::Manifests);
        let there = async {
            match manifests {
                Some(held) if same_change => self.are_there(release, &held.places).await,
                _ => false,
            }
        };
        let swept = async {
            let given_up = record.given_up();
            given_up.is_empty() || (same_change && self.are_swept(release, &given_up).await)
        };
        let (mut notes, manifests_there, swept) = futures::join!(
            Box::pin(self.read_notes(release, held_notes)),
            Box::pin(there),
            Box::pin(swept)
        );
        notes.manifests_there = manifests_there;
        notes.swept = swept;
        notes
    }

    async fn read_notes(&self, release: &Release, held: &PartLocation) -> StoredNotes {
        let unpacked = self.unpacked.used();
        let mut versions = BTreeMap::new();
        let key = RecordPart::Applied.word();
        let read = self.read_versioned(release, key, held, &mut versions).await;
        self.unpacked.give_back_to(unpacked);
        StoredNotes {
            notes: read.as_deref().map(decode_notes).unwrap_or_default(),
            held: read.is_ok().then(|| held.clone()),
            versions,
            manifests_there: false,
            swept: false,
        }
    }

    /// Keeps the notes of this run, over those of the run before. None if they cannot be kept,
    /// which costs the next run nothing but time.
    pub(crate) async fn keep_notes(
        &self,
        release: &Release,
        notes: &AppliedNotes,
        before: &StoredNotes,
        stored: &Record,
        permit: Permit<'_>,
    ) -> Option<PartLocation> {
        if notes.is_empty() {
            return None;
        }
        if *notes == before.notes && before.held.is_some() {
            return before.held.clone();
        }
        let target = PayloadTarget {
            release,
            labels: labels_beside(stored),
            of: None,
            permit,
        };
        let places = PayloadPlaces::OverNotes(stored, &before.versions);
        let key = RecordPart::Applied.word();
        let payload = PackedPayload::of(key, [encode_notes(notes)]).ok()?;
        let written = self.write_to(&target, key, payload, places).await;
        written.ok()
    }
}
