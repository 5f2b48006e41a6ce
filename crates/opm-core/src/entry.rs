//! What a release remembers of an object that it applied.

use serde::Serialize;

use crate::digest::ObjectHash;
use crate::identity::Identity;

/// One object of an inventory: its identity, and what is known beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Group, kind, namespace and name: what sets of objects are compared by.
    #[serde(flatten)]
    pub identity: Identity,
    /// The API version it was applied with, without the group.
    #[serde(rename = "v")]
    pub version: String,
    /// The component that rendered it. A text, because a stored record may name anything: what
    /// cannot be read could not be deleted either.
    pub component: String,
    /// The uid, once the server has assigned one: an object that is deleted and created again
    /// has another.
    #[serde(skip)]
    pub uid: Option<String>,
    /// What was applied, in short.
    #[serde(skip)]
    pub hash: Option<ObjectHash>,
}

impl Entry {
    /// An entry of which nothing is known but what RFC-0001 writes.
    pub fn new(
        identity: Identity,
        version: impl Into<String>,
        component: impl Into<String>,
    ) -> Self {
        let (version, component) = (version.into(), component.into());
        Self {
            identity,
            version,
            component,
            uid: None,
            hash: None,
        }
    }
}
