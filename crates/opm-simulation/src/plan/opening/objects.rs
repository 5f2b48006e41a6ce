//! Openings about what befalls objects.

use fastrand::Rng;

use super::OpeningStory;
use crate::plan::cast::{ALPHA, BETA, Cast, PATIENT, apply, apply_with, delete, step};
use crate::plan::draw::chance;
use crate::plan::{
    Action, ApplyFlags, DeleteFlags, Fault, FaultTarget, HookPlan, Kind, Meddle, ObjectPlan,
    RECORD_OF_BETA,
};

impl OpeningStory {
    /// Objects are replaced between the look and the deed, or come from nowhere.
    pub(super) fn snatched(&mut self, rng: &mut Rng, cast: &Cast) {
        self.client(vec![step(0, apply(&[cast.a, cast.b]))]);
        let action = match rng.u8(..4) {
            0 => delete(ALPHA),
            1 => apply(&[cast.b]),
            _ => apply(&[cast.a, cast.b, cast.c]),
        };
        let at = usize::from(chance(rng, 3));
        self.client(vec![step(3_000, action).hit(
            FaultTarget::Held,
            at,
            Fault::Replaced,
        )]);
    }

    /// Two releases share an object, and one of them leaves.
    pub(super) fn parting(&mut self, rng: &mut Rng, cast: &Cast) {
        let shared = ObjectPlan {
            shared: true,
            ..cast.a
        };
        self.client(vec![
            step(0, apply(&[shared, cast.b])),
            step(100, apply_with(BETA, &[shared, cast.c], PATIENT)),
        ]);
        let leaver = [ALPHA, BETA][rng.usize(..2)];
        let left = if leaver == ALPHA { cast.b } else { cast.c };
        let action = match rng.bool() {
            true => delete(leaver),
            false => apply_with(leaver, &[left], PATIENT),
        };
        self.client(vec![step(3_000, action)]);
    }

    /// An object is kept, and must stay so.
    pub(super) fn kept(&mut self, rng: &mut Rng, cast: &Cast) {
        let claim = ObjectPlan {
            kind: Kind::Claim,
            ..cast.a
        };
        let stays = ObjectPlan {
            stays: true,
            ..cast.a
        };
        let (kept, no_prune) = match rng.u8(..3) {
            0 => (claim, false),
            1 => (stays, false),
            _ => (cast.a, true),
        };
        let flags = ApplyFlags {
            no_prune,
            ..PATIENT
        };
        let last = match rng.u8(..4) {
            0 => Action::Prune(ALPHA, Some(kept)),
            1 => Action::Forget(ALPHA, Some(kept)),
            2 => delete(ALPHA),
            _ => apply(&[kept]),
        };
        self.client(vec![
            step(0, apply(&[kept, cast.b])),
            step(100, apply_with(ALPHA, &[cast.b], flags)),
            step(100, apply(&[cast.b, cast.c])),
            step(100, last),
        ]);
    }

    /// A deleted release has left something, which goes later, or is taken up again.
    pub(super) fn deleted(&mut self, rng: &mut Rng, cast: &Cast) {
        let stays = ObjectPlan {
            stays: true,
            ..cast.a
        };
        let flags = DeleteFlags {
            keep_history: rng.bool(),
            patient: true,
            ..DeleteFlags::default()
        };
        let last = match rng.u8(..3) {
            0 => Action::Prune(ALPHA, Some(stays)),
            1 => Action::Prune(ALPHA, None),
            _ => apply(&[stays, cast.c]),
        };
        self.client(vec![
            step(0, apply(&[stays, cast.b])),
            step(100, Action::Delete(ALPHA, flags)),
            step(100, last),
        ]);
    }

    /// A ClusterRole is deleted, and its controller brings a part of it back.
    pub(super) fn rebuilt(&mut self, rng: &mut Rng, cast: &Cast) {
        let role = ObjectPlan {
            kind: Kind::ClusterRole,
            ..cast.a
        };
        self.client(vec![step(0, apply(&[role, cast.b]))]);
        self.meddle(2_000, Meddle::Rebuild(role));
        let action = match rng.u8(..3) {
            0 => delete(ALPHA),
            1 => apply(&[cast.b]),
            _ => apply(&[role, cast.b]),
        };
        self.client(vec![step(3_000, action)]);
    }

    /// What an apply has looked at becomes another release's before its request lands.
    pub(super) fn overtaken(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        let slow = Fault::Slow(rng.u64(200..3_000));
        let (aim, at) = match rng.bool() {
            true => (FaultTarget::Object, rng.usize(..2)),
            false => (FaultTarget::Record, 0),
        };
        self.client(vec![
            step(0, apply(&[cast.a, cast.b])),
            step(3_000, apply(&[new.a, new.b])).hit(aim, at, slow),
        ]);
        let flags = ApplyFlags {
            take: true,
            ..PATIENT
        };
        let action = apply_with(BETA, &[cast.a, cast.c], flags);
        self.client(vec![step(rng.u64(3_000..4_000), action)]);
    }

