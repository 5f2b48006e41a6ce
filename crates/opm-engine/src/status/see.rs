//! Looking at what a release tracks: as little of each object as it takes to judge it.
//!
//! Of kinds that say nothing about themselves, only the metadata is read; the whole object
//! follows where its managed fields leave it open whether it has drifted. Pods are looked at for
//! workloads that are not ready.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use opm_core::entry::Entry;
use opm_core::health;
use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_core::status::{ObjectEvidence, ReadObject, SentSince, is_suspect};
use opm_core::takeover::RetiredManagers;
use serde_json::{Map, Value};

use super::known::KnownRelease;
use super::places::SecretList;
use crate::concurrently::concurrently;
use crate::observe::FollowedCollection;
use crate::ports::{ApiError, Detail, Observation, WantedObject};
use crate::record::ManifestsError;
use crate::run::Run;

/// How many workloads are asked for their pods, and how many at a time.
pub(super) const EXPLAINED: usize = 32;
const CONCURRENT_PODS: usize = 8;

/// Objects by identity.
pub(super) type ObjectMap = BTreeMap<Identity, PackedObject>;

/// What was seen of a release.
#[derive(Default)]
pub(super) struct ReleaseObservations {
    pub(super) objects: BTreeMap<Identity, Observation<ReadObject>>,
    /// What carries its label, and its record does not know.
    pub(super) orphans: BTreeMap<Identity, Entry>,
    /// What was listed, and from where a watch goes on.
    pub(super) followed: Vec<FollowedCollection>,
    /// What was applied; empty if that was not kept.
    pub(super) applied: ObjectMap,
    /// What the last run sent, if it did not end well and that was kept.
    pub(super) sent: ObjectMap,
    pub(super) pods: BTreeMap<Identity, Vec<Map<String, Value>>>,
    pub(super) warnings: Vec<String>,
    /// The tools that were replaced.
    retired: RetiredManagers,
}

impl ReleaseObservations {
    /// Everything that is known about one object.
    pub(super) fn evidence<'a>(
        &'a self,
        known: &'a KnownRelease,
        identity: &Identity,
    ) -> ObjectEvidence<'a> {
        ObjectEvidence {
            release: &known.release.id,
            observation: self.objects.get(identity),
            applied: self.applied.get(identity),
            sent: known.unrecorded.as_ref().map(|run| SentSince {
                change: &run.change,
                object: self.sent.get(identity),
            }),
            pods: self.pods.get(identity).map(Vec::as_slice),
            retired: &self.retired,
        }
    }
}

