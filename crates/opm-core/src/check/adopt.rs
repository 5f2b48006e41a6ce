//! Which existing objects that no release tracks may be taken over.

use std::fmt;
use std::str::FromStr;

use super::LiveObject;
use crate::identity::{GroupKind, Identity, ObjectSelector, SelectorError};

/// What a selector of Helm's objects begins with.
const HELM: &str = "helm/";

/// Which existing objects that no release tracks may be taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Adopt {
    /// None: they are a reason to refuse.
    #[default]
    None,
    /// All of them, except those that Helm owns.
    All,
    /// These, those that Helm owns included.
    Named(Vec<AdoptSelector>),
}

impl Adopt {
    /// Whether an untracked object may be taken over.
    pub fn allows(&self, identity: &Identity, live: &LiveObject) -> bool {
        match self {
            Self::None => false,
            Self::All => live.helm.is_none(),
            Self::Named(selectors) => selectors.iter().any(|one| one.matches(identity, live)),
        }
    }

    /// Whether an object is named, by itself.
    pub(super) fn names(&self, identity: &Identity) -> bool {
        let Self::Named(selectors) = self else {
            return false;
        };
        let mut selectors = selectors.iter();
        selectors
            .any(|one| matches!(one, AdoptSelector::Object(object) if object.matches(identity)))
    }

    /// The same, where the cluster has names of its own for kinds.
    #[must_use]
    pub fn known_as(&self, called: impl Fn(&str) -> Vec<GroupKind>) -> Self {
        let Self::Named(selectors) = self else {
            return self.clone();
        };
        let selectors = selectors.iter().map(|one| match one {
            AdoptSelector::Object(object) => AdoptSelector::Object(object.known_as(&called)),
            AdoptSelector::Helm(_) => one.clone(),
        });
        Self::Named(selectors.collect())
    }

    /// Objects that are named and are none of these: perhaps they are called otherwise.
    pub fn unmatched(&self, rendered: &[&Identity]) -> Vec<&ObjectSelector> {
        let Self::Named(selectors) = self else {
            return Vec::new();
        };
        let named = selectors.iter().filter_map(|one| match one {
            AdoptSelector::Object(object) => Some(object),
            AdoptSelector::Helm(_) => None,
        });
        let matched = |object: &&ObjectSelector| {
            let mut rendered = rendered.iter();
            rendered.any(|identity| object.matches(identity))
        };
        named.filter(|object| !matched(object)).collect()
    }

    /// The same, where Helm's releases that are named without a namespace are of this one.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        let Self::Named(selectors) = self else {
            return self.clone();
        };
        let selectors = selectors.iter().map(|selector| match selector {
            AdoptSelector::Helm(release) if release.namespace.is_empty() => {
                AdoptSelector::Helm(HelmRelease {
                    namespace: namespace.to_owned(),
                    ..release.clone()
                })
            }
            other => other.clone(),
        });
        Self::Named(selectors.collect())
    }

    /// The releases of Helm that are named.
    pub fn helm_releases(&self) -> impl Iterator<Item = &HelmRelease> {
        let selectors = match self {
            Self::Named(selectors) => selectors.as_slice(),
            Self::None | Self::All => &[],
        };
        selectors.iter().filter_map(|selector| match selector {
            AdoptSelector::Helm(release) => Some(release),
            AdoptSelector::Object(_) => None,
        })
    }
}

/// What may be taken over by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptSelector {
    /// One object.
    Object(ObjectSelector),
    /// Everything that belongs to a release of Helm.
    Helm(HelmRelease),
}

impl AdoptSelector {
    fn matches(&self, identity: &Identity, live: &LiveObject) -> bool {
        match self {
            Self::Object(object) => object.matches(identity),
            Self::Helm(release) => live.helm_release.as_ref() == Some(release),
        }
    }
}

impl fmt::Display for AdoptSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::Helm(release) => write!(f, "{HELM}{release}"),
        }
    }
}

impl FromStr for AdoptSelector {
    type Err = SelectorError;

    fn from_str(given: &str) -> Result<Self, SelectorError> {
        let Some(release) = given.strip_prefix(HELM) else {
            return given.parse().map(Self::Object);
        };
        let (namespace, name) = release.split_once('/').unwrap_or(("", release));
        let whole = !name.is_empty() && !name.contains('/');
        if !whole || (namespace.is_empty() && release.contains('/')) {
            let given = given.chars().take(80).collect();
            return Err(SelectorError { given });
        }
        Ok(Self::Helm(HelmRelease {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }))
    }
}

/// A release of Helm, as its objects name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmRelease {
    /// Its namespace; empty where that is still to be said.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for HelmRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}
