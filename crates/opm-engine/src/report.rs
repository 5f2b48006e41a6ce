//! What became of a use case: the one value that output is made from, success or failure.
//!
//! How it is shown to people is the caller's business; serialized, it is the document that
//! scripts see.

use std::collections::BTreeMap;

use opm_core::entry::Entry;
pub use opm_core::event::Action;
use opm_core::event::Event;
use opm_core::identity::Identity;
use opm_core::ids::{ChangeId, ReleaseId};
use opm_core::labels::Owner;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::record::{
    Counts, Extra, KeptObject, KeptWhy, LogEntry, Metadata, PendingObject, PendingWhy, Record,
    ReleaseState, release_labels,
};
use serde::Serialize;

use crate::failure::{Failure, FailureKind, Remedy};

/// A release, found or about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Release {
    /// Its name.
    pub name: ReleaseName,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Its id.
    #[serde(rename = "releaseId")]
    pub id: ReleaseId,
}

impl Release {
    /// The release that an object's owner is.
    pub(crate) fn of(owner: &Owner) -> Self {
        Self {
            name: owner.release.clone(),
            namespace: owner.namespace.clone(),
            id: owner.id,
        }
    }

    /// A record of which nothing is known but whose it is.
    pub(crate) fn empty_record(&self) -> Record {
        let metadata = Metadata {
            name: self.name.to_string(),
            namespace: self.namespace.to_string(),
            release_id: self.id.to_string(),
            last_transition_time: None,
            state: ReleaseState::Live,
            extra: Extra::default(),
        };
        Record::new(metadata, BTreeMap::new())
    }

    /// The record of a release that has none yet.
    pub(crate) fn new_record(owner: &Owner) -> Record {
        Record {
            labels: release_labels(owner),
            ..Self::of(owner).empty_record()
        }
    }
}

/// One object of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectOutcome {
    /// Which object.
    #[serde(flatten)]
    pub identity: Identity,
    /// The API version without its group.
    #[serde(rename = "v")]
    pub version: String,
    /// Its component.
    pub component: String,
    /// What happened to it.
    pub action: Action,
    /// The template of a chart that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Why: always there when it was kept, failed or skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ObjectOutcome {
    /// What happened to the object of an entry.
    pub fn of(entry: &Entry, action: Action, reason: Option<String>) -> Self {
        Self {
            identity: entry.identity.clone(),
            version: entry.version.clone(),
            component: entry.component.clone(),
            template: entry.template.clone(),
            action,
            reason,
        }
    }

    /// The same, as an event.
    pub fn event(&self) -> Event {
        Event::Object {
            identity: self.identity.clone(),
            component: self.component.clone(),
            action: self.action,
            reason: self.reason.clone(),
        }
    }
}

/// An object outside the inventory that the record still knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrackedObject {
    /// Which object.
    #[serde(flatten)]
    pub identity: Identity,
    /// The API version without its group.
    #[serde(rename = "v")]
    pub version: String,
    /// Its component.
    pub component: String,
    /// Why it is pending or kept, in the record's word.
    pub why: &'static str,
    /// The change that left it.
    pub change: String,
    /// Since when.
    pub since: String,
    /// More about it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What was last done to a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastDeployment {
    /// What was run.
    pub command: String,
    /// Who ran it.
    pub who: String,
    /// When it began.
    pub time: String,
    /// How it ended.
    pub result: String,
}

impl From<&LogEntry> for LastDeployment {
    fn from(entry: &LogEntry) -> Self {
        Self {
            command: entry.command.clone(),
            who: entry.who.clone(),
            time: entry.time.clone(),
            result: entry.result.word().to_owned(),
        }
    }
}

impl TrackedObject {
    /// An object that would be pending or kept, for this reason.
    pub(crate) fn of(entry: &Entry, why: &'static str, change: &str, since: &str) -> Self {
        Self {
            identity: entry.identity.clone(),
            version: entry.version.clone(),
            component: entry.component.clone(),
            why,
            change: change.to_owned(),
            since: since.to_owned(),
            reason: None,
        }
    }

