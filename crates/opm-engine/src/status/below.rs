//! `tree` and `events`: what lies below the objects of a release, on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use opm_core::below::{self, ClusterEvent, TreeNode};
use opm_core::entry::Entry;
use opm_core::health::{self, Health};
use opm_core::identity::{GroupKind, Identity};
use opm_core::scope::Scope;
use serde::Serialize;
use serde_json::{Map, Value};

use super::KnownRelease;
use super::logs::ContainerKey;
use crate::concurrently::concurrently_in_order;
use crate::failure::Failure;
use crate::observe::{CONCURRENT_LISTS, metadata};
use crate::ports::{Detail, Observation, ServedKinds, WantedObject};
use crate::report::Release;
use crate::request::StatusRequest;
use crate::run::Run;

/// The kinds that controllers of Kubernetes make; others are looked for on demand.
const MADE_BY_CONTROLLERS: &[(&str, &str)] = &[
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("apps", "ControllerRevision"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("discovery.k8s.io", "EndpointSlice"),
];

/// Kinds that are read whole, to say how they are doing.
const READ_WHOLE: &[&str] = &["Job", "PersistentVolumeClaim", "Pod", "ReplicaSet"];

/// The objects of a component, each with what it owns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentTree {
    /// The component.
    pub name: String,
    /// Its objects.
    pub objects: Vec<TreeNode>,
}

/// A release, and what lies below its objects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseTree {
    /// Which release.
    pub release: Release,
    /// Its objects by component.
    pub components: Vec<ComponentTree>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What happened to a release's objects and to what lies below them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseEvents {
    /// Which release.
    pub release: Release,
    /// Oldest first.
    pub events: Vec<ClusterEvent>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// A release's trees, and the live objects that they are made of.
pub(super) struct Grown {
    pub(super) tree: ReleaseTree,
    live: Vec<Map<String, Value>>,
    served: Arc<ServedKinds>,
}

impl Run<'_> {
    /// What lies below the objects of a release.
    pub(crate) async fn tree(&self, request: &StatusRequest) -> Result<ReleaseTree, Failure> {
        Ok(self.grow(request).await?.tree)
    }

    pub(super) async fn grow(&self, request: &StatusRequest) -> Result<Grown, Failure> {
        let known = self.known(request).await?;
        self.grow_from(&known, &known.entries, request.scan).await
    }

    /// What lies below some of a release's objects.
    pub(super) async fn grow_from(
        &self,
        known: &KnownRelease,
        entries: &[Entry],
        scan: bool,
    ) -> Result<Grown, Failure> {
        let served = self.discover().await?;
        let wanted: Vec<WantedObject> = entries.iter().map(WantedObject::from).collect();
        let places = namespaces(known, entries);
        let (seen, (live, mut warnings)) = futures::join!(
            self.observe_objects(&wanted),
            self.may_be_owned(&places, scan, &served)
        );
        warnings.splice(0..0, known.warnings.iter().cloned());
        let roots = entries.iter().map(|entry| {
            let seen = seen.get(&entry.identity);
            root(&entry.identity, seen)
        });
        let (nodes, is_cut) = below::trees(roots.collect(), &live);
        if is_cut {
            warnings.push(format!(
                "there are too many objects: {} of them are shown",
                below::MOST_NODES
            ));
        }
        let mut components: Vec<ComponentTree> = Vec::new();
        for (entry, node) in entries.iter().zip(nodes) {
            match components
                .iter_mut()
                .find(|known| known.name == entry.component)
            {
                Some(component) => component.objects.push(node),
                None => components.push(ComponentTree {
                    name: entry.component.clone(),
                    objects: vec![node],
                }),
            }
        }
        let tree = ReleaseTree {
            release: known.release.clone(),
            components,
            warnings,
        };
        Ok(Grown { tree, live, served })
    }

    /// Objects that something may own in these namespaces, and what could not be listed.
    async fn may_be_owned(
        &self,
        namespaces: &BTreeSet<&str>,
        scan: bool,
        served: &ServedKinds,
    ) -> (Vec<Map<String, Value>>, Vec<String>) {
        let kinds = served.kinds.iter().filter(|(kind, is)| {
            let usual = MADE_BY_CONTROLLERS
                .iter()
                .any(|(group, name)| kind.is(group, name));
            let counts = usual || scan && kind.kind != "Event";
            counts && is.listable && is.scope == Scope::Namespaced
        });
        let kinds: Vec<&GroupKind> = kinds.map(|(kind, _)| kind).collect();
        let places: Vec<(&GroupKind, &str)> = kinds
            .iter()
            .flat_map(|kind| namespaces.iter().map(move |namespace| (*kind, *namespace)))
            .collect();
        let lists = concurrently_in_order(CONCURRENT_LISTS, places.len(), |at| {
            let (kind, namespace) = places[at];
            let detail = match READ_WHOLE.contains(&kind.kind.as_str()) {
                true => Detail::Whole,
                false => Detail::Metadata,
            };
            self.backend.list(kind, Some(namespace), None, detail)
        });
        let lists: Vec<_> = lists.collect().await;
        let (mut live, mut warnings) = (Vec::new(), Vec::new());
        for ((kind, namespace), listed) in places.iter().zip(lists) {
            match listed {
                Ok(found) => live.extend(found),
                Err(error) => warnings.push(format!(
                    "{kind} in namespace {namespace} could not be listed, so what is owned there is \
                     not known: {error}"
                )),
            }
        }
        (live, warnings)
    }

    /// What happened to a release's objects and to what lies below them.
    pub(crate) async fn events(
        &self,
        request: &StatusRequest,
        most: usize,
    ) -> Result<ReleaseEvents, Failure> {
        let grown = self.grow(request).await?;
        let nodes = grown.tree.nodes();
        let (events, more) = self.events_about(&nodes, &grown.served, most).await;
        let warnings = [grown.tree.warnings.clone(), more].concat();
        Ok(grown.tree.with_events(events, warnings))
    }

    /// What happened to these objects, and what cannot be known of it.
    pub(super) async fn events_about(
        &self,
        nodes: &[&TreeNode],
        served: &ServedKinds,
        most: usize,
    ) -> (Vec<ClusterEvent>, Vec<String>) {
        let mut warnings = Vec::new();
        let uids: BTreeSet<&str> = nodes
            .iter()
            .filter_map(|node| node.uid.as_deref())
            .collect();
        // What has no namespace is told about in the one that is always there.
        let namespaces = nodes.iter().map(|node| node.identity.namespace.as_deref());
        let namespaces: BTreeSet<&str> = namespaces.map(|name| name.unwrap_or("default")).collect();
        let namespaces: Vec<&str> = namespaces.into_iter().collect();
        let kind = GroupKind::new("", "Event");
        if !served.kinds.contains_key(&kind) {
            let warning = "the cluster serves no events".to_owned();
            return (Vec::new(), vec![warning]);
        }
        let lists = concurrently_in_order(CONCURRENT_LISTS, namespaces.len(), |at| {
            self.backend
                .list(&kind, Some(namespaces[at]), None, Detail::Whole)
        });
        let lists: Vec<_> = lists.collect().await;
        let mut events = Vec::new();
        for (namespace, listed) in namespaces.iter().zip(lists) {
            match listed {
                Ok(found) => events.extend(found),
                Err(error) => {
                    let warning = format!("events in namespace {namespace} are not known: {error}");
                    warnings.push(warning);
                }
            }
        }
        (below::events_about(&uids, &events, most), warnings)
    }
}

