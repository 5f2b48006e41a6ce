//! What is too large for the release's Secret: moved out before a record is written, brought
//! back after one is loaded.
//!
//! Which parts move, and in which order, is `opm-core`'s plan (`record::size`); this carries it
//! out over the ring. A part that is stored already, unchanged, stays where it is.

use std::collections::BTreeSet;

use opm_core::digest::ObjectHash;
use opm_core::failure::Remedy;
use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::record::moved::{self, missing, missing_of, put_back, put_back_part};
use opm_core::record::ring::named;
use opm_core::record::room::give_way;
use opm_core::record::size::{FittedRecord, MovedPart, PartOwner, Records, fit};
use opm_core::record::{Change, PartLocation, Record, labels_beside};
use opm_core::words;

use super::payload::{PackedPayload, PayloadError, PayloadTarget};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, Permit};
use crate::report::Release;
use crate::run::Run;

impl Run<'_> {
    /// Whether a run may use record Secrets for what is too large.
    pub(crate) fn records(&self, wanted: bool) -> Records {
        match wanted && self.has(CHANGE_RECORDS.as_str()) {
            true => Records::Used,
            false => Records::Off,
        }
    }

    /// The record with everything in it that plans need: the current change, what is pending
    /// and what is kept. One that was never too large comes back as it is, and costs nothing.
    pub(crate) async fn bodies(
        &self,
        release: &Release,
        mut record: Record,
    ) -> Result<Record, PayloadError> {
        for (owner, held) in missing(&record) {
            let payload = self.read_payload(release, owner.word(), &held).await?;
            put_back(&mut record, &owner, &payload)
                .map_err(|finding| PayloadError::Damaged(finding.to_string()))?;
        }
        Ok(record)
    }

    /// One change with its values and its inventory in it, wherever they are stored: for older
    /// changes, which [`Engine::bodies`] leaves as they are.
    pub(crate) async fn whole_change(
        &self,
        release: &Release,
        change: &Change,
    ) -> Result<Change, Failure> {
        let mut change = change.clone();
        for owner in missing_of(&change) {
            let PartOwner::Change(id, part) = &owner else {
                continue;
            };
            let held = change.record.as_ref().and_then(|r| r.parts.get(part));
            let held = held.cloned().unwrap_or_default();
            let payload = self.read_payload(release, part.word(), &held).await;
            let payload = payload.map_err(|error| unreadable(release, &error))?;
            let done = put_back_part(&mut change, *part, &payload);
            done.map_err(|finding| {
                let message = format!("{id} cannot be read: {finding}");
                Failure::new(FailureKind::Refused, message)
            })?;
        }
        Ok(change)
    }

    /// Makes a record fit, and writes what moves out of it. `stored` is the record as it stands
    /// in the cluster: its places are not written over.
    pub(super) async fn slim(
        &self,
        release: &Release,
        record: Record,
        stored: &Record,
        records: Records,
        permit: Permit<'_>,
    ) -> Result<FittedRecord, ApiError> {
        let mut fitted = self.fit(record, records)?;
        let target = PayloadTarget {
            release,
            labels: labels_beside(stored),
            of: None,
            permit,
        };
        for moved in std::mem::take(&mut fitted.moves) {
            match unchanged(&moved, stored) {
                Some(held) => fitted.place(&moved.owner, held),
                None => self.move_out(&target, &moved, stored, &mut fitted).await?,
            }
        }
        Ok(fitted)
    }

    /// A record in the size that a Secret can have.
    pub(super) fn fit(&self, record: Record, records: Records) -> Result<FittedRecord, ApiError> {
        let fitted = fit(record, records, self.settings.record_limit);
        match fitted.too_large {
            false => Ok(fitted),
            true => Err(ApiError::local(
                ApiErrorKind::TooLarge,
                "it would become larger than a Secret may be",
            )),
        }
    }

    async fn move_out(
        &self,
        target: &PayloadTarget<'_>,
        moved: &MovedPart,
        stored: &Record,
        fitted: &mut FittedRecord,
    ) -> Result<(), ApiError> {
        let changes = fitted.record.history.len();
        loop {
            let taken: BTreeSet<u8> = &named(stored) | &named(&fitted.record);
            let key = moved.owner.word();
            let written = match PackedPayload::of(key, [moved.payload.clone()]) {
                Ok(payload) => self.write_payload(target, key, payload, &taken).await,
                Err(error) => Err(error),
            };
            match written {
                Ok(held) => {
                    fitted.place(&moved.owner, held);
                    break;
                }
                Err(PayloadError::Api(error)) => return Err(error),
                Err(PayloadError::Full) if give_way(&mut fitted.record) => {}
                Err(error) => {
                    return Err(ApiError::local(ApiErrorKind::TooLarge, error.to_string()));
                }
            }
        }
        let left = fitted.record.history.len();
        if left < changes {
            fitted.notes.push(format!(
                "history was cut from {changes} to {}: there is no room for more",
                words::count(left, "change")
            ));
        }
        Ok(())
    }
}

/// Where a part is stored already, if it has not changed since.
fn unchanged(moved: &MovedPart, stored: &Record) -> Option<PartLocation> {
    let held = moved::held(stored, &moved.owner)?;
    let hash = ObjectHash::of_bytes(&moved.payload);
    (held.hash.as_ref() == Some(&hash)).then(|| held.clone())
}

/// Gives every part its place that has one already. None if there is one that has none.
pub(super) fn all_in_place(mut fitted: FittedRecord, stored: Option<&Record>) -> Option<Record> {
    for moved in std::mem::take(&mut fitted.moves) {
        let held = unchanged(&moved, stored?)?;
        fitted.place(&moved.owner, held);
    }
    Some(fitted.record)
}

/// A part of the record that plans need cannot be had.
pub(super) fn unreadable(release: &Release, error: &PayloadError) -> Failure {
    let what = format!(
        "a part of the record of release {} in namespace {} cannot be read",
        release.name, release.namespace
    );
    match error {
        PayloadError::Api(error) => Failure::before_writing(&what, error),
        other => {
            Failure::new(FailureKind::Refused, format!("{what}: {other}")).remedy(Remedy::Repair)
        }
    }
}
