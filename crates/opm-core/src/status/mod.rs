//! How a release stands: every object that it tracks, judged from what the record says, what
//! was applied and what the cluster has.
//!
//! Nothing here looks at a cluster, and a look that failed is never absence: such an object is
//! unknown.

mod judge;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::check::LabelledRelease;
use crate::drift::FieldDrift;
use crate::entry::Entry;
use crate::health::{Health, HealthState};
use crate::identity::Identity;
use crate::ids::ReleaseId;
use crate::observation::Observation;
use crate::packed::PackedObject;
use crate::takeover::{LeftoverField, RetiredManagers};

pub use judge::{is_suspect, judge};

/// An object as far as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadObject {
    /// The object, or its metadata.
    pub object: PackedObject,
    /// Whether it is the whole object.
    pub whole: bool,
}

/// Everything that is known about one object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectEvidence<'a> {
    /// Whose object it should be.
    pub release: &'a ReleaseId,
    /// What was found; none if nobody looked.
    pub observation: Option<&'a Observation<ReadObject>>,
    /// What was applied, if that was kept.
    pub applied: Option<&'a PackedObject>,
    /// What a run sent since, or meant to send, that did not end well.
    pub sent: Option<SentSince<'a>>,
    /// Its pods, if it is a workload that is not ready and they could be seen.
    pub pods: Option<&'a [Map<String, Value>]>,
    /// The tools that were replaced.
    pub retired: &'a RetiredManagers,
}

/// What a run was about that did not end well, and so was not recorded.
#[derive(Debug, Clone, Copy)]
pub struct SentSince<'a> {
    /// The change that it was to record.
    pub change: &'a str,
    /// What it sent for this object, if that was kept.
    pub object: Option<&'a PackedObject>,
}

/// Whether an object is there, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    There,
    /// It is not there, and should be.
    Missing,
    /// A Job that is complete and has removed itself.
    Completed,
    /// Another release has taken it over.
    Transferred(LabelledRelease),
    /// It could not be looked at.
    Hidden,
}

/// How one object stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStatus {
    /// Which object.
    pub entry: Entry,
    /// Whether it is there.
    pub presence: Presence,
    /// How it is doing.
    pub health: Health,
    /// The fields that are no longer as they were applied.
    pub drift: Vec<FieldDrift>,
    /// The fields that were never applied and that a replaced tool still owns. No drift.
    pub leftovers: Vec<LeftoverField>,
    /// The change that it is at, where a run that did not end well brought it there.
    pub unrecorded: Option<String>,
}

impl ObjectStatus {
    /// How it is doing, in the word that scripts see.
    pub fn word(&self) -> &'static str {
        match self.presence {
            Presence::Missing => "Missing",
            _ => self.health.state.word(),
        }
    }

    /// Whether it is not as it was applied.
    pub fn is_drifted(&self) -> bool {
        !self.drift.is_empty()
    }

    /// Whether it is not as it was recorded, or not there at all.
    pub fn has_strayed(&self) -> bool {
        self.is_drifted() || self.unrecorded.is_some() || self.presence == Presence::Missing
    }

    /// Whether it is there and does not, or not yet, do its work. What could not be looked at
    /// may be ready.
    pub fn is_unready(&self) -> bool {
        let unready = match self.health.state {
            HealthState::Ready | HealthState::Unknown => false,
            HealthState::Progressing | HealthState::Degraded | HealthState::Failed => true,
        };
        unready && self.presence == Presence::There
    }
}

/// What a status comes to, for who asks for nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is the matter, as far as could be seen.
    Fine,
    /// Something is not as it was recorded: drifted, missing, orphaned, or still to be cleaned
    /// up.
    Strayed,
    /// Something is not ready, or has failed. That beats the rest.
    NotReady,
}

impl Verdict {
    /// From the objects of a release, and how many others are orphans or pending.
    pub fn of<'a>(
        objects: impl IntoIterator<Item = &'a ObjectStatus>,
        orphans: usize,
        pending: usize,
    ) -> Self {
        let outside = match orphans + pending {
            0 => Self::Fine,
            _ => Self::Strayed,
        };
        let judged = objects.into_iter().map(|object| match object {
            object if object.is_unready() => Self::NotReady,
            object if object.has_strayed() => Self::Strayed,
            _ => Self::Fine,
        });
        judged.fold(outside, Self::max)
    }
}

impl Serialize for ObjectStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ObjectStatusDocument<'a> {
            #[serde(flatten)]
            entry: &'a Entry,
            health: &'static str,
            message: &'a str,
            drifted: bool,
            drift: &'a [FieldDrift],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            leftovers: &'a [LeftoverField],
            #[serde(skip_serializing_if = "Option::is_none")]
            unrecorded: Option<&'a str>,
        }
        let document = ObjectStatusDocument {
            entry: &self.entry,
            health: self.word(),
            message: &self.health.message,
            drifted: self.is_drifted(),
            drift: &self.drift,
            leftovers: &self.leftovers,
            unrecorded: self.unrecorded.as_deref(),
        };
        document.serialize(serializer)
    }
}

/// The objects of one component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentStatus {
    /// Its name.
    pub name: String,
    /// How its objects are doing, all in all.
    pub health: HealthState,
    /// Its objects, in apply order.
    #[serde(rename = "resources")]
    pub objects: Vec<ObjectStatus>,
}

/// Groups objects by component, in the order in which the components first appear. Objects that
/// belong to another release by now are no part of this one.
pub fn by_component(objects: Vec<ObjectStatus>) -> Vec<ComponentStatus> {
    let mut components: Vec<ComponentStatus> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for object in objects {
        if matches!(object.presence, Presence::Transferred(_)) {
            continue;
        }
        let name = object.entry.component.clone();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            components.push(ComponentStatus {
                name,
                health: HealthState::Ready,
                objects: Vec::new(),
            });
            components.len() - 1
        });
        let component = &mut components[place];
        component.health = component.health.max(object.health.state);
        component.objects.push(object);
    }
    components
}

/// How a release is doing: as its worst component.
pub fn overall(components: &[ComponentStatus]) -> HealthState {
    let states = components.iter().map(|component| component.health);
    states.max().unwrap_or(HealthState::Ready)
}

/// Objects that carry the release's labels and that its record does not know, from those that
/// were found by label: neither in the inventory nor pending nor kept.
pub fn orphans(found: Vec<Entry>, known: &BTreeSet<&Identity>) -> Vec<Entry> {
    let mut orphans: Vec<Entry> = found
        .into_iter()
        .filter(|entry| !known.contains(&entry.identity))
        .collect();
    orphans.sort_by(|a, b| a.identity.cmp(&b.identity));
    orphans.dedup_by(|a, b| a.identity == b.identity);
    orphans
}

#[cfg(test)]
mod tests;
