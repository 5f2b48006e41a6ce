//! Openings about clients that meet, fail or die, and about their requests.

use fastrand::Rng;

use super::OpeningStory;
use crate::plan::cast::{ALPHA, BETA, Cast, PATIENT, apply, apply_with, delete, step};
use crate::plan::draw::chance;
use crate::plan::{Action, ApplyFlags, Fault, FaultTarget, Kind, Meddle, Outage, RecordEdit};

const ADOPTING: ApplyFlags = ApplyFlags {
    adopt: true,
    ..PATIENT
};

/// Longer than a lock holds that nobody renews.
const EXPIRED: u64 = 45_000;

impl OpeningStory {
    /// Two begin at the same moment, and what one of them has seen is soon no longer so.
    pub(super) fn race(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        self.client(vec![step(0, apply(&[cast.a, cast.b]))]);
        if !chance(rng, 3) {
            self.meddle(3_000, Meddle::Delete(cast.a));
        }
        self.client(vec![step(5_000, apply(&[cast.a, new.b]))]);
        let other = match rng.u8(..4) {
            0 => delete(ALPHA),
            1 => apply(&[new.a, cast.b]),
            2 => Action::Rollback(ALPHA, PATIENT),
            _ => apply(&[cast.b]),
        };
        self.client(vec![step(5_000 + rng.u64(..40), other)]);
    }

    /// A request lands when everything is over.
    pub(super) fn late(&mut self, rng: &mut Rng, cast: &Cast) {
        let late = Fault::LandsLate(rng.u64(3_000..55_000));
        let hit = (FaultTarget::Object, rng.usize(..2));
        self.client(vec![
            step(0, apply(&[cast.a, cast.b])).hit(hit.0, hit.1, late),
        ]);
        let other = match rng.bool() {
            true => delete(ALPHA),
            false => apply(&[cast.c]),
        };
        self.client(vec![step(rng.u64(1_500..3_000), other)]);
    }

    /// A record's removal lands when somebody else has taken the lock over.
    pub(super) fn late_removal(&mut self, rng: &mut Rng, cast: &Cast) {
        let late = Fault::DieLate(rng.u64(33_000..59_000));
        self.client(vec![
            step(0, apply(&[cast.a])),
            step(100, delete(ALPHA)).hit(FaultTarget::Removal, 0, late),
        ]);
        self.client(vec![step(2_000, apply(&[cast.b, cast.c]))]);
    }

    /// Somebody dies in the middle of an adoption, and the next one does not want the object.
    pub(super) fn cut_adoption(&mut self, rng: &mut Rng, cast: &Cast) {
        let (before, flags) = match rng.u8(..4) {
            0 => (Meddle::Create(cast.a), ADOPTING),
            1 => (Meddle::Kubectl(cast.a), ADOPTING),
            2 => {
                let adopt_named = true;
                let flags = ApplyFlags {
                    adopt_named,
                    ..PATIENT
                };
                (Meddle::Helm(cast.a), flags)
            }
            _ => {
                let adopt_helm = true;
                let flags = ApplyFlags {
                    adopt_helm,
                    ..PATIENT
                };
                (Meddle::Helm(cast.a), flags)
            }
        };
        self.meddle(0, before);
        self.cut(rng, cast, apply_with(ALPHA, &[cast.a, cast.b], flags), 200);
    }

    /// The same with an object of another release.
    pub(super) fn cut_taking(&mut self, rng: &mut Rng, cast: &Cast) {
        self.client(vec![step(0, apply_with(BETA, &[cast.a], PATIENT))]);
        let flags = ApplyFlags {
            take: true,
            adopt: rng.bool(),
            ..PATIENT
        };
        self.cut(
            rng,
            cast,
            apply_with(ALPHA, &[cast.a, cast.b], flags),
            2_000,
        );
    }

    fn cut(&mut self, rng: &mut Rng, cast: &Cast, action: Action, rest: u64) {
        let at = rng.usize(..4);
        self.client(vec![step(rest, action).hit(
            FaultTarget::Object,
            at,
            Fault::DieAfter,
        )]);
        let other = match rng.bool() {
            true => delete(ALPHA),
            false => apply(&[cast.b, cast.c]),
        };
        self.client(vec![step(EXPIRED, other)]);
    }

