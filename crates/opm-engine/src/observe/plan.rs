//! Looking at everything that a plan names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use opm_core::check::{LiveObject, Observed};
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::packed::PackedObject;
use opm_core::plan::{Occupants, Plan};

use crate::ports::{Detail, Observation, ServedKinds, WantedObject};
use crate::run::Run;

/// What was looked at, as the check wants it and as it was found.
pub(crate) fn judged(
    looks: BTreeMap<Identity, Observation<PackedObject>>,
    release: &ReleaseId,
) -> (Observed, BTreeMap<Identity, PackedObject>) {
    let (mut observed, mut live) = (Observed::default(), BTreeMap::new());
    for (identity, found) in looks {
        let seen = match found {
            Observation::Present(object) => {
                let seen = Observation::Present(LiveObject::read(&object.unpack(), release));
                live.insert(identity.clone(), object);
                seen
            }
            Observation::Absent => Observation::Absent,
            Observation::Failed(error) => Observation::Failed(error),
        };
        observed.insert(identity, seen);
    }
    (observed, live)
}

impl Run<'_> {
    /// What there is of a plan's objects, as the check wants it and as it was found.
    pub(crate) async fn observe(
        &self,
        plan: &Plan,
        release: &ReleaseId,
        detail: impl Fn(&Entry) -> Detail,
    ) -> (Observed, BTreeMap<Identity, PackedObject>) {
        let (light, whole): (Vec<&Entry>, Vec<&Entry>) = plan
            .to_observe()
            .partition(|entry| detail(entry) == Detail::Metadata);
        let wanted = |entries: Vec<&Entry>| -> Vec<WantedObject> {
            entries.into_iter().map(WantedObject::from).collect()
        };
        let (light, whole) = (wanted(light), wanted(whole));
        let (mut looks, whole) = futures::join!(
            Box::pin(self.backend.look_in_version(&light, Detail::Metadata)),
            Box::pin(self.backend.look_in_version(&whole, Detail::Whole))
        );
        looks.extend(whole);
        judged(looks, release)
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
