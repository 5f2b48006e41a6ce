//! What a history is about. Each leaves most things out, so that what is left happens often, and
//! together.

use fastrand::Rng;

use super::draw::chance;
use super::{Controller, Fate, Fault, Kind, Meddle, ObjectPlan, Outage, RecordEdit, ReleaseIndex};

/// Families of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultFamily {
    Slow,
    Lost,
    Late,
    Refused,
    Deadly,
    Paused,
    Snatched,
}

/// Families of deeds of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MeddleFamily {
    People,
    Controllers,
    Strangers,
    Records,
}

/// What happens in one history at all, and how often.
#[derive(Debug, Clone)]
pub(super) struct Mix {
    pub(super) releases: usize,
    pub(super) clients: usize,
    /// Up to which request of a step faults happen.
    pub(super) reach: usize,
    /// Whether modules bring a namespace, and objects in it.
    pub(super) houses: bool,
    pub(super) clocks: bool,
    pub(super) elsewhere: bool,
    pub(super) guards: bool,
    pub(super) shares: bool,
    pub(super) takes_over: bool,
    pub(super) spills: bool,
    pub(super) hooks: bool,
    pub(super) reconciles: bool,
    kinds: Vec<Kind>,
    faults: Vec<FaultFamily>,
    meddles: Vec<MeddleFamily>,
    outages: bool,
}

/// Some of all, perhaps none.
fn some<T: Copy>(rng: &mut Rng, all: &[T], one_in: u32) -> Vec<T> {
    all.iter()
        .copied()
        .filter(|_| chance(rng, one_in))
        .collect()
}

impl Mix {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let shares = chance(rng, 6);
        let takes_over = chance(rng, 5);
        let calm = chance(rng, 8);
        let guards = chance(rng, 4);
        let mut kinds = vec![Kind::ConfigMap, Kind::ConfigMap];
        let others = [Kind::Secret, Kind::Deployment, Kind::ClusterRole];
        kinds.extend(some(rng, &others, 3));
        let houses = guards && chance(rng, 3);
        if guards {
            kinds.push([Kind::Claim, Kind::Claim, Kind::Volume][rng.usize(..3)]);
        }
        if houses {
            kinds.push(Kind::Namespace);
        }
        if guards && chance(rng, 3) {
            kinds.extend([Kind::Definition, Kind::Widget]);
        }
        let faults = [
            FaultFamily::Slow,
            FaultFamily::Lost,
            FaultFamily::Late,
            FaultFamily::Refused,
            FaultFamily::Deadly,
            FaultFamily::Paused,
            FaultFamily::Snatched,
        ];
        let meddles = [
            MeddleFamily::People,
            MeddleFamily::Controllers,
            MeddleFamily::Strangers,
            MeddleFamily::Records,
        ];
        Self {
            releases: if shares || takes_over || chance(rng, 6) {
                2
            } else {
                1
            },
            clients: [1, 2, 2, 2, 3, 4][rng.usize(..6)],
            reach: [12, 25, 40][rng.usize(..3)],
            houses,
            clocks: chance(rng, 4),
            elsewhere: chance(rng, 4),
            guards,
            shares,
            takes_over,
            spills: chance(rng, 10),
            hooks: chance(rng, 8),
            reconciles: chance(rng, 8),
            kinds,
            faults: if calm {
                Vec::new()
            } else {
                some(rng, &faults, 2)
            },
            meddles: some(rng, &meddles, 3),
            outages: chance(rng, 4),
        }
    }

    /// Whether records get lost or damaged.
    pub(super) fn loses_records(&self) -> bool {
        self.meddles.contains(&MeddleFamily::Records)
    }

    pub(super) fn kind(&self, rng: &mut Rng) -> Kind {
        self.kinds[rng.usize(..self.kinds.len())]
    }

    /// How many faults a step has.
    pub(super) fn faults(&self, rng: &mut Rng) -> usize {
        match self.faults.is_empty() {
            true => 0,
            false => rng.usize(..4),
        }
    }

    pub(super) fn fault(&self, rng: &mut Rng) -> Fault {
        match self.faults[rng.usize(..self.faults.len())] {
            FaultFamily::Slow => match rng.bool() {
                true => Fault::Slow(rng.u64(100..20_000)),
                false => Fault::LateAnswer(rng.u64(100..20_000)),
            },
            FaultFamily::Lost => match rng.u8(..9) {
                0..=1 => Fault::LostRequest,
                2..=3 => Fault::LostAnswer,
                4 => Fault::CutShort,
                5 => Fault::Hangs,
                6 => Fault::HangsAfter,
                7 => Fault::WatchBreaks(rng.u64(..200)),
                _ => Fault::WatchExpires(rng.u64(..200)),
            },
            FaultFamily::Late => {
                let delay = match rng.bool() {
                    true => rng.u64(..2_000),
                    false => rng.u64(..60_000),
                };
                match chance(rng, 4) {
                    true => Fault::Twice(delay),
                    false => Fault::LandsLate(delay),
                }
            }
            FaultFamily::Refused => match rng.u8(..7) {
                6 => Fault::TimedOut,
                at => Fault::Status([409, 410, 429, 500, 503, 504][usize::from(at)]),
            },
            FaultFamily::Deadly => match rng.u8(..6) {
                0..=1 => Fault::DieBefore,
                2 => Fault::DieLate(rng.u64(..60_000)),
                _ => Fault::DieAfter,
            },
            FaultFamily::Paused => Fault::Pause(rng.u64(5..120)),
            FaultFamily::Snatched => Fault::Replaced,
        }
    }

    pub(super) fn fate(&self, rng: &mut Rng) -> Option<Fate> {
        let deadly = self.faults.contains(&FaultFamily::Deadly);
        match rng.u8(..12) {
            0..=1 if deadly => Some(Fate::DiesAtWake(rng.usize(1..200))),
            2 if deadly => Some(Fate::Interrupted(rng.u64(..1_500))),
            3..=5 if self.clocks => {
                let after = rng.u64(..1_500);
                Some(Fate::ClockJumps(after, rng.i64(-4_000..4_000)))
            }
            _ => None,
        }
    }

    /// How often others meddle.
    pub(super) fn meddling(&self, rng: &mut Rng) -> usize {
        match self.meddles.is_empty() {
            true => 0,
            false => rng.usize(1..5),
        }
    }

    /// How many outages there are.
    pub(super) fn weather(&self, rng: &mut Rng) -> usize {
        match self.outages {
            true => rng.usize(1..3),
            false => 0,
        }
    }

    pub(super) fn outage(&self, rng: &mut Rng) -> Outage {
        let kind = self.kind(rng);
        match rng.u8(..9) {
            0..=1 => Outage::Down,
            2..=3 => Outage::NoWrites(kind),
            4..=5 => Outage::NoReads(kind),
            6..=7 => Outage::Webhook(kind),
            _ => match rng.bool() {
                true => Outage::NoRecordWrites,
                false => Outage::NoRecordReads,
            },
        }
    }
}

