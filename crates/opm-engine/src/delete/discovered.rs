//! A release without a record: what its objects' labels say.
//!
//! What is found becomes a record in which everything is pending, so that the rest of the
//! delete, its lock and a crash in the middle of it are as with any other release.

use std::collections::BTreeMap;

use opm_core::ids::ReleaseId;
use opm_core::labels::{self, Owner, OwnerLabels};
use opm_core::name::{ModuleName, NamespaceName, ReleaseName};
use opm_core::record::{Body, Record};
use serde_json::{Map, Value};

use super::Delete;
use crate::failure::{Failure, Remedy};
use crate::observe::{AllKinds, UnseenKinds};
use crate::report::Release;
use crate::request::ReleaseRef;
use crate::run::Run;

impl Run<'_> {
    /// Which release a name or id means, when no record says so.
    pub(crate) async fn find_by_labels(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
        served: &AllKinds,
    ) -> Result<LabelLookup, Failure> {
        let all = (labels::MANAGED_BY, labels::MANAGED_BY_OPM);
        let found = self.labelled_as(all, namespace.as_str(), served).await?;
        let unseen = found.unseen;
        let meant = |id: &ReleaseId, name: &ReleaseName| means(reference, id, name);
        let own = found.objects.iter().filter_map(release_of);
        let (here, elsewhere): (Vec<Release>, Vec<Release>) = own
            .filter(|release| meant(&release.id, &release.name))
            .partition(|release| release.namespace == *namespace);
        let mut here: BTreeMap<ReleaseId, Release> = here.into_iter().map(|r| (r.id, r)).collect();
        if here.len() > 1 {
            let ids: Vec<String> = here.keys().map(ToString::to_string).collect();
            let message = format!(
                "{reference} names more than one release in namespace {namespace}: ids {}",
                ids.join(", ")
            );
            return Err(Failure::refused(message).remedy(Remedy::NameById));
        }
        if let Some((_, release)) = here.pop_first() {
            return Ok(LabelLookup::Found(release));
        }
        let shared: BTreeMap<ReleaseId, ReleaseName> = found
            .objects
            .iter()
            .flat_map(sharing)
            .filter(|(id, name)| meant(id, name) && !elsewhere.iter().any(|r| r.id == *id))
            .collect();
        let found = self.by_shared_objects(reference, namespace, shared).await?;
        Ok(match found {
            LabelLookup::Unknown { sharing, .. } => LabelLookup::Unknown { sharing, unseen },
            found => found,
        })
    }

    /// The same, with what the cluster serves asked for it.
    pub(crate) async fn look_for_labels(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Result<LabelLookup, Failure> {
        let served = self.discover_all().await?;
        self.find_by_labels(reference, namespace, &served).await
    }

    /// The labels of shared objects tell a release's id and name, and not its namespace. A name
    /// could mean a release of another one; so could an id, unless no record says so.
    async fn by_shared_objects(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
        found: BTreeMap<ReleaseId, ReleaseName>,
    ) -> Result<LabelLookup, Failure> {
        let given = match reference {
            ReleaseRef::Id(id) => id,
            _ => return Ok(LabelLookup::unknown(found.into_keys().collect())),
        };
        let Some(name) = found.get(given) else {
            return Ok(LabelLookup::unknown(Vec::new()));
        };
        let id = given.to_string();
        let selector = [
            (labels::RELEASE_ID, id.as_str()),
            (labels::COMPONENT, labels::COMPONENT_INVENTORY),
        ];
        let records = self.backend.list_secrets(None, &selector).await;
        let records = records.map_err(|error| {
            let what = "cannot see whether the release has a record in another namespace";
            Failure::before_writing(what, &error)
        })?;
        match records.is_empty() {
            true => Ok(LabelLookup::Found(Release {
                id: *given,
                name: name.clone(),
                namespace: namespace.clone(),
            })),
            false => Ok(LabelLookup::unknown(Vec::new())),
        }
    }
}

/// What labels say about which release is meant.
pub(crate) enum LabelLookup {
    /// This one.
    Found(Release),
    /// None that is certain.
    Unknown {
        /// These share objects under the name that was given.
        sharing: Vec<ReleaseId>,
        unseen: UnseenKinds,
    },
}

impl LabelLookup {
    fn unknown(sharing: Vec<ReleaseId>) -> Self {
        Self::Unknown {
            sharing,
            unseen: UnseenKinds::default(),
        }
    }
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

impl Delete<'_> {
    /// A record made of what the labels say, and warnings; none if they say nothing.
    pub(super) async fn discovered(&self) -> Result<Option<(Record, Vec<String>)>, Failure> {
        let served = self.run.discover_all().await?;
        let found = self.run.labelled(&self.release, &served).await?;
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
        let owner = Owner {
            module,
            namespace: self.release.namespace.clone(),
            release: self.release.name.clone(),
            id: self.release.id,
        };
        let mut record = Release::new_record(&owner);
        let since = self.run.server_now().to_string();
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
