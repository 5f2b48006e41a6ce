//! Which release is meant, and what is known of it without looking at its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::protocol::{LockObservation, LockState};
use opm_core::record::{
    Change, LogEntry, LogResult, ModuleRef, RecordRef, ReleaseState, Stored, last_run,
};

use super::{InventorySource, LockStatus};
use crate::delete::LabelLookup;
use crate::failure::Failure;
use crate::observe::{UnseenKinds, entry};
use crate::ports::WantedObject;
use crate::record::{ReadRecord, RecordLookup};
use crate::report::{LastDeployment, Release, TrackedObject};
use crate::request::StatusRequest;
use crate::run::Run;

/// A release, as its record or the labels of its objects tell it.
pub(super) struct KnownRelease {
    pub(super) release: Release,
    pub(super) source: InventorySource,
    pub(super) module: Option<ModuleRef>,
    pub(super) change: Option<Change>,
    /// What the last run was about, if it did not end well.
    pub(super) unrecorded: Option<UnrecordedRun>,
    pub(super) last_transition_time: Option<String>,
    pub(super) last_deployment: Option<LastDeployment>,
    pub(super) state: ReleaseState,
    pub(super) entries: Vec<Entry>,
    pub(super) pending: Vec<TrackedObject>,
    pub(super) kept: Vec<TrackedObject>,
    /// Everything that the record tracks, late objects included, with its API version.
    pub(super) tracked: BTreeMap<Identity, String>,
    /// Where the recorded changes have put objects: kind and namespace.
    pub(super) places: BTreeSet<(GroupKind, Option<String>)>,
    pub(super) lock: Option<LockStatus>,
    /// The resourceVersion of the record.
    pub(super) version: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// A run that did not end well, so that what it sent is not what is recorded.
pub(super) struct UnrecordedRun {
    /// The change that it was to record.
    pub(super) change: String,
    /// Where its manifests are, if they were kept for it.
    pub(super) kept: Option<RecordRef>,
    /// The same change, if the history has it: a rollback that did not end well.
    pub(super) past: Option<Change>,
}

impl KnownRelease {
    /// The object to look at, as it is in the version in which it was applied.
    pub(super) fn wanted(&self, identity: &Identity) -> WantedObject {
        WantedObject {
            identity: identity.clone(),
            version: self.tracked.get(identity).cloned(),
        }
    }
}

impl UnrecordedRun {
    /// None if what the last run was about is recorded, or was rolled back.
    fn of(last: &LogEntry, current: Option<&Change>, changes: &[&Change]) -> Option<Self> {
        let rolled_back = last.result == LogResult::RolledBack;
        let change = last.change.clone()?;
        let recorded = current.is_some_and(|current| current.id == change);
        let ended = last.result.is_recorded() || rolled_back || recorded;
        let past = changes.iter().find(|past| past.id == change);
        (!ended).then(|| Self {
            kept: last.record.clone(),
            past: past.map(|past| (*past).clone()),
            change,
        })
    }
}

impl Run<'_> {
    /// What is known of the release that a request names.
    pub(super) async fn known(&self, request: &StatusRequest) -> Result<KnownRelease, Failure> {
        let (reference, namespace) = (&request.release, &request.namespace);
        let release = match self.find(reference, namespace).await? {
            Some(release) => release,
            None => match self.look_for_labels(reference, namespace).await? {
                LabelLookup::Found(release) => release,
                LabelLookup::Unknown { unseen, .. } => {
                    let missing = self.no_such_release(reference, namespace).await;
                    return Err(missing.unseen(unseen));
                }
            },
        };
        self.known_of(release).await
    }

    /// What is known of a release.
    pub(super) async fn known_of(&self, release: Release) -> Result<KnownRelease, Failure> {
        let (found, mut warnings) = self.look_up_record(&release).await?;
        match found {
            RecordLookup::Seen(read) => Ok(self.recorded(release, &read, warnings)),
            RecordLookup::Damaged { secret, why } => {
                warnings.push(format!(
                    "Secret/{secret}: {why}; its objects were found by their labels"
                ));
                let labelled = self.labelled_objects(release, warnings).await?;
                Ok(labelled.0)
            }
            // Who can see neither the record nor an object cannot tell.
            RecordLookup::Absent => {
                let hidden = warnings.clone();
                warnings.push(
                    "the release has no record: its objects were found by their labels".to_owned(),
                );
                let (known, unseen) = self.labelled_objects(release, warnings).await?;
                match known.entries.is_empty() {
                    true => Err(Failure::gone(&known.release, &hidden).unseen(unseen)),
                    false => Ok(known),
                }
            }
        }
    }

