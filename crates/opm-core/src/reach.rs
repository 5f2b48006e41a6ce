//! Whether a candidate can land at all: every kind served or brought along, every namespace
//! there, Active, or brought along.
//!
//! Whose the objects are is not decided here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::candidate::Candidate;
use crate::failure::{FailureKind, Remedy};
use crate::identity::{GroupKind, Identity};
use crate::manifest::Manifest;

/// What a look at a namespace found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamespaceState {
    /// It is there and takes objects.
    Active,
    /// It is being deleted.
    Terminating,
    /// The server said that it is not there.
    Absent,
    /// It may not be looked at; the server will say when something is sent there.
    Hidden,
    /// The look failed.
    Unreachable {
        /// What kind of failure that makes of the run.
        kind: FailureKind,
        /// Why it failed.
        cause: String,
    },
}

/// What the cluster offers.
#[derive(Debug, Clone, Default)]
pub struct ClusterState {
    /// The versions that are served, by kind.
    pub kinds: BTreeMap<GroupKind, Vec<String>>,
    /// Groups whose server did not answer, with the cause.
    pub silent_groups: BTreeMap<String, String>,
    /// What is known of the namespaces that the candidate needs.
    pub namespaces: BTreeMap<String, NamespaceState>,
}

/// Something that the candidate needs and the cluster does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum MissingRequirement {
    /// A kind that nobody knows.
    #[error("the cluster does not know kind {0}, and the module does not define it")]
    UnknownKind(GroupKind),
    /// A kind that is served in other versions only.
    #[error("the cluster does not serve {kind} in version {version}; it serves {}", served.join(", "))]
    UnknownVersion {
        /// The kind.
        kind: GroupKind,
        /// The version that was rendered.
        version: String,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// A kind whose server did not say what it serves.
    #[error("the server behind API group {group} does not answer: {cause}")]
    SilentGroup {
        /// The group.
        group: String,
        /// Why it did not answer.
        cause: String,
    },
    /// A namespace that is not there, and that nothing brings along.
    #[error("namespace {0} does not exist")]
    NoNamespace(String),
    /// A namespace that is being deleted.
    #[error("namespace {0} is being deleted")]
    TerminatingNamespace(String),
    /// A namespace that could not be looked at.
    #[error("cannot look at namespace {namespace}: {cause}")]
    NamespaceUnknown {
        /// The namespace.
        namespace: String,
        /// What kind of failure that is.
        kind: FailureKind,
        /// Why not.
        cause: String,
    },
}

/// How the namespaces come to be that are not there yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespacePlan {
    /// The release's own.
    pub own: OwnNamespace,
    /// Those that the module names apart from its objects, to be created untracked and unlabelled.
    pub homes: BTreeSet<String>,
}

/// How the release's own namespace comes to be, when it is not there yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnNamespace {
    /// It is there.
    #[default]
    Exists,
    /// The module brings it along: it comes before everything else.
    BroughtAlong,
    /// It is to be created, untracked and unlabelled.
    ToBeCreated,
}

/// Every namespace that a candidate needs, its release's own included.
pub fn namespaces(candidate: &Candidate) -> BTreeSet<String> {
    let used = candidate
        .objects
        .iter()
        .filter_map(|object| object.manifest.identity().namespace.clone());
    used.chain([candidate.owner.namespace.as_str().to_owned()])
        .collect()
}

/// Everything that keeps a candidate from landing, or how its namespaces come to be.
pub fn check(
    candidate: &Candidate,
    cluster_state: &ClusterState,
    create_namespace: bool,
) -> Result<NamespacePlan, Vec<MissingRequirement>> {
    let mut problems: BTreeSet<MissingRequirement> = kinds(candidate, cluster_state).collect();
    let brought: BTreeSet<&str> = brought_namespaces(candidate).collect();
    let own = &candidate.owner.namespace;
    let homes: BTreeSet<&str> = homes(candidate).collect();
    let mut plan = NamespacePlan::default();
    for namespace in namespaces(candidate) {
        let is_own = namespace == own.as_str();
        let is_brought = brought.contains(namespace.as_str());
        match cluster_state.namespaces.get(&namespace) {
            Some(NamespaceState::Active | NamespaceState::Hidden) => {}
            Some(NamespaceState::Absent) if is_own && is_brought => {
                plan.own = OwnNamespace::BroughtAlong;
            }
            Some(NamespaceState::Absent) if is_brought => {}
            Some(NamespaceState::Absent) if is_own && create_namespace => {
                plan.own = OwnNamespace::ToBeCreated;
            }
            Some(NamespaceState::Absent)
                if create_namespace && homes.contains(namespace.as_str()) =>
            {
                plan.homes.insert(namespace);
            }
            Some(NamespaceState::Absent) => {
                problems.insert(MissingRequirement::NoNamespace(namespace));
            }
            Some(NamespaceState::Terminating) => {
                problems.insert(MissingRequirement::TerminatingNamespace(namespace));
            }
            Some(NamespaceState::Unreachable { kind, cause }) => {
                problems.insert(MissingRequirement::NamespaceUnknown {
                    namespace,
                    kind: *kind,
                    cause: cause.clone(),
                });
            }
            None => {
                problems.insert(MissingRequirement::NamespaceUnknown {
                    namespace,
                    kind: FailureKind::Refused,
                    cause: "it was not looked at".to_owned(),
                });
            }
        }
    }
    match problems.is_empty() {
        true => Ok(plan),
        false => Err(problems.into_iter().collect()),
    }
}

