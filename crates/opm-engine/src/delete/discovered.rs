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
        let (label, value) = match &request.release {
            ReleaseRef::Name(name) => (labels::RELEASE_NAME, name.to_string()),
            ReleaseRef::Id(id) => (labels::RELEASE_ID, id.to_string()),
            ReleaseRef::Module { .. } => return Ok(None),
        };
        let namespace = &request.namespace;
        let found = self
            .labelled((label, &value), namespace.as_str(), served)
            .await?;
        let mut releases: BTreeMap<ReleaseId, Release> = BTreeMap::new();
        for object in &found.objects {
            if let Some(release) = release_of(object).filter(|r| r.namespace == *namespace) {
                releases.insert(release.id, release);
            }
        }
        if releases.len() < 2 {
            return Ok(releases.into_values().next());
        }
        let ids: Vec<String> = releases.keys().map(ToString::to_string).collect();
        let message = format!(
            "{value} names more than one release in namespace {namespace}: ids {}",
            ids.join(", ")
        );
        Err(Failure::new(FailureKind::Refused, message).hint("name the release by its id"))
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// A record made of what the labels say, and warnings; none if they say nothing.
    pub(super) async fn discovered(&self) -> Result<Option<(Record, Vec<String>)>, Failure> {
        let id = self.release.id.to_string();
        let label = (labels::RELEASE_ID, id.as_str());
        let namespace = self.release.namespace.as_str();
        let found = self.engine.labelled(label, namespace, &self.served).await?;
        let Some(first) = found.objects.first() else {
            return Ok(None);
        };
        let module = OwnerLabels::read(first).module;
        let module = module.and_then(|name| ModuleName::new(name).ok());
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
