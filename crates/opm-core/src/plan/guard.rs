//! Kinds that are never pruned, deleted or recreated without a flag of their own, because data
//! or other people's objects go with them.

use super::Purpose;
use crate::identity::{GroupKind, Identity};
use crate::ids::ReleaseId;

/// A guarded kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// Everything in it goes with it.
    Namespace,
    /// The data goes with it.
    VolumeClaim,
    /// The data goes with it.
    Volume,
    /// All objects of its kind go with it.
    Crd,
}

impl Guard {
    /// The guard of a kind, if it has one.
    pub fn of(group_kind: &GroupKind) -> Option<Self> {
        match (group_kind.group.as_str(), group_kind.kind.as_str()) {
            ("", "Namespace") => Some(Self::Namespace),
            ("", "PersistentVolumeClaim") => Some(Self::VolumeClaim),
            ("", "PersistentVolume") => Some(Self::Volume),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(Self::Crd),
            _ => None,
        }
    }

    /// Whether deleting an object of this kind deletes objects of others.
    pub fn holds_others(self) -> bool {
        matches!(self, Self::Namespace | Self::Crd)
    }
}

/// Which guards are lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GuardFlags {
    /// Namespaces may go.
    pub namespaces: bool,
    /// PersistentVolumeClaims may go.
    pub volume_claims: bool,
    /// PersistentVolumes may go.
    pub volumes: bool,
    /// CustomResourceDefinitions may go.
    pub crds: bool,
}

impl GuardFlags {
    /// Whether this guard is lifted.
    pub fn allow(self, guard: Guard) -> bool {
        match guard {
            Guard::Namespace => self.namespaces,
            Guard::VolumeClaim => self.volume_claims,
            Guard::Volume => self.volumes,
            Guard::Crd => self.crds,
        }
    }

    /// The guard that stands in the way of deleting this object, if any does.
    pub fn in_the_way(self, identity: &Identity) -> Option<Guard> {
        Guard::of(&identity.group_kind).filter(|guard| !self.allow(*guard))
    }
}

/// An object inside a Namespace, or of a CustomResourceDefinition's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Which object.
    pub identity: Identity,
    /// Whether another object owns it: then it goes with that one anyway.
    pub owned: bool,
}

/// An API group whose own server does not answer, so that nobody knows its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentGroup {
    /// The group.
    pub group: String,
    /// The APIServices that say who serves it, as far as they can be seen.
    pub api_services: Vec<Identity>,
    /// What happened instead of an answer.
    pub cause: String,
}

impl SilentGroup {
    /// Whether an APIService says who serves the group: it is named `<version>.<group>`.
    pub fn is_served_by(&self, identity: &Identity) -> bool {
        let rest = identity.name.split_once('.').map(|(_, group)| group);
        identity
            .group_kind
            .is("apiregistration.k8s.io", "APIService")
            && rest == Some(self.group.as_str())
    }

    /// What says who serves the group, in words.
    pub fn served_by(&self) -> String {
        let names = self.api_services.iter().map(ToString::to_string);
        match names.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => format!("the APIService of group {}", self.group),
            names => names,
        }
    }
}

/// What is known about the inside of a Namespace or CustomResourceDefinition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupants {
    /// Everything in it.
    Known(Vec<Occupant>),
    /// Everything in it but what these API groups serve.
    Partly {
        /// What could be seen.
        occupants: Vec<Occupant>,
        /// Who did not answer.
        silent: Vec<SilentGroup>,
    },
    /// It could not be found out, for this reason.
    Unknown(String),
}

/// Whether an object lives in a Namespace, or is of a CustomResourceDefinition's kind, as far as
/// names tell: a definition is named `<plural>.<group>`, and plurals begin like their kinds.
pub fn lives_in(identity: &Identity, holder: &Identity) -> bool {
    match Guard::of(&holder.group_kind) {
        Some(Guard::Namespace) => identity.namespace.as_deref() == Some(holder.name.as_str()),
        Some(Guard::Crd) => {
            let (plural, group) = holder.name.split_once('.').unwrap_or((&holder.name, ""));
            let kind = identity.kind().to_lowercase();
            let stem = kind.strip_suffix('y').unwrap_or(&kind);
            identity.group() == group && plural.starts_with(stem)
        }
        _ => false,
    }
}

/// Whether an occupant of a Namespace does not count: it is made by Kubernetes itself, goes with
/// its owner, or is this release's own record, which only a delete can do without.
pub fn ignored_in_namespace(occupant: &Occupant, release: &ReleaseId, purpose: &Purpose) -> bool {
    let identity = &occupant.identity;
    let made_by_kubernetes = match (identity.group(), identity.kind()) {
        ("" | "events.k8s.io", "Event")
        | ("coordination.k8s.io", "Lease")
        | ("", "Endpoints")
        | ("discovery.k8s.io", "EndpointSlice") => true,
        ("", "ConfigMap") => identity.name == "kube-root-ca.crt",
        ("", "ServiceAccount") => identity.name == "default",
        _ => false,
    };
    let done_with = *purpose == Purpose::Delete && is_own_record(identity, release);
    occupant.owned || made_by_kubernetes || done_with
}

fn is_own_record(identity: &Identity, release: &ReleaseId) -> bool {
    identity.group_kind.is("", "Secret")
        && identity.name.starts_with("opm.")
        && identity.name.contains(&release.to_string())
}
