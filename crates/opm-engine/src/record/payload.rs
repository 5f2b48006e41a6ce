//! One payload over places of the ring: compressed, split and written piece by piece; read back,
//! put together and verified.
//!
//! What a payload means, and when the release's Secret names its places, is for the caller: it
//! writes payloads *before* it writes a record that names them, and only while it holds the
//! release's lock. Until then they are strays that the next run sweeps or writes over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use opm_core::digest::ObjectHash;
use opm_core::record::ring::{MAX_TOTAL_BYTES, allocate, pieces, places_needed};
use opm_core::record::{PartLocation, RECORD_TYPE};
use thiserror::Error;

use crate::ports::{ApiError, ApiErrorKind, Backend, Permit, SecretContent, WriteOutcome};
use crate::report::Release;
use crate::run::Run;

/// Enough to make YAML small, and quick enough never to be noticed.
const LEVEL: i32 = 3;

/// More than any payload that was written here becomes.
const LARGEST: u64 = 512 << 20;

/// How often a piece is written anew when somebody else was at its place.
const ATTEMPTS: usize = 5;

/// Annotation on the Secrets that hold a change's manifests: which change.
pub(crate) const CHANGE_ANNOTATION: &str = "opmodel.dev/change";

/// The same, of a change that was not recorded, because the run that was to do so failed.
pub(crate) const FAILED_ANNOTATION: &str = "opmodel.dev/failed-change";

/// The key in the first of them that holds the change itself, compressed.
pub(crate) const CHANGE_KEY: &str = "change";

/// The key beside it that holds a copy of the release's log, compressed.
pub(crate) const LOG_KEY: &str = "log";

/// A change that is larger than this, compressed, is not kept beside its manifests: there would
/// be no room for both in one Secret.
const LARGEST_CHANGE: usize = 100_000;

/// The change that a payload belongs to, in case the release's own Secret is lost.
pub(crate) struct PayloadChange {
    pub(crate) id: String,
    /// The annotation that names it.
    pub(crate) annotation: &'static str,
    /// The change, as the codec writes it.
    pub(crate) encoded: Vec<u8>,
    /// The log, as the codec writes it.
    pub(crate) log: Vec<u8>,
}

/// Where payloads of a release go, and what their Secrets have in common.
pub(crate) struct PayloadTarget<'a> {
    pub(crate) release: &'a Release,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) of: Option<PayloadChange>,
    /// In front of every write.
    pub(crate) permit: Permit<'a>,
}

/// Why a payload could not be written or read.
#[derive(Debug, Error)]
pub(crate) enum PayloadError {
    /// All places are taken.
    #[error("there is no room for them")]
    Full,
    /// It is larger than all places together may be.
    #[error("they are too large to be kept: {0} bytes")]
    TooLarge(u64),
    /// A Secret that should hold a piece of it is not there.
    #[error("Secret/{0} is not there")]
    Missing(String),
    /// There is less, or more, than was written.
    #[error("{stored} bytes were stored in {secrets}, {found} are there")]
    Truncated {
        /// Where.
        secrets: String,
        /// How many bytes were written.
        stored: u64,
        /// How many are there.
        found: u64,
    },
    /// What is there is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// A request failed.
    #[error("{0}")]
    Api(#[from] ApiError),
}

impl<B: Backend> Run<'_, B> {
    /// Writes a payload to places that are not `taken`, each piece under `key`, and says where
    /// it is. `taken` must hold what the stored record names and what the next one will.
    pub(crate) async fn write_payload(
        &self,
        target: &PayloadTarget<'_>,
        key: &str,
        payload: &[u8],
        taken: &BTreeSet<u8>,
    ) -> Result<PartLocation, PayloadError> {
        let packed = zstd::encode_all(payload, LEVEL)
            .map_err(|error| PayloadError::Damaged(error.to_string()))?;
        let bytes = packed.len() as u64;
        if bytes > MAX_TOTAL_BYTES {
            return Err(PayloadError::TooLarge(bytes));
        }
        let places = allocate(places_needed(packed.len()), taken).ok_or(PayloadError::Full)?;
        let mut beside = target.of.as_ref().map(PayloadChange::packed);
        for (place, piece) in places.iter().zip(pieces(&packed)) {
            let data = [(key.to_owned(), piece.to_vec())];
            let beside = beside.take().into_iter().flatten();
            let data = data.into_iter().chain(beside).collect();
            self.write_piece(target, *place, data).await?;
        }
        Ok(PartLocation {
            places,
            bytes,
            hash: Some(ObjectHash::of_bytes(payload)),
        })
    }

    /// Reads a payload back that was written under `key`. What comes back is what was written,
    /// as far as the record has a hash of it; nothing else does.
    pub(crate) async fn read_payload(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
    ) -> Result<Vec<u8>, PayloadError> {
        let packed = self.read_pieces(release, key, held).await?;
        let payload = unpacked(&packed).ok();
        let intact = |payload: &Vec<u8>| {
            let hash = held.hash.as_ref();
            hash.is_none_or(|hash| *hash == ObjectHash::of_bytes(payload))
        };
        payload.filter(intact).ok_or_else(|| {
            let secrets = secret_names(release, held);
            PayloadError::Damaged(format!(
                "{secrets} does not hold the {key} that were written there"
            ))
        })
    }

