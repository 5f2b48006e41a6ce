//! Ids that follow from what they identify: of releases and of changes, and the names of the
//! Secrets that hold them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sha1::{Digest as _, Sha1};
use thiserror::Error;
use uuid::Uuid;

use crate::digest::{ManifestDigest, hex, is_hex};
use crate::name::{ModulePath, NamespaceName, ReleaseName, text_type};

/// UUIDv5 of the DNS namespace and `opmodel.dev`: what release ids are derived under.
const RELEASE_NAMESPACE: Uuid = Uuid::from_u128(0xc1cb_e76d_5687_5a47_bfe6_83b0_81b1_5413);

/// How many Secrets the ring of per-change records has.
pub const RECORD_SLOTS: u8 = 64;

/// A text that is no id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// Not a UUID in its usual spelling.
    #[error("a release id must be a UUID in lower case, such as {example}", example = Uuid::nil())]
    Release,
    /// Not `change-sha1-` with eight digits.
    #[error("a change id must be `change-sha1-` and 8 lower-case hexadecimal digits")]
    Change,
}

/// The id of a release. It stays the same through every version of its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId(Uuid);

impl ReleaseId {
    /// The id of the release of a module under a name in a namespace.
    pub fn of(module: &ModulePath, name: &ReleaseName, namespace: &NamespaceName) -> Self {
        let text = format!("{}:{name}:{namespace}", module.without_major());
        Self(Uuid::new_v5(&RELEASE_NAMESPACE, text.as_bytes()))
    }

    /// The name of the Secret that holds the release's inventory.
    pub fn inventory_secret(&self, name: &ReleaseName) -> String {
        format!("opm.{name}.{self}")
    }

    /// The name of one Secret of the ring that holds per-change records, if there is such a slot.
    pub fn record_secret(&self, name: &ReleaseName, slot: u8) -> Option<String> {
        (slot < RECORD_SLOTS).then(|| format!("opm.{name}.{self}.{slot:02}"))
    }

    /// Whether a Secret of this name holds a release's inventory or records, or could.
    pub fn is_record_name(secret: &str) -> bool {
        let is_slot = |end: &str| end.len() == 2 && end.bytes().all(|byte| byte.is_ascii_digit());
        let Some(name) = secret.strip_prefix("opm.") else {
            return false;
        };
        let stem = match name.rsplit_once('.') {
            Some((stem, end)) if is_slot(end) => stem,
            _ => name,
        };
        let release = stem.rsplit_once('.');
        release.is_some_and(|(name, id)| !name.is_empty() && id.parse::<Self>().is_ok())
    }

    /// The names of the whole ring, in order.
    pub fn record_secrets(&self, name: &ReleaseName) -> impl Iterator<Item = String> {
        let stem = self.inventory_secret(name);
        (0..RECORD_SLOTS).map(move |slot| format!("{stem}.{slot:02}"))
    }
}

impl Serialize for ReleaseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for ReleaseId {
    type Err = IdError;

    /// Only the one spelling that is ever written, so that texts compare as ids do.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let id = Uuid::try_parse(text)
            .map(Self)
            .map_err(|_| IdError::Release)?;
        match id.to_string() == text {
            true => Ok(id),
            false => Err(IdError::Release),
        }
    }
}

/// The id of a change: `change-sha1-` and eight hexadecimal digits. Equal input, equal id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(String);

impl ChangeId {
    /// What every change id, and so every change's key in the record, begins with.
    pub const PREFIX: &'static str = "change-sha1-";

    /// The id of what a module's version makes of values. A module without a version
    /// contributes nothing in its place.
    pub fn of(path: &str, version: Option<&str>, values: &str, digest: &ManifestDigest) -> Self {
        let mut hasher = Sha1::new();
        for part in [path, version.unwrap_or_default(), values, digest.as_str()] {
            hasher.update(part);
        }
        Self(format!("{}{}", Self::PREFIX, hex(&hasher.finalize()[..4])))
    }
}

text_type!(ChangeId);

impl FromStr for ChangeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.strip_prefix(Self::PREFIX) {
            Some(digits) if is_hex(digits, 8) => Ok(Self(text.to_owned())),
            _ => Err(IdError::Change),
        }
    }
}
