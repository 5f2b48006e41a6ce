//! What a change was made of, read back and verified.

use opm_core::record::{Body, Change, Values};

/// The values of a change, where the record has them.
pub(crate) fn values_of(change: &Change) -> Option<&Values> {
    match &change.values {
        Body::Here(values) => Some(values),
        Body::InRecord => None,
    }
}
