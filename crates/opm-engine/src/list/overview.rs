//! How the releases of a listing stand: what their records say, and how their objects are doing.
//! All objects are looked at together, so that releases which share a namespace share the
//! requests too. What was applied is read only of releases whose objects others have written to.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use opm_core::drift;
use opm_core::entry::Entry;
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_core::record::{Change, Lock, PendingWhy};
use opm_core::status::{
    ObjectEvidence, ObjectStatus, ReadObject, by_component, is_suspect, judge, overall,
};
use serde::Serialize;

use super::{CONCURRENT_NAMESPACES, ReleaseSecret};
use crate::concurrently::concurrently_in_order;
use crate::ports::{Detail, Observation, StoredSecret, WantedObject};
use crate::record::{RecordLookup, named_by_secret};
use crate::report::{LastDeployment, Release};
use crate::run::Run;

/// How a release of a listing stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReleaseOverview {
    /// How its objects are doing, all in all; none where it has no change yet, or no longer.
    pub health: Option<HealthState>,
    /// How many of them there should be.
    pub objects: usize,
    /// How many of these are ready.
    pub ready: usize,
    /// How many have fields that others have written since they were applied. What somebody only
    /// removed is not found without what was applied: a status finds it.
    pub drifted: usize,
    /// The last deployment.
    pub last: Option<LastDeployment>,
    /// Who holds its lock, and since when.
    pub lock: Option<(String, String)>,
}

/// What a listing needs of one record.
pub(super) struct ListedRecord {
    release: Release,
    /// The current change; none of a release that was deleted.
    change: Option<Change>,
    /// What a run that did not end well was about to bring.
    pending: Vec<Entry>,
    last: Option<LastDeployment>,
    lock: Option<Lock>,
}

/// What is there, by what it is.
pub(super) type Observations = BTreeMap<Identity, Observation<ReadObject>>;

impl ListedRecord {
    /// The objects that it names.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Identity> {
        let entries = self.entries().chain(&self.pending);
        entries.map(|entry| &entry.identity)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        let changes = self.change.iter();
        let entries = changes.flat_map(|change| change.entries());
        entries.map(|recorded| &recorded.entry)
    }
}

