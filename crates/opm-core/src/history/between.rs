//! What one set of manifests has that another has not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::diff::{FieldChange, diff};
use crate::identity::Identity;
use crate::manifest::Manifest;

/// What happened to an object between two changes.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectChangeKind {
    /// It came.
    Added,
    /// It went.
    Removed,
    /// It has other fields; the API version may be among them.
    Changed(Vec<FieldChange>),
}

impl ObjectChangeKind {
    /// The word that scripts see.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed(_) => "changed",
        }
    }
}

/// One object in which two changes differ.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectChange {
    /// Which object.
    pub identity: Identity,
    /// What happened to it.
    pub happened: ObjectChangeKind,
}

impl Serialize for ObjectChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ObjectChangeDocument<'a> {
            #[serde(flatten)]
            identity: &'a Identity,
            happened: &'static str,
            changes: &'a [FieldChange],
        }
        let document = ObjectChangeDocument {
            identity: &self.identity,
            happened: self.happened.word(),
            changes: match &self.happened {
                ObjectChangeKind::Changed(fields) => fields,
                ObjectChangeKind::Added | ObjectChangeKind::Removed => &[],
            },
        };
        document.serialize(serializer)
    }
}

/// The objects in which `new` differs from `old`, in the order of their identities.
pub fn between(old: &[Manifest], new: &[Manifest]) -> Vec<ObjectChange> {
    let before: BTreeMap<&Identity, &Manifest> = old.iter().map(|m| (m.identity(), m)).collect();
    let after: BTreeMap<&Identity, &Manifest> = new.iter().map(|m| (m.identity(), m)).collect();
    let all: BTreeSet<&Identity> = before.keys().chain(after.keys()).copied().collect();
    all.into_iter()
        .filter_map(|identity| {
            let happened = match (before.get(identity), after.get(identity)) {
                (None, _) => ObjectChangeKind::Added,
                (_, None) => ObjectChangeKind::Removed,
                (Some(before), Some(after)) => {
                    let fields = diff(&identity.group_kind, &before.object(), &after.object());
                    match fields.is_empty() {
                        true => return None,
                        false => ObjectChangeKind::Changed(fields),
                    }
                }
            };
            Some(ObjectChange {
                identity: identity.clone(),
                happened,
            })
        })
        .collect()
}
