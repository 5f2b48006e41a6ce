//! The manifests of a change, kept beside the release's Secret in Secrets of their own: canonical
//! bytes, compressed, split over the ring of names that the core allocates.
//!
//! They are written before the release's Secret names them, and removed after it has stopped
//! naming them; what a crash leaves in between, the next apply sweeps. That they cannot be kept
//! is no reason to fail an apply: the change then says why they are not there.

use std::collections::{BTreeMap, BTreeSet};

use opm_core::candidate::Candidate;
use opm_core::identity::GroupKind;
use opm_core::labels::{self, Owner};
use opm_core::record::ring::{MAX_TOTAL_BYTES, allocate, named, pieces, places_needed};
use opm_core::record::{Held, Part, RECORD_TYPE, Record, RecordRef, record_labels};
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::observe::metadata;
use crate::ports::{
    ApiError, Cluster, Detail, ErrorKind, SecretContent, SecretStore, WriteOutcome,
};
use crate::report::Release;

/// The key in a record Secret.
pub(super) const KEY: &str = "manifests";
/// Enough to make YAML small, and quick enough never to be noticed.
const LEVEL: i32 = 3;

/// A record Secret that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordSecret {
    name: String,
    uid: String,
    resource_version: String,
}

impl RecordSecret {
    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl<C: Cluster, S: SecretStore, K> Engine<C, S, K> {
    /// Keeps the manifests of the candidate's change. `stored` is the record as it stands. What
    /// an earlier run kept for the same change is kept on, if it is still there: a delete that
    /// was cut short may have taken it.
    pub(crate) async fn keep_manifests(
        &self,
        candidate: &Candidate,
        stored: &Record,
        existing: &[RecordSecret],
    ) -> RecordRef {
        let owner = &candidate.owner;
        let former = stored.change(candidate.change.as_str());
        let former = former.and_then(|change| change.record.clone());
        if let Some(former) = former.filter(|held| is_there(held, owner, existing)) {
            return former;
        }
        let manifests = &candidate.canonical_manifests();
        let mut reference = RecordRef::default();
        match self.write_manifests(owner, stored, manifests).await {
            Ok(held) => {
                reference.parts.insert(Part::Manifests, held);
            }
            Err(why) => {
                reference.dropped.insert(Part::Manifests, why);
            }
        }
        reference
    }

    async fn write_manifests(
        &self,
        owner: &Owner,
        stored: &Record,
        manifests: &[u8],
    ) -> Result<Held, String> {
        let payload = zstd::encode_all(manifests, LEVEL).map_err(|error| error.to_string())?;
        let bytes = payload.len() as u64;
        if bytes > MAX_TOTAL_BYTES {
            return Err(format!("they are too large to be kept: {bytes} bytes"));
        }
        let taken = named(stored);
        let Some(places) = allocate(places_needed(payload.len()), &taken) else {
            return Err("there is no room for them".to_owned());
        };
        for (place, piece) in places.iter().zip(pieces(&payload)) {
            self.write_piece(owner, *place, piece)
                .await
                .map_err(|error| error.to_string())?;
        }
        Ok(Held { places, bytes })
    }

    /// A Secret that is there already, and that no index names, is what a crashed run left.
    async fn write_piece(&self, owner: &Owner, place: u8, piece: &[u8]) -> Result<(), ApiError> {
        let name = owner
            .id
            .record_secret(&owner.release, place)
            .unwrap_or_default();
        let content = SecretContent {
            name,
            namespace: owner.namespace.to_string(),
            secret_type: RECORD_TYPE.to_owned(),
            labels: record_labels(owner),
            annotations: BTreeMap::new(),
            data: BTreeMap::from([(KEY.to_owned(), piece.to_vec())]),
            immutable: false,
        };
        if let WriteOutcome::Written(_) = self.secrets.create(&content, &self.gate).await? {
            return Ok(());
        }
        let left = self.secrets.get(&content.namespace, &content.name).await?;
        let version = left.map(|left| left.resource_version).unwrap_or_default();
        match self.secrets.replace(&content, &version, &self.gate).await? {
            WriteOutcome::Written(_) => Ok(()),
            WriteOutcome::Lost => Err(ApiError {
                kind: ErrorKind::Stale,
                status: None,
                reason: String::new(),
                message: format!("somebody else writes Secret/{}", content.name),
                causes: Vec::new(),
            }),
        }
    }

    /// The record Secrets of a release that exist. Who may not list Secrets looks at those that
    /// the record names.
    pub(crate) async fn record_secrets(
        &self,
        release: &Release,
        record: &Record,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let id = release.id.to_string();
        let secrets = GroupKind::new("", "Secret");
        let label = Some((labels::RELEASE_ID, id.as_str()));
        let namespace = release.namespace.as_str();
        match self
            .cluster
            .list(&secrets, Some(namespace), label, Detail::Metadata)
            .await
        {
            Ok(found) => Ok(found.iter().filter_map(record_secret).collect()),
            Err(error) if error.kind == ErrorKind::Forbidden => {
                self.named_secrets(release, record).await
            }
            Err(error) => Err(error),
        }
    }

    async fn named_secrets(
        &self,
        release: &Release,
        record: &Record,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let mut found = Vec::new();
        for name in names(release, record) {
            if let Some(stored) = self.secrets.get(release.namespace.as_str(), &name).await? {
                let (uid, resource_version) = (stored.uid, stored.resource_version);
                found.push(RecordSecret {
                    name,
                    uid,
                    resource_version,
                });
            }
        }
        Ok(found)
    }

    /// Removes those that the record, as it is stored now, does not name. One that was written
    /// again meanwhile is somebody else's by now, and is left alone.
    pub(crate) async fn sweep(
        &self,
        release: &Release,
        existing: &[RecordSecret],
        stored: &Record,
    ) -> Result<(), ApiError> {
        let named = names(release, stored);
        for secret in existing
            .iter()
            .filter(|secret| !named.contains(&secret.name))
        {
            let RecordSecret {
                name,
                uid,
                resource_version,
            } = secret;
            let version = Some(resource_version.as_str());
            let namespace = release.namespace.as_str();
            self.secrets
                .remove(namespace, name, uid, version, &self.gate)
                .await?;
        }
        Ok(())
    }
}

/// Whether all Secrets that hold the manifests exist.
fn is_there(held: &RecordRef, owner: &Owner, existing: &[RecordSecret]) -> bool {
    held.parts.get(&Part::Manifests).is_some_and(|held| {
        held.places.iter().all(|place| {
            let name = owner.id.record_secret(&owner.release, *place);
            existing
                .iter()
                .any(|secret| Some(&secret.name) == name.as_ref())
        })
    })
}

fn names(release: &Release, record: &Record) -> BTreeSet<String> {
    let places = named(record).into_iter();
    places
        .filter_map(|place| release.id.record_secret(&release.name, place))
        .collect()
}

fn record_secret(object: &Map<String, Value>) -> Option<RecordSecret> {
    let labels = object.get("metadata")?.get("labels")?;
    if labels.get(labels::COMPONENT)?.as_str()? != labels::COMPONENT_RECORD {
        return None;
    }
    Some(RecordSecret {
        name: metadata(object, "name")?.to_owned(),
        uid: metadata(object, "uid")?.to_owned(),
        resource_version: metadata(object, "resourceVersion")?.to_owned(),
    })
}