    /// Nothing says any more whose an object is, but its uid in the record.
    pub(super) fn estranged(&mut self, rng: &mut Rng, cast: &Cast) {
        self.client(vec![step(0, apply(&[cast.a, cast.b]))]);
        self.meddle(2_000, Meddle::StripAll(cast.a));
        let action = match rng.u8(..4) {
            0 => delete(ALPHA),
            1 => apply(&[cast.b]),
            2 => Action::Rollback(ALPHA, PATIENT),
            _ => apply(&[cast.a, cast.b]),
        };
        self.client(vec![step(3_000, action)]);
    }

    /// A hook becomes another's while it runs, or nobody's.
    pub(super) fn hooked(&mut self, rng: &mut Rng, cast: &Cast) {
        let moments = [HookPlan::Before, HookPlan::Passing, HookPlan::Leaving];
        let job = ObjectPlan {
            kind: Kind::Job,
            name: 4,
            ..cast.a
        };
        let hook = ObjectPlan {
            hook: Some(moments[rng.usize(..3)]),
            ..job
        };
        let new = cast.changed();
        let last = match hook.hook {
            Some(HookPlan::Leaving) => delete(ALPHA),
            _ => apply(&[new.a, hook]),
        };
        self.client(vec![step(0, apply(&[cast.a, hook])), step(2_000, last)]);
        let at = [0, 2_400][rng.usize(..2)] + rng.u64(100..900);
        match rng.u8(..4) {
            0 => self.meddle(at, Meddle::Delete(hook)),
            1 => {
                let take = true;
                let flags = ApplyFlags { take, ..PATIENT };
                let other = apply_with(BETA, &[job], flags);
                self.client(vec![step(at, other)]);
            }
            _ => self.meddle(at, Meddle::StripAll(hook)),
        }
    }

    /// A release has brought a namespace, and somebody else moves in.
    pub(super) fn housed(&mut self, rng: &mut Rng, cast: &Cast) {
        let house = ObjectPlan {
            kind: Kind::Namespace,
            name: 0,
            ..cast.a
        };
        let inside = |object: ObjectPlan| ObjectPlan {
            kind: Kind::ConfigMap,
            housed: true,
            ..object
        };
        self.client(vec![step(0, apply(&[house, inside(cast.a), cast.b]))]);
        match rng.u8(..3) {
            0 => self.meddle(2_000, Meddle::Create(inside(cast.c))),
            1 => {
                let other = apply_with(BETA, &[inside(cast.c)], PATIENT);
                self.client(vec![step(rng.u64(2_000..4_000), other)]);
            }
            _ => {}
        }
        self.leave(rng, &[cast.b]);
    }

    /// The same with a definition, and objects of what it defines.
    pub(super) fn defined(&mut self, rng: &mut Rng, cast: &Cast) {
        let of = |kind: Kind, object: ObjectPlan| ObjectPlan { kind, ..object };
        let definition = of(Kind::Definition, cast.a);
        let widget = of(Kind::Widget, cast.a);
        self.client(vec![step(0, apply(&[definition, widget, cast.b]))]);
        let other = of(Kind::Widget, cast.c);
        match rng.u8(..4) {
            0 => self.meddle(2_000, Meddle::Create(other)),
            1 => self.meddle(2_000, Meddle::Finalizer(widget, rng.u64(1_000..90_000))),
            2 => {
                let other = apply_with(BETA, &[other], PATIENT);
                self.client(vec![step(rng.u64(2_000..4_000), other)]);
            }
            _ => {}
        }
        self.leave(rng, &[cast.b]);
    }

    /// The release goes, or becomes little, with all guards lifted.
    fn leave(&mut self, rng: &mut Rng, left: &[ObjectPlan]) {
        let lift_guards = true;
        let last = match rng.bool() {
            true => {
                let flags = DeleteFlags {
                    lift_guards,
                    patient: true,
                    wait: rng.bool(),
                    ..DeleteFlags::default()
                };
                Action::Delete(ALPHA, flags)
            }
            false => {
                let flags = ApplyFlags {
                    lift_guards,
                    ..PATIENT
                };
                apply_with(ALPHA, left, flags)
            }
        };
        self.client(vec![step(3_000 + rng.u64(..100), last)]);
    }

    /// A module has another release's record as an object.
    pub(super) fn record_as_object(&mut self, rng: &mut Rng, cast: &Cast) {
        let record = ObjectPlan {
            kind: Kind::Secret,
            name: RECORD_OF_BETA,
            ..cast.a
        };
        self.client(vec![step(0, apply_with(BETA, &[cast.b], PATIENT))]);
        let flags = ApplyFlags {
            adopt: rng.bool(),
            take: rng.bool(),
            ..PATIENT
        };
        let action = apply_with(ALPHA, &[cast.a, record], flags);
        self.client(vec![step(3_000, action)]);
    }
}