    /// The same, with more about it.
    pub(crate) fn because(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    /// Whether a guard keeps it.
    pub fn is_guarded(&self) -> bool {
        self.why == KeptWhy::Guard.word()
    }

    /// What is still to be cleaned up.
    pub(crate) fn all_pending(record: &Record) -> Vec<Self> {
        record.pending.counted().map(Self::from).collect()
    }

    /// What was left standing on purpose.
    pub(crate) fn all_kept(record: &Record) -> Vec<Self> {
        record.kept.objects.iter().map(Self::from).collect()
    }

    /// What should go and could not, if this run had been a real one.
    pub(crate) fn unpruned(outcome: &ObjectOutcome, change: &str, since: &str) -> Self {
        let entry = Entry::new(
            outcome.identity.clone(),
            &outcome.version,
            &outcome.component,
        );
        let why = PendingWhy::PruneFailed.word();
        Self::of(&entry, why, change, since).because(outcome.reason.clone())
    }
}

/// Pending and kept objects tell the same of themselves.
macro_rules! tracked_from {
    ($($object:ty),*) => {$(
        impl From<&$object> for TrackedObject {
            fn from(object: &$object) -> Self {
                let (change, since) = (&object.change, &object.since);
                Self::of(&object.entry, object.why.word(), change, since)
                    .because(object.reason.clone())
            }
        }
    )*};
}

tracked_from!(PendingObject, KeptObject);

/// What a use case did, or what it had done when it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The release, as far as it is known.
    pub release: Option<Release>,
    /// The change that was applied, or was to be.
    pub change_id: Option<ChangeId>,
    /// The digest of its manifests.
    pub manifest_digest: Option<String>,
    /// Whether the release had no recorded change before.
    pub first_apply: bool,
    /// Whether nothing was really done.
    pub dry_run: bool,
    /// Every object that the plan named, in order.
    pub resources: Vec<ObjectOutcome>,
    /// Objects that are still to be cleaned up.
    pub pending: Vec<TrackedObject>,
    /// Objects that were left standing on purpose.
    pub kept: Vec<TrackedObject>,
    /// What became of the release as a whole.
    #[serde(skip_serializing_if = "ReleaseState::is_live")]
    pub state: ReleaseState,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What to do about it.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
}

impl Report {
    /// A report on this release in which nothing has happened yet.
    pub(crate) fn about(release: &Release) -> Self {
        Self {
            release: Some(release.clone()),
            ..Self::default()
        }
    }

    /// What the record tracks beside the inventory from now on.
    pub(crate) fn take_tracked(&mut self, record: &Record) {
        self.pending = TrackedObject::all_pending(record);
        self.kept = TrackedObject::all_kept(record);
        self.state = record.metadata.state.clone();
    }

    /// What became of the release as a whole, for people; none for one that is there.
    pub fn told_state(&self) -> Option<String> {
        self.state.told(self.kept.len() as u64)
    }

    /// The objects that did not work.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &ObjectOutcome> {
        let outcomes = self.resources.iter();
        outcomes.filter(|outcome| outcome.action == Action::Failed)
    }

    /// How often each action happened.
    pub(crate) fn counts(outcomes: &[ObjectOutcome]) -> Counts {
        let mut counts = Counts::new();
        for outcome in outcomes {
            *counts.entry(outcome.action.word().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The report, unless objects in it did not work: then a failure that names them.
    pub(crate) fn unless_failed(
        self,
        kind: FailureKind,
        message: impl FnOnce(usize) -> String,
    ) -> Result<Self, Failure> {
        match self.failed().count() {
            0 => Ok(self),
            count => Err(Failure::new(kind, message(count))
                .about_failed(&self)
                .after(self)),
        }
    }
}
