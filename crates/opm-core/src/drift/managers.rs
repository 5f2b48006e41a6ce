//! The managed fields of a live object: what `opm` owns of it, and what others do.

use serde_json::{Map, Value};

use super::FieldDrift;
use crate::diff::{PathStep, path};
use crate::ids::ReleaseId;
use crate::labels::{FIELD_MANAGER, shared_field_manager};

/// The field managers of the cluster itself, which fill in fields that no user applies.
const CONTROLLERS: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

pub(super) type FieldTree = Map<String, Value>;

/// One entry of `managedFields` that is not `opm`'s apply.
pub(super) struct OtherManager<'a> {
    manager: &'a str,
    subresource: &'a str,
    time: Option<&'a str>,
    api_version: &'a str,
    tree: &'a FieldTree,
    /// Whether it bears the name of `opm`'s own manager.
    ours: bool,
}

/// All entries: those of `opm`'s apply, and those of others.
pub(super) struct Managers<'a> {
    own: Vec<&'a FieldTree>,
    /// The names of the managers that they belong to.
    own_names: Vec<&'a str>,
    own_time: Option<&'a str>,
    others: Vec<OtherManager<'a>>,
    /// All of them as they stand, with whether they bear the name of `opm`'s own manager.
    entries: Vec<(&'a Value, bool)>,
    /// The API version that `opm` applied in.
    pub(super) applied_in: Option<&'a str>,
}

impl<'a> Managers<'a> {
    /// Reads them. Apply and Update under one name are two managers to the server.
    pub(super) fn read(live: &'a Map<String, Value>, release: &ReleaseId) -> Self {
        let shared = shared_field_manager(release);
        let entries = live.get("metadata").and_then(|m| m.get("managedFields"));
        let entries = entries.and_then(Value::as_array).into_iter().flatten();
        let mut managers = Self {
            own: Vec::new(),
            own_names: Vec::new(),
            own_time: None,
            others: Vec::new(),
            entries: Vec::new(),
            applied_in: None,
        };
        for entry in entries {
            let text = |field: &str| entry.get(field).and_then(Value::as_str);
            let manager = text("manager").unwrap_or_default();
            let ours = manager == FIELD_MANAGER || manager == shared;
            managers.entries.push((entry, ours));
            let Some(tree) = entry.get("fieldsV1").and_then(Value::as_object) else {
                continue;
            };
            let subresource = text("subresource").unwrap_or_default();
            if ours && text("operation") == Some("Apply") && subresource.is_empty() {
                managers.own.push(tree);
                managers.own_names.push(manager);
                managers.own_time = managers.own_time.max(text("time"));
                managers.applied_in = text("apiVersion");
            } else {
                managers.others.push(OtherManager {
                    manager,
                    subresource,
                    time: text("time"),
                    api_version: text("apiVersion").unwrap_or_default(),
                    tree,
                    ours,
                });
            }
        }
        managers
    }

    /// What `opm` owns, one tree for each of its managers.
    pub(super) fn own_trees(&self) -> &[&'a FieldTree] {
        &self.own
    }

    /// The managers that they belong to.
    pub(super) fn own_names(&self) -> &[&'a str] {
        &self.own_names
    }

    /// The entries as they stand that bear the name of `opm`'s own manager, or those that do not.
    pub(super) fn entries(&self, ours: bool) -> Vec<&'a Value> {
        let entries = self.entries.iter().filter(|(_, own)| *own == ours);
        entries.map(|(entry, _)| *entry).collect()
    }

    /// Whether anything but `opm`'s apply owns a place, or something above or below it.
    pub(super) fn is_others(&self, keys: &[String]) -> bool {
        self.others.iter().any(|other| owns(other.tree, keys))
    }

    /// The paths of all fields that `opm` applied.
    pub(super) fn own_leaves(&self) -> Vec<String> {
        leaves(self.own.iter().copied())
    }

    /// The paths of all fields that somebody else than `opm` owns. What a webhook adds to an
    /// apply counts as an update by whoever applied.
    pub(super) fn foreign_leaves(&self) -> Vec<String> {
        let others = self.others.iter().filter(|other| !other.ours);
        leaves(others.map(|other| other.tree))
    }

    /// What `opm` owns, from the top.
    pub(super) fn own(&self) -> OwnedFields<'a> {
        OwnedFields(self.own.clone())
    }

    /// What others own at a place, given as the keys that lead there.
    pub(super) fn others_at(&self, keys: &[String]) -> OwnedFields<'a> {
        let trees = self
            .others
            .iter()
            .map(|other| OwnedFields(vec![other.tree]));
        let found = trees.flat_map(|top| top.at(keys).0);
        OwnedFields(found.collect())
    }

    /// Who owns a place now, or something above or below it: the latest of them.
    pub(super) fn owner(&self, keys: &[String], version: &str) -> FieldOwner<'a> {
        let owning = self
            .others
            .iter()
            .filter(|other| other.api_version == version && owns(other.tree, keys));
        match owning.max_by_key(|other| other.time) {
            None => FieldOwner::Nobody,
            // The only one of the cluster's controllers that writes through `scale`.
            Some(other)
                if other.subresource == "scale" && other.manager == "kube-controller-manager" =>
            {
                FieldOwner::Autoscaler
            }
            Some(other) => FieldOwner::Manager {
                name: other.manager,
                time: other.time,
            },
        }
    }

    /// Whether others than the cluster's controllers may have written after `opm`, outside of
    /// metadata and status: times are told by the second.
    pub(super) fn may_be_written_since(&self) -> bool {
        let fields = |tree: &FieldTree| {
            let mut keys = tree.keys();
            keys.any(|key| !["f:metadata", "f:status"].contains(&key.as_str()))
        };
        self.others.iter().any(|other| {
            !CONTROLLERS.contains(&other.manager)
                && other.subresource.is_empty()
                && other.time >= self.own_time
                && fields(other.tree)
        })
    }

    /// What others than the cluster's controllers wrote later than `opm`, outside of metadata
    /// and status.
    pub(super) fn written_since(&self) -> Vec<FieldDrift> {
        let since = self.others.iter().filter(|other| {
            !CONTROLLERS.contains(&other.manager)
                && other.subresource.is_empty()
                && self.own_time.is_some()
                && other.time > self.own_time
        });
        let mut drift = Vec::new();
        for other in since {
            let mut leaves = Vec::new();
            for (key, value) in other.tree {
                if !["f:metadata", "f:status"].contains(&key.as_str()) {
                    collect(key, value, &mut Vec::new(), &mut leaves);
                }
            }
            drift.extend(leaves.into_iter().map(|field| FieldDrift {
                field,
                by: Some(other.manager.to_owned()),
                at: other.time.map(str::to_owned),
            }));
        }
        drift.sort();
        drift
    }
}

