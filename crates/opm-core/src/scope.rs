//! Whether a kind lives in namespaces or in the cluster as a whole.
//!
//! Three sources, in this order: what every Kubernetes has, what the render itself defines by
//! CustomResourceDefinitions, and what the cluster says, if it was asked. What to do with a kind
//! that none of them knows is up to the caller.

mod builtin;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::identity::GroupKind;
use crate::manifest::Manifest;

/// Where the objects of a kind live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
}

/// What is known about the scopes of kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes {
    rendered: BTreeMap<GroupKind, Scope>,
    discovered: BTreeMap<GroupKind, Scope>,
}

impl Scopes {
    /// The built-in kinds, and what the cluster said about others (nothing, if it was not asked).
    pub fn new(discovered: BTreeMap<GroupKind, Scope>) -> Self {
        Self {
            rendered: BTreeMap::new(),
            discovered,
        }
    }

    /// The same, with the kinds that the CustomResourceDefinitions among `manifests` define.
    pub fn with_rendered<'a>(mut self, manifests: impl IntoIterator<Item = &'a Manifest>) -> Self {
        self.rendered
            .extend(manifests.into_iter().filter_map(defined_by));
        self
    }

    /// The same, with kinds that nobody else knows as these objects, which once were applied,
    /// are written: those without a namespace live in the cluster as a whole.
    pub fn with_applied<'a>(mut self, manifests: impl IntoIterator<Item = &'a Manifest>) -> Self {
        for manifest in manifests {
            let identity = manifest.identity();
            if self.of(&identity.group_kind).is_none() {
                let scope = match identity.namespace {
                    Some(_) => Scope::Namespaced,
                    None => Scope::Cluster,
                };
                self.discovered.insert(identity.group_kind.clone(), scope);
            }
        }
        self
    }

    /// The scope of a kind, if it is known.
    pub fn of(&self, group_kind: &GroupKind) -> Option<Scope> {
        builtin::scope(&group_kind.group, &group_kind.kind)
            .or_else(|| self.rendered.get(group_kind).copied())
            .or_else(|| self.discovered.get(group_kind).copied())
    }
}

/// The scope of a kind that every Kubernetes has.
pub fn builtin(group_kind: &GroupKind) -> Option<Scope> {
    builtin::scope(&group_kind.group, &group_kind.kind)
}

/// The kind that a CustomResourceDefinition defines. A malformed one defines nothing: the server
/// will say what is wrong with it.
fn defined_by(manifest: &Manifest) -> Option<(GroupKind, Scope)> {
    if !manifest
        .identity()
        .group_kind
        .is("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return None;
    }
    let object = manifest.object();
    let spec = object.get("spec")?;
    let kind = spec.get("names")?.get("kind")?.as_str()?;
    let group = spec.get("group")?.as_str()?;
    let scope = match spec.get("scope").and_then(Value::as_str)? {
        "Namespaced" => Scope::Namespaced,
        "Cluster" => Scope::Cluster,
        _ => return None,
    };
    Some((GroupKind::new(group, kind), scope))
}
