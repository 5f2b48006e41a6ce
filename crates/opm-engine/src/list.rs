//! `list`: all releases of a namespace, or of all of them, from the metadata of their Secrets.
//!
//! What a line shows is kept in an annotation, so no Secret's data is read for it. A Secret
//! without that annotation (written by somebody who knows only RFC-0001) or with one that cannot
//! be read is listed by its own name. One namespace that may not be looked into hides nothing
//! but itself. Only `--health` reads the records, and looks at what they name. Whoever watches the
//! list is told of both by one list and one watch of each kind.

mod overview;
mod watch;

use std::collections::BTreeMap;

use futures::StreamExt as _;
use opm_core::failure::Remedy;
use opm_core::identity::GroupKind;
use opm_core::labels;
use opm_core::managed::Manager;
use opm_core::packed::PackedObject;
use opm_core::record::{ReleaseState, SUMMARY_ANNOTATION, Summary};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::concurrently::concurrently;
use crate::failure::{Failure, FailureKind};
use crate::observe::{FollowedCollection, metadata};
use crate::ports::{
    ApiError, ApiErrorKind, Collection, CollectionLabel, Detail, StoredSecret, Timestamp,
};
use crate::request::ListRequest;
use crate::run::Run;

pub use overview::ReleaseOverview;
pub use watch::{ListObserver, Overviews};

/// How many namespaces are asked at a time.
const CONCURRENT_NAMESPACES: usize = 16;

/// One release of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRelease {
    /// What the line shows.
    pub summary: Summary,
    /// Why the line shows so little, where it does.
    pub mark: Option<&'static str>,
    /// The resource that a controller manages it for, if one does.
    pub manager: Option<Manager>,
    /// How it stands, if that was asked for and could be found out.
    pub overview: Option<ReleaseOverview>,
}

impl ListedRelease {
    /// Whether it was deleted, and only its record is left.
    fn is_deleted(&self) -> bool {
        self.summary.state.as_deref() == ReleaseState::Deleted.word()
    }

    /// Whether it is among those that were deleted, or among those that are there.
    pub fn is_among(&self, deleted: bool) -> bool {
        // A deleted release that keeps objects is still there to be dealt with.
        match self.is_deleted() {
            true => deleted || self.summary.kept > 0,
            false => !deleted,
        }
    }
}

/// How much of the releases' Secrets is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordDetail {
    /// What a line shows.
    Summary,
    /// All of it.
    Whole,
    /// What a line shows, with the Secrets that releases have applied, and from where a watch goes
    /// on.
    Followed,
}

/// The Secrets of one namespace, or of all.
#[derive(Default)]
struct RecordList {
    secrets: Vec<ReleaseSecret>,
    /// Where they are followed: all that was listed.
    followed: Option<(FollowedCollection, Vec<PackedObject>)>,
}

/// A release's Secret, as far as it was read.
struct ReleaseSecret {
    name: String,
    namespace: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    /// The whole of it, where that was asked for.
    stored: Option<StoredSecret>,
}

/// A place that could not be looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableNamespace {
    /// The namespace; none for all that were not asked.
    pub namespace: Option<String>,
    /// Why not.
    pub reason: String,
}

/// The releases that could be seen, and where there may be more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The releases, by namespace and name.
    pub releases: Vec<ListedRelease>,
    /// Where it was not permitted to look.
    pub unseen: Vec<UnreadableNamespace>,
    /// The server's time, to tell ages by.
    #[serde(skip)]
    pub now: Timestamp,
}

