//! From everything that was gathered to one status. No requests here: the same values give the
//! same status.

use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::status::{Presence, by_component, judge, overall};

use super::{InventorySource, Status, StatusInputs, TrackedStatus};
use crate::failure::Remedy;
use crate::ports::Observation;
use crate::report::TrackedObject;

impl StatusInputs {
    /// How the release stands.
    pub(super) fn assemble(&self) -> Status {
        let Self {
            known,
            seen,
            orphans,
            warnings,
        } = self;
        let judged = known.entries.iter().map(|entry| {
            let evidence = seen.evidence(known, &entry.identity);
            judge(entry.clone(), evidence)
        });
        let (transferred, mine): (Vec<_>, Vec<_>) =
            judged.partition(|object| matches!(object.presence, Presence::Transferred(_)));
        let components = by_component(mine);
        let health = match (&known.change, components.is_empty()) {
            (None, true) => HealthState::Unknown,
            _ => overall(&components),
        };
        Status {
            release: known.release.clone(),
            source: known.source,
            module: known.module.clone(),
            change_id: known.change.as_ref().map(|change| change.id.clone()),
            last_transition_time: known.last_transition_time.clone(),
            state: known.state.clone(),
            health,
            components,
            transferred,
            pending: known.pending.iter().map(|t| self.tracked(t)).collect(),
            kept: known.kept.iter().map(|t| self.tracked(t)).collect(),
            orphans: orphans.clone(),
            lock: known.lock.clone(),
            warnings: warnings.clone(),
            // Whatever is found by labels has no record that can be read.
            remedies: match known.source {
                InventorySource::Labels => vec![Remedy::Repair],
                InventorySource::Inventory => Vec::new(),
            },
        }
    }

    fn tracked(&self, tracked: &TrackedObject) -> TrackedStatus {
        TrackedStatus {
            tracked: tracked.clone(),
            exists: self.exists(&tracked.identity),
        }
    }

    fn exists(&self, identity: &Identity) -> Option<bool> {
        match self.seen.objects.get(identity)? {
            Observation::Present(_) => Some(true),
            Observation::Absent => Some(false),
            Observation::Failed(_) => None,
        }
    }
}
