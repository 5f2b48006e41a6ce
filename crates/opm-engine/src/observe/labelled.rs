//! Finding a release's objects by their labels, when there is no record to say which they are.

use std::collections::HashSet;

use futures::StreamExt as _;
use opm_core::check::{LiveObject, counts_as_discovered};
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::labels::{self, OwnerLabels};
use opm_core::record::{Extra, PendingObject, PendingWhy};
use serde_json::{Map, Value};

use super::{AllKinds, CONCURRENT_LISTS, identity_of, metadata};
use crate::concurrently::concurrently;
use crate::failure::Failure;
use crate::ports::{ApiError, ApiErrorKind, Detail, ServedKinds};
use crate::report::Release;
use crate::run::Run;

/// What label discovery found, and where it could not look.
#[derive(Debug, Default)]
pub(crate) struct LabelledObjects {
    pub(crate) objects: Vec<Map<String, Value>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) unseen: UnseenKinds,
}

/// The kinds that could not be listed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnseenKinds {
    pub(crate) count: usize,
    /// Whether one of them could not for another reason than missing rights.
    pub(crate) failed: bool,
}

/// Kinds that most releases have: who may list none of them need not be asked about the others.
const USUAL: [(&str, &str); 4] = [
    ("", "ConfigMap"),
    ("", "Service"),
    ("apps", "Deployment"),
    ("", "ServiceAccount"),
];

impl LabelledObjects {
    /// The objects as pending ones: known to exist, and in no recorded change.
    pub(crate) fn as_pending(&self, since: &str) -> Vec<PendingObject> {
        let pending = self.objects.iter().filter_map(|object| {
            Some(PendingObject {
                entry: entry(object)?,
                why: PendingWhy::Repair,
                change: String::new(),
                since: since.to_owned(),
                reason: None,
                late: false,
                extra: Extra::default(),
            })
        });
        pending.collect()
    }
}

/// A live object as an entry.
pub(crate) fn entry(object: &Map<String, Value>) -> Option<Entry> {
    let api_version = object.get("apiVersion")?.as_str()?;
    let version = api_version.rsplit('/').next()?;
    let component = OwnerLabels::read(object).component.unwrap_or_default();
    let mut entry = Entry::new(identity_of(object)?, version, component);
    entry.uid = metadata(object, "uid").map(str::to_owned);
    Some(entry)
}

