//! Stories that chance alone seldom tells. One of them begins every second history, with what it
//! is about drawn anew, and chance adds the rest.

use fastrand::Rng;

use super::cast::{ALPHA, BETA, Cast, PATIENT, apply, apply_with, delete, step};
use super::draw::chance;
use super::{
    Action, ApplyFlags, ClientPlan, DeleteFlags, Fault, FaultTarget, Kind, Meddle, Meddling,
    ObjectPlan, Outage, RECORD_OF_BETA, RecordEdit, Step, Weather,
};

/// Longer than a lock holds that nobody renews.
const EXPIRED: u64 = 45_000;

/// How a history begins.
#[derive(Debug, Default)]
pub(super) struct OpeningStory {
    pub(super) clients: Vec<ClientPlan>,
    pub(super) meddling: Vec<Meddling>,
    pub(super) weather: Vec<Weather>,
}

impl OpeningStory {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let cast = &Cast::draw(rng);
        let mut opening = Self::default();
        let tell = [
            Self::race,
            Self::late,
            Self::late_removal,
            Self::cut_adoption,
            Self::cut_taking,
            Self::way_back,
            Self::failures,
            Self::lost_record,
            Self::snatched,
            Self::parting,
            Self::kept,
            Self::cut_short,
            Self::unseen,
            Self::deleted,
            Self::rebuilt,
            Self::record_as_object,
            Self::overtaken,
            Self::estranged,
        ];
        tell[rng.usize(..tell.len())](&mut opening, rng, cast);
        opening
    }

    fn client(&mut self, steps: Vec<Step>) {
        self.clients.push(ClientPlan {
            clock_error: 0,
            clock_rate: 1_000,
            steps,
        });
    }

    fn meddle(&mut self, at: u64, what: Meddle) {
        self.meddling.push(Meddling { at, what });
    }

    fn outage(&mut self, from: u64, until: u64, what: Outage) {
        self.weather.push(Weather { from, until, what });
    }

    /// Two begin at the same moment, and what one of them has seen is soon no longer so.
    fn race(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn late(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn late_removal(&mut self, rng: &mut Rng, cast: &Cast) {
        let late = Fault::DieLate(rng.u64(33_000..59_000));
        self.client(vec![
            step(0, apply(&[cast.a])),
            step(100, delete(ALPHA)).hit(FaultTarget::Removal, 0, late),
        ]);
        self.client(vec![step(2_000, apply(&[cast.b, cast.c]))]);
    }

    /// Somebody dies in the middle of an adoption, and the next one does not want the object.
    fn cut_adoption(&mut self, rng: &mut Rng, cast: &Cast) {
        self.meddle(
            0,
            match rng.bool() {
                true => Meddle::Create(cast.a),
                false => Meddle::Helm(cast.a),
            },
        );
        let flags = ApplyFlags {
            adopt: true,
            ..PATIENT
        };
        self.cut(rng, cast, apply_with(ALPHA, &[cast.a, cast.b], flags), 200);
    }

    /// The same with an object of another release.
    fn cut_taking(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn way_back(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn failures(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn lost_record(&mut self, rng: &mut Rng, cast: &Cast) {
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

    /// Objects are replaced between the look and the deed, or come from nowhere.
    fn snatched(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn parting(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn kept(&mut self, rng: &mut Rng, cast: &Cast) {
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

    /// Somebody dies in the middle of an apply, and the next one wants something else.
    fn cut_short(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn unseen(&mut self, rng: &mut Rng, cast: &Cast) {
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

    /// A deleted release has left something, which goes later, or is taken up again.
    fn deleted(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn rebuilt(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn overtaken(&mut self, rng: &mut Rng, cast: &Cast) {
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
    fn estranged(&mut self, rng: &mut Rng, cast: &Cast) {
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

    /// A module has another release's record as an object.
    fn record_as_object(&mut self, rng: &mut Rng, cast: &Cast) {
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

/// When an outage ends: soon enough for whoever tries again, or not.
fn moment_of_end(rng: &mut Rng) -> u64 {
    rng.u64(5_000..60_000)
}
