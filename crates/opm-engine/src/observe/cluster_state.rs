//! What the cluster serves, and how the namespaces are that a candidate needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use opm_core::candidate::Candidate;
use opm_core::identity::{GroupKind, Identity};
use opm_core::manifest::Manifest;
use opm_core::reach::{self, ClusterState, NamespaceState};
use opm_core::rendered::Rendered;
use opm_core::scope::Scopes;

use super::metadata;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, Backend, Detail, Observation, ServedKinds};
use crate::run::Run;

impl<B: Backend> Run<'_, B> {
    /// What the cluster serves, as far as it takes to find objects.
    pub(crate) async fn discover(&self) -> Result<Arc<ServedKinds>, Failure> {
        self.backend.recall_served().await.map_err(unserved)
    }

    /// Everything that the cluster serves now: for who has to know that nothing is left out.
    pub(crate) async fn discover_all(
        &self,
        known: &Arc<ServedKinds>,
    ) -> Result<Arc<ServedKinds>, Failure> {
        match known.remembered {
            true => self.backend.served().await.map_err(unserved),
            false => Ok(Arc::clone(known)),
        }
    }

    /// The same, asked anew only if something is rendered of a kind that is not known.
    pub(crate) async fn discover_rendered(
        &self,
        known: Arc<ServedKinds>,
        rendered: &Rendered,
    ) -> Result<Arc<ServedKinds>, Failure> {
        let mut manifests = rendered.components.iter().flat_map(|one| &one.manifests);
        let is_known = |one: &Manifest| known.kinds.contains_key(&one.identity().group_kind);
        match manifests.all(is_known) {
            true => Ok(known),
            false => self.discover_all(&known).await,
        }
    }

    /// What the candidate needs of the cluster, as it is.
    pub(crate) async fn cluster_state(
        &self,
        candidate: &Candidate,
        served: &ServedKinds,
    ) -> ClusterState {
        let needed: Vec<Identity> = reach::namespaces(candidate)
            .into_iter()
            .map(|name| Identity::new(GroupKind::new("", "Namespace"), None, name))
            .collect();
        let found = self.backend.look(&needed, Detail::Metadata).await;
        let namespaces = found
            .into_iter()
            .map(|(identity, found)| (identity.name, state(&found)));
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

fn unserved(error: ApiError) -> Failure {
    Failure::before_writing("cannot ask the cluster which kinds it serves", &error)
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
