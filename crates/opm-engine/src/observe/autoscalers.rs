//! Which rendered workloads an autoscaler drives, and how many replicas they have now.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use opm_core::autoscale::{self, applied_replicas};
use opm_core::candidate::Candidate;
use opm_core::check::PruneStep;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use serde_json::{Map, Value};

use super::identity_of;
use crate::ports::{Detail, Observation, ServedKinds};
use crate::run::Run;

impl Run<'_> {
    /// What to send instead of the rendered object, for every workload whose live replicas an
    /// autoscaler set. Costs nothing where no object asks for replicas, or did so when it was
    /// applied last. An autoscaler that goes in this very run has no say any more.
    pub(crate) async fn autoscaled(
        &self,
        candidate: &Candidate,
        seen: &BTreeMap<Identity, PackedObject>,
        going: &[PruneStep],
        served: &ServedKinds,
        warnings: &mut Vec<String>,
    ) -> BTreeMap<Identity, Map<String, Value>> {
        let asked = |identity: &Identity| {
            let seen = seen.get(identity);
            seen.is_some_and(|seen| applied_replicas(&seen.unpack()))
        };
        let scalable: BTreeMap<&Identity, Cow<'_, Map<String, Value>>> = candidate
            .objects
            .iter()
            .map(|object| (object.manifest.identity(), object.manifest.object()))
            .filter(|(identity, object)| autoscale::sets_replicas(object) || asked(identity))
            .collect();
        if scalable.is_empty() {
            return BTreeMap::new();
        }
        let rendered = candidate.objects.iter();
        let rendered: Vec<_> = rendered
            .filter(|o| autoscale::is_autoscaler(&o.manifest.identity().group_kind))
            .map(|object| object.manifest.object())
            .collect();
        let mut targets = autoscale::targets(rendered.iter().map(AsRef::as_ref));
        let namespaces: BTreeSet<&str> = scalable
            .keys()
            .filter_map(|identity| identity.namespace.as_deref())
            .collect();
        for namespace in namespaces {
            targets.extend(self.live_targets(namespace, going, served, warnings).await);
        }
        let wanted: Vec<Identity> = scalable
            .keys()
            .filter(|identity| targets.contains(**identity))
            .map(|identity| (*identity).clone())
            .collect();
        let found = self.backend.look(&wanted, Detail::Whole).await;
        found
            .into_iter()
            .filter_map(|(identity, found)| {
                let Observation::Present(live) = found else {
                    return None;
                };
                let rendered = scalable.get(&identity)?;
                let sent = autoscale::with_live_replicas(rendered, &live)?;
                Some((identity, sent))
            })
            .collect()
    }

    /// What the autoscalers of a namespace target; a kind of them that cannot be listed is a warning.
    pub(crate) async fn live_targets(
        &self,
        namespace: &str,
        going: &[PruneStep],
        served: &ServedKinds,
        warnings: &mut Vec<String>,
    ) -> BTreeSet<Identity> {
        let mut targets = BTreeSet::new();
        for kind in served.kinds.keys().filter(|k| autoscale::is_autoscaler(k)) {
            let kind: &GroupKind = kind;
            let listed = self
                .backend
                .list(kind, Some(namespace), None, Detail::Whole)
                .await;
            match listed {
                Ok(autoscalers) => {
                    let goes = |identity| going.iter().any(|s| s.entry.identity == identity);
                    let staying = autoscalers
                        .iter()
                        .filter(|object| !identity_of(object).is_some_and(goes));
                    targets.extend(autoscale::targets(staying));
                }
                Err(error) => warnings.push(format!(
                    "cannot see which workloads in namespace {namespace} are autoscaled, so their \
                     replicas are set as rendered: {error}"
                )),
            }
        }
        targets
    }
}
