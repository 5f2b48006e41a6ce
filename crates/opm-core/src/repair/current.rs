//! Which change is current when nothing that can be read says so: the one whose stored objects
//! are the live ones.
//!
//! A change counts as live if every object of it is there and is what applying it made of it.
//! Nothing is guessed: where no change fits, none is current.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Map, Value};

use super::ChangeSource;
use crate::drift;
use crate::identity::Identity;
use crate::ids::ReleaseId;
use crate::manifest::Manifest;
use crate::observation::Observation;
use crate::packed::PackedObject;
use crate::record::{Change, LogEntry};
use crate::time::Timestamp;

/// What the stored objects of a change are beside the live ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeMatch {
    /// They are the same.
    Live,
    /// This one does not exist.
    Missing(Identity),
    /// This one has another value in this field, or no such field.
    Differs(Identity, String),
    /// Nobody can tell, for this reason.
    Unknown(String),
}

impl fmt::Display for ChangeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("matches the live objects"),
            Self::Missing(identity) => write!(f, "{identity} does not exist"),
            Self::Differs(identity, field) => write!(f, "{identity} differs in {field}"),
            Self::Unknown(why) => f.write_str(why),
        }
    }
}

/// Compares the manifests of a change with what is live. Needs whole objects.
pub fn compare(
    manifests: &[Manifest],
    live: &HashMap<Identity, Observation<PackedObject>>,
    release: &ReleaseId,
) -> ChangeMatch {
    for manifest in manifests {
        let identity = manifest.identity();
        match live.get(identity) {
            Some(Observation::Present(object)) => {
                if let Some(field) =
                    drift::first_unlike(&manifest.object(), &object.unpack(), release)
                {
                    return ChangeMatch::Differs(identity.clone(), field);
                }
            }
            Some(Observation::Absent) if goes_by_itself(manifest) => {}
            Some(Observation::Absent) => return ChangeMatch::Missing(identity.clone()),
            Some(Observation::Failed(error)) => {
                return ChangeMatch::Unknown(format!("{identity} cannot be read: {error}"));
            }
            None => return ChangeMatch::Unknown(format!("{identity} was not looked at")),
        }
    }
    ChangeMatch::Live
}

/// A Job that is removed when it is done is not missing.
fn goes_by_itself(manifest: &Manifest) -> bool {
    let lifetime = |object: &Map<String, Value>| {
        let spec = object.get("spec");
        spec.is_some_and(|spec| !spec["ttlSecondsAfterFinished"].is_null())
    };
    manifest.identity().group_kind.is("batch", "Job") && lifetime(&manifest.object())
}

/// The place of the current change among these, which stand from the newest to the oldest. Of
/// several that are live, the one that was deployed last, as far as the log knows; else the
/// newest.
pub(super) fn current(
    slots: &[(Change, ChangeSource)],
    matches: &BTreeMap<String, ChangeMatch>,
    log: &[LogEntry],
    latest: Timestamp,
) -> Option<usize> {
    let live = slots.iter().enumerate();
    let live = live.filter(|(_, (change, _))| matches.get(&change.id) == Some(&ChangeMatch::Live));
    let deployed = |change: &Change| {
        let recorded = |entry: &&LogEntry| {
            entry.result.is_recorded() && entry.change.as_ref() == Some(&change.id)
        };
        log.iter().position(|entry| recorded(&entry))
    };
    let best = live.min_by_key(|(at, (change, _))| {
        let deployed = deployed(change);
        (
            deployed.is_none(),
            deployed,
            Reverse(Timestamp::stored(&change.timestamp, latest)),
            *at,
        )
    });
    best.map(|(at, _)| at)
}