/// The namespaces that the module names apart from its objects, and in which there are any.
fn homes(candidate: &Candidate) -> impl Iterator<Item = &str> {
    let manifests = candidate.objects.iter().map(|object| &object.manifest);
    let homes = manifests.filter_map(|one| Some((one.home()?.as_str(), one.identity())));
    homes
        .filter(|(home, identity)| identity.namespace.as_deref() == Some(home))
        .map(|(home, _)| home)
}

fn brought_namespaces(candidate: &Candidate) -> impl Iterator<Item = &str> {
    candidate
        .objects
        .iter()
        .map(|object| object.manifest.identity())
        .filter(|identity| identity.group_kind.is("", "Namespace"))
        .map(|identity| identity.name.as_str())
}

fn kinds<'a>(
    candidate: &'a Candidate,
    cluster_state: &'a ClusterState,
) -> impl Iterator<Item = MissingRequirement> + 'a {
    let defined: BTreeSet<(GroupKind, String)> = candidate
        .objects
        .iter()
        .flat_map(|object| defined_by(&object.manifest))
        .collect();
    candidate.objects.iter().filter_map(move |object| {
        let kind = &object.manifest.identity().group_kind;
        let version = object.manifest.version();
        if defined.contains(&(kind.clone(), version.to_owned())) {
            return None;
        }
        if let Some(cause) = cluster_state.silent_groups.get(&kind.group) {
            return Some(MissingRequirement::SilentGroup {
                group: kind.group.clone(),
                cause: cause.clone(),
            });
        }
        match cluster_state.kinds.get(kind) {
            None => Some(MissingRequirement::UnknownKind(kind.clone())),
            Some(served) if served.iter().any(|one| one == version) => None,
            Some(served) => Some(MissingRequirement::UnknownVersion {
                kind: kind.clone(),
                version: version.to_owned(),
                served: served.clone(),
            }),
        }
    })
}

/// Whether an object defines a kind.
pub fn is_definition(identity: &Identity) -> bool {
    let kind = &identity.group_kind;
    kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// What a CustomResourceDefinition says at this place of its specification.
fn defined_text<'a>(object: &'a Map<String, Value>, pointer: &[&str]) -> Option<&'a str> {
    let spec = object.get("spec")?;
    let value = pointer.iter().try_fold(spec, |value, key| value.get(key))?;
    value.as_str()
}

/// The kind that a CustomResourceDefinition defines, and its plural.
pub fn plural_defined_by(manifest: &Manifest) -> Option<(GroupKind, String)> {
    if !is_definition(manifest.identity()) {
        return None;
    }
    let object = manifest.object();
    let text = |pointer: &[&str]| defined_text(&object, pointer);
    let kind = GroupKind::new(text(&["group"])?, text(&["names", "kind"])?);
    Some((kind, text(&["names", "plural"])?.to_owned()))
}

/// The kinds and versions that a CustomResourceDefinition brings along.
pub fn defined_by(manifest: &Manifest) -> Vec<(GroupKind, String)> {
    if !is_definition(manifest.identity()) {
        return Vec::new();
    }
    let object = manifest.object();
    let text = |pointer: &[&str]| defined_text(&object, pointer);
    let (Some(group), Some(kind)) = (text(&["group"]), text(&["names", "kind"])) else {
        return Vec::new();
    };
    let versions = object.get("spec").and_then(|s| s.get("versions"));
    let versions = versions.and_then(|v| v.as_array()).into_iter().flatten();
    versions
        .filter(|version| version.get("served").and_then(|s| s.as_bool()) == Some(true))
        .filter_map(|version| version.get("name")?.as_str())
        .map(|version| (GroupKind::new(group, kind), version.to_owned()))
        .collect()
}

impl MissingRequirement {
    /// Which kind of failure it is: only what the server was asked in vain is not a refusal.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::NamespaceUnknown { kind, .. } => *kind,
            _ => FailureKind::Refused,
        }
    }

    /// What to do next, for this candidate.
    pub fn remedy(&self, candidate: &Candidate) -> Option<Remedy> {
        let own = candidate.owner.namespace.as_str();
        match self {
            Self::NoNamespace(namespace)
                if namespace == own || homes(candidate).any(|home| home == namespace) =>
            {
                Some(Remedy::CreateNamespace(namespace.clone()))
            }
            Self::NoNamespace(namespace) => {
                Some(format!("create namespace {namespace}, or render it").into())
            }
            Self::TerminatingNamespace(_) => {
                Some("wait until the namespace is gone, and apply again".into())
            }
            Self::UnknownKind(_) => {
                Some("install what defines the kind, or add its definition to the module".into())
            }
            Self::UnknownVersion { .. }
            | Self::SilentGroup { .. }
            | Self::NamespaceUnknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
