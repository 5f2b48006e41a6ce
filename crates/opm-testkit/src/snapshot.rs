//! All objects that carry our labels, in all kinds and namespaces.
//!
//! It asks the server what kinds there are and lists every one of them, so it finds what a program
//! that knows only some kinds would forget. It works on anything that a `kube` client talks to.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::discovery::ApiResource;
use kube::discovery::{Discovery, verbs};
use kube::{Client, ResourceExt as _};
use opm_core::labels;

/// Objects by their identity, `group/Kind namespace/name` (without a group for the core group,
/// without a namespace for a cluster-scoped object).
#[derive(Debug, Clone, Default)]
pub struct Snapshot(BTreeMap<String, DynamicObject>);

impl Snapshot {
    /// All objects of all releases.
    pub async fn take(client: &Client) -> kube::Result<Self> {
        Self::selected(
            client,
            &format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_OPM),
        )
        .await
    }

    /// All objects of the releases that live in one namespace, wherever the objects are.
    pub async fn of_namespace(client: &Client, namespace: &str) -> kube::Result<Self> {
        Self::selected(client, &format!("{}={namespace}", labels::MODULE_NAMESPACE)).await
    }

    /// All objects that a label selector picks.
    pub async fn selected(client: &Client, selector: &str) -> kube::Result<Self> {
        let kinds = kinds(client).await?;
        let mut lists = stream::iter(kinds)
            .map(|kind| list(client.clone(), kind, selector.to_owned()))
            .buffer_unordered(16);
        let mut found = BTreeMap::new();
        while let Some(objects) = lists.next().await {
            found.extend(objects?);
        }
        Ok(Self(found))
    }

    /// Without what the cluster derives from labelled objects (EndpointSlices of a Service carry
    /// its labels): only what `opm` itself applied.
    #[must_use]
    pub fn applied(mut self) -> Self {
        self.0.retain(|_, object| {
            object.managed_fields().iter().any(|entry| {
                let ours = |manager: &str| manager == "opm" || manager.starts_with("opm-");
                entry.operation.as_deref() == Some("Apply")
                    && entry.manager.as_deref().is_some_and(ours)
            })
        });
        self
    }

    /// The identities, sorted.
    #[must_use]
    pub fn identities(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// One object, by its identity.
    #[must_use]
    pub fn get(&self, identity: &str) -> Option<&DynamicObject> {
        self.0.get(identity)
    }

    /// The objects, sorted by identity.
    pub fn objects(&self) -> impl Iterator<Item = &DynamicObject> {
        self.0.values()
    }

    /// Identity and uid of each: equal when nothing was created, deleted or recreated between.
    #[must_use]
    pub fn uids(&self) -> BTreeMap<&str, String> {
        let pair = |(identity, object)| {
            let (identity, object): (&String, &DynamicObject) = (identity, object);
            (identity.as_str(), object.uid().unwrap_or_default())
        };
        self.0.iter().map(pair).collect()
    }
}

async fn kinds(client: &Client) -> kube::Result<Vec<ApiResource>> {
    // Two requests where the server can do that, else one per group.
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery,
        Err(_) => Discovery::new(client.clone()).run().await?,
    };
    let kinds = discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources);
    Ok(kinds
        .filter(|(_, can)| can.supports_operation(verbs::LIST))
        .map(|(kind, _)| kind)
        // Views of objects that are listed elsewhere, or of nothing stored at all.
        .filter(|kind| kind.kind != "ComponentStatus" && kind.group != "metrics.k8s.io")
        .collect())
}

async fn list(
    client: Client,
    kind: ApiResource,
    selector: String,
) -> kube::Result<Vec<(String, DynamicObject)>> {
    let api: Api<DynamicObject> = Api::all_with(client, &kind);
    let objects = match api.list(&ListParams::default().labels(&selector)).await {
        Ok(objects) => objects,
        // A kind that went away since the server named it.
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 405 => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    Ok(objects
        .into_iter()
        .map(|object| (identity(&kind, &object), object))
        .collect())
}

fn identity(kind: &ApiResource, object: &DynamicObject) -> String {
    let group = if kind.group.is_empty() {
        String::new()
    } else {
        format!("{}/", kind.group)
    };
    let place = object
        .namespace()
        .map(|namespace| format!("{namespace}/"))
        .unwrap_or_default();
    format!("{group}{} {place}{}", kind.kind, object.name_any())
}
