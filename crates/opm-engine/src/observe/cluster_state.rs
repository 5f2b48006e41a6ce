//! What the cluster serves, and how the namespaces are that a candidate needs.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use opm_core::candidate::Candidate;
use opm_core::identity::{GroupKind, Identity};
use opm_core::manifest::Manifest;
use opm_core::plan::is_custom;
use opm_core::reach::{self, ClusterState, NamespaceState};
use opm_core::rendered::Rendered;
use opm_core::scope::Scopes;

use super::metadata;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, Detail, Observation, ServedKinds};
use crate::run::Run;

/// Everything that the cluster serves, asked of it in this run: for who has to know that nothing is
/// left out.
pub(crate) struct AllKinds(Arc<ServedKinds>);

impl Deref for AllKinds {
    type Target = ServedKinds;

    fn deref(&self) -> &ServedKinds {
        &self.0
    }
}

impl Run<'_> {
    /// What the cluster serves, as far as it takes to find objects.
    pub(crate) async fn discover(&self) -> Result<Arc<ServedKinds>, Failure> {
        self.backend
            .recall_served()
            .await
            .map_err(|error| unserved(&error))
    }

    /// Everything that the cluster serves now.
    pub(crate) async fn discover_all(&self) -> Result<AllKinds, Failure> {
        self.backend
            .served()
            .await
            .map(AllKinds)
            .map_err(|error| unserved(&error))
    }

    /// The same, where it is known already unless it is from memory.
    pub(crate) async fn discover_rest(
        &self,
        known: &Arc<ServedKinds>,
    ) -> Result<AllKinds, Failure> {
        match known.remembered {
            true => self.discover_all().await,
            false => Ok(AllKinds(Arc::clone(known))),
        }
    }

    /// The same, asked anew only if something is rendered of a kind that is not known, or of one
    /// that somebody defined: such a version can go, and memory lags behind.
    pub(crate) async fn discover_rendered(
        &self,
        known: Arc<ServedKinds>,
        rendered: &Rendered,
    ) -> Result<Arc<ServedKinds>, Failure> {
        let mut manifests = rendered.components.iter().flat_map(|one| &one.manifests);
        let is_known = |one: &Manifest| {
            let kind = &one.identity().group_kind;
            known.kinds.contains_key(kind) && !(known.remembered && is_custom(kind))
        };
        match manifests.all(is_known) {
            true => Ok(known),
            false => self.discover_rest(&known).await.map(|all| all.0),
        }
    }

    /// What the candidate needs of the cluster, as it is. Of a namespace in which something was
    /// seen that is not being deleted, it is known that it takes objects.
    pub(crate) async fn cluster_state(
        &self,
        candidate: &Candidate,
        served: &ServedKinds,
        active: Option<&str>,
    ) -> ClusterState {
        let needed: Vec<Identity> = reach::namespaces(candidate)
            .into_iter()
            .filter(|name| Some(name.as_str()) != active)
            .map(|name| Identity::new(GroupKind::new("", "Namespace"), None, name))
            .collect();
        let found = self.backend.look(&needed, Detail::Metadata).await;
        let active = active.map(|name| (name.to_owned(), NamespaceState::Active));
        let namespaces = found
            .into_iter()
            .map(|(identity, found)| (identity.name, state(&found)))
            .chain(active);
        let kinds = served
            .kinds
            .iter()
            .map(|(kind, served)| (kind.clone(), served.versions.clone()));
        ClusterState {
            kinds: kinds.collect(),
            silent_groups: served.silent_groups.clone(),
            namespaces: namespaces.collect(),
        }
    }
}

fn unserved(error: &ApiError) -> Failure {
    Failure::before_writing("cannot ask the cluster which kinds it serves", error)
}

/// The scopes that discovery tells.
pub(crate) fn scopes(served: &ServedKinds) -> Scopes {
    let told: BTreeMap<_, _> = served
        .kinds
        .iter()
        .map(|(kind, served)| (kind.clone(), served.scope))
        .collect();
    Scopes::new(told)
}

fn state(found: &Observation) -> NamespaceState {
    match found {
        Observation::Absent => NamespaceState::Absent,
        Observation::Present(object) if metadata(object, "deletionTimestamp").is_some() => {
            NamespaceState::Terminating
        }
        Observation::Present(_) => NamespaceState::Active,
        // Whoever may only work inside a namespace often may not look at it.
        Observation::Failed(error) if error.kind == ApiErrorKind::Forbidden => {
            NamespaceState::Hidden
        }
        Observation::Failed(error) => NamespaceState::Unreachable {
            kind: FailureKind::before_writing(error),
            cause: error.to_string(),
        },
    }
}
