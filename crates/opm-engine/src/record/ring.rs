//! The record Secrets of a release that exist, and removing those that nothing names.
//!
//! They are removed after the release's Secret has stopped naming them; what a crash leaves in
//! between, the next run sweeps.

use std::collections::BTreeSet;

use futures::TryStreamExt as _;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::RECORD_SLOTS;
use opm_core::labels;
use opm_core::record::ring::named;
use opm_core::record::{LogResult, Record};
use serde_json::{Map, Value};

use super::payload::secret_name;
use super::{LockGuard, WriteError};
use crate::concurrently::concurrently;
use crate::observe::metadata;
use crate::ports::{
    ApiError, ApiErrorKind, Detail, Observation, Permit, RemoveOutcome, StoredSecret,
};
use crate::report::Release;
use crate::run::Run;

/// How often a removal is tried again that met a conflict with nobody.
const ATTEMPTS: usize = 3;

/// How many Secrets are looked at at the same time by who may not list them.
const AT_ONCE: usize = 16;

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

/// Which record Secrets are of interest to who may not list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordSecretScope {
    /// Those that the record names, and all of them if the run before may have left others.
    Named,
    /// All that there can be.
    All,
}

impl Run<'_> {
    /// The record Secrets of a release that exist. Who may not list Secrets looks at them one by
    /// one.
    pub(crate) async fn record_secrets(
        &self,
        release: &Release,
        record: &Record,
        among: RecordSecretScope,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let id = release.id.to_string();
        let secrets = GroupKind::new("", "Secret");
        let label = Some((labels::RELEASE_ID, id.as_str()));
        let namespace = release.namespace.as_str();
        match self
            .backend
            .list(&secrets, Some(namespace), label, Detail::Metadata)
            .await
        {
            Ok(found) => Ok(found.iter().filter_map(record_secret).collect()),
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                self.one_by_one(release, record, among).await
            }
            Err(error) => Err(error),
        }
    }

    async fn one_by_one(
        &self,
        release: &Release,
        record: &Record,
        among: RecordSecretScope,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let named = named(record);
        let all = among == RecordSecretScope::All || may_have_left_some(record);
        let places = (0..RECORD_SLOTS).filter(|place| all || named.contains(place));
        let places: Vec<u8> = places.collect();
        let looks = concurrently(AT_ONCE, places.len(), |at| {
            self.record_secret_at(release, places[at], named.contains(&places[at]))
        });
        let found: Vec<Option<RecordSecret>> = looks.try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Rights may be narrower than the ring: a place that the record does not name, and that may
    /// not be looked at, is not one that this user's runs have written.
    async fn record_secret_at(
        &self,
        release: &Release,
        place: u8,
        named: bool,
    ) -> Result<Option<RecordSecret>, ApiError> {
        let name = secret_name(release, place);
        let stored = match self
            .backend
            .get_secret(release.namespace.as_str(), &name)
            .await
        {
            Err(error) if error.kind == ApiErrorKind::Forbidden && !named => None,
            looked => looked?,
        };
        Ok(stored.map(|stored| RecordSecret {
            name,
            uid: stored.uid,
            resource_version: stored.resource_version,
        }))
    }

    /// Writes a record, and removes what it names no longer. That this did not work is a note:
    /// the next apply tries again.
    pub(crate) async fn write_and_sweep(
        &self,
        guard: &LockGuard,
        record: Record,
    ) -> Result<(), WriteError> {
        let before = guard.record().await;
        let existing = match named(&before).is_empty() {
            true => Ok(Vec::new()),
            false => {
                self.record_secrets(&guard.release, &before, RecordSecretScope::Named)
                    .await
            }
        };
        self.write_then_sweep(guard, record, existing).await
    }

    /// The same, and every record Secret of the release goes that the record does not name.
    pub(crate) async fn write_and_sweep_all(
        &self,
        guard: &LockGuard,
        record: Record,
        beside: Option<Vec<RecordSecret>>,
    ) -> Result<(), WriteError> {
        let existing = self.secrets_beside(guard, beside).await;
        self.write_then_sweep(guard, record, existing).await
    }

    async fn write_then_sweep(
        &self,
        guard: &LockGuard,
        record: Record,
        existing: Result<Vec<RecordSecret>, ApiError>,
    ) -> Result<(), WriteError> {
        let release = &guard.release;
        self.write(guard, record).await?;
        let now = guard.record().await;
        let swept = match existing {
            Ok(existing) => self.sweep(release, &existing, &now, self.permit()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = swept {
            guard.note(unswept(&error)).await;
        }
        Ok(())
    }

    /// Those that exist, if the run before may have left some that nothing names; none otherwise.
    pub(crate) async fn left_by_others(
        &self,
        release: &Release,
        record: &Record,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        match may_have_left_some(record) {
            true => {
                let scope = RecordSecretScope::Named;
                self.record_secrets(release, record, scope).await
            }
            false => Ok(Vec::new()),
        }
    }

    /// Whether there is a Secret at each of these places.
    pub(super) async fn are_there(&self, release: &Release, places: &[u8]) -> bool {
        let found = self
            .record_secrets_at(release, places.iter().copied())
            .await;
        found.is_ok_and(|found| found.len() == places.len())
    }

    /// Whether there is no Secret at any of these places.
    pub(super) async fn are_swept(&self, release: &Release, places: &BTreeSet<u8>) -> bool {
        let found = self.record_secrets_at(release, places.iter().copied());
        found.await.is_ok_and(|found| found.is_empty())
    }

    async fn record_secrets_at(
        &self,
        release: &Release,
        places: impl Iterator<Item = u8>,
    ) -> Result<Vec<RecordSecret>, ApiError> {
        let secrets = GroupKind::new("", "Secret");
        let namespace = Some(release.namespace.as_str());
        let identity =
            |place| Identity::new(secrets.clone(), namespace, secret_name(release, place));
        let wanted: Vec<Identity> = places.map(identity).collect();
        let found = self.backend.look(&wanted, Detail::Metadata).await;
        let found: Result<Vec<_>, ApiError> = found.into_values().map(Observation::found).collect();
        Ok(found?.iter().flatten().filter_map(record_secret).collect())
    }

    /// Removes what was left by others and what this run has given up.
    pub(crate) async fn sweep_places(
        &self,
        release: &Release,
        left: &[RecordSecret],
        given_up: &BTreeSet<u8>,
        stored: &Record,
    ) -> Result<(), ApiError> {
        let known = |place: &u8| {
            let name = secret_name(release, *place);
            left.iter().any(|secret| secret.name == name)
        };
        let places = given_up.iter().filter(|place| !known(place)).copied();
        let found = self.record_secrets_at(release, places).await?;
        let all = [left, &found].concat();
        self.sweep(release, &all, stored, self.permit()).await
    }

    /// Removes those that the record, as it is stored now, does not name. One that was written
    /// again meanwhile is somebody else's by now, and is left alone.
    pub(crate) async fn sweep(
        &self,
        release: &Release,
        existing: &[RecordSecret],
        stored: &Record,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        let named: BTreeSet<String> = named(stored)
            .into_iter()
            .map(|place| secret_name(release, place))
            .collect();
        let unnamed = existing.iter().filter(|s| !named.contains(&s.name));
        let unnamed: &Vec<&RecordSecret> = &unnamed.collect();
        let removals = concurrently(AT_ONCE, unnamed.len(), |at| {
            self.remove_unchanged(release, unnamed[at], permit)
        });
        removals.try_collect().await
    }

    /// A conflict alone does not say that somebody wrote it: only another version does.
    async fn remove_unchanged(
        &self,
        release: &Release,
        secret: &RecordSecret,
        permit: Permit<'_>,
    ) -> Result<(), ApiError> {
        let RecordSecret {
            name,
            uid,
            resource_version,
        } = secret;
        let version = Some(resource_version.as_str());
        let namespace = release.namespace.as_str();
        for _ in 0..ATTEMPTS {
            let removed = self
                .backend
                .remove_secret(namespace, name, uid, version, permit);
            if removed.await? == RemoveOutcome::Gone {
                return Ok(());
            }
            let now = self.backend.get_secret(namespace, name).await?;
            let same = |now: &StoredSecret| now.version().resource_version == resource_version;
            if !now.is_some_and(|now| same(&now)) {
                return Ok(());
            }
        }
        Err(ApiError::local(
            ApiErrorKind::Stale,
            format!("Secret/{name} cannot be removed: there is a conflict again and again"),
        ))
    }
}

/// What is told about record Secrets that could not be removed.
pub(crate) fn unswept(error: &ApiError) -> String {
    format!("records of older changes could not be removed; the next apply tries again: {error}")
}

/// Whether the run before this one ended in a way that leaves record Secrets which nothing
/// names.
fn may_have_left_some(record: &Record) -> bool {
    let before = record
        .log
        .iter()
        .find(|entry| ![LogResult::Started, LogResult::Refused].contains(&entry.result));
    before.is_some_and(|entry| !entry.result.is_recorded())
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
