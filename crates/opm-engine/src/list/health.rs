//! How the releases of a listing are doing: all their objects are looked at together, so that
//! releases which share a namespace share the requests too.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};
use opm_core::entry::Entry;
use opm_core::health::State;
use opm_core::identity::Identity;
use opm_core::record::Change;
use opm_core::status::{Evidence, Sight, by_component, judge, overall};

use super::{CONCURRENT_NAMESPACES, Inventory};
use crate::engine::Engine;
use crate::ports::{Clock, Cluster, SecretStore};
use crate::record::{Glance, named_by_secret};
use crate::report::Release;

/// What a listing needs of one record.
struct Recorded {
    release: Release,
    change: Change,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// How each release is doing; none where its record cannot be read or has no change yet.
    pub(super) async fn healths(&self, secrets: &[Inventory]) -> Vec<Option<State>> {
        let records: Vec<Option<Recorded>> = stream::iter(secrets)
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
    async fn recorded_change(&self, secret: &Inventory) -> Option<Recorded> {
        let stored = secret.stored.clone()?;
        let (release, _) = named_by_secret(&stored)?;
        let (glance, _) = self.glance_at(&release, stored).await.ok()?;
        let Glance::Seen(glimpse) = glance else {
            return None;
        };
        let change = (*glimpse.changes().first()?).clone();
        Some(Recorded { release, change })
    }

    async fn health_of(&self, recorded: &Recorded, sights: &BTreeMap<Identity, Sight>) -> State {
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
            let evidence = Evidence {
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