    /// The pieces of a payload put together, compressed as they are: as many bytes as were
    /// written.
    pub(super) async fn read_pieces(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
    ) -> Result<Vec<u8>, PayloadError> {
        let mut packed = Vec::new();
        for place in &held.places {
            let name = secret_name(release, *place);
            let stored = self
                .backend
                .get_secret(release.namespace.as_str(), &name)
                .await?;
            let stored = stored.ok_or_else(|| PayloadError::Missing(name.clone()))?;
            let Some(piece) = stored.content.data.get(key) else {
                let why = format!("Secret/{name} has no {key} in it");
                return Err(PayloadError::Damaged(why));
            };
            packed.extend_from_slice(piece);
        }
        let (stored, found) = (held.bytes, packed.len() as u64);
        match stored == found {
            true => Ok(packed),
            false => Err(PayloadError::Truncated {
                secrets: secret_names(release, held),
                stored,
                found,
            }),
        }
    }

    /// A Secret that is there already, and that no index names, is what a crashed run left, or
    /// what another run has not swept yet.
    async fn write_piece(
        &self,
        target: &PayloadTarget<'_>,
        place: u8,
        data: BTreeMap<String, Vec<u8>>,
    ) -> Result<(), ApiError> {
        let change = target.of.iter();
        let annotations = change.map(|of| (of.annotation.to_owned(), of.id.clone()));
        let content = SecretContent {
            name: secret_name(target.release, place),
            namespace: target.release.namespace.to_string(),
            secret_type: RECORD_TYPE.to_owned(),
            labels: target.labels.clone(),
            annotations: annotations.collect(),
            data,
            immutable: false,
        };
        for _ in 0..ATTEMPTS {
            if let WriteOutcome::Written(_) =
                self.backend.create_secret(&content, target.permit).await?
            {
                return Ok(());
            }
            let left = self
                .backend
                .get_secret(&content.namespace, &content.name)
                .await?;
            let Some(left) = left else {
                continue;
            };
            let version = left.resource_version;
            let replaced = self
                .backend
                .replace_secret(&content, &version, target.permit);
            if let WriteOutcome::Written(_) = replaced.await? {
                return Ok(());
            }
        }
        Err(ApiError::local(
            ApiErrorKind::Stale,
            format!("somebody else keeps writing Secret/{}", content.name),
        ))
    }
}

impl PayloadChange {
    /// What goes beside the manifests, as far as there is room for it.
    fn packed(&self) -> Vec<(String, Vec<u8>)> {
        let parts = [(CHANGE_KEY, &self.encoded), (LOG_KEY, &self.log)];
        let mut room = LARGEST_CHANGE;
        let packed = parts.into_iter().filter_map(|(key, part)| {
            let packed = zstd::encode_all(part.as_slice(), LEVEL).ok()?;
            room = room.checked_sub(packed.len())?;
            Some((key.to_owned(), packed))
        });
        packed.collect()
    }
}

/// Decompresses no further than the largest payload: a few forged bytes could stand for many
/// gigabytes.
pub(crate) fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    unpacked_within(packed, LARGEST)
}

fn unpacked_within(packed: &[u8], limit: u64) -> std::io::Result<Vec<u8>> {
    let mut payload = Vec::new();
    let decoder = zstd::Decoder::new(packed)?;
    decoder.take(limit + 1).read_to_end(&mut payload)?;
    match payload.len() as u64 > limit {
        true => Err(std::io::Error::other("it would become too large")),
        false => Ok(payload),
    }
}

/// The Secrets that hold a payload, in words.
fn secret_names(release: &Release, held: &PartLocation) -> String {
    let names = held.places.iter().map(|place| secret_name(release, *place));
    let names: Vec<String> = names.map(|name| format!("Secret/{name}")).collect();
    names.join(", ")
}

/// The name of the Secret at a place of the ring.
pub(crate) fn secret_name(release: &Release, place: u8) -> String {
    let name = release.id.record_secret(&release.name, place);
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_not_unpacked() {
        let packed = zstd::encode_all(&vec![b' '; 4 << 20][..], LEVEL).unwrap();
        assert!(packed.len() < 2000, "{}", packed.len());
        let whole = unpacked_within(&packed, 4 << 20).unwrap();
        assert_eq!(whole.len(), 4 << 20);
        assert!(unpacked_within(&packed, 1 << 20).is_err());
    }

    #[test]
    fn what_is_not_compressed_is_not_read() {
        for bytes in [&b"plain"[..], &[0x28, 0xb5, 0x2f, 0xfd]] {
            assert!(unpacked(bytes).is_err(), "{bytes:?}");
        }
    }
}
