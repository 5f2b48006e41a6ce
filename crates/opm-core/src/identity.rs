//! What tells one Kubernetes object from another.
//!
//! Group, kind, namespace and name: never the API version (an Ingress that moves from v1beta1
//! to v1 stays the same object), never the uid (which changes when an object is deleted and
//! created again).

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use thiserror::Error;

/// A kind within its API group. The core group is the empty string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

impl GroupKind {
    /// A kind within its group.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }

    /// A kind, with the group that an apiVersion such as `apps/v1` names.
    pub fn of(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self::new(group, kind)
    }

    /// Whether this is the given kind of the given group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

impl fmt::Display for GroupKind {
    /// `Deployment.apps`, or `Service` for the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// The identity of a Kubernetes object. Cluster-scoped objects have no namespace.
///
/// The derived order is the one that RFC-0001 uses within a weight: group, kind, namespace, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Group and kind.
    pub group_kind: GroupKind,
    /// The namespace, or none for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl Identity {
    /// An identity from its parts.
    pub fn new(group_kind: GroupKind, namespace: Option<&str>, name: impl Into<String>) -> Self {
        Self {
            group_kind,
            namespace: namespace.map(str::to_owned),
            name: name.into(),
        }
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        &self.group_kind.group
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.group_kind.kind
    }
}

/// As documents name an object. A cluster-scoped one has an empty namespace.
impl Serialize for Identity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Identity", 4)?;
        fields.serialize_field("group", self.group())?;
        fields.serialize_field("kind", self.kind())?;
        let namespace = self.namespace.as_deref().unwrap_or_default();
        fields.serialize_field("namespace", namespace)?;
        fields.serialize_field("name", &self.name)?;
        fields.end()
    }
}

impl fmt::Display for Identity {
    /// `Service/web in namespace games`, or `ClusterRole/reader`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind(), self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// An object as people name it on the command line: `KIND/NAME`, or `KIND.GROUP/NAME` where
/// two groups have a kind of that name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectSelector {
    kind: String,
    group: Option<String>,
    name: String,
    /// Kinds that the cluster calls so.
    known_as: Vec<GroupKind>,
}

/// A text that names no object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} does not name an object: write KIND/NAME, such as Service/web")]
pub struct SelectorError {
    /// What was given.
    pub given: String,
}

impl ObjectSelector {
    /// The same, where the cluster has short names and plurals of its own: `called` says which
    /// kinds it calls by a word in small letters.
    #[must_use]
    pub fn known_as(&self, called: impl Fn(&str) -> Vec<GroupKind>) -> Self {
        Self {
            known_as: called(&self.kind.to_ascii_lowercase()),
            ..self.clone()
        }
    }

    /// Whether an object is meant. Kinds and groups match in any case, kinds also in the plural
    /// and by the short names that `kubectl` knows, names exactly.
    pub fn matches(&self, identity: &Identity) -> bool {
        let kind = &identity.group_kind;
        (crate::short_names::is_called(kind, &self.kind) || self.known_as.contains(kind))
            && self
                .group
                .as_ref()
                .is_none_or(|group| group.eq_ignore_ascii_case(identity.group()))
            && self.name == identity.name
    }
}

impl fmt::Display for ObjectSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{}.{group}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

impl FromStr for ObjectSelector {
    type Err = SelectorError;

    fn from_str(given: &str) -> Result<Self, SelectorError> {
        let wrong = || SelectorError {
            given: given.chars().take(80).collect(),
        };
        let (qualified, name) = given.split_once('/').ok_or_else(wrong)?;
        let (kind, group) = match qualified.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (qualified, None),
        };
        if kind.is_empty() || group == Some("") || name.is_empty() || name.contains('/') {
            return Err(wrong());
        }
        Ok(Self {
            kind: kind.to_owned(),
            group: group.map(str::to_owned),
            name: name.to_owned(),
            known_as: Vec::new(),
        })
    }
}
