//! What the server serves: two requests where it aggregates, one per group version where not.
//!
//! A group whose own server is down is recorded as silent and fails nothing: whether that
//! matters depends on what is asked about it later.

mod kept;
mod recall;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use opm_core::identity::GroupKind;
use opm_core::scope::Scope;
use opm_engine::ports::{ApiError, ApiErrorKind, ServedKind, ServedKinds};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::bounds::MOST_GROUP_VERSIONS;
use crate::client::ClusterClient;
use crate::json;
use crate::request::{Call, Place, segment};
use crate::send::SendOptions;

pub(crate) use kept::KeptDiscovery;

/// How long a single group's server is waited for.
const PATIENCE: Duration = Duration::from_secs(6);

const WHAT: &str = "what it serves";

/// One kind, as far as discovery can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedKind {
    Served(ServedKind),
    NotServed,
    /// The group's server did not answer, so nobody knows.
    Silent(String),
}

/// The plural and so on that requests about a kind need.
pub(crate) fn resolve(served: &ServedKinds, kind: &GroupKind) -> ResolvedKind {
    if let Some(found) = served.kinds.get(kind) {
        return ResolvedKind::Served(found.clone());
    }
    match served.silent_groups.get(&kind.group) {
        Some(cause) => ResolvedKind::Silent(cause.clone()),
        None => ResolvedKind::NotServed,
    }
}

/// The error for a kind that cannot be reached.
pub(crate) fn not_reachable(kind: &GroupKind, resolved: &ResolvedKind) -> ApiError {
    match resolved {
        ResolvedKind::Silent(cause) => ApiError::local(
            ApiErrorKind::Unreachable,
            format!("the API group {} does not answer: {cause}", kind.group),
        ),
        _ => ApiError::local(
            ApiErrorKind::KindNotServed,
            format!("the server does not serve the kind {kind}"),
        ),
    }
}

impl ClusterClient {
    /// Asks anew, and remembers.
    pub(crate) async fn discover(&self) -> Result<Arc<ServedKinds>, ApiError> {
        Box::pin(self.discover_with(self.schemas())).await
    }

    /// The same, beside what the schemas are called.
    async fn discover_with(
        &self,
        schemas: impl Future<Output = BTreeMap<String, String>> + Send,
    ) -> Result<Arc<ServedKinds>, ApiError> {
        let (core, groups, schemas) =
            futures::join!(self.document("/api"), self.document("/apis"), schemas);
        let mut found = ServedKinds::default();
        let mut versions = Vec::new();
        for document in [core?, groups?] {
            match document {
                Document::Aggregated(list) => add_aggregated(&mut found, list),
                Document::Classic(list) => versions.extend(list),
            }
        }
        if versions.len() > MOST_GROUP_VERSIONS {
            let message = format!(
                "the server says that it serves {} API versions, which is not believed",
                versions.len()
            );
            return Err(ApiError::local(ApiErrorKind::Rejected, message));
        }
        let all = self.settings.retry.budget;
        if timeout(all, self.ask_each(&mut found, versions))
            .await
            .is_err()
        {
            let message = format!(
                "the server did not say within {} s what it serves",
                all.as_secs_f32()
            );
            return Err(ApiError::local(ApiErrorKind::Unreachable, message));
        }
        says_what_every_server_serves(&found)?;
        found.schemas = schemas;
        if let Some(kept) = self.kept_discovery() {
            kept.write(&found);
        }
        let found = Arc::new(found);
        *self.served_cache() = Some(Arc::clone(&found));
        self.note_served();
        Ok(found)
    }

    async fn document(&self, path: &str) -> Result<Document, ApiError> {
        let answer = self.read(&Call::discovery(path)).await?;
        document(&answer.body)
    }

    async fn ask_each(&self, found: &mut ServedKinds, versions: Vec<GroupVersion>) {
        let answers = futures::stream::iter(versions)
            .map(|version| async {
                let resources = self.resources(&version).await;
                (version, resources)
            })
            // In order: the preferred version of a group must be seen first.
            .buffered(self.settings.concurrent_reads.max(1));
        let mut answers = std::pin::pin!(answers);
        while let Some((version, list)) = answers.next().await {
            match list {
                Ok(resources) => resources
                    .iter()
                    .for_each(|resource| add(found, &version, resource)),
                Err(error) => {
                    found.silent_groups.insert(version.group, error.message);
                }
            }
        }
    }

    async fn resources(&self, version: &GroupVersion) -> Result<Vec<Resource>, ApiError> {
        let call = Call::discovery(&version.path()?);
        let options = SendOptions::reading(self).within(PATIENCE);
        let answer = self.exchange(&call, options).await.result?;
        resource_list(&answer.body)
    }
}

