//! What a release remembers of an object that it applied.

use crate::digest::ObjectHash;
use crate::identity::Identity;
use crate::name::ComponentName;

/// One object of an inventory: its identity, and what is known beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Group, kind, namespace and name: what sets of objects are compared by.
    pub identity: Identity,
    /// The API version it was applied with, without the group.
    pub version: String,
    /// The component that rendered it.
    pub component: ComponentName,
    /// Which life of the identity it is, once the server has said so.
    pub uid: Option<String>,
    /// What was applied, in short.
    pub hash: Option<ObjectHash>,
}
