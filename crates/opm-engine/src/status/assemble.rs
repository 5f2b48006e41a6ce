//! From everything that was gathered to one status. No requests here: the same values give the
//! same status.

use opm_core::entry::Entry;
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::record::PendingWhy;
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
            warnings,
        } = self;
        let judged = known.entries.iter().map(|entry| {
            let evidence = seen.evidence(known, &entry.identity);
            judge(entry.clone(), evidence)
        });
        let (transferred, mine): (Vec<_>, Vec<_>) =
            judged.partition(|object| matches!(object.presence, Presence::Transferred(_)));
        let components = by_component(mine);
        let pending: Vec<TrackedStatus> = known.pending.iter().map(|t| self.pending(t)).collect();
        // What a run that did not end well has brought is part of how the release is doing.
        let brought = pending.iter().filter_map(|object| object.health.as_ref());
        let brought = brought.map(|health| health.state).max();
        let health = match (&known.change, components.is_empty()) {
            (None, true) => brought.unwrap_or(HealthState::Unknown),
            _ => overall(&components).max(brought.unwrap_or(HealthState::Ready)),
        };
        Status {
            release: known.release.clone(),
            source: known.source,
            module: known.module.clone(),
            change_id: known.change.as_ref().map(|change| change.id.clone()),
            last_transition_time: known.last_transition_time.clone(),
            last_deployment: known.last_deployment.clone(),
            state: known.state.clone(),
            health,
            components,
            transferred,
            pending,
            kept: known.kept.iter().map(|t| self.tracked(t)).collect(),
            orphans: seen.orphans.values().cloned().collect(),
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
            health: None,
        }
    }

    /// The same with its health, unless it is only still to be removed.
    fn pending(&self, tracked: &TrackedObject) -> TrackedStatus {
        let entry = Entry::new(
            tracked.identity.clone(),
            &tracked.version,
            &tracked.component,
        );
        let wanted = tracked.why != PendingWhy::PruneFailed.word();
        let health = wanted.then(|| {
            let evidence = self.seen.evidence(&self.known, &tracked.identity);
            judge(entry, evidence).health
        });
        TrackedStatus {
            health,
            ..self.tracked(tracked)
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
