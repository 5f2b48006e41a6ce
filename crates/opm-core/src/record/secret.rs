//! What the Secrets around a record look like: their types, labels and data.

use std::collections::BTreeMap;

use super::Record;
use crate::labels::{self, Owner, owned};

/// The type of the release's Secret.
pub const RELEASE_TYPE: &str = "opmodel.dev/release";
/// The type of a record Secret.
pub const RECORD_TYPE: &str = "opmodel.dev/record";

/// The parts of a Secret that carry a record. Data is decoded (no base64).
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SecretParts {
    /// The data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

impl std::fmt::Debug for SecretParts {
    /// Keys and sizes only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes = self.data.iter().map(|(key, bytes)| (key, bytes.len()));
        f.debug_map().entries(sizes).finish()
    }
}

impl SecretParts {
    /// What the API server will count against the limit of a Secret.
    pub fn size(&self) -> usize {
        self.data
            .iter()
            .map(|(key, bytes)| key.len() + bytes.len())
            .sum()
    }
}

/// The labels of the Secrets that hold what does not fit into it: those of the release's own,
/// as far as `opm` wrote them.
pub fn labels_beside(record: &Record) -> BTreeMap<String, String> {
    let metadata = &record.metadata;
    let module = record.labels.get(labels::MODULE_NAME);
    owned([
        (labels::MANAGED_BY, labels::MANAGED_BY_OPM),
        (labels::MODULE_NAMESPACE, &metadata.namespace),
        (labels::RELEASE_NAME, &metadata.name),
        (labels::RELEASE_ID, &metadata.release_id),
        (labels::COMPONENT, labels::COMPONENT_RECORD),
    ])
    .chain(module.map(|module| (labels::MODULE_NAME.to_owned(), module.clone())))
    .collect()
}

/// The labels of the Secret that holds a release's record.
pub fn release_labels(owner: &Owner) -> BTreeMap<String, String> {
    let component = (labels::COMPONENT, labels::COMPONENT_INVENTORY);
    owner.release_labels().chain(owned([component])).collect()
}