    /// An atomic apply fails, and goes back.
    pub(super) fn way_back(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        let flags = ApplyFlags {
            atomic: true,
            ..PATIENT
        };
        let mut steps = vec![step(0, apply(&[cast.a, cast.b]))];
        if chance(rng, 4) {
            // There is nothing to go back to.
            steps.clear();
        }
        let last = apply_with(ALPHA, &[new.a, new.b, new.c], flags);
        let at = rng.usize(..3);
        steps.push(step(3_000, last).hit(FaultTarget::Object, at, Fault::Status(422)));
        self.client(steps);
    }

    /// Applies fail, one after the other, before one does not.
    pub(super) fn failures(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        let what = match rng.bool() {
            true => Outage::NoWrites(Kind::Deployment),
            false => Outage::Webhook(Kind::Deployment),
        };
        self.outage(2_000, 120_000, what);
        let last = match rng.u8(..4) {
            0 => Action::Rollback(ALPHA, PATIENT),
            1 => delete(ALPHA),
            2 => apply(&[cast.b]),
            _ => apply(&[cast.a, cast.b]),
        };
        self.client(vec![
            step(0, apply(&[cast.a, cast.b])),
            step(3_000, apply(&[new.a, new.b])),
            step(100, apply(&[new.b, new.c])),
            step(rng.u64(100..200_000), last),
        ]);
    }

    /// A record is lost in part, and no change is what is live.
    pub(super) fn lost_record(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        self.client(vec![
            step(0, apply(&[cast.a])),
            step(100, apply(&[new.a, cast.b])),
        ]);
        if !chance(rng, 3) {
            self.meddle(3_000, Meddle::Edit(cast.a));
        }
        self.meddle(
            3_500,
            match rng.u8(..4) {
                0 => Meddle::DeleteRecord(ALPHA),
                1 => Meddle::EditRecord(ALPHA, RecordEdit::NoLog),
                _ => Meddle::TruncateRecord(ALPHA),
            },
        );
        let next = match rng.u8(..3) {
            0 => Action::Status(ALPHA),
            1 => Action::Rollback(ALPHA, PATIENT),
            _ => apply(&[cast.c]),
        };
        self.client(vec![step(5_000, Action::Repair(ALPHA)), step(100, next)]);
    }

    /// Somebody dies in the middle of an apply, and the next one wants something else.
    pub(super) fn cut_short(&mut self, rng: &mut Rng, cast: &Cast) {
        let death = match rng.bool() {
            true => Fault::DieAfter,
            false => Fault::DieLate(rng.u64(..59_000)),
        };
        let at = rng.usize(..3);
        self.client(vec![step(0, apply(&[cast.a, cast.b])).hit(
            FaultTarget::Object,
            at,
            death,
        )]);
        let other = match rng.bool() {
            true => delete(ALPHA),
            false => apply(&[cast.c]),
        };
        self.client(vec![step(rng.u64(..EXPIRED), other)]);
    }

    /// Something that is there may not be read.
    pub(super) fn unseen(&mut self, rng: &mut Rng, cast: &Cast) {
        let until = moment_of_end(rng);
        self.outage(2_000, until, Outage::NoReads(Kind::Deployment));
        self.client(vec![step(0, apply(&[cast.a, cast.b]))]);
        let action = match rng.u8(..3) {
            0 => Action::Status(ALPHA),
            1 => delete(ALPHA),
            _ => apply(&[cast.a]),
        };
        self.client(vec![step(3_000, action)]);
    }

    /// What is waited for is watched, and the watch does not last.
    pub(super) fn watched(&mut self, rng: &mut Rng, cast: &Cast) {
        let new = cast.changed();
        let flags = ApplyFlags {
            wait: true,
            atomic: rng.bool(),
            prune_after_ready: rng.bool(),
            ..PATIENT
        };
        let after = rng.u64(..160);
        let fault = match rng.bool() {
            true => Fault::WatchBreaks(after),
            false => Fault::WatchExpires(after),
        };
        let first = apply_with(ALPHA, &[cast.a, cast.b], flags);
        let second = apply_with(ALPHA, &[new.b, cast.c], flags);
        self.client(vec![
            step(0, first).hit(FaultTarget::Watch, 0, fault),
            step(1_000, second).hit(FaultTarget::Watch, rng.usize(..2), fault),
        ]);
    }
}

/// When an outage ends: soon enough for whoever tries again, or not.
fn moment_of_end(rng: &mut Rng) -> u64 {
    rng.u64(5_000..60_000)
}