impl Run<'_> {
    /// Looks at everything that a release tracks, and at what else carries its label there.
    pub(super) async fn see(
        &self,
        known: &KnownRelease,
        secrets: Option<SecretList>,
    ) -> ReleaseObservations {
        let (seen, (applied, warnings), sent) = futures::join!(
            self.look_in_places(known, secrets),
            self.applied(known),
            self.sent(known)
        );
        let mut seen = ReleaseObservations {
            applied,
            sent,
            warnings: [warnings, seen.warnings].concat(),
            retired: self.settings.retired_managers.clone(),
            ..seen
        };
        let tracked: Vec<Identity> = known.tracked.keys().cloned().collect();
        self.look_closer(known, &tracked, &mut seen).await;
        seen
    }

    /// Looks at one object of a release, the whole of it.
    pub(super) async fn see_whole(
        &self,
        known: &KnownRelease,
        identity: &Identity,
    ) -> ReleaseObservations {
        let wanted = [known.wanted(identity)];
        let (mut objects, (mut applied, warnings), mut sent) = futures::join!(
            self.backend.look_in_version(&wanted, Detail::Whole),
            self.applied(known),
            self.sent(known)
        );
        let found = objects.remove(identity);
        let found = found.map(|found| (identity.clone(), read(found, true)));
        applied.retain(|id, _| id == identity);
        sent.retain(|id, _| id == identity);
        let mut seen = ReleaseObservations {
            objects: found.into_iter().collect(),
            applied,
            sent,
            warnings,
            retired: self.settings.retired_managers.clone(),
            ..ReleaseObservations::default()
        };
        let which = std::slice::from_ref(identity);
        self.look_closer(known, which, &mut seen).await;
        seen
    }

    /// What there is of these objects.
    pub(crate) async fn observe_objects(
        &self,
        wanted: &[WantedObject],
    ) -> BTreeMap<Identity, Observation<ReadObject>> {
        let (light, whole): (Vec<WantedObject>, Vec<WantedObject>) = wanted
            .iter()
            .cloned()
            .partition(|one| health::says_nothing(&one.identity.group_kind));
        let (light, whole) = futures::join!(
            self.backend.look_in_version(&light, Detail::Metadata),
            self.backend.look_in_version(&whole, Detail::Whole)
        );
        let light = light
            .into_iter()
            .map(|(id, found)| (id, read(found, false)));
        let whole = whole.into_iter().map(|(id, found)| (id, read(found, true)));
        light.chain(whole).collect()
    }

    /// What was applied, as far as it was kept, and warnings.
    async fn applied(&self, known: &KnownRelease) -> (ObjectMap, Vec<String>) {
        let Some(change) = &known.change else {
            return (ObjectMap::new(), Vec::new());
        };
        match self.manifests_of(&known.release, change).await {
            Ok(manifests) => {
                let objects = manifests.into_iter();
                let objects = objects.map(|m| (m.identity().clone(), m.into_packed()));
                (objects.collect(), Vec::new())
            }
            Err(ManifestsError::NotKept) => (ObjectMap::new(), Vec::new()),
            Err(error) => {
                let warning = format!("drift is told from managed fields alone: {error}");
                (ObjectMap::new(), vec![warning])
            }
        }
    }

    /// What the last run sent, or meant to send, if it did not end well and that was kept.
    async fn sent(&self, known: &KnownRelease) -> ObjectMap {
        let Some(run) = &known.unrecorded else {
            return ObjectMap::new();
        };
        let change = match (&run.past, &run.kept) {
            (Some(past), _) => Some(past.clone()),
            (None, Some(kept)) => {
                let kept = self.failed_change(&known.release, &run.change, kept);
                kept.await.ok()
            }
            (None, None) => None,
        };
        let Some(change) = change else {
            return ObjectMap::new();
        };
        let manifests = self.manifests_of(&known.release, &change).await;
        let objects = manifests.unwrap_or_default().into_iter();
        objects
            .map(|m| (m.identity().clone(), m.into_packed()))
            .collect()
    }

    /// Reads the whole of what may have drifted, and the pods of what is not ready.
    pub(super) async fn look_closer(
        &self,
        known: &KnownRelease,
        which: &[Identity],
        seen: &mut ReleaseObservations,
    ) {
        let suspects: Vec<WantedObject> = which
            .iter()
            .filter(|id| match seen.objects.get(*id) {
                Some(Observation::Present(ReadObject {
                    object,
                    whole: false,
                })) => is_suspect(object, seen.evidence(known, id)),
                _ => false,
            })
            .map(|identity| known.wanted(identity))
            .collect();
        let found = self.backend.look_in_version(&suspects, Detail::Whole);
        for (identity, found) in found.await {
            // One that may not be read stays as it was seen.
            if !matches!(found, Observation::Failed(_)) {
                seen.objects.insert(identity, read(found, true));
            }
        }
        for identity in which {
            seen.pods.remove(identity);
        }
        let unready: Vec<(Identity, Map<String, Value>)> = which
            .iter()
            .filter_map(|id| Some((id.clone(), unready_workload(id, seen.objects.get(id)?)?)))
            .take(EXPLAINED)
            .collect();
        let pods = self.pods_of_unready(&unready).await;
        for (identity, found) in pods {
            match found {
                Ok(found) => {
                    seen.pods.insert(identity, found);
                }
                Err(error) => {
                    let warning = format!("the pods of {identity} cannot be seen: {error}");
                    seen.warnings.push(warning);
                }
            }
        }
    }

    /// The pods of workloads that are not ready.
    pub(super) async fn pods_of_unready(
        &self,
        workloads: &[(Identity, Map<String, Value>)],
    ) -> Vec<(Identity, Result<Vec<Map<String, Value>>, ApiError>)> {
        let pods = concurrently(CONCURRENT_PODS, workloads.len(), |at| async move {
            let (identity, workload) = &workloads[at];
            (identity.clone(), self.backend.pods_of(workload).await)
        });
        pods.collect().await
    }
}

fn read(found: Observation<PackedObject>, whole: bool) -> Observation<ReadObject> {
    found.map(|object| ReadObject { object, whole })
}

/// A workload whose pods can say why it is not ready.
fn unready_workload(
    identity: &Identity,
    observation: &Observation<ReadObject>,
) -> Option<Map<String, Value>> {
    let Observation::Present(ReadObject {
        object,
        whole: true,
    }) = observation
    else {
        return None;
    };
    if !health::has_pods(&identity.group_kind) {
        return None;
    }
    let object = object.unpack();
    (!health::of(&object).is_ready()).then_some(object)
}
