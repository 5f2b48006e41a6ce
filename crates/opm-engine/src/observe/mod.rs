//! Looking at the cluster before anything is touched.
//!
//! A look that failed is passed on as such; what it means is the check's to say.

mod autoscalers;
mod cluster_state;
mod follow;
mod labelled;
mod namesakes;
mod occupants;
mod plan;

pub(crate) use cluster_state::{AllKinds, scopes};
pub(crate) use follow::{FollowedChange, FollowedCollection, followed_change, packed_identity};
pub(crate) use labelled::{LabelledObjects, UnseenKinds, entry, was_applied};
pub(crate) use plan::judged;

use opm_core::identity::{GroupKind, Identity};
use serde_json::{Map, Value};

/// How many lists run at a time.
pub(crate) const CONCURRENT_LISTS: usize = 16;

/// A text in an object's metadata.
pub(crate) fn metadata<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

/// The identity of a live object.
pub(crate) fn identity_of(object: &Map<String, Value>) -> Option<Identity> {
    let api_version = object.get("apiVersion")?.as_str()?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let kind = object.get("kind")?.as_str()?;
    let namespace = metadata(object, "namespace");
    Some(Identity::new(
        GroupKind::new(group, kind),
        namespace,
        metadata(object, "name")?,
    ))
}