impl Meddle {
    pub(super) fn draw(
        rng: &mut Rng,
        mix: &Mix,
        release: ReleaseIndex,
        object: ObjectPlan,
    ) -> Self {
        match mix.meddles[rng.usize(..mix.meddles.len())] {
            MeddleFamily::People => match rng.u8(..8) {
                0..=2 => Self::Edit(object),
                3..=5 => Self::Delete(object),
                6 => Self::StripLabels(object),
                _ => Self::StripAll(object),
            },
            MeddleFamily::Controllers => {
                let apart = rng.u64(20..3_000);
                match rng.u8(..4) {
                    0 => Self::Finalizer(object, rng.u64(1_000..100_000)),
                    1 => Self::Controller(Controller::Defaults, object, apart),
                    2 => Self::Controller(Controller::Edits, object, apart),
                    _ => Self::Controller(Controller::Recreates, object, apart),
                }
            }
            MeddleFamily::Strangers => match rng.u8(..3) {
                0 => Self::Helm(object),
                1 => Self::Kubectl(object),
                _ => Self::Create(object),
            },
            MeddleFamily::Records => match rng.u8(..10) {
                0..=1 => Self::DeleteRecord(release),
                2..=3 => Self::TruncateRecord(release),
                4..=5 => Self::RestoreRecord(release, rng.u64(..5_000)),
                6 => Self::RestoreRecord(release, rng.u64(..200_000)),
                7 => Self::DeleteRecordSecret(release),
                _ => {
                    let edits = [
                        RecordEdit::TimesAhead,
                        RecordEdit::UnknownKey,
                        RecordEdit::NoLog,
                        RecordEdit::CutShort,
                    ];
                    Self::EditRecord(release, edits[rng.usize(..4)])
                }
            },
        }
    }
}
