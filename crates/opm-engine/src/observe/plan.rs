//! Looking at everything that a plan names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use opm_core::check::{LiveObject, Observed};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::plan::{Occupants, Plan};
use serde_json::{Map, Value};

use crate::ports::{Backend, Detail, ServedKinds, WantedObject};
use crate::run::Run;

impl<B: Backend> Run<'_, B> {
    /// What there is of a plan's objects, as the check wants it and as it was found.
    pub(crate) async fn observe(
        &self,
        plan: &Plan,
        release: &ReleaseId,
        detail: Detail,
    ) -> (Observed, BTreeMap<Identity, Map<String, Value>>) {
        let wanted: Vec<WantedObject> = plan.to_observe().map(WantedObject::from).collect();
        let looks = self.backend.look_in_version(&wanted, detail).await;
        let observed = looks.iter().map(|(identity, found)| {
            let seen = found
                .clone()
                .map(|object| LiveObject::read(&object, release));
            (identity.clone(), seen)
        });
        let observed = observed.collect();
        let live = looks.into_iter();
        let live = live.filter_map(|(identity, found)| Some((identity, found.found().ok()??)));
        (observed, live.collect())
    }

    /// What the Namespaces and definitions hold that the plan would delete.
    pub(crate) async fn look_into(
        &self,
        plan: &Plan,
        served: &Arc<ServedKinds>,
    ) -> HashMap<Identity, Occupants> {
        let mut occupants = HashMap::new();
        let mut holders = plan.to_look_into().peekable();
        if holders.peek().is_none() {
            return occupants;
        }
        let served = self.discover_all(served).await;
        for holder in holders {
            let held = match &served {
                Ok(served) => self.occupants(holder, served).await,
                Err(failure) => Occupants::Unknown(failure.message.clone()),
            };
            occupants.insert(holder.clone(), held);
        }
        occupants
    }
}
