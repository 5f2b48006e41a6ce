//! Which objects of a release are not ready, for who has just applied them and asks for no more:
//! neither record nor manifests are read, and of kinds that say nothing about themselves nothing.

use std::collections::BTreeMap;

use opm_core::health::{self, Health};
use opm_core::identity::Identity;
use serde_json::{Map, Value};

use super::see::EXPLAINED;
use crate::failure::Failure;
use crate::ports::{Detail, Observation, WantedObject};
use crate::run::Run;

impl Run<'_> {
    /// How those of these objects are doing that are not ready.
    pub(crate) async fn unready(
        &self,
        applied: &[Identity],
    ) -> Result<BTreeMap<Identity, Health>, Failure> {
        let talking = applied
            .iter()
            .filter(|one| !health::says_nothing(&one.group_kind));
        let wanted: Vec<WantedObject> = talking.map(WantedObject::from).collect();
        let looks = self.backend.look_in_version(&wanted, Detail::Whole).await;
        let mut unready = BTreeMap::new();
        let mut workloads: Vec<(Identity, Map<String, Value>)> = Vec::new();
        for (identity, found) in looks {
            let health = match found {
                Observation::Present(object) => {
                    let object = object.unpack();
                    let health = health::of(&object);
                    let unready = health::has_pods(&identity.group_kind) && !health.is_ready();
                    if unready && workloads.len() < EXPLAINED {
                        workloads.push((identity.clone(), object));
                    }
                    health
                }
                // One that was complete may have removed itself.
                Observation::Absent if identity.group_kind.is("batch", "Job") => continue,
                Observation::Absent => Health::degraded("it does not exist"),
                Observation::Failed(error) => Health::unknown(error.to_string()),
            };
            if !health.is_ready() {
                unready.insert(identity, health);
            }
        }
        for (identity, pods) in self.pods_of_unready(&workloads).await {
            // Who may not see them knows less, and no wrong.
            if let (Ok(pods), Some(health)) = (pods, unready.get_mut(&identity)) {
                *health = health::with_pods(health.clone(), &pods);
            }
        }
        Ok(unready)
    }
}
