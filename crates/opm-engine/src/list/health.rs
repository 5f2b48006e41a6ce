//! How the releases of a listing are doing: all their objects are looked at together, so that
//! releases which share a namespace share the requests too.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};
use opm_core::entry::Entry;
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::record::Change;
use opm_core::status::{ObjectEvidence, Sight, by_component, judge, overall};

use super::{CONCURRENT_NAMESPACES, ReleaseSecret};
use crate::engine::Engine;
use crate::ports::{Clock, Cluster, SecretStore};
use crate::record::{RecordLookup, named_by_secret};
use crate::report::Release;

/// What a listing needs of one record.
struct CurrentChange {
    release: Release,
    change: Change,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// How each release is doing; none where its record cannot be read or has no change yet.
    pub(super) async fn healths(&self, secrets: &[ReleaseSecret]) -> Vec<Option<HealthState>> {
        let records: Vec<Option<CurrentChange>> = stream::iter(secrets)
            .map(|secret| self.recorded_change(secret))
            .buffered(CONCURRENT_NAMESPACES)
            .collect()
            .await;
        let wanted: BTreeSet<Identity> = records
            .iter()
            .flatten()
            .flat_map(|recorded| recorded.change.entries())
            .map(|entry| entry.entry.identity.clone())
            .collect();
        let wanted: Vec<Identity> = wanted.into_iter().collect();
        let sights = self.sights(&wanted).await;
        let mut healths = Vec::with_capacity(records.len());
        for recorded in records {
            healths.push(match recorded {
                Some(recorded) => Some(self.health_of(&recorded, &sights).await),
                None => None,
            });
        }
        healths
    }

    /// The current change of a record that can be read.
    async fn recorded_change(&self, secret: &ReleaseSecret) -> Option<CurrentChange> {
        let stored = secret.stored.clone()?;
        let (release, _) = named_by_secret(&stored)?;
        let (look_up_record, _) = self.read_record(&release, stored).await.ok()?;
        let RecordLookup::Seen(read) = look_up_record else {
            return None;
        };
        let change = (*read.changes().first()?).clone();
        Some(CurrentChange { release, change })
    }

    async fn health_of(
        &self,
        recorded: &CurrentChange,
        sights: &BTreeMap<Identity, Sight>,
    ) -> HealthState {
        let entries: Vec<&Entry> = recorded.change.entries().iter().map(|e| &e.entry).collect();
        let gone = |entry: &&Entry| {
            entry.identity.group_kind.is("batch", "Job")
                && sights.get(&entry.identity) == Some(&Sight::Absent)
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
            let evidence = ObjectEvidence {
                release: &recorded.release.id,
                sight: sights.get(&entry.identity),
                applied: manifest.map(|manifest| manifest.object()),
                pods: None,
            };
            judge(entry.clone(), evidence)
        });
        overall(&by_component(judged.collect()))
    }
}
