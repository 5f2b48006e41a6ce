//! What openings are told with: objects, and steps that are written down shortly.

use fastrand::Rng;

use super::{
    Action, AimedFault, ApplyFlags, DeleteFlags, Fault, FaultTarget, Kind, ModulePlan, ObjectPlan,
    Optional, ReleaseIndex, Step,
};

pub(super) const ALPHA: ReleaseIndex = ReleaseIndex(0);
pub(super) const BETA: ReleaseIndex = ReleaseIndex(1);

/// What an opening is about: two objects, one more, and all of them with other values.
pub(super) struct Cast {
    pub(super) a: ObjectPlan,
    pub(super) b: ObjectPlan,
    pub(super) c: ObjectPlan,
}

impl Cast {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let kinds = [
            Kind::ConfigMap,
            Kind::ConfigMap,
            Kind::Secret,
            Kind::ClusterRole,
        ];
        let mut object = |kind: Option<Kind>, name| ObjectPlan {
            kind: kind.unwrap_or(kinds[rng.usize(..kinds.len())]),
            name,
            elsewhere: false,
            housed: false,
            value: rng.u8(..2),
            stays: false,
            shared: false,
            hook: None,
        };
        Self {
            a: object(None, 0),
            // A kind of its own, so that what befalls it befalls nothing else.
            b: object(Some(Kind::Deployment), 1),
            c: object(None, 2),
        }
    }

    pub(super) fn changed(&self) -> Self {
        let change = |object: ObjectPlan| ObjectPlan { value: 2, ..object };
        Self {
            a: change(self.a),
            b: change(self.b),
            c: change(self.c),
        }
    }
}

pub(super) const PATIENT: ApplyFlags = ApplyFlags {
    atomic: false,
    no_prune: false,
    adopt: false,
    adopt_named: false,
    take: false,
    lift_guards: false,
    recreate: false,
    wait: false,
    prune_after_ready: false,
    no_record: false,
    patient: true,
    short_history: false,
    preflight: false,
    wait_for_deletion: false,
    managed: false,
    adopt_helm: false,
    back: None,
};

pub(super) fn apply_with(
    release: ReleaseIndex,
    objects: &[ObjectPlan],
    flags: ApplyFlags,
) -> Action {
    let module = ModulePlan {
        objects: objects.to_vec(),
        in_order: false,
        optional: Optional::No,
        bulk: 0,
    };
    Action::Apply(release, module, flags)
}

pub(super) fn apply(objects: &[ObjectPlan]) -> Action {
    apply_with(ALPHA, objects, PATIENT)
}

pub(super) fn delete(release: ReleaseIndex) -> Action {
    let flags = DeleteFlags {
        patient: true,
        ..DeleteFlags::default()
    };
    Action::Delete(release, flags)
}

pub(super) fn step(rest: u64, action: Action) -> Step {
    Step {
        rest,
        action,
        faults: Vec::new(),
        fate: None,
    }
}

impl Step {
    pub(super) fn hit(mut self, aim: FaultTarget, at: usize, fault: Fault) -> Self {
        self.faults.push(AimedFault { aim, at, fault });
        self
    }
}
