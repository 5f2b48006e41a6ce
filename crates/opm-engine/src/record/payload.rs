//! One payload over places of the ring: compressed, split and written piece by piece; read back,
//! put together and verified.
//!
//! What a payload means, and when the release's Secret names its places, is for the caller: it
//! writes payloads *before* it writes a record that names them, and only while it holds the
//! release's lock. Until then they are strays that the next run sweeps or writes over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use opm_core::digest::{ObjectHash, PieceHasher};
use opm_core::record::ring::{
    MAX_TOTAL_BYTES, allocate, allocate_last, named, pieces, places_needed,
};
use opm_core::record::unpack::MAX_PART;
use opm_core::record::{PartLocation, RECORD_TYPE, Record, RecordPart};
use thiserror::Error;

use super::unpack::{PayloadFormat, UnpackError, unpack};
use crate::ports::{ApiError, ApiErrorKind, Permit, SecretContent, WriteOutcome};
use crate::report::Release;
use crate::run::Run;

/// Enough to make YAML small, and quick enough never to be noticed.
const LEVEL: i32 = 3;

/// Up to this many bytes are compressed at once, their number being known, and more as they come.
const AT_ONCE: usize = 256 << 10;

/// How far back what is compressed as it comes is looked for in what came before: objects resemble
/// their neighbours.
const WINDOW_LOG: u32 = 18;

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
    /// Reading it would take more memory than a run may use.
    #[error("{secrets} cannot be read: {why}")]
    NotUnpacked {
        /// Where it is.
        secrets: String,
        /// What stands in the way.
        why: UnpackError,
    },
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

