//! What became of a use case: the one value that output is made from, success or failure.
//!
//! How it is printed, and which JSON it becomes, is the caller's business.

pub use opm_core::event::Action;
use opm_core::event::Event;
use opm_core::identity::Identity;
use opm_core::ids::{ChangeId, ReleaseId};
use opm_core::name::{NamespaceName, ReleaseName};

/// A release, found or about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: ReleaseName,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Its id.
    pub id: ReleaseId,
}

/// One object of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectOutcome {
    /// Which object.
    pub identity: Identity,
    /// The API version without its group.
    pub version: String,
    /// Its component.
    pub component: String,
    /// What happened to it.
    pub action: Action,
    /// Why: always there when it was kept, failed or skipped.
    pub reason: Option<String>,
}

impl ObjectOutcome {
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedObject {
    /// Which object.
    pub identity: Identity,
    /// The API version without its group.
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
    pub reason: Option<String>,
}

/// What a use case did, or what it had done when it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// What the user should know.
    pub warnings: Vec<String>,
}
