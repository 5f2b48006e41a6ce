//! The cluster: what it serves, what lives there, and the ways to change it.
//!
//! The port speaks of single objects by identity. How many requests that takes, at which API
//! version, and which of them are repeated, is the adapter's business; that a failed look is
//! never "absent" is part of the contract.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use opm_core::check::Disown;
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::manifest::Manifest;
use opm_core::packed::PackedObject;
use opm_core::rights::{AccessRule, ResourceRight};
use opm_core::scope::Scope;
use opm_core::takeover::MovedFields;
use serde_json::{Map, Value};

use super::{ApiError, Observation, Permit};

/// One kind that the server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// The version the server prefers, used for reading and deleting.
    pub preferred: String,
    /// All versions it serves.
    pub versions: Vec<String>,
    /// The plural in URLs.
    pub plural: String,
    /// What else people call it, in short.
    pub short_names: Vec<String>,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// Whether its objects can be listed.
    pub listable: bool,
    /// Whether its objects can be deleted.
    pub deletable: bool,
}

/// All kinds that the server serves, and the groups it could not tell about.
#[derive(Debug, Clone, Default)]
pub struct ServedKinds {
    /// By group and kind.
    pub kinds: BTreeMap<GroupKind, ServedKind>,
    /// Groups whose server did not answer (an aggregated API that is down), with the cause.
    pub silent_groups: BTreeMap<String, String>,
    /// What the server calls the schema of each API version, such as `apps/v1`, where it says so:
    /// another name whenever the schema is another.
    pub schemas: BTreeMap<String, String>,
    /// Whether this was found in an earlier run.
    pub remembered: bool,
}

impl ServedKinds {
    /// The kinds that the server calls by a word in small letters.
    pub fn called(&self, word: &str) -> Vec<GroupKind> {
        let is_called = |served: &ServedKind| {
            served.plural == word || served.short_names.iter().any(|short| short == word)
        };
        let kinds = self.kinds.iter().filter(|(_, served)| is_called(served));
        kinds.map(|(kind, _)| kind.clone()).collect()
    }
}

/// How much of an object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Metadata only, managed fields included: no Secret's data is read.
    Metadata,
    /// The whole object.
    Whole,
}

/// An object to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedObject {
    /// Which one.
    pub identity: Identity,
    /// The API version, without its group, that it is to be read in, if that matters. One that is
    /// not served any more counts as none.
    pub version: Option<String>,
}

impl From<&Identity> for WantedObject {
    /// In whatever version the server prefers.
    fn from(identity: &Identity) -> Self {
        Self {
            identity: identity.clone(),
            version: None,
        }
    }
}

impl From<&Entry> for WantedObject {
    /// In the version in which it was, or is to be, applied.
    fn from(entry: &Entry) -> Self {
        Self {
            identity: entry.identity.clone(),
            version: Some(entry.version.clone()),
        }
    }
}

impl From<&Manifest> for WantedObject {
    /// In the version of the manifest.
    fn from(manifest: &Manifest) -> Self {
        Self {
            identity: manifest.identity().clone(),
            version: Some(manifest.version().to_owned()),
        }
    }
}

/// What must hold of an object when it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// It must not exist yet; if it does, the answer is `AlreadyExists` and nothing changes.
    Absent,
    /// It must exist with this uid; if it is gone or another, the answer is `Stale` and nothing
    /// changes.
    Exists {
        /// The uid it must have.
        uid: String,
    },
    /// It must exist with this uid, and be as it was at this version; otherwise the answer is
    /// `Stale` and nothing changes.
    Unchanged {
        /// The uid it must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: String,
    },
}

/// One server-side apply.
#[derive(Debug)]
pub struct ApplyObject<'a> {
    /// The identity, for URL and messages.
    pub identity: &'a Identity,
    /// The API version without its group.
    pub version: &'a str,
    /// The object to send.
    pub object: &'a Map<String, Value>,
    /// What must hold of it.
    pub precondition: Precondition,
    /// The field manager.
    pub field_manager: &'a str,
    /// Whether fields of other managers are taken over.
    pub force: bool,
    /// Whether the server only pretends.
    pub dry_run: bool,
}

