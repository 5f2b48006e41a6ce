//! One list of each kind in each namespace in which a release has put objects: what carries its
//! label there, tracked or not, and from where a watch goes on. What is tracked and in no such list
//! is asked for by name.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::status::ReadObject;
use opm_core::{health, labels};

use super::known::KnownRelease;
use super::orphans::has_none;
use super::see::ReleaseObservations;
use crate::concurrently::concurrently_in_order;
use crate::observe::{CONCURRENT_LISTS, FollowedCollection, entry, packed_identity, was_applied};
use crate::ports::{
    Collection, CollectionLabel, Detail, ListedCollection, Observation, WantedObject,
};
use crate::record::release_of_secret;
use crate::report::Release;
use crate::request::{ReleaseRef, StatusRequest};
use crate::run::Run;

/// The Secrets of a release, listed before its record is read: whoever watches from there on
/// misses no write of it.
pub(super) struct SecretList {
    collection: Collection,
    listed: ListedCollection,
}

impl SecretList {
    /// The release that the list has the record of, if it is one.
    pub(super) fn release(&self, reference: &ReleaseRef) -> Option<Release> {
        let label = ["metadata", "labels", labels::COMPONENT];
        let objects = self.listed.objects.iter();
        let records =
            objects.filter(|object| object.text(&label) == Some(labels::COMPONENT_INVENTORY));
        let mut releases = records.filter_map(|record| {
            let text = |field| record.text(&["metadata", field]);
            release_of_secret(text("name")?, text("namespace")?)
        });
        let release = releases.next()?;
        let meant = match reference {
            ReleaseRef::Name(name) => release.name == *name,
            ReleaseRef::Id(id) => release.id == *id,
            // Which record is that of a module follows from the names alone.
            ReleaseRef::Module { .. } => false,
        };
        (meant && releases.next().is_none()).then_some(release)
    }
}

impl KnownRelease {
    /// What is listed of it, by its label.
    fn collections(&self) -> Vec<Collection> {
        let mut versions: BTreeMap<(&GroupKind, Option<&str>), Vec<&String>> = BTreeMap::new();
        for (identity, version) in &self.tracked {
            let place = (&identity.group_kind, identity.namespace.as_deref());
            versions.entry(place).or_default().push(version);
        }
        for (kind, namespace) in &self.places {
            versions.entry((kind, namespace.as_deref())).or_default();
        }
        let label = CollectionLabel {
            name: labels::RELEASE_ID.to_owned(),
            value: Some(self.release.id.to_string()),
            without: None,
        };
        let collections = versions.into_iter().map(|((kind, namespace), versions)| {
            // Of what only may be an orphan, nothing more has to be known.
            let light = health::says_nothing(kind) || versions.is_empty();
            Collection {
                kind: kind.clone(),
                namespace: namespace.map(str::to_owned),
                version: versions.first().map(|version| (*version).clone()),
                label: Some(label.clone()),
                detail: if light {
                    Detail::Metadata
                } else {
                    Detail::Whole
                },
                expected: versions.len(),
            }
        });
        collections.collect()
    }

    /// Whether an object is read as it was applied if it is read as it is in a collection.
    fn is_read_well(&self, identity: &Identity, of: &Collection) -> bool {
        of.detail == Detail::Metadata || self.tracked.get(identity) == of.version.as_ref()
    }

    /// An object that carries the release's label and that its record does not know.
    pub(super) fn orphan(&self, identity: &Identity, object: &PackedObject) -> Option<Entry> {
        let label = object.text(&["metadata", "labels", labels::RELEASE_ID])?;
        if self.tracked.contains_key(identity) || label != self.release.id.to_string() {
            return None;
        }
        let object = object.unpack();
        was_applied(&object).then(|| entry(&object)).flatten()
    }
}

impl Run<'_> {
    /// The Secrets that carry the label of the release that a request names; none where they
    /// cannot be listed.
    pub(super) async fn secrets_of(&self, request: &StatusRequest) -> Option<SecretList> {
        let reference = &request.release;
        let (name, value) = match reference {
            ReleaseRef::Name(name) => (labels::RELEASE_NAME, name.to_string()),
            ReleaseRef::Id(id) => (labels::RELEASE_ID, id.to_string()),
            ReleaseRef::Module {
                path,
                name,
                namespace,
            } => {
                let id = opm_core::ids::ReleaseId::of(path, name, namespace);
                (labels::RELEASE_ID, id.to_string())
            }
        };
        let namespace = reference.namespace_or(&request.namespace);
        let collection = Collection {
            kind: GroupKind::new("", "Secret"),
            namespace: Some(namespace.to_string()),
            version: None,
            label: Some(CollectionLabel {
                name: name.to_owned(),
                value: Some(value),
                without: Some((labels::COMPONENT, labels::COMPONENT_RECORD)),
            }),
            detail: Detail::Metadata,
            expected: 0,
        };
        let listed = self.backend.list_collection(&collection).await.ok()?;
        Some(SecretList { collection, listed })
    }

    /// What there is of everything that a release tracks, and what else carries its label.
    pub(super) async fn look_in_places(
        &self,
        known: &KnownRelease,
        secrets: Option<SecretList>,
    ) -> ReleaseObservations {
        let mut seen = ReleaseObservations::default();
        let mut collections = known.collections();
        if let Some(secrets) = secrets {
            let first = &secrets.collection;
            collections.retain(|one| one.kind != first.kind || one.namespace != first.namespace);
            let followed = seen.take_list(known, secrets.collection, secrets.listed);
            seen.followed.push(followed);
        }
        let lists = concurrently_in_order(CONCURRENT_LISTS, collections.len(), |at| {
            self.backend.list_collection(&collections[at])
        });
        let lists: Vec<_> = lists.collect().await;
        for (collection, listed) in collections.iter().zip(lists) {
            match listed {
                Ok(listed) => {
                    let followed = seen.take_list(known, collection.clone(), listed);
                    // Where nothing is tracked, nothing has to be followed.
                    seen.followed
                        .extend(Some(followed).filter(|_| collection.expected > 0));
                }
                Err(error) if has_none(&error) => {}
                Err(error) => {
                    let warning = format!("failed to look for orphans: {error}");
                    seen.warnings.push(warning);
                }
            }
        }
        let unseen = known
            .tracked
            .keys()
            .filter(|id| !seen.objects.contains_key(*id));
        let unseen: Vec<WantedObject> = unseen.map(|id| known.wanted(id)).collect();
        seen.objects.extend(self.observe_objects(&unseen).await);
        seen
    }
}

impl ReleaseObservations {
    /// Takes in what a list had, and says from where a watch goes on.
    fn take_list(
        &mut self,
        known: &KnownRelease,
        of: Collection,
        listed: ListedCollection,
    ) -> FollowedCollection {
        for object in listed.objects {
            let Some(identity) = packed_identity(&of, &object) else {
                continue;
            };
            if let Some(orphan) = known.orphan(&identity, &object) {
                self.orphans.insert(identity, orphan);
            } else if known.tracked.contains_key(&identity) && known.is_read_well(&identity, &of) {
                let whole = of.detail == Detail::Whole;
                let read = ReadObject { object, whole };
                self.objects.insert(identity, Observation::Present(read));
            }
        }
        // What a tracked object is without its label, only a watch of all of them tells.
        let watched = Collection {
            label: None,
            detail: match of.kind.is("", "Secret") {
                true => Detail::Metadata,
                false => Detail::Whole,
            },
            ..of.clone()
        };
        FollowedCollection {
            listed: of,
            watched,
            resource_version: listed.resource_version,
        }
    }
}
