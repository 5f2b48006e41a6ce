//! A release without a record: what its objects' labels say.
//!
//! What is found becomes a record in which everything is pending, so that the rest of the
//! delete, its lock and a crash in the middle of it are as with any other release.

use std::collections::BTreeMap;

use opm_core::ids::ReleaseId;
use opm_core::labels::{self, OwnerLabels};
use opm_core::name::{ModuleName, NamespaceName, ReleaseName};
use opm_core::record::{Body, Record};
use serde_json::{Map, Value};

use super::Delete;
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, SecretStore, ServedKinds};
use crate::report::Release;
use crate::request::{DeleteRequest, ReleaseRef};
use crate::run::new_record;

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Which release a name or id means, when no record says so.
    pub(super) async fn find_by_labels(
        &self,
        request: &DeleteRequest,
        served: &ServedKinds,
    ) -> Result<Option<Release>, Failure> {
        let namespace = &request.namespace;
        let all = (labels::MANAGED_BY, labels::MANAGED_BY_OPM);
        let found = self.labelled_as(all, namespace.as_str(), served).await?;
        let mut releases: BTreeMap<ReleaseId, Release> = BTreeMap::new();
        let mut only_shared: BTreeMap<ReleaseId, ReleaseName> = BTreeMap::new();
        for object in &found.objects {
            let release = release_of(object).filter(|r| means(&request.release, &r.id, &r.name));
            if let Some(release) = release.filter(|r| r.namespace == *namespace) {
                releases.insert(release.id, release);
            }
            let sharing = sharing(object).filter(|(id, name)| means(&request.release, id, name));
            only_shared.extend(sharing);
        }
        if releases.is_empty() {
            return by_shared_objects(request, &only_shared);
        }
        if releases.len() < 2 {
            return Ok(releases.into_values().next());
        }
        let ids: Vec<String> = releases.keys().map(ToString::to_string).collect();
        let value = &request.release;
        let message = format!(
            "{value} names more than one release in namespace {namespace}: ids {}",
            ids.join(", ")
        );
        Err(Failure::new(FailureKind::Refused, message).hint("name the release by its id"))
    }
}

/// The labels of shared objects tell a release's id and name, and not its namespace: a name
/// alone could mean a release of another one.
fn by_shared_objects(
    request: &DeleteRequest,
    found: &BTreeMap<ReleaseId, ReleaseName>,
) -> Result<Option<Release>, Failure> {
    if let ReleaseRef::Id(id) = &request.release {
        return Ok(found.get(id).map(|name| Release {
            id: *id,
            name: name.clone(),
            namespace: request.namespace.clone(),
        }));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let ids: Vec<String> = found.keys().map(ToString::to_string).collect();
    let message = format!(
        "there is no record of {}, and the name stands on shared objects only, which do not \
             tell its namespace: ids {}",
        request.release,
        ids.join(", ")
    );
    Err(Failure::new(FailureKind::Refused, message).hint("name the release by its id"))
}

/// Whether a command means this release.
fn means(reference: &ReleaseRef, id: &ReleaseId, name: &ReleaseName) -> bool {
    match reference {
        ReleaseRef::Name(given) => given == name,
        ReleaseRef::Id(given) => given == id,
        ReleaseRef::Module { .. } => false,
    }
}

/// The releases that share an object.
fn sharing(object: &Map<String, Value>) -> impl Iterator<Item = (ReleaseId, ReleaseName)> {
    let shared = OwnerLabels::read(object).shared.into_iter();
    shared.filter_map(|(id, name)| Some((id.parse().ok()?, ReleaseName::new(name).ok()?)))
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// A record made of what the labels say, and warnings; none if they say nothing.
    pub(super) async fn discovered(&self) -> Result<Option<(Record, Vec<String>)>, Failure> {
        let found = self.engine.labelled(&self.release, &self.served).await?;
        if found.objects.is_empty() {
            return Ok(None);
        }
        // Shared objects do not tell the module; the record is not meant to last anyway.
        let modules = found.objects.iter();
        let module = modules
            .filter_map(|object| OwnerLabels::read(object).module)
            .chain([self.release.name.to_string()])
            .find_map(|name| ModuleName::new(name).ok());
        let Some(module) = module else {
            return Ok(None);
        };
        let mut record = new_record(&self.owner(module));
        let since = self.engine.server_now().to_string();
        record.pending.objects = Body::Here(found.as_pending(&since));
        Ok(Some((record, found.warnings)))
    }
}

fn release_of(object: &Map<String, Value>) -> Option<Release> {
    let labels = OwnerLabels::read(object);
    Some(Release {
        name: ReleaseName::new(labels.release?).ok()?,
        namespace: NamespaceName::new(labels.namespace?).ok()?,
        id: labels.id?.parse().ok()?,
    })
}