/// Who owns a place.
pub(super) enum FieldOwner<'a> {
    Nobody,
    Autoscaler,
    Manager {
        name: &'a str,
        time: Option<&'a str>,
    },
}

/// The same place in one or more trees of owned fields. Empty where nothing is owned.
#[derive(Clone)]
pub(super) struct OwnedFields<'a>(Vec<&'a FieldTree>);

impl<'a> OwnedFields<'a> {
    /// Nothing at or below this place is owned.
    pub(super) fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// This place itself is owned, whatever is below it.
    pub(super) fn is_leaf(&self) -> bool {
        self.0.iter().any(|tree| tree.is_empty())
    }

    pub(super) fn child(&self, key: &str) -> OwnedFields<'a> {
        let children = self.0.iter().filter_map(|tree| tree.get(key)?.as_object());
        OwnedFields(children.collect())
    }

    /// The keys of list items here that begin with a prefix: `k:` or `v:`.
    pub(super) fn items(&self, prefix: &str) -> Vec<&'a str> {
        let keys = self.0.iter().flat_map(|tree| tree.keys());
        keys.filter(|key| key.starts_with(prefix))
            .map(String::as_str)
            .collect()
    }

    fn at(self, keys: &[String]) -> OwnedFields<'a> {
        keys.iter().fold(self, |node, key| node.child(key))
    }
}

/// Whether a tree owns a place, or something above it as a whole, or something below it.
fn owns(tree: &FieldTree, keys: &[String]) -> bool {
    let mut node = tree;
    for key in keys {
        match node.get(key).and_then(Value::as_object) {
            Some(child) if child.is_empty() => return true,
            Some(child) => node = child,
            None => return false,
        }
    }
    true
}

/// The paths of all leaves of these trees, each once and in order.
fn leaves<'a>(trees: impl Iterator<Item = &'a FieldTree>) -> Vec<String> {
    let mut leaves = Vec::new();
    for (key, value) in trees.flatten().filter(|(key, _)| *key != ".") {
        collect(key, value, &mut Vec::new(), &mut leaves);
    }
    leaves.sort();
    leaves.dedup();
    leaves
}

/// The paths of all leaves below a key.
fn collect<'a>(
    key: &'a str,
    value: &'a Value,
    trail: &mut Vec<PathStep<'a>>,
    leaves: &mut Vec<String>,
) {
    trail.push(step(key));
    let children = value.as_object().into_iter().flatten();
    let mut children = children.filter(|(key, _)| *key != ".").peekable();
    if children.peek().is_none() {
        leaves.push(path(trail));
    }
    for (key, value) in children {
        collect(key, value, trail, leaves);
    }
    trail.pop();
}

/// One step into an object, as a key of a tree of owned fields writes it.
pub(crate) fn step(key: &str) -> PathStep<'_> {
    match key.split_once(':') {
        Some(("f", field)) => PathStep::Field(field),
        Some(("k", keys)) => PathStep::Item(item_label(keys)),
        Some((_, item)) => PathStep::Item(item.to_owned()),
        None => PathStep::Field(key),
    }
}

/// `name="web"` for `{"name":"web"}`.
pub(super) fn item_label(keys: &str) -> String {
    let parsed: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
    let pairs = parsed.into_iter().flatten();
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}