/// What is not served does not exist, so that is believed only of a server that serves Secrets.
fn says_what_every_server_serves(found: &ServedKinds) -> Result<(), ApiError> {
    let secret = GroupKind::new("", "Secret");
    match resolve(found, &secret) {
        ResolvedKind::Served(_) => Ok(()),
        ResolvedKind::Silent(_) => Err(not_reachable(&secret, &resolve(found, &secret))),
        ResolvedKind::NotServed => {
            let message =
                "the server does not say that it serves Secrets, as every Kubernetes API does";
            Err(ApiError::local(ApiErrorKind::Rejected, message))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupVersion {
    group: String,
    version: String,
}

impl GroupVersion {
    fn path(&self) -> Result<String, ApiError> {
        let version = segment(&self.version)?;
        Ok(match self.group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{}/{version}", segment(group)?),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Resource {
    kind: String,
    plural: String,
    short_names: Vec<String>,
    namespaced: bool,
    verbs: Vec<String>,
}

enum Document {
    Aggregated(AggregatedList),
    Classic(Vec<GroupVersion>),
}

fn document(body: &[u8]) -> Result<Document, ApiError> {
    // Read straight into what is kept of it: it is the largest answer that most runs get.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Head {
        kind: Value,
    }
    let head: Head = json::read(body, WHAT)?;
    match head.kind.as_str() {
        Some("APIGroupDiscoveryList") => serde_json::from_slice(body)
            .map(Document::Aggregated)
            .map_err(|_| not_discovery()),
        Some("APIVersions" | "APIGroupList") => Ok(Document::Classic(classic_versions(
            &json::read(body, WHAT)?,
        ))),
        // An empty document would say that nothing is served, and so that nothing exists.
        _ => Err(not_discovery()),
    }
}

fn not_discovery() -> ApiError {
    let message = format!("failed to read the server's answer about {WHAT}");
    ApiError::local(ApiErrorKind::Rejected, message)
}

/// The group versions of an `APIVersions` or `APIGroupList`, each group's preferred one first.
fn classic_versions(value: &Value) -> Vec<GroupVersion> {
    let texts = |list: &Value, field: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items
            .filter_map(|item| match field {
                "" => item.as_str(),
                field => item[field].as_str(),
            })
            .map(str::to_owned)
            .collect()
    };
    let version = |group: &str, version: String| GroupVersion {
        group: group.to_owned(),
        version,
    };
    let mut found: Vec<GroupVersion> = texts(&value["versions"], "")
        .into_iter()
        .map(|name| version("", name))
        .collect();
    for group in value["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        let preferred = group["preferredVersion"]["version"].as_str();
        let mut versions = texts(&group["versions"], "version");
        versions.sort_by_key(|version| Some(version.as_str()) != preferred);
        found.extend(versions.into_iter().map(|text| version(name, text)));
    }
    found
}

fn resource_list(body: &[u8]) -> Result<Vec<Resource>, ApiError> {
    #[derive(Deserialize)]
    struct List {
        kind: String,
        #[serde(default)]
        resources: Vec<Item>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Item {
        name: String,
        #[serde(default)]
        short_names: Vec<String>,
        kind: String,
        namespaced: bool,
        #[serde(default)]
        verbs: Vec<String>,
    }
    let list: List = json::read(body, WHAT)?;
    if list.kind != "APIResourceList" {
        return Err(not_discovery());
    }
    let resources = list.resources.into_iter();
    Ok(resources
        .filter(|item| !item.name.contains('/'))
        .map(|item| Resource {
            kind: item.kind,
            plural: item.name,
            short_names: item.short_names,
            namespaced: item.namespaced,
            verbs: item.verbs,
        })
        .collect())
}

/// The names of all schemas in an index of OpenAPI documents, by API version.
fn schema_names(body: &[u8]) -> BTreeMap<String, String> {
    let index: Value = serde_json::from_slice(body).unwrap_or_default();
    let paths = index["paths"].as_object().into_iter().flatten();
    let names = paths.filter_map(|(path, document)| {
        let version = path
            .strip_prefix("apis/")
            .or_else(|| path.strip_prefix("api/"))?;
        let url = document["serverRelativeURL"].as_str()?;
        let (_, name) = url.split_once("hash=")?;
        Some((version.to_owned(), name.to_owned()))
    });
    names.collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AggregatedList {
    items: Vec<AggregatedGroup>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AggregatedGroup {
    metadata: BTreeMap<String, Value>,
    versions: Vec<AggregatedVersion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AggregatedVersion {
    version: String,
    freshness: String,
    resources: Vec<AggregatedResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AggregatedResource {
    resource: String,
    short_names: Vec<String>,
    response_kind: BTreeMap<String, String>,
    scope: String,
    verbs: Vec<String>,
}

fn add_aggregated(found: &mut ServedKinds, list: AggregatedList) {
    for group in list.items {
        let name = group.metadata.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        for listed in group.versions {
            if listed.freshness == "Stale" {
                let cause = format!("the server of {name}/{} is not available", listed.version);
                found.silent_groups.insert(name.clone(), cause);
            }
            let version = GroupVersion {
                group: name.clone(),
                version: listed.version,
            };
            for resource in listed.resources {
                let kind = resource.response_kind.get("kind").cloned();
                let resource = Resource {
                    kind: kind.unwrap_or_default(),
                    plural: resource.resource,
                    short_names: resource.short_names,
                    namespaced: resource.scope == "Namespaced",
                    verbs: resource.verbs,
                };
                add(found, &version, &resource);
            }
        }
    }
}

fn add(found: &mut ServedKinds, at: &GroupVersion, resource: &Resource) {
    if resource.kind.is_empty() {
        return;
    }
    let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
    let kind = GroupKind::new(at.group.as_str(), resource.kind.as_str());
    let known = found.kinds.entry(kind).or_insert_with(|| ServedKind {
        preferred: at.version.clone(),
        versions: Vec::new(),
        plural: resource.plural.clone(),
        short_names: resource.short_names.clone(),
        scope: match resource.namespaced {
            true => Scope::Namespaced,
            false => Scope::Cluster,
        },
        listable: can("list"),
        deletable: can("delete"),
    });
    if !known.versions.contains(&at.version) {
        known.versions.push(at.version.clone());
    }
}

/// Where objects of a kind are read and deleted: at the version the server prefers.
pub(crate) fn place<'a>(
    kind: &'a GroupKind,
    served: &'a ServedKind,
    namespace: Option<&'a str>,
) -> Place<'a> {
    Place {
        group: &kind.group,
        version: &served.preferred,
        plural: &served.plural,
        kind: &kind.kind,
        namespace,
    }
}

#[cfg(test)]
mod tests;