impl Run<'_> {
    /// The names of all namespaces that may be seen.
    pub(crate) async fn namespaces(&self) -> Result<Vec<String>, Failure> {
        self.namespace_names()
            .await
            .map_err(|error| unlisted(&error))
    }

    /// Lists releases.
    pub(crate) async fn list(&self, request: &ListRequest) -> Result<Listing, Failure> {
        let detail = match request.health {
            true => RecordDetail::Whole,
            false => RecordDetail::Summary,
        };
        let (lists, unseen) = self.record_lists(request, detail).await?;
        let lists = lists.into_iter();
        let secrets: Vec<ReleaseSecret> = lists.flat_map(|list| list.secrets).collect();
        let overviews = match request.health {
            true => self.overviews(&secrets).await,
            false => vec![None; secrets.len()],
        };
        let pairs = secrets.iter().zip(overviews);
        let mut releases: Vec<ListedRelease> = pairs
            .filter_map(|(secret, overview)| listed(secret, overview))
            .collect();
        releases.retain(|listed| listed.is_among(request.deleted));
        releases.sort_by(|a, b| key(a).cmp(&key(b)));
        let now = self.server_now();
        Ok(Listing {
            releases,
            unseen,
            now,
        })
    }

    /// The Secrets of all releases of a request, and where they could not be listed.
    async fn record_lists(
        &self,
        request: &ListRequest,
        detail: RecordDetail,
    ) -> Result<(Vec<RecordList>, Vec<UnreadableNamespace>), Failure> {
        let Some(namespace) = &request.namespace else {
            return self.everywhere(request, detail).await;
        };
        let found = self.inventories(Some(namespace.as_str()), detail).await;
        let found = found.map_err(|error| unlisted(&error))?;
        Ok((vec![found], Vec::new()))
    }

    /// All namespaces at once; if that is not permitted, each that can be named.
    async fn everywhere(
        &self,
        request: &ListRequest,
        detail: RecordDetail,
    ) -> Result<(Vec<RecordList>, Vec<UnreadableNamespace>), Failure> {
        let refused = match self.inventories(None, detail).await {
            Ok(found) => return Ok((vec![found], Vec::new())),
            Err(error) if error.kind == ApiErrorKind::Forbidden => error,
            Err(error) => return Err(unlisted(&error)),
        };
        let mut unseen = Vec::new();
        let namespaces = match self.namespace_names().await {
            Ok(names) => names,
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                unseen.push(UnreadableNamespace {
                    namespace: None,
                    reason: error.to_string(),
                });
                vec![request.home.to_string()]
            }
            Err(error) => return Err(unlisted(&error)),
        };
        let asked = namespaces.len();
        let names = &namespaces;
        let lists = concurrently(CONCURRENT_NAMESPACES, asked, |at| async move {
            let name = names[at].as_str();
            (self.inventories(Some(name), detail).await, name)
        });
        let lists: Vec<_> = lists.collect().await;
        let (mut found, mut seen) = (Vec::new(), 0);
        for (list, name) in lists {
            match list {
                Ok(list) => {
                    found.push(list);
                    seen += 1;
                }
                Err(error) if error.kind == ApiErrorKind::Unreachable => {
                    return Err(unlisted(&error));
                }
                Err(error) => unseen.push(UnreadableNamespace {
                    namespace: Some(name.to_owned()),
                    reason: error.to_string(),
                }),
            }
        }
        unseen.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        match seen {
            0 => Err(nothing_seen(asked, &refused)),
            _ => Ok((found, unseen)),
        }
    }

    async fn inventories(
        &self,
        namespace: Option<&str>,
        detail: RecordDetail,
    ) -> Result<RecordList, ApiError> {
        let label = (labels::COMPONENT, labels::COMPONENT_INVENTORY);
        if detail == RecordDetail::Whole {
            let found = self.backend.list_secrets(namespace, &[label]).await?;
            return Ok(RecordList {
                secrets: found.into_iter().map(ReleaseSecret::of_secret).collect(),
                followed: None,
            });
        }
        let followed = detail == RecordDetail::Followed;
        let (name, value) = match followed {
            true => (labels::RELEASE_ID, None),
            false => (label.0, Some(label.1.to_owned())),
        };
        let collection = Collection {
            kind: GroupKind::new("", "Secret"),
            namespace: namespace.map(str::to_owned),
            version: None,
            label: Some(CollectionLabel {
                name: name.to_owned(),
                value,
                without: followed.then_some((labels::COMPONENT, labels::COMPONENT_RECORD)),
            }),
            detail: Detail::Metadata,
            expected: 0,
        };
        let found = self.backend.list_collection(&collection).await?;
        let objects = found.objects.iter();
        let records = objects.filter(|object| is_record(object));
        let secrets = records.filter_map(|object| ReleaseSecret::of_metadata(&object.unpack()));
        Ok(RecordList {
            secrets: secrets.collect(),
            followed: followed.then(|| {
                let followed = FollowedCollection {
                    watched: collection.clone(),
                    listed: collection,
                    resource_version: found.resource_version,
                };
                (followed, found.objects)
            }),
        })
    }

    async fn namespace_names(&self) -> Result<Vec<String>, ApiError> {
        let kind = GroupKind::new("", "Namespace");
        let found = self
            .backend
            .list(&kind, None, None, Detail::Metadata)
            .await?;
        let names = found.iter().filter_map(|object| metadata(object, "name"));
        Ok(names.map(str::to_owned).collect())
    }
}

