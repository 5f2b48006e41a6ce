//! How the releases of a listing are doing: all their objects are looked at together, so that
//! releases which share a namespace share the requests too.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use opm_core::entry::Entry;
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::manifest::Manifest;
use opm_core::record::Change;
use opm_core::status::{ObjectEvidence, ReadObject, by_component, judge, overall};

use super::{CONCURRENT_NAMESPACES, ReleaseSecret};
use crate::concurrently::concurrently_in_order;
use crate::ports::{Observation, StoredSecret, WantedObject};
use crate::record::{RecordLookup, named_by_secret};
use crate::report::Release;
use crate::run::Run;

/// What a listing needs of one record.
pub(super) struct CurrentChange {
    release: Release,
    change: Change,
}

impl CurrentChange {
    /// The objects that it names.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Identity> {
        let entries = self.change.entries().iter();
        entries.map(|recorded| &recorded.entry.identity)
    }
}

impl Run<'_> {
    /// How each release is doing; none where its record cannot be read or has no change yet.
    pub(super) async fn healths(&self, secrets: &[ReleaseSecret]) -> Vec<Option<HealthState>> {
        let records = concurrently_in_order(CONCURRENT_NAMESPACES, secrets.len(), |at| {
            self.recorded_change(&secrets[at])
        });
        let records: Vec<Option<CurrentChange>> = records.collect().await;
        let wanted: BTreeSet<Identity> = records
            .iter()
            .flatten()
            .flat_map(CurrentChange::objects)
            .cloned()
            .collect();
        let wanted: Vec<WantedObject> = wanted.iter().map(WantedObject::from).collect();
        let objects = self.observe_objects(&wanted).await;
        let mut healths = Vec::with_capacity(records.len());
        for recorded in records {
            healths.push(match recorded {
                Some(recorded) => Some(self.health_of(&recorded, &objects).await),
                None => None,
            });
        }
        healths
    }

    /// The current change of a record that can be read.
    async fn recorded_change(&self, secret: &ReleaseSecret) -> Option<CurrentChange> {
        self.change_in(secret.stored.clone()?).await
    }

    /// The same, of a Secret.
    pub(super) async fn change_in(&self, stored: StoredSecret) -> Option<CurrentChange> {
        let (release, _) = named_by_secret(&stored)?;
        let (found, _) = self.read_record(&release, stored).await.ok()?;
        let RecordLookup::Seen(read) = found else {
            return None;
        };
        if read.stored.shown().is_deleted() {
            return None;
        }
        let change = read.stored.shown().current()?.clone();
        Some(CurrentChange { release, change })
    }

    /// How a release is doing, from what was seen of its objects.
    pub(super) async fn health_of(
        &self,
        recorded: &CurrentChange,
        objects: &BTreeMap<Identity, Observation<ReadObject>>,
    ) -> HealthState {
        let unpacked = self.unpacked.used();
        let entries: Vec<&Entry> = recorded.change.entries().iter().map(|e| &e.entry).collect();
        let gone = |entry: &&Entry| {
            entry.identity.group_kind.is("batch", "Job")
                && objects.get(&entry.identity) == Some(&Observation::Absent)
        };
        // Only what was applied tells whether a Job that is gone has removed itself.
        let applied = match entries.iter().any(gone) {
            true => {
                let manifests = self.manifests_of(&recorded.release, &recorded.change);
                manifests.await.unwrap_or_default()
            }
            false => Vec::new(),
        };
        let judged = entries.into_iter().map(|entry| {
            let manifest = applied.iter().find(|m| *m.identity() == entry.identity);
            let manifest = manifest.cloned().map(Manifest::into_packed);
            let evidence = ObjectEvidence {
                release: &recorded.release.id,
                observation: objects.get(&entry.identity),
                applied: manifest.as_ref(),
                sent: None,
                pods: None,
                retired: &self.settings.retired_managers,
            };
            judge(entry.clone(), evidence)
        });
        let health = overall(&by_component(judged.collect()));
        self.unpacked.give_back_to(unpacked);
        health
    }
}
