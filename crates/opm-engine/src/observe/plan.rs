//! Looking at everything that a plan names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use opm_core::check::{LiveObject, Observed};
use opm_core::entry::Entry;
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
        detail: impl Fn(&Entry) -> Detail,
    ) -> (Observed, BTreeMap<Identity, Map<String, Value>>) {
        let (light, whole): (Vec<&Entry>, Vec<&Entry>) = plan
            .to_observe()
            .partition(|entry| detail(entry) == Detail::Metadata);
        let wanted = |entries: Vec<&Entry>| -> Vec<WantedObject> {
            entries.into_iter().map(WantedObject::from).collect()
        };
        let (light, whole) = (wanted(light), wanted(whole));
        let (mut looks, whole) = futures::join!(
            self.backend.look_in_version(&light, Detail::Metadata),
            self.backend.look_in_version(&whole, Detail::Whole)
        );
        looks.extend(whole);
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

    /// What the Namespaces and definitions hold that the plan would delete, given what is known of
    /// the kinds that are served.
    pub(crate) async fn look_into(
        &self,
        plan: &Plan,
        known: Option<&Arc<ServedKinds>>,
    ) -> HashMap<Identity, Occupants> {
        let mut occupants = HashMap::new();
        let mut holders = plan.to_look_into().peekable();
        if holders.peek().is_none() {
            return occupants;
        }
        let served = match known {
            Some(known) => self.discover_rest(known).await,
            None => self.discover_all().await,
        };
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
