//! Digests over canonical bytes: of a whole set of manifests, and of a single object.

use std::str::FromStr;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::canonical;
use crate::entry::Entry;
use crate::identity::{GroupKind, Identity};
use crate::manifest::Manifest;
use crate::name::text_type;
use crate::weight::digest_order;

/// The SHA-256 of bytes, in 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of values, by their canonical text: `sha256:` and 64 hexadecimal digits.
pub fn values_digest(values: &str) -> String {
    format!("sha256:{}", sha256(values.as_bytes()))
}

/// The digest of a set of rendered manifests: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestDigest(String);

impl ManifestDigest {
    /// The digest of manifests, in whatever order they are given.
    pub fn of(manifests: &[Manifest]) -> Self {
        let mut sorted: Vec<&Manifest> = manifests.iter().collect();
        sorted.sort_unstable_by(|a, b| digest_order(a.identity(), b.identity()));
        let bytes = sorted.iter().map(|m| canonical::object_bytes(&m.object()));
        let bytes: Vec<Vec<u8>> = bytes.collect();
        Self::of_each(bytes.iter().map(Vec::as_slice))
    }

    /// The digest of manifests in their canonical bytes, in apply order, a newline between.
    pub fn of_canonical(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex(&Sha256::digest(bytes))))
    }

    /// The same, from the canonical bytes of each.
    pub fn of_each<'a>(manifests: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for (place, bytes) in manifests.into_iter().enumerate() {
            if place > 0 {
                hasher.update(b"\n");
            }
            hasher.update(bytes);
        }
        Self(format!("sha256:{}", hex(&hasher.finalize())))
    }

    /// A substitute where the manifests are not known: the digest of what is known of each
    /// object, one line each. Used for what is left of a release when a component goes.
    pub fn of_entries<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut hasher = Sha256::new();
        for entry in entries {
            let Identity {
                group_kind,
                namespace,
                name,
            } = &entry.identity;
            let namespace = namespace.as_deref().unwrap_or_default();
            let hash = entry.hash.as_ref().map_or("", ObjectHash::as_str);
            let GroupKind { group, kind } = group_kind;
            hasher.update(format!("{group} {kind} {namespace} {name} {hash}\n"));
        }
        Self(format!("sha256:{}", hex(&hasher.finalize())))
    }
}

text_type!(ManifestDigest);

/// A text that is no object hash.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("an object hash must look like `<16 lower-case hexadecimal digits>`")]
pub struct HashError;

/// What an object looked like when it was applied, in 16 hexadecimal digits: the first eight
/// bytes of the SHA-256 of its canonical bytes. Enough to tell two states of one object apart;
/// nothing relies on it to tell objects apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectHash(String);

impl ObjectHash {
    /// The hash of an object.
    pub fn of(object: &Map<String, Value>) -> Self {
        Self::of_bytes(&canonical::object_bytes(object))
    }

    /// The hash of canonical bytes.
    pub fn of_bytes(canonical: &[u8]) -> Self {
        let digest = Sha256::digest(canonical);
        Self(hex(&digest[..8]))
    }
}

text_type!(ObjectHash);

/// The hash of bytes that come in pieces.
#[derive(Debug, Clone, Default)]
pub struct PieceHasher(Sha256);

impl PieceHasher {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash of all pieces.
    pub fn finish(self) -> ObjectHash {
        ObjectHash(hex(&self.0.finalize()[..8]))
    }
}

impl FromStr for ObjectHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        match is_hex(text, 16) {
            true => Ok(Self(text.to_owned())),
            false => Err(HashError),
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text is exactly so many lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
