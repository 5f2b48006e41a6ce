//! Whose a live object is: one table for applying, pruning and deleting.
//!
//! | uuid label | uid | `opm` among its appliers | whose |
//! | --- | --- | --- | --- |
//! | mine | any | any | mine |
//! | another's | any | any | another's |
//! | none | as recorded | yes | mine |
//! | none | as recorded | yes, and that of another release that shares it | shared |
//! | none | as recorded | no | nobody's |
//! | none | different, or not recorded | any | nobody's |
//! | none | any | no, and nobody but the controller of aggregated ClusterRoles | mine |
//!
//! The last row is an aggregated ClusterRole that was deleted while its controller still worked
//! on it, and came back as bare rules: nobody else has any use for it.
//!
//! A uid cannot be guessed: whoever makes up a record knows only those of objects that he may
//! read. So an object without labels goes only by a uid that was recorded; else it is kept.
//!
//! An object with `shared.` labels belongs to all releases that these name. A release's record
//! carries the release's labels and is nobody's all the same: no plan may change or delete it.

use std::fmt;

use serde::Serialize;

use super::LiveObject;
use crate::ids::ReleaseId;

/// Another release, as an object's labels name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LabelledRelease {
    /// Its id.
    #[serde(rename = "releaseId")]
    pub id: String,
    /// Its name, if the labels say it.
    pub name: Option<String>,
    /// Its namespace, if the labels say it.
    pub namespace: Option<String>,
}

impl fmt::Display for LabelledRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.namespace) {
            (Some(name), Some(namespace)) => {
                write!(f, "{name} in namespace {namespace} (id {})", self.id)
            }
            (Some(name), None) => write!(f, "{name} (id {})", self.id),
            (None, _) => write!(f, "{}", self.id),
        }
    }
}

/// Whose a live object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// This release's.
    Mine,
    /// Another release's.
    OtherRelease(LabelledRelease),
    /// Shared between releases.
    Shared {
        /// Whether this release is among them.
        mine: bool,
        /// The others.
        others: Vec<LabelledRelease>,
    },
    /// No release's.
    Unowned,
}

impl LiveObject {
    /// The other releases that share the object, by its labels, or without any by who applies it.
    /// One that belongs to a release alone has none,
    /// unless one joined in the moment in which it ceased to be shared.
    pub fn shared_with(&self, release: &ReleaseId) -> Vec<LabelledRelease> {
        let mine = release.to_string();
        let others = self.owner.shared.iter().filter(|(id, _)| *id != mine);
        let labelled = |(id, name): &(String, String)| LabelledRelease {
            id: id.clone(),
            name: Some(name.clone()),
            namespace: None,
        };
        let unlabelled = |id: &String| LabelledRelease {
            id: id.clone(),
            name: None,
            namespace: None,
        };
        match self.owner.shared.is_empty() && self.owner.id.is_none() {
            true => self.sharing.iter().map(unlabelled).collect(),
            false => others.map(labelled).collect(),
        }
    }
}

impl Ownership {
    /// Reads the table for a live object, given the uid that the record has for it.
    pub fn of(live: &LiveObject, recorded_uid: Option<&str>, release: &ReleaseId) -> Self {
        if live.is_record {
            return Self::Unowned;
        }
        let mine = release.to_string();
        match live.owner.id.as_deref() {
            Some(id) if id == mine => return Self::Mine,
            Some(id) => {
                let (name, namespace) = (live.owner.release.clone(), live.owner.namespace.clone());
                return Self::OtherRelease(LabelledRelease {
                    id: id.to_owned(),
                    name,
                    namespace,
                });
            }
            None => {}
        }
        if !live.owner.shared.is_empty() {
            return Self::Shared {
                mine: live.owner.shared.iter().any(|(id, _)| *id == mine),
                others: live.shared_with(release),
            };
        }
        match recorded_uid {
            Some(uid) if !uid.is_empty() && uid == live.uid && live.applied_by_opm => {
                match live.sharing.is_empty() {
                    true => Self::Mine,
                    // Somebody took the labels off; who applies it is still known.
                    false => Self::Shared {
                        mine: true,
                        others: live.shared_with(release),
                    },
                }
            }
            _ if live.rebuilt => Self::Mine,
            _ => Self::Unowned,
        }
    }
}

/// Whether an object that was found by this release's label is one that `opm` applied. Endpoints
/// and EndpointSlices inherit a Service's labels, and the record's own Secrets carry them too.
pub fn counts_as_discovered(live: &LiveObject) -> bool {
    live.applied_by_opm && !live.is_record
}
