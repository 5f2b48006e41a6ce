//! Looking at everything that a plan names.

use std::collections::{BTreeMap, HashMap};

use opm_core::check::{LiveObject, Observed, Seen};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::plan::{Occupants, Plan};
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::ports::{Cluster, Detail, ErrorKind, Found, ServedKinds};

impl<C: Cluster, S, K> Engine<C, S, K> {
    /// What there is of a plan's objects, as the check wants it and as it was found.
    pub(crate) async fn observe(
        &self,
        plan: &Plan,
        release: &ReleaseId,
        detail: Detail,
    ) -> (Observed, BTreeMap<Identity, Map<String, Value>>) {
        let wanted: Vec<Identity> = plan.to_observe().map(|e| e.identity.clone()).collect();
        let looks = self.cluster.look(&wanted, detail).await;
        let mut live = BTreeMap::new();
        let mut observed = Observed::with_capacity(looks.len());
        for (identity, found) in looks {
            let seen = match found {
                Found::Absent => Seen::Absent,
                Found::Failed(error) if error.kind == ErrorKind::Forbidden => {
                    Seen::Forbidden(error.to_string())
                }
                Found::Failed(error) => Seen::Unreachable(error.to_string()),
                Found::Present(object) => {
                    let seen = Seen::Present(Box::new(LiveObject::read(&object, release)));
                    live.insert(identity.clone(), object);
                    seen
                }
            };
            observed.insert(identity, seen);
        }
        (observed, live)
    }

    /// What the Namespaces and definitions hold that the plan would delete.
    pub(crate) async fn look_into(
        &self,
        plan: &Plan,
        served: &ServedKinds,
    ) -> HashMap<Identity, Occupants> {
        let mut occupants = HashMap::new();
        for holder in plan.to_look_into() {
            let held = self.occupants(holder, served).await;
            occupants.insert(holder.clone(), held);
        }
        occupants
    }
}