/// The server's answer to an apply.
#[derive(Debug, Clone)]
pub struct ApplyResponse {
    /// Whether the object was created.
    pub created: bool,
    /// The object as it is now.
    pub object: Map<String, Value>,
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// One delete, guarded by uid.
#[derive(Debug)]
pub struct DeleteObject<'a> {
    /// The identity.
    pub identity: &'a Identity,
    /// The uid it must have.
    pub uid: &'a str,
    /// The resourceVersion it must have, when that matters.
    pub resource_version: Option<&'a str>,
    /// What happens to its dependents.
    pub propagation: Propagation,
    /// Whether the server only pretends.
    pub dry_run: bool,
}

/// Takes labels and field managers off one object, and changes nothing else of it.
#[derive(Debug)]
pub struct DisownObject<'a> {
    /// The identity.
    pub identity: &'a Identity,
    /// Which labels go and which managed fields are left, and of which object at which version.
    pub disown: &'a Disown,
    /// Whether the server only pretends.
    pub dry_run: bool,
}

/// Makes the managed fields of one object what taking it over makes of them, and changes nothing
/// else of it.
#[derive(Debug)]
pub struct MoveFields<'a> {
    /// The identity.
    pub identity: &'a Identity,
    /// The managed fields, and of which object at which version.
    pub moved: &'a MovedFields,
}

/// A change of one object that the server only pretends to make.
#[derive(Debug)]
pub struct PretendedPatch<'a> {
    /// The identity.
    pub identity: &'a Identity,
    /// The API version without its group.
    pub version: &'a str,
    /// The uid it must have.
    pub uid: &'a str,
    /// The resourceVersion it must have.
    pub resource_version: &'a str,
    /// The merge patch.
    pub patch: &'a Map<String, Value>,
}

/// What a delete came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// It is gone.
    Gone,
    /// The server accepted; finalizers or a grace period still hold it.
    Accepted,
    /// It was not there any more, or another object has taken its place.
    WasGone,
}

/// One change that a watch reports.
#[derive(Debug, Clone)]
pub enum WatchEvent {
    /// The object exists, and looks like this now.
    Seen(Identity, Map<String, Value>),
    /// The object is gone.
    Gone(Identity),
}

/// Objects of one kind that are listed, and watched, together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Their kind.
    pub kind: GroupKind,
    /// Their namespace; none for all of them, and for objects that live in none.
    pub namespace: Option<String>,
    /// The API version, without its group, that they are to be read in, if that matters. One that
    /// is not served any more counts as none.
    pub version: Option<String>,
    /// The label that they carry, if that matters.
    pub label: Option<CollectionLabel>,
    /// How much of them is wanted.
    pub detail: Detail,
    /// About how many are expected: what they may take in memory follows from it.
    pub expected: usize,
}

/// The label by which a collection is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionLabel {
    /// Its name.
    pub name: String,
    /// Its value; none for any.
    pub value: Option<String>,
    /// The name and the value of one that they do not carry, if that matters.
    pub without: Option<(&'static str, &'static str)>,
}

/// What a list of a collection had.
#[derive(Debug, Clone)]
pub struct ListedCollection {
    /// The objects, packed as they arrived.
    pub objects: Vec<PackedObject>,
    /// From where a watch goes on.
    pub resource_version: String,
}

/// The log of one container.
#[derive(Debug, Clone, Copy)]
pub struct PodLog<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod.
    pub pod: &'a str,
    /// The container.
    pub container: &'a str,
    /// Only so many of the last lines.
    pub tail: Option<u32>,
    /// Only what was written since this time.
    pub since: Option<&'a str>,
    /// What was written before the last restart.
    pub previous: bool,
}