impl Run<'_> {
    /// Writes a payload to places that are not `taken`, each piece under `key`, and says where
    /// it is. `taken` must hold what the stored record names and what the next one will.
    pub(crate) async fn write_payload(
        &self,
        target: &PayloadTarget<'_>,
        key: &str,
        payload: PackedPayload,
        taken: &BTreeSet<u8>,
    ) -> Result<PartLocation, PayloadError> {
        let places = PayloadPlaces::Free(taken);
        self.write_to(target, key, payload, places).await
    }

    /// The same, wherever it may go.
    pub(super) async fn write_to(
        &self,
        target: &PayloadTarget<'_>,
        key: &str,
        payload: PackedPayload,
        places: PayloadPlaces<'_>,
    ) -> Result<PartLocation, PayloadError> {
        let PackedPayload { packed, hash } = payload;
        let bytes = packed.len() as u64;
        if bytes > MAX_TOTAL_BYTES {
            return Err(PayloadError::TooLarge(bytes));
        }
        let needed = places_needed(packed.len());
        let (places, versions) = places.choose(needed).ok_or(PayloadError::Full)?;
        let mut beside = target.of.as_ref().map(PayloadChange::packed);
        for (place, piece) in places.iter().zip(pieces(&packed)) {
            let data = [(key.to_owned(), piece.to_vec())];
            let beside = beside.take().into_iter().flatten();
            let data = data.into_iter().chain(beside).collect();
            let version = versions.get(place).map(String::as_str);
            self.write_piece(target, *place, data, version).await?;
        }
        Ok(PartLocation {
            places,
            bytes,
            hash: Some(hash),
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
        let mut versions = BTreeMap::new();
        self.read_versioned(release, key, held, &mut versions).await
    }

    /// The same, with the resourceVersions of the Secrets that were read, by place.
    pub(super) async fn read_versioned(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
        versions: &mut BTreeMap<u8, String>,
    ) -> Result<Vec<u8>, PayloadError> {
        let payload = self.read_noting(release, key, held, versions).await?;
        let hash = held.hash.as_ref();
        match hash.is_none_or(|hash| *hash == ObjectHash::of_bytes(&payload)) {
            true => Ok(payload),
            false => {
                let secrets = secret_names(release, held);
                Err(PayloadError::Damaged(format!(
                    "{secrets} does not hold the {key} that were written there"
                )))
            }
        }
    }

    /// The same, whatever it is: for who knows better than the record what was written.
    pub(super) async fn read_unverified(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
    ) -> Result<Vec<u8>, PayloadError> {
        let mut versions = BTreeMap::new();
        self.read_noting(release, key, held, &mut versions).await
    }

    async fn read_noting(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
        versions: &mut BTreeMap<u8, String>,
    ) -> Result<Vec<u8>, PayloadError> {
        let packed = self.read_pieces(release, key, held, versions).await?;
        unpack(&packed, format_of(key), &self.unpacked).map_err(|why| PayloadError::NotUnpacked {
            secrets: secret_names(release, held),
            why,
        })
    }

    /// The pieces of a payload put together, compressed as they are: as many bytes as were
    /// written.
    async fn read_pieces(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
        versions: &mut BTreeMap<u8, String>,
    ) -> Result<Vec<u8>, PayloadError> {
        let distinct: BTreeSet<u8> = held.places.iter().copied().collect();
        if distinct.len() < held.places.len() || held.bytes > MAX_TOTAL_BYTES {
            let secrets = secret_names(release, held);
            let why = format!("{secrets}: the record says more of it than can have been written");
            return Err(PayloadError::Damaged(why));
        }
        let mut packed = Vec::new();
        for place in &held.places {
            let name = secret_name(release, *place);
            let stored = self
                .backend
                .get_secret(release.namespace.as_str(), &name)
                .await?;
            let stored = stored.ok_or_else(|| PayloadError::Missing(name.clone()))?;
            versions.insert(*place, stored.resource_version);
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
        known: Option<&str>,
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
        if let Some(version) = known {
            let replaced = self
                .backend
                .replace_secret(&content, version, target.permit);
            if let WriteOutcome::Written(_) = replaced.await? {
                return Ok(());
            }
        }
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

/// A payload as it is stored.
pub(crate) struct PackedPayload {
    packed: Vec<u8>,
    hash: ObjectHash,
}

impl PackedPayload {
    /// Compresses what is to be stored under `key`, piece by piece: all of them are never in memory
    /// together, unless they are small.
    pub(super) fn of(
        key: &str,
        pieces: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Self, PayloadError> {
        let damaged = |error: std::io::Error| PayloadError::Damaged(error.to_string());
        let mut meter = format_of(key).meter();
        let mut hasher = PieceHasher::default();
        let (mut first, mut length) = (Vec::new(), 0);
        let mut stream: Option<zstd::Encoder<'static, Vec<u8>>> = None;
        for piece in pieces {
            meter.feed(&piece);
            // What is written here can be read back.
            length += piece.len() as u64;
            if meter.bytes() > MAX_PART {
                return Err(PayloadError::TooLarge(length));
            }
            hasher.update(&piece);
            match &mut stream {
                Some(stream) => stream.write_all(&piece).map_err(damaged)?,
                None => first.extend(piece),
            }
            if stream.is_none() && first.len() > AT_ONCE {
                let mut begun = zstd::Encoder::new(Vec::new(), LEVEL).map_err(damaged)?;
                begun.window_log(WINDOW_LOG).map_err(damaged)?;
                begun
                    .write_all(&std::mem::take(&mut first))
                    .map_err(damaged)?;
                stream = Some(begun);
            }
        }
        let packed = match stream {
            Some(stream) => stream.finish(),
            None => zstd::bulk::compress(&first, LEVEL),
        };
        Ok(Self {
            packed: packed.map_err(damaged)?,
            hash: hasher.finish(),
        })
    }
}

/// Where a payload may go.
pub(super) enum PayloadPlaces<'a> {
    /// To the lowest places that are not among these.
    Free(&'a BTreeSet<u8>),
    /// Over the notes that are there, at these versions; else to the highest places that the
    /// record does not name, out of the way of what is written at the same time.
    OverNotes(&'a Record, &'a BTreeMap<u8, String>),
}

impl PayloadPlaces<'_> {
    fn choose(self, needed: usize) -> Option<(Vec<u8>, BTreeMap<u8, String>)> {
        match self {
            Self::Free(taken) => Some((allocate(needed, taken)?, BTreeMap::new())),
            Self::OverNotes(_, versions) if versions.len() >= needed => {
                let places = versions.keys().copied().take(needed).collect();
                Some((places, versions.clone()))
            }
            Self::OverNotes(stored, _) => {
                Some((allocate_last(needed, &named(stored))?, BTreeMap::new()))
            }
        }
    }
}

impl PayloadChange {
    /// What goes beside the manifests, as far as there is room for it.
    fn packed(&self) -> Vec<(String, Vec<u8>)> {
        let parts = [(CHANGE_KEY, &self.encoded), (LOG_KEY, &self.log)];
        let mut room = LARGEST_CHANGE;
        let packed = parts.into_iter().filter_map(|(key, part)| {
            let packed = zstd::bulk::compress(part, LEVEL).ok()?;
            room = room.checked_sub(packed.len())?;
            Some((key.to_owned(), packed))
        });
        packed.collect()
    }
}

/// What is kept under a key.
fn format_of(key: &str) -> PayloadFormat {
    match key == RecordPart::Values.word() {
        true => PayloadFormat::Text,
        false => PayloadFormat::Json,
    }
}

/// The Secrets that hold a payload, in words.
fn secret_names(release: &Release, held: &PartLocation) -> String {
    let places: BTreeSet<u8> = held.places.iter().copied().collect();
    let names = places.iter().map(|place| secret_name(release, *place));
    let names: Vec<String> = names.map(|name| format!("Secret/{name}")).collect();
    names.join(", ")
}

/// The name of the Secret at a place of the ring.
pub(crate) fn secret_name(release: &Release, place: u8) -> String {
    let name = release.id.record_secret(&release.name, place);
    name.unwrap_or_default()
}