    fn recorded(
        &self,
        release: Release,
        read: &ReadRecord,
        mut warnings: Vec<String>,
    ) -> KnownRelease {
        let changes = read.changes();
        let change = read.stored.shown().current().cloned();
        let entries = read.inventory().iter();
        let entries: Vec<Entry> = entries.map(|recorded| recorded.entry.clone()).collect();
        let state = read.metadata().state.clone();
        let (pending, kept) = (read.pending(), &read.kept().objects);
        let pending_entries = pending.objects().iter().map(|object| &object.entry);
        let kept_entries = kept.iter().map(|object| &object.entry);
        let tracked = tracked(entries.iter().chain(pending_entries).chain(kept_entries));
        let past = changes.iter().flat_map(|change| change.entries());
        let past = past.map(|recorded| &recorded.entry.identity);
        let places = past
            .chain(tracked.keys())
            .map(|identity| (identity.group_kind.clone(), identity.namespace.clone()))
            .collect();
        if state == ReleaseState::Deleted && !changes.is_empty() {
            warnings.push("the release was deleted; its history is kept".to_owned());
        }
        match (&change, changes.is_empty()) {
            _ if state == ReleaseState::Deleted => {}
            (Some(_), _) => {}
            (None, true) => warnings.push("the release has no recorded change yet".to_owned()),
            (None, false) => {
                let warning = "which change is current is not known since the record was repaired";
                warnings.push(warning.to_owned());
            }
        }
        let last = last_run(read.log());
        warnings.extend(last.and_then(bad_end));
        let unrecorded = last.and_then(|last| UnrecordedRun::of(last, change.as_ref(), &changes));
        KnownRelease {
            module: change.as_ref().map(|change| change.module.clone()),
            last_transition_time: read.metadata().last_transition_time.clone(),
            last_deployment: read.log().first().map(LastDeployment::from),
            pending: pending.counted().map(TrackedObject::from).collect(),
            kept: kept.iter().map(TrackedObject::from).collect(),
            lock: self.lock_seen(read),
            version: Some(read.secret.resource_version.clone()),
            source: InventorySource::Inventory,
            release,
            change,
            unrecorded,
            state,
            entries,
            tracked,
            places,
            warnings,
        }
    }

    /// The lock, and whether it has expired by the server's clocks.
    fn lock_seen(&self, read: &ReadRecord) -> Option<LockStatus> {
        let lock = read.lock()?.clone();
        let sight = LockObservation {
            written: read.secret.lock_written,
            server_time: read.secret.server_time,
            unchanged_for: Duration::ZERO,
            holder_dead: false,
        };
        let expired = match &read.stored {
            Stored::Writable(record) => matches!(
                LockState::of(Some(record), &sight, &self.settings.timing),
                LockState::Open(_)
            ),
            Stored::ReadOnly(_) => false,
        };
        Some(LockStatus { lock, expired })
    }

    /// A release without a record that can be read: what carries its labels, and how many kinds
    /// could not be listed.
    async fn labelled_objects(
        &self,
        release: Release,
        mut warnings: Vec<String>,
    ) -> Result<(KnownRelease, UnseenKinds), Failure> {
        let served = self.discover_all().await?;
        let found = self.labelled(&release, &served).await?;
        warnings.extend(found.warnings.iter().cloned());
        let mut entries: Vec<Entry> = found.objects.iter().filter_map(entry).collect();
        entries.sort_by(|a, b| a.identity.cmp(&b.identity));
        let tracked = tracked(&entries);
        let known = KnownRelease {
            release,
            source: InventorySource::Labels,
            module: None,
            change: None,
            unrecorded: None,
            last_transition_time: None,
            last_deployment: None,
            state: ReleaseState::Live,
            entries,
            pending: Vec::new(),
            kept: Vec::new(),
            tracked,
            places: BTreeSet::new(),
            lock: None,
            version: None,
            warnings,
        };
        Ok((known, found.unseen))
    }
}

fn tracked<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> BTreeMap<Identity, String> {
    let entries = entries.into_iter();
    let tracked = entries.map(|entry| (entry.identity.clone(), entry.version.clone()));
    tracked.collect()
}

/// What there is to say about a deployment that did not end well.
fn bad_end(last: &LogEntry) -> Option<String> {
    let ended = match &last.result {
        LogResult::Failed => "failed",
        LogResult::Interrupted => "was interrupted",
        LogResult::Lost => "was cut short",
        LogResult::RolledBack => "was rolled back",
        LogResult::NotReady => "did not become ready in time",
        LogResult::Started | LogResult::Succeeded | LogResult::Refused | LogResult::Other(_) => {
            return None;
        }
    };
    let reason = last.reason.as_ref().map(|reason| format!(": {reason}"));
    Some(format!(
        "the last deployment ({} by {} at {}) {ended}{}",
        last.command,
        last.who,
        last.time,
        reason.unwrap_or_default()
    ))
}