impl Run<'_> {
    /// How each release stands; none where its record cannot be read.
    pub(super) async fn overviews(
        &self,
        secrets: &[ReleaseSecret],
    ) -> Vec<Option<ReleaseOverview>> {
        let records =
            concurrently_in_order(CONCURRENT_NAMESPACES, secrets.len(), |at| async move {
                self.listed_record(secrets[at].stored.clone()?).await
            });
        let records: Vec<Option<ListedRecord>> = records.collect().await;
        let objects = records.iter().flatten().flat_map(ListedRecord::objects);
        let wanted: BTreeSet<&Identity> = objects.collect();
        let wanted: Vec<WantedObject> = wanted.into_iter().map(WantedObject::from).collect();
        let objects = self.observe_objects(&wanted).await;
        let mut overviews = Vec::with_capacity(records.len());
        for record in records {
            overviews.push(match record {
                Some(record) => Some(self.overview_of(&record, &objects).await),
                None => None,
            });
        }
        overviews
    }

    /// The record in a Secret, if it can be read.
    pub(super) async fn listed_record(&self, stored: StoredSecret) -> Option<ListedRecord> {
        let (release, _) = named_by_secret(&stored)?;
        let (found, _) = self.read_record(&release, stored).await.ok()?;
        let RecordLookup::Seen(read) = found else {
            return None;
        };
        let record = read.stored.shown();
        let pending = read.pending().counted();
        let brought = pending.filter(|object| object.why != PendingWhy::PruneFailed);
        Some(ListedRecord {
            release,
            change: record.current().filter(|_| !record.is_deleted()).cloned(),
            pending: brought.map(|object| object.entry.clone()).collect(),
            last: read.log().first().map(LastDeployment::from),
            lock: read.lock().cloned(),
        })
    }

    /// How a release stands, from what was seen of its objects.
    pub(super) async fn overview_of(
        &self,
        record: &ListedRecord,
        objects: &Observations,
    ) -> ReleaseOverview {
        let unpacked = self.unpacked.used();
        let judged = self.judge_listed(record, objects).await;
        // What is still to be brought counts, unless somebody is about to bring it.
        let brought = record.pending.iter().filter(|_| record.lock.is_none());
        let nothing = BTreeMap::new();
        let brought = brought.map(|entry| self.judge_one(record, entry, objects, &nothing));
        let brought = brought.map(|one| one.health.state).max();
        self.unpacked.give_back_to(unpacked);
        let ready = judged.iter().filter(|one| one.health.is_ready());
        let drifted = judged.iter().filter(|one| one.is_drifted());
        ReleaseOverview {
            objects: judged.len(),
            ready: ready.count(),
            drifted: drifted.count(),
            health: match &record.change {
                None => brought,
                Some(_) => Some(overall(&by_component(judged))).max(brought),
            },
            last: record.last.clone(),
            lock: record
                .lock
                .as_ref()
                .map(|lock| (lock.holder.clone(), lock.since.clone())),
        }
    }

    /// The objects of a release, judged by what was seen of them; where that leaves something
    /// open, by what was applied as well.
    async fn judge_listed(&self, record: &ListedRecord, seen: &Observations) -> Vec<ObjectStatus> {
        let judged = self.judge_all(record, seen, &BTreeMap::new());
        // Whether a Job that is gone has removed itself, and whether what others have written is
        // another value.
        let open = |entry: &Entry| match seen.get(&entry.identity) {
            Some(Observation::Absent) => entry.identity.group_kind.is("batch", "Job"),
            Some(Observation::Present(read)) => {
                drift::may_be_written_since(&read.object.unpack(), &record.release.id)
            }
            _ => false,
        };
        let (Some(change), true) = (&record.change, record.entries().any(open)) else {
            return judged;
        };
        let Ok(manifests) = self.manifests_of(&record.release, change).await else {
            return judged;
        };
        let manifests = manifests.into_iter();
        let applied = manifests.map(|one| (one.identity().clone(), one.into_packed()));
        let applied: BTreeMap<Identity, PackedObject> = applied.collect();
        let objects = record.objects();
        let objects = objects.filter_map(|id| Some((id.clone(), seen.get(id)?.clone())));
        let mut seen: Observations = objects.collect();
        self.see_suspects(record, &mut seen, &applied).await;
        self.judge_all(record, &seen, &applied)
    }

    fn judge_all(
        &self,
        record: &ListedRecord,
        seen: &Observations,
        applied: &BTreeMap<Identity, PackedObject>,
    ) -> Vec<ObjectStatus> {
        let entries = record.entries();
        let judged = entries.map(|entry| self.judge_one(record, entry, seen, applied));
        judged.collect()
    }

    fn judge_one(
        &self,
        record: &ListedRecord,
        entry: &Entry,
        seen: &Observations,
        applied: &BTreeMap<Identity, PackedObject>,
    ) -> ObjectStatus {
        let evidence = self.listed_evidence(record, &entry.identity, seen, applied);
        judge(entry.clone(), evidence)
    }

    fn listed_evidence<'a>(
        &'a self,
        record: &'a ListedRecord,
        identity: &Identity,
        seen: &'a Observations,
        applied: &'a BTreeMap<Identity, PackedObject>,
    ) -> ObjectEvidence<'a> {
        ObjectEvidence {
            release: &record.release.id,
            observation: seen.get(identity),
            applied: applied.get(identity),
            sent: None,
            pods: None,
            retired: &self.settings.retired_managers,
        }
    }

    /// Reads the whole of those objects of which metadata alone does not tell.
    async fn see_suspects(
        &self,
        record: &ListedRecord,
        seen: &mut Observations,
        applied: &BTreeMap<Identity, PackedObject>,
    ) {
        let suspects = record.entries().filter(|entry| {
            let evidence = self.listed_evidence(record, &entry.identity, seen, applied);
            match evidence.observation {
                Some(Observation::Present(read)) => {
                    !read.whole && is_suspect(&read.object, evidence)
                }
                _ => false,
            }
        });
        let suspects: Vec<WantedObject> = suspects.map(WantedObject::from).collect();
        let found = self.backend.look_in_version(&suspects, Detail::Whole).await;
        for (identity, found) in found {
            // One that may not be read stays as it was seen.
            if !matches!(found, Observation::Failed(_)) {
                let whole = true;
                seen.insert(identity, found.map(|object| ReadObject { object, whole }));
            }
        }
    }
}
