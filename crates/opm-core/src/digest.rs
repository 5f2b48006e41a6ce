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
use crate::weight::apply_order;

/// The digest of a set of rendered manifests: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestDigest(String);

impl ManifestDigest {
    /// The digest of manifests, in whatever order they are given.
    pub fn of(manifests: &[Manifest]) -> Self {
        let mut sorted: Vec<&Manifest> = manifests.iter().collect();
        sorted.sort_unstable_by(|a, b| apply_order(a.identity(), b.identity()));
        let mut digest = DigestBuilder::default();
        for manifest in sorted {
            digest.add(&canonical::object_bytes(manifest.object()));
        }
        digest.finish()
    }

    /// The digest of manifests in their canonical bytes, in apply order, a newline between.
    pub fn of_canonical(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex(&Sha256::digest(bytes))))
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

/// A digest in the making: objects are added in apply order.
#[derive(Default)]
pub(crate) struct DigestBuilder {
    hasher: Sha256,
    begun: bool,
}

impl DigestBuilder {
    /// Adds the canonical bytes of the next object.
    pub(crate) fn add(&mut self, canonical: &[u8]) {
        if self.begun {
            self.hasher.update(b"\n");
        }
        self.begun = true;
        self.hasher.update(canonical);
    }

    pub(crate) fn finish(self) -> ManifestDigest {
        ManifestDigest(format!("sha256:{}", hex(&self.hasher.finalize())))
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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 0xf)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}

/// Whether a text is exactly so many lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