impl Run<'_> {
    /// All objects of a release, those that it shares with others included, in all kinds that
    /// can be listed, in all namespaces. A kind that may not be listed everywhere is listed in
    /// the release's namespace.
    pub(crate) async fn labelled(
        &self,
        release: &Release,
        served: &AllKinds,
    ) -> Result<LabelledObjects, Failure> {
        let (id, shared) = (release.id.to_string(), labels::shared_label(&release.id));
        let own = (labels::RELEASE_ID, id.as_str());
        let shared = (shared.as_str(), release.name.as_str());
        let namespace = release.namespace.as_str();
        let mut found = self.labelled_as(own, namespace, served).await?;
        if found.unseen.count == listable(served).count() {
            return Ok(found);
        }
        let more = self.labelled_as(shared, namespace, served).await?;
        let known: HashSet<Option<Identity>> = found.objects.iter().map(identity_of).collect();
        let new = more.objects.into_iter();
        found
            .objects
            .extend(new.filter(|object| !known.contains(&identity_of(object))));
        for warning in more.warnings {
            if !found.warnings.contains(&warning) {
                found.warnings.push(warning);
            }
        }
        Ok(found)
    }

    /// All objects that releases with this label applied.
    pub(crate) async fn labelled_as(
        &self,
        label: (&str, &str),
        namespace: &str,
        served: &AllKinds,
    ) -> Result<LabelledObjects, Failure> {
        let kinds: &Vec<&GroupKind> = &listable(served).collect();
        if self.may_list_nothing(namespace, served).await {
            return Ok(LabelledObjects {
                warnings: vec![format!(
                    "not permitted to list objects in namespace {namespace}: none was looked for \
                     by its labels"
                )],
                unseen: UnseenKinds {
                    count: kinds.len(),
                    failed: false,
                },
                ..LabelledObjects::default()
            });
        }
        let lists = concurrently(CONCURRENT_LISTS, kinds.len(), |at| async move {
            let kind = kinds[at];
            (kind, self.labelled_of(kind, label, namespace).await)
        });
        let lists: Vec<_> = lists.collect().await;
        let not_served = |error: &ApiError| error.kind == ApiErrorKind::KindNotServed;
        let mut errors = lists.iter().filter_map(|(_, listed)| listed.as_ref().err());
        let now = match errors.any(not_served) {
            true => self.backend.served().await.ok(),
            false => None,
        };
        let gone = |kind: &GroupKind| now.as_ref().is_some_and(|now| !may_serve(now, kind));
        let mut labelled = LabelledObjects::default();
        for (kind, listed) in lists {
            match listed {
                Ok(objects) => labelled.objects.extend(objects),
                // Its definition has gone meanwhile, and all of its objects with it.
                Err(error) if not_served(&error) && gone(kind) => {}
                Err(error) if error.kind == ApiErrorKind::Unreachable => {
                    let what = format!("cannot look for the release's objects of kind {kind}");
                    return Err(Failure::before_writing(&what, &error));
                }
                Err(error) => {
                    labelled.unseen.count += 1;
                    labelled.unseen.failed |= error.kind != ApiErrorKind::Forbidden;
                    labelled.warnings.push(format!(
                        "failed to look for objects of kind {kind}: {error}"
                    ));
                }
            }
        }
        for (group, cause) in &served.silent_groups {
            labelled.warnings.push(format!(
                "failed to look for objects of API group {group}: {cause}"
            ));
        }
        Ok(labelled)
    }

    /// Whether a handful of lists says that this caller may list nothing here. One that is
    /// permitted, or that fails otherwise, says that the others have to be asked too.
    async fn may_list_nothing(&self, namespace: &str, served: &ServedKinds) -> bool {
        for (group, kind) in USUAL {
            let kind = GroupKind::new(group, kind);
            if !served.kinds.contains_key(&kind) {
                continue;
            }
            let nobody = Some((labels::RELEASE_ID, "nobody"));
            let listed = self
                .backend
                .list(&kind, Some(namespace), nobody, Detail::Metadata)
                .await;
            match listed {
                Err(error) if error.kind == ApiErrorKind::Forbidden => {}
                _ => return false,
            }
        }
        true
    }

    async fn labelled_of(
        &self,
        kind: &GroupKind,
        label: (&str, &str),
        namespace: &str,
    ) -> Result<Vec<Map<String, Value>>, ApiError> {
        let everywhere = self
            .backend
            .list(kind, None, Some(label), Detail::Metadata)
            .await;
        let objects = match everywhere {
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                self.backend
                    .list(kind, Some(namespace), Some(label), Detail::Metadata)
                    .await?
            }
            other => other?,
        };
        Ok(objects.into_iter().filter(was_applied).collect())
    }
}

/// Whether a server that says that it serves this may serve a kind.
fn may_serve(served: &ServedKinds, kind: &GroupKind) -> bool {
    served.kinds.contains_key(kind) || served.silent_groups.contains_key(&kind.group)
}

/// The kinds whose objects a release can have.
fn listable(served: &ServedKinds) -> impl Iterator<Item = &GroupKind> {
    let kinds = served.kinds.iter();
    let kinds = kinds.filter(|(_, kind)| kind.listable && kind.deletable);
    kinds.map(|(kind, _)| kind)
}

/// Whether a release that an object's labels name has applied it.
pub(crate) fn was_applied(object: &Map<String, Value>) -> bool {
    let OwnerLabels { id, shared, .. } = OwnerLabels::read(object);
    let named = id.into_iter().chain(shared.into_iter().map(|(id, _)| id));
    named
        .filter_map(|id| id.parse::<ReleaseId>().ok())
        .any(|id| counts_as_discovered(&LiveObject::read(object, &id)))
}
