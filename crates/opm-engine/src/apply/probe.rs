//! Namespaces that may not be looked at: a pretended create tells whether they are there.
//!
//! Whoever may only work inside a namespace often may not read the Namespace itself. Without
//! this, a missing one would be noticed when half of the release is applied.

use std::collections::BTreeSet;

use opm_core::labels;
use opm_core::reach::{ClusterState, NamespaceState};

use super::Apply;
use crate::ports::{ApiErrorKind, ApplyObject, Precondition};

impl Apply<'_> {
    /// Replaces "hidden" by what the server says when something is sent there.
    pub(super) async fn probe(&self, cluster_state: &mut ClusterState) {
        let hidden: BTreeSet<String> = cluster_state
            .namespaces
            .iter()
            .filter(|(_, state)| **state == NamespaceState::Hidden)
            .map(|(name, _)| name.clone())
            .collect();
        for namespace in hidden {
            if let Some(state) = self.probed(&namespace, cluster_state).await {
                cluster_state.namespaces.insert(namespace, state);
            }
        }
    }

    async fn probed(
        &self,
        namespace: &str,
        cluster_state: &ClusterState,
    ) -> Option<NamespaceState> {
        let object = self.candidate.objects.iter().find(|object| {
            let identity = object.manifest.identity();
            identity.namespace.as_deref() == Some(namespace)
                && cluster_state.kinds.contains_key(&identity.group_kind)
        })?;
        let request = ApplyObject {
            identity: object.manifest.identity(),
            version: object.manifest.version(),
            object: &object.manifest.object(),
            precondition: Precondition::Absent,
            field_manager: labels::FIELD_MANAGER,
            force: false,
            dry_run: true,
        };
        match self.run.backend.apply(request, self.run.permit()).await {
            Err(error) if error.kind == ApiErrorKind::NamespaceMissing => {
                Some(NamespaceState::Absent)
            }
            Err(error) if error.kind == ApiErrorKind::NamespaceTerminating => {
                Some(NamespaceState::Terminating)
            }
            // Any other answer came from inside the namespace, or says nothing about it.
            _ => None,
        }
    }
}
