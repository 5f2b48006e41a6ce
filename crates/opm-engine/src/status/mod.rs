//! `status`: how a release stands, read and never written.
//!
//! ```text
//! known      which release, and what its record (or, without one, its objects' labels) says
//! see        what there is of its objects, and what was applied
//! places     the lists by which they are seen, and from where a watch goes on
//! readiness  how those of its objects are doing that are not ready, and nothing else
//! orphans    objects with its labels that its record does not know, wherever they are
//! assemble   all of it together, judged by the core
//! below      what its objects own, what happened there, and what was written there
//! object     one object: live, as it was applied, and as it is recorded
//! ```

mod assemble;
mod below;
mod known;
mod logs;
mod object;
mod orphans;
mod places;
mod readiness;
mod see;
mod watch;

use opm_core::check::TransferredObject;
use opm_core::entry::Entry;
use opm_core::health::{Health, HealthState};
use opm_core::record::{Lock, ModuleRef, ReleaseState};
pub use opm_core::status::{ComponentStatus, ObjectStatus, Presence, Verdict};
use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::failure::{Failure, Remedy};
use crate::report::{LastDeployment, Release, TrackedObject};
use crate::request::StatusRequest;
use crate::run::Run;

pub use below::{ComponentTree, ReleaseEvents, ReleaseTree};
pub use logs::{ContainerLog, LogObserver, ReleaseLogs};
pub use object::{ObjectReport, SentObject};
pub use watch::{ObjectVersions, StatusObserver};

use known::KnownRelease;
use places::SecretList;
use see::ReleaseObservations;

/// Where the list of a release's objects comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InventorySource {
    /// From its record.
    Inventory,
    /// From the labels of objects, because there is no record that can be read.
    Labels,
}

/// An object outside the inventory that the record knows, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrackedStatus {
    /// What the record says.
    #[serde(flatten)]
    pub tracked: TrackedObject,
    /// Whether it is there; none if nobody could tell.
    pub exists: Option<bool>,
    /// How it is doing, if it is to be part of the release.
    #[serde(flatten, serialize_with = "health_words")]
    pub health: Option<Health>,
}

impl TrackedStatus {
    /// Whether it is there and does not, or not yet, do its work.
    fn is_unready(&self) -> bool {
        let state = self.health.as_ref().map(|health| health.state);
        let unready = matches!(
            state,
            Some(HealthState::Progressing | HealthState::Degraded | HealthState::Failed)
        );
        unready && self.exists == Some(true)
    }
}

/// As those of other objects.
fn health_words<S: Serializer>(health: &Option<Health>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut words = serializer.serialize_map(None)?;
    if let Some(health) = health {
        words.serialize_entry("health", health.state.word())?;
        words.serialize_entry("message", &health.message)?;
    }
    words.end()
}

/// Who is writing the record.
#[derive(Debug, Clone, PartialEq)]
pub struct LockStatus {
    /// The lock.
    pub lock: Lock,
    /// Whether its holder has stopped renewing it, so that the next run takes it over.
    pub expired: bool,
}

/// How a release stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Which release.
    pub release: Release,
    /// Where the list of its objects comes from.
    pub source: InventorySource,
    /// The module of the current change.
    pub module: Option<ModuleRef>,
    /// The current change.
    pub change_id: Option<String>,
    /// When a change was last recorded.
    pub last_transition_time: Option<String>,
    /// The last deployment, as far as the record remembers any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_deployment: Option<LastDeployment>,
    /// What became of it as a whole.
    #[serde(skip_serializing_if = "ReleaseState::is_live")]
    pub state: ReleaseState,
    /// How it is doing, all in all.
    pub health: HealthState,
    /// Its objects by component.
    pub components: Vec<ComponentStatus>,
    /// Objects that other releases have taken over.
    #[serde(serialize_with = "taken_over")]
    pub transferred: Vec<ObjectStatus>,
    /// Objects that are still to be cleaned up.
    pub pending: Vec<TrackedStatus>,
    /// Objects that were left standing on purpose.
    pub kept: Vec<TrackedStatus>,
    /// Objects that carry its labels and that its record does not know.
    pub orphans: Vec<Entry>,
    /// Who is writing its record.
    pub lock: Option<LockStatus>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What to do about it.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
}

/// Objects of others are told with whose they are now, and not with their health.
fn taken_over<S: Serializer>(objects: &[ObjectStatus], serializer: S) -> Result<S::Ok, S::Error> {
    let taken = objects.iter().filter_map(|object| match &object.presence {
        Presence::Transferred(to) => Some(TransferredObject {
            entry: object.entry.clone(),
            to: to.clone(),
        }),
        _ => None,
    });
    serializer.collect_seq(taken)
}

impl Serialize for LockStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LockStatus", 5)?;
        fields.serialize_field("holder", &self.lock.holder)?;
        fields.serialize_field("since", &self.lock.since)?;
        fields.serialize_field("host", &self.lock.host)?;
        fields.serialize_field("command", &self.lock.command)?;
        fields.serialize_field("expired", &self.expired)?;
        fields.end()
    }
}

impl Status {
    /// All objects of the inventory that still are this release's.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectStatus> {
        self.components
            .iter()
            .flat_map(|component| &component.objects)
    }

    /// What became of it as a whole, for people; none for one that is there.
    pub fn told_state(&self) -> Option<String> {
        self.state.told(self.kept.len() as u64)
    }

    /// What it comes to, in one word.
    pub fn verdict(&self) -> Verdict {
        let objects = Verdict::of(self.objects(), self.orphans.len(), self.pending.len());
        match self.pending.iter().any(TrackedStatus::is_unready) {
            true => Verdict::NotReady,
            false => objects,
        }
    }
}

/// Everything that a status is made of.
struct StatusInputs {
    known: KnownRelease,
    seen: ReleaseObservations,
    warnings: Vec<String>,
}

impl Run<'_> {
    /// How a release stands.
    pub(crate) async fn status(&self, request: &StatusRequest) -> Result<Status, Failure> {
        let known = self.known(request).await?;
        Ok(self.gather(known, None, request.scan).await?.assemble())
    }

    /// The same, with everything that it takes to watch it from there on.
    async fn gather_to_watch(&self, request: &StatusRequest) -> Result<StatusInputs, Failure> {
        let secrets = self.secrets_of(request).await;
        let listed = secrets.as_ref();
        let known = match listed.and_then(|secrets| secrets.release(&request.release)) {
            Some(release) => self.known_of(release).await?,
            None => self.known(request).await?,
        };
        self.gather(known, secrets, request.scan).await
    }

    async fn gather(
        &self,
        known: KnownRelease,
        secrets: Option<SecretList>,
        scan: bool,
    ) -> Result<StatusInputs, Failure> {
        let (mut seen, scanned) =
            futures::join!(self.see(&known, secrets), self.scan_orphans(&known, scan));
        let (scanned, more) = scanned?;
        let scanned = scanned.into_iter();
        seen.orphans
            .extend(scanned.map(|entry| (entry.identity.clone(), entry)));
        let mut warnings = known.warnings.clone();
        warnings.extend(seen.warnings.clone());
        warnings.extend(more);
        Ok(StatusInputs {
            known,
            seen,
            warnings,
        })
    }
}