/// A Kubernetes API.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// What the server serves. Asked anew every time it is called.
    async fn served(&self) -> Result<Arc<ServedKinds>, ApiError>;

    /// The same, from memory where the server says that nothing has changed since. That a kind is
    /// not in it does not say that it is not served, if it is remembered.
    async fn recall_served(&self) -> Result<Arc<ServedKinds>, ApiError>;

    /// Looks at many objects, with as few requests as possible. The answer has exactly the
    /// identities that were asked for. Of thousands of objects only a few are open at a time: they
    /// are packed as they arrive.
    async fn look_in_version(
        &self,
        wanted: &[WantedObject],
        detail: Detail,
    ) -> BTreeMap<Identity, Observation<PackedObject>>;

    /// Looks at a few objects, in whatever version the server prefers.
    async fn look(&self, wanted: &[Identity], detail: Detail) -> BTreeMap<Identity, Observation> {
        let wanted: Vec<WantedObject> = wanted.iter().map(WantedObject::from).collect();
        let looks = self.look_in_version(&wanted, detail).await.into_iter();
        let looks = looks.map(|(identity, found)| (identity, found.map(|one| one.unpack())));
        looks.collect()
    }

    /// All objects of one kind, in one namespace or in all, with this label or any.
    async fn list(
        &self,
        kind: &GroupKind,
        namespace: Option<&str>,
        label: Option<(&str, &str)>,
        detail: Detail,
    ) -> Result<Vec<Map<String, Value>>, ApiError>;

    /// One consistent list of a collection, and from where a watch of it goes on.
    async fn list_collection(&self, of: &Collection) -> Result<ListedCollection, ApiError>;

    /// Watches a collection from where a list of it was, through disconnects, and calls
    /// `on_event` for each change until it returns true. An object that no longer carries the
    /// collection's label counts as gone. Returns false when the server no longer knows what
    /// became of it since: it has to be listed anew.
    async fn watch_collection(
        &self,
        of: &Collection,
        resource_version: &str,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError>;

    /// So many requests about objects are about to be sent, as many at a time as may be: what can be
    /// made ready for them may be made ready now.
    fn expect_requests(&self, _count: usize) {}

    /// Applies one object, repeating the request where that is safe.
    async fn apply(
        &self,
        request: ApplyObject<'_>,
        permit: Permit<'_>,
    ) -> Result<ApplyResponse, ApiError>;

    /// Deletes one object, repeating the request where that is safe.
    async fn delete(
        &self,
        request: DeleteObject<'_>,
        permit: Permit<'_>,
    ) -> Result<DeleteOutcome, ApiError>;

    /// Takes labels and field managers off one object. If it is another object by now, or has
    /// changed since it was looked at, the answer is `Stale` and nothing changes.
    async fn disown(&self, request: DisownObject<'_>, permit: Permit<'_>) -> Result<(), ApiError>;

    /// Moves managed fields of one object. If it is another object by now, or has changed since
    /// it was looked at, the answer is `Stale` and nothing changes.
    async fn move_fields(
        &self,
        request: MoveFields<'_>,
        permit: Permit<'_>,
    ) -> Result<(), ApiError>;

    /// What an object would look like after a patch. Nothing is written.
    async fn pretend_patch(
        &self,
        request: PretendedPatch<'_>,
        permit: Permit<'_>,
    ) -> Result<Map<String, Value>, ApiError>;

    /// Watches these objects, beginning with how they are now (or that they are absent), and
    /// calls `on_event` for each change until it returns true, or the time is over. Resumes
    /// after disconnects. Returns whether `on_event` said it has seen enough.
    async fn watch(
        &self,
        wanted: &[Identity],
        timeout: Duration,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError>;

    /// Pods that belong to a workload (by its selector), to say why it is not ready.
    async fn pods_of(
        &self,
        workload: &Map<String, Value>,
    ) -> Result<Vec<Map<String, Value>>, ApiError>;

    /// What a container wrote, each line behind its time. No more than a mebibyte is read.
    async fn pod_log(&self, log: &PodLog<'_>) -> Result<String, ApiError>;

    /// From now on, what this Secret holds is left out of everything that this run tells. Other
    /// objects change nothing.
    fn hide(&self, object: &Map<String, Value>);

    /// A text without what the known Secrets hold.
    fn without_secrets(&self, text: &str) -> String;

    /// What the server says that whoever asks may do in a namespace. It need not say everything.
    async fn access_rules(&self, namespace: &str) -> Result<Vec<AccessRule>, ApiError>;

    /// Whether whoever asks may do this: to the object of this name, or to all.
    async fn is_allowed(&self, right: &ResourceRight, name: Option<&str>)
    -> Result<bool, ApiError>;

    /// Warnings that the server sent this run since the last call, each once.
    fn take_warnings(&self) -> Vec<String>;

    /// Who the server takes us for, as well as can be told.
    async fn user(&self) -> Option<String>;
}