/// Where to look for what these objects own: in their own namespaces, or, for one without a
/// namespace, in all of the release's.
fn namespaces<'a>(known: &'a KnownRelease, entries: &'a [Entry]) -> BTreeSet<&'a str> {
    let own: Option<BTreeSet<&str>> = entries
        .iter()
        .map(|entry| entry.identity.namespace.as_deref())
        .collect();
    own.unwrap_or_else(|| {
        let tracked = known.tracked.keys();
        tracked.filter_map(|id| id.namespace.as_deref()).collect()
    })
}

/// An object of the release, as far as it was seen.
fn root(identity: &Identity, seen: Option<&Observation<opm_core::status::ReadObject>>) -> TreeNode {
    let (uid, health) = match seen {
        Some(Observation::Present(read)) => {
            // What says nothing about itself is ready as soon as it exists.
            let health = match read.whole {
                true => health::of(&read.object.unpack()),
                false => Health::ready(),
            };
            let uid = read.object.text(&["metadata", "uid"]);
            (uid.map(str::to_owned), Some(health))
        }
        Some(Observation::Failed(error)) => (None, Some(Health::unknown(error.to_string()))),
        Some(Observation::Absent) => (None, Some(Health::failed("it is not there"))),
        None => (None, None),
    };
    TreeNode {
        identity: identity.clone(),
        uid,
        health,
        owned: Vec::new(),
    }
}

impl ComponentTree {
    /// Its objects, each with the component, and everything below them.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&str, &TreeNode)> {
        let nodes = self.objects.iter().flat_map(TreeNode::all);
        nodes.map(|node| (self.name.as_str(), node))
    }
}

impl ReleaseTree {
    pub(super) fn nodes(&self) -> Vec<&TreeNode> {
        let components = self.components.iter();
        let nodes = components.flat_map(ComponentTree::nodes);
        nodes.map(|(_, node)| node).collect()
    }

    /// An object wherever it stands, and its component.
    pub(super) fn find(&self, identity: &Identity) -> Option<(&str, &TreeNode)> {
        let mut nodes = self.components.iter().flat_map(ComponentTree::nodes);
        nodes.find(|(_, node)| node.identity == *identity)
    }

    fn with_events(self, events: Vec<ClusterEvent>, warnings: Vec<String>) -> ReleaseEvents {
        ReleaseEvents {
            release: self.release,
            events,
            warnings,
        }
    }
}

impl Grown {
    /// What the cluster serves.
    pub(super) fn served(&self) -> &ServedKinds {
        &self.served
    }

    /// The containers of all pods among these objects, which stand with their components.
    pub(super) fn containers<'a>(
        &self,
        nodes: impl Iterator<Item = (&'a str, &'a TreeNode)>,
    ) -> Vec<ContainerKey> {
        let pods: BTreeMap<&str, &Map<String, Value>> = self
            .live
            .iter()
            .filter(|object| object.get("kind").is_some_and(|kind| kind == "Pod"))
            .filter_map(|object| Some((metadata(object, "uid")?, object)))
            .collect();
        let mut found = Vec::new();
        for (component, node) in nodes {
            let Some(pod) = node.uid.as_deref().and_then(|uid| pods.get(uid)) else {
                continue;
            };
            let spec = pod.get("spec");
            for list in ["initContainers", "containers"] {
                let containers = spec
                    .and_then(|spec| spec.get(list))
                    .and_then(Value::as_array);
                for container in containers.into_iter().flatten() {
                    let name = container.get("name").and_then(Value::as_str);
                    found.push((
                        component.to_owned(),
                        node.identity.namespace.clone().unwrap_or_default(),
                        node.identity.name.clone(),
                        name.unwrap_or_default().to_owned(),
                    ));
                }
            }
        }
        found
    }
}