impl ReleaseSecret {
    fn of_secret(stored: StoredSecret) -> Self {
        let content = &stored.content;
        Self {
            name: content.name.clone(),
            namespace: content.namespace.clone(),
            labels: content.labels.clone(),
            annotations: content.annotations.clone(),
            stored: Some(stored),
        }
    }

    fn of_metadata(secret: &Map<String, Value>) -> Option<Self> {
        let texts = |field: &str| -> BTreeMap<String, String> {
            let pairs = secret.get("metadata").and_then(|m| m.get(field));
            let pairs = pairs.and_then(Value::as_object).into_iter().flatten();
            pairs
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect()
        };
        Some(Self {
            name: metadata(secret, "name")?.to_owned(),
            namespace: metadata(secret, "namespace")?.to_owned(),
            labels: texts("labels"),
            annotations: texts("annotations"),
            stored: None,
        })
    }
}

/// Whether a Secret is the record of a release.
fn is_record(secret: &PackedObject) -> bool {
    let label = secret.text(&["metadata", "labels", labels::COMPONENT]);
    label == Some(labels::COMPONENT_INVENTORY)
}

fn key(listed: &ListedRelease) -> (&str, &str, &str) {
    let summary = &listed.summary;
    (&summary.namespace, &summary.name, &summary.release_id)
}

/// The line of one Secret. Where it lives is what the server says, not what it says of itself.
fn listed(secret: &ReleaseSecret, overview: Option<ReleaseOverview>) -> Option<ListedRelease> {
    let annotated = secret.annotations.get(SUMMARY_ANNOTATION);
    let manager = Manager::recorded(&secret.annotations);
    if let Some(summary) = annotated.and_then(|text| Summary::from_text(text)) {
        let namespace = secret.namespace.clone();
        return Some(ListedRelease {
            summary: Summary {
                namespace,
                ..summary
            },
            mark: None,
            manager,
            overview,
        });
    }
    Some(ListedRelease {
        summary: Summary::by_name(&secret.name, &secret.namespace, &secret.labels)?,
        mark: Some(match annotated {
            Some(_) => "its summary cannot be read",
            None => "it has no summary",
        }),
        manager,
        overview,
    })
}

fn unlisted(error: &ApiError) -> Failure {
    Failure::before_writing("cannot list the releases' Secrets", error)
}

fn nothing_seen(asked: usize, error: &ApiError) -> Failure {
    let message = match asked {
        1 => format!("not permitted to look for releases: {error}"),
        asked => {
            format!("not permitted to look for releases in any of {asked} namespaces: {error}")
        }
    };
    Failure::new(FailureKind::NotPermitted, message).remedy(Remedy::NameNamespace)
}
