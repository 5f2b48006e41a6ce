//! Reading back what a change keeps in record Secrets: its pieces are put together, decompressed
//! within bounds, and believed only if the digest that the change names is theirs.
//!
//! Nothing here decides what to do without them.

use opm_core::digest::ManifestDigest;
use opm_core::manifest::Manifest;
use opm_core::record::{Change, PartLocation, RecordPart, RecordRef, decode_change};
use thiserror::Error;

use super::manifests::KEY;
use super::payload::{CHANGE_KEY, PayloadError, secret_name};
use super::unpack::{PayloadFormat, unpack};
use crate::failure::Failure;
use crate::ports::{ApiError, ApiErrorKind};
use crate::report::Release;
use crate::run::Run;

/// Why the manifests of a change cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestsError {
    /// They were never kept: records were switched off, or the change is older than they are.
    #[error("its manifests were not kept")]
    NotKept,
    /// They could not be kept, or had to make room, and the change says why.
    #[error("its manifests are no longer there: {0}")]
    Dropped(String),
    /// A Secret that should hold a piece of them does not exist.
    #[error("Secret/{0}, which holds its manifests, does not exist")]
    Missing(String),
    /// There is less, or more, than was stored.
    #[error("its manifests are not whole: {stored} bytes were stored, {found} are there")]
    Truncated {
        /// How many bytes were stored.
        stored: u64,
        /// How many are there.
        found: u64,
    },
    /// What is there cannot be read.
    #[error("its manifests are damaged: {0}")]
    Damaged(String),
    /// What is there is not what was stored.
    #[error("its manifests are not what was applied: their digest is {found}, not {recorded}")]
    DigestDiffers {
        /// The digest that the change names.
        recorded: String,
        /// The digest of what is there.
        found: String,
    },
    /// The cluster does not let them be read.
    #[error("not permitted to read the Secrets that hold its manifests: {0}")]
    Forbidden(ApiError),
    /// The cluster could not be asked.
    #[error("cannot read the Secrets that hold its manifests: {0}")]
    Unread(ApiError),
}

impl From<PayloadError> for ManifestsError {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Missing(name) => Self::Missing(name),
            PayloadError::Truncated { stored, found, .. } => Self::Truncated { stored, found },
            PayloadError::Damaged(why) => Self::Damaged(why),
            PayloadError::Api(error) if error.kind == ApiErrorKind::Forbidden => {
                Self::Forbidden(error)
            }
            PayloadError::Api(error) => Self::Unread(error),
            PayloadError::NotUnpacked { .. } => Self::Damaged(error.to_string()),
            // Only said of writing.
            PayloadError::Full | PayloadError::TooLarge(_) => Self::Damaged(error.to_string()),
        }
    }
}

impl Run<'_> {
    /// The manifests of a change as they were applied, in apply order.
    pub(crate) async fn manifests_of(
        &self,
        release: &Release,
        change: &Change,
    ) -> Result<Vec<Manifest>, ManifestsError> {
        let held = held(change)?;
        let bytes = self.read_unverified(release, KEY, held).await?;
        let found = ManifestDigest::of_canonical(&bytes);
        if found.as_str() != change.manifest_digest {
            return Err(ManifestsError::DigestDiffers {
                recorded: change.manifest_digest.clone(),
                found: found.to_string(),
            });
        }
        parse(&bytes)
    }
}

impl Run<'_> {
    /// The change that a failed run was to record, from what is kept beside its manifests.
    pub(crate) async fn failed_change(
        &self,
        release: &Release,
        id: &str,
        kept: &RecordRef,
    ) -> Result<Change, Failure> {
        let gone = |why: String| Failure::refused(format!("{id}: {why}"));
        let places = kept.parts.get(&RecordPart::Manifests);
        let place = places.and_then(|held| held.places.first()).copied();
        let name = secret_name(release, place.unwrap_or_default());
        let stored = self.backend.get_secret(release.namespace.as_str(), &name);
        let stored = stored.await.map_err(|error| {
            let what = format!("cannot read what is kept of {id}");
            Failure::before_writing(&what, &error)
        })?;
        let data = stored.and_then(|stored| stored.content.data.get(CHANGE_KEY).cloned());
        let data = data.ok_or_else(|| gone("what was kept of it is no longer there".to_owned()))?;
        let bytes = unpack(&data, PayloadFormat::Json, &self.unpacked)
            .map_err(|why| gone(format!("Secret/{name}: {why}")))?;
        let read = decode_change(id, &bytes).ok();
        let mut change = read.ok_or_else(|| gone("what was kept of it is damaged".to_owned()))?;
        change.record = Some(kept.clone());
        Ok(change)
    }
}

/// Where the manifests of a change are, as far as the change itself says.
pub(crate) fn held(change: &Change) -> Result<&PartLocation, ManifestsError> {
    let Some(record) = &change.record else {
        return Err(ManifestsError::NotKept);
    };
    match (
        record.parts.get(&RecordPart::Manifests),
        record.dropped.get(&RecordPart::Manifests),
    ) {
        (Some(held), _) => Ok(held),
        (None, Some(why)) => Err(ManifestsError::Dropped(why.clone())),
        (None, None) => Err(ManifestsError::NotKept),
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<Manifest>, ManifestsError> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            // No error is quoted: a Secret may be among them.
            let value = serde_json::from_slice(line)
                .map_err(|_| ManifestsError::Damaged("one is not JSON".to_owned()))?;
            Manifest::parse(value)
                .map_err(|_| ManifestsError::Damaged("one is not a Kubernetes object".to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use opm_core::record::{Body, Extra, Inventory, ModuleRef, RecordRef, Values};

    use super::*;

    #[test]
    fn a_damaged_manifest_is_not_quoted() {
        for line in ["{\"kind\": \"Secret\", \"data\": hunter2", "[\"hunter2\"]"] {
            let error = parse(line.as_bytes()).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_change_says_where_its_manifests_are_or_why_not() {
        let mut change = Change {
            id: "change-sha1-00000000".to_owned(),
            module: ModuleRef {
                path: "local/web".to_owned(),
                version: None,
                origin: None,
                name: "web".to_owned(),
                charts: Default::default(),
                extra: Extra::default(),
            },
            values: Body::Here(Values::default()),
            manifest_digest: String::new(),
            timestamp: String::new(),
            inventory: Body::Here(Inventory::default()),
            components: None,
            features: None,
            order: std::collections::BTreeMap::new(),
            hooks: Vec::new(),
            set: Vec::new(),
            parent: None,
            record: None,
            extra: Extra::default(),
        };
        assert_eq!(held(&change), Err(ManifestsError::NotKept));
        let mut record = RecordRef::default();
        change.record = Some(record.clone());
        assert_eq!(held(&change), Err(ManifestsError::NotKept));
        record
            .dropped
            .insert(RecordPart::Manifests, "no room".to_owned());
        change.record = Some(record.clone());
        assert_eq!(
            held(&change),
            Err(ManifestsError::Dropped("no room".to_owned()))
        );
        record
            .parts
            .insert(RecordPart::Manifests, PartLocation::default());
        change.record = Some(record);
        assert_eq!(held(&change), Ok(&PartLocation::default()));
    }
}
