//! The manifests of a change, kept beside the release's Secret: canonical bytes, written before
//! the release's Secret names them.
//!
//! That they cannot be kept is no reason to fail an apply: the change then says why they are not
//! there.

use std::collections::BTreeMap;

use opm_core::candidate::Candidate;
use opm_core::protocol::NewChange;
use opm_core::record::ring::named;
use opm_core::record::{Record, RecordPart, RecordRef, encode_change, encode_log, labels_beside};

use super::payload::{PackedPayload, PayloadChange, PayloadTarget};
use crate::ports::Permit;
use crate::report::Release;
use crate::run::Run;

/// The key in a record Secret.
pub(super) const KEY: &str = "manifests";

/// The change whose manifests are kept.
pub(crate) struct KeptChange<'a> {
    pub(crate) candidate: &'a Candidate,
    /// The feature flags that it was rendered with.
    pub(crate) features: BTreeMap<String, bool>,
    /// The annotation that names it.
    pub(crate) annotation: &'static str,
}

impl Run<'_> {
    /// Keeps the manifests of the candidate's change. `stored` is the record as it stands in the
    /// cluster. What an earlier run kept for the same change is kept on, if it is still there: a
    /// delete that was cut short may have taken it. The change itself is kept beside them, for
    /// the day on which the release's Secret is lost.
    pub(crate) async fn keep_manifests(
        &self,
        release: &Release,
        change: KeptChange<'_>,
        stored: &Record,
        permit: Permit<'_>,
    ) -> RecordRef {
        let KeptChange {
            candidate,
            features,
            annotation,
        } = change;
        let mut reference = RecordRef::default();
        let former = stored.change(candidate.change.as_str());
        let former =
            former.and_then(|change| change.record.as_ref()?.parts.get(&RecordPart::Manifests));
        if let Some(former) = former
            && self.are_there(release, &former.places).await
        {
            reference
                .parts
                .insert(RecordPart::Manifests, former.clone());
            return reference;
        }
        let change = NewChange::of(candidate, features, None);
        let change = change.alone(candidate, stored, self.server_now());
        let target = PayloadTarget {
            release,
            labels: labels_beside(stored),
            of: Some(PayloadChange {
                id: change.id.clone(),
                annotation,
                encoded: encode_change(&change),
                log: encode_log(&stored.log),
            }),
            permit,
        };
        let taken = named(stored);
        let written = match PackedPayload::of(KEY, candidate.canonical_pieces()) {
            Ok(manifests) => self.write_payload(&target, KEY, manifests, &taken).await,
            Err(why) => Err(why),
        };
        match written {
            Ok(held) => {
                reference.parts.insert(RecordPart::Manifests, held);
            }
            Err(why) => {
                let why = why.to_string();
                reference.dropped.insert(RecordPart::Manifests, why);
            }
        }
        reference
    }
}
