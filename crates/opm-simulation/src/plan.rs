//! What happens in one history: who does what when, what goes wrong, and who meddles. All of it
//! is drawn from a seed and written down before it begins, so that a part of it can be left out.

use std::fmt;

use fastrand::Rng;

/// One history, before it has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What decides everything that is not written down: delays, ids, jitter.
    pub seed: u64,
    /// Who works.
    pub clients: Vec<ClientPlan>,
    /// What others do to the cluster, by time.
    pub meddling: Vec<Meddling>,
    /// What the server does not do for a while.
    pub weather: Vec<Weather>,
}

/// One client: a machine with a clock, and what is done on it one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlan {
    /// How many seconds its wall clock is wrong by.
    pub clock_error: i64,
    /// What it does.
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// How long the client rests before it, in milliseconds.
    pub rest: u64,
    /// What is done.
    pub action: Action,
    /// What goes wrong with its requests, by their number.
    pub faults: Vec<(usize, Fault)>,
    /// What becomes of the client itself.
    pub fate: Option<Fate>,
}

/// Which of the releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseIndex(pub usize);

impl ReleaseIndex {
    /// The names of all releases.
    pub const NAMES: [&'static str; 2] = ["alpha", "beta"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0 % Self::NAMES.len()]
    }
}

/// A command, with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Apply a module.
    Apply(ReleaseIndex, ModulePlan, ApplyFlags),
    /// What applying it would do.
    Diff(ReleaseIndex, ModulePlan),
    /// Go back.
    Rollback(ReleaseIndex, ApplyFlags),
    /// Delete the release.
    Delete(ReleaseIndex, DeleteFlags),
    /// Delete what was kept.
    Prune(ReleaseIndex),
    /// Stop tracking an object.
    Forget(ReleaseIndex, ObjectPlan),
    /// Rebuild the record.
    Repair(ReleaseIndex),
    /// Remove the lock of a dead holder.
    Unlock(ReleaseIndex),
    /// How it stands.
    Status(ReleaseIndex),
    /// All releases.
    List,
    /// Its changes and deployments.
    History(ReleaseIndex),
}

impl Action {
    /// The release it is about.
    pub fn release(&self) -> Option<ReleaseIndex> {
        match self {
            Self::Apply(release, ..)
            | Self::Diff(release, _)
            | Self::Rollback(release, _)
            | Self::Delete(release, _)
            | Self::Prune(release)
            | Self::Forget(release, _)
            | Self::Repair(release)
            | Self::Unlock(release)
            | Self::Status(release)
            | Self::History(release) => Some(*release),
            Self::List => None,
        }
    }

    /// Whether guarded objects may go by it.
    pub fn lifts_guards(&self) -> bool {
        match self {
            Self::Apply(_, _, flags) | Self::Rollback(_, flags) => flags.lift_guards,
            Self::Delete(_, flags) => flags.lift_guards,
            Self::Prune(_) => true,
            _ => false,
        }
    }

    /// Whether it may take over what is not the release's.
    pub fn takes_over(&self) -> bool {
        match self {
            Self::Apply(_, _, flags) | Self::Rollback(_, flags) => flags.adopt || flags.take,
            _ => false,
        }
    }
}

/// The options of an apply that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApplyFlags {
    /// Go back when it fails.
    pub atomic: bool,
    /// Leave what is stale.
    pub no_prune: bool,
    /// Take over untracked objects.
    pub adopt: bool,
    /// Take over other releases' objects.
    pub take: bool,
    /// Let guarded kinds go.
    pub lift_guards: bool,
    /// Recreate what cannot be changed.
    pub recreate: bool,
    /// Wait until ready.
    pub wait: bool,
    /// Prune when the new objects are ready.
    pub prune_after_ready: bool,
    /// Keep no manifests.
    pub no_record: bool,
    /// Wait for another holder of the lock.
    pub patient: bool,
    /// Keep few changes.
    pub short_history: bool,
}

/// The options of a delete that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeleteFlags {
    /// Keep changes and log.
    pub keep_history: bool,
    /// Let guarded kinds go.
    pub lift_guards: bool,
    /// Wait for another holder of the lock.
    pub patient: bool,
}

/// The kinds that modules render.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Plain data.
    ConfigMap,
    /// Data to be hidden.
    Secret,
    /// Becomes ready after a while.
    Deployment,
    /// Guarded.
    Claim,
    /// Outside of namespaces.
    ClusterRole,
}

/// One object of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectPlan {
    /// Its kind.
    pub kind: Kind,
    /// Its name, of few, so that things collide.
    pub name: u8,
    /// Whether it lives in the second namespace.
    pub elsewhere: bool,
    /// What it says.
    pub value: u8,
    /// `opmodel.dev/prune: "false"`.
    pub stays: bool,
    /// `opmodel.dev/shared: "true"`.
    pub shared: bool,
}

/// A module: its objects in one or two components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModulePlan {
    /// The objects; every second one is in the second component.
    pub objects: Vec<ObjectPlan>,
    /// The second component comes after the first.
    pub in_order: bool,
    /// How many bytes of values come with it.
    pub bulk: usize,
}

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It takes so many milliseconds more to arrive.
    Slow(u64),
    /// It never arrives; the connection breaks.
    LostRequest,
    /// It is carried out; the connection breaks before the answer.
    LostAnswer,
    /// The connection breaks; it is carried out so many milliseconds later.
    LandsLate(u64),
    /// Nobody ever answers, and it is not carried out.
    Hangs,
    /// It is carried out, and nobody ever answers.
    HangsAfter,
    /// The server answers this instead of carrying it out.
    Status(u16),
    /// It is carried out, and the server answers that it timed out.
    TimedOut,
    /// It is carried out, and the answer breaks off.
    CutShort,
    /// The client dies before it is sent.
    DieBefore,
    /// It is carried out, and the client dies before it hears of it.
    DieAfter,
    /// The client stands still for so many seconds before it is sent.
    Pause(u64),
}

/// What becomes of a client in the middle of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It dies when it has been woken up so many times.
    DiesAtWake(usize),
    /// The user interrupts it after so many milliseconds.
    Interrupted(u64),
    /// Its wall clock jumps by so many seconds after so many milliseconds.
    ClockJumps(u64, i64),
}

/// What somebody else does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meddling {
    /// When, in milliseconds.
    pub at: u64,
    /// What.
    pub what: Meddle,
}

/// Deeds of others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meddle {
    /// kubectl changes a field that the module sets.
    Edit(ObjectPlan),
    /// kubectl deletes an object.
    Delete(ObjectPlan),
    /// kubectl creates an object of that name.
    Create(ObjectPlan),
    /// Somebody takes all labels off.
    StripLabels(ObjectPlan),
    /// A controller puts a finalizer on it, and takes it off so many milliseconds later.
    Finalizer(ObjectPlan, u64),
    /// The record's Secret is deleted.
    DeleteRecord(ReleaseIndex),
    /// The record's Secret loses its current change.
    TruncateRecord(ReleaseIndex),
    /// The record is put back to how it was so many milliseconds ago.
    RestoreRecord(ReleaseIndex, u64),
}

/// What the server does not do for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weather {
    /// From when, in milliseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// What.
    pub what: Outage,
}

/// Kinds of outages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// It is down: requests do not arrive, watches end.
    Down,
    /// This kind may not be written.
    NoWrites(Kind),
    /// This kind may not be read.
    NoReads(Kind),
    /// A webhook for this kind does not answer.
    Webhook(Kind),
}

const KINDS: [Kind; 8] = [
    Kind::ConfigMap,
    Kind::ConfigMap,
    Kind::ConfigMap,
    Kind::ConfigMap,
    Kind::Secret,
    Kind::Deployment,
    Kind::Claim,
    Kind::ClusterRole,
];

/// How many names there are for each kind.
const NAMES: u8 = 4;

impl Plan {
    /// The history that a seed stands for.
    pub fn draw(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let releases = if chance(rng, 3) { 2 } else { 1 };
        let calm = chance(rng, 4);
        let clients = (0..rng.usize(1..=3))
            .map(|_| ClientPlan {
                clock_error: match rng.u8(..4) {
                    0 => rng.i64(-900..=900),
                    _ => 0,
                },
                steps: (0..rng.usize(1..=4))
                    .map(|_| Step::draw(rng, releases, calm))
                    .collect(),
            })
            .collect();
        let mut meddling: Vec<Meddling> = (0..rng.usize(..4))
            .map(|_| Meddling {
                at: moment(rng),
                what: Meddle::draw(rng, releases),
            })
            .collect();
        meddling.sort_by_key(|meddling| meddling.at);
        let weather = (0..rng.usize(..2))
            .map(|_| {
                let from = moment(rng);
                Weather {
                    from,
                    until: from + rng.u64(100..60_000),
                    what: Outage::draw(rng),
                }
            })
            .collect();
        Self {
            seed,
            clients,
            meddling,
            weather,
        }
    }

    /// How much happens in it: the smaller, the easier to follow.
    pub fn size(&self) -> usize {
        let steps = self.clients.iter().flat_map(|client| &client.steps);
        let steps: usize = steps
            .map(|step| {
                let objects = match &step.action {
                    Action::Apply(_, module, _) | Action::Diff(_, module) => module.objects.len(),
                    _ => 0,
                };
                2 + objects + step.faults.len() + usize::from(step.fate.is_some())
            })
            .sum();
        self.clients.len() + steps + 2 * (self.meddling.len() + self.weather.len())
    }
}

/// One in so many.
fn chance(rng: &mut Rng, of: u32) -> bool {
    rng.u32(..of) == 0
}

/// Sooner or later: most things happen in the first seconds, some much later.
fn moment(rng: &mut Rng) -> u64 {
    match rng.u8(..4) {
        0 => rng.u64(..200_000),
        _ => rng.u64(..3_000),
    }
}

impl Step {
    fn draw(rng: &mut Rng, releases: usize, calm: bool) -> Self {
        let faults = if calm { 0 } else { rng.usize(..4) };
        let mut faults: Vec<_> = (0..faults)
            .map(|_| (rng.usize(..40), Fault::draw(rng)))
            .collect();
        faults.sort_by_key(|(at, _)| *at);
        faults.dedup_by_key(|(at, _)| *at);
        Self {
            rest: moment(rng),
            action: {
                let release = ReleaseIndex(rng.usize(..releases));
                Action::draw(rng, release)
            },
            faults,
            fate: chance(rng, 6).then(|| Fate::draw(rng)),
        }
    }
}

impl Action {
    fn draw(rng: &mut Rng, release: ReleaseIndex) -> Self {
        match rng.u8(..32) {
            0..=15 => Self::Apply(release, ModulePlan::draw(rng), ApplyFlags::draw(rng)),
            16..=17 => Self::Diff(release, ModulePlan::draw(rng)),
            18..=20 => Self::Rollback(release, ApplyFlags::draw(rng)),
            21..=23 => Self::Delete(
                release,
                DeleteFlags {
                    keep_history: chance(rng, 3),
                    lift_guards: chance(rng, 3),
                    patient: rng.bool(),
                },
            ),
            24 => Self::Prune(release),
            25 => Self::Forget(release, ObjectPlan::draw(rng)),
            26..=27 => Self::Repair(release),
            28 => Self::Unlock(release),
            29..=30 => Self::Status(release),
            _ => match rng.bool() {
                true => Self::List,
                false => Self::History(release),
            },
        }
    }
}

impl ApplyFlags {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            atomic: chance(rng, 5),
            no_prune: chance(rng, 8),
            adopt: chance(rng, 6),
            take: chance(rng, 8),
            lift_guards: chance(rng, 8),
            recreate: chance(rng, 4),
            wait: chance(rng, 4),
            prune_after_ready: chance(rng, 8),
            no_record: chance(rng, 8),
            patient: rng.bool(),
            short_history: chance(rng, 5),
        }
    }
}

impl ObjectPlan {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            kind: KINDS[rng.usize(..KINDS.len())],
            name: rng.u8(..NAMES),
            elsewhere: chance(rng, 6),
            value: rng.u8(..4),
            stays: chance(rng, 10),
            shared: chance(rng, 10),
        }
    }
}

impl ModulePlan {
    fn draw(rng: &mut Rng) -> Self {
        let mut objects: Vec<_> = (0..rng.usize(1..7))
            .map(|_| ObjectPlan::draw(rng))
            .collect();
        objects.sort();
        objects.dedup_by_key(|object| object.place());
        Self {
            objects,
            in_order: chance(rng, 4),
            bulk: match rng.u8(..12) {
                0 => rng.usize(100_000..900_000),
                _ => 0,
            },
        }
    }
}

impl ObjectPlan {
    /// What tells it from other objects.
    pub fn place(&self) -> (Kind, u8, bool) {
        let elsewhere = self.elsewhere && self.kind != Kind::ClusterRole;
        (self.kind, self.name, elsewhere)
    }
}

impl Fault {
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(..26) {
            0..=2 => Self::Slow(rng.u64(100..20_000)),
            3..=4 => Self::LostRequest,
            5..=7 => Self::LostAnswer,
            8..=10 => Self::LandsLate(match rng.bool() {
                true => rng.u64(..2_000),
                false => rng.u64(..80_000),
            }),
            11 => Self::Hangs,
            12 => Self::HangsAfter,
            13..=16 => Self::Status([409, 410, 429, 500, 503, 504][rng.usize(..6)]),
            17 => Self::TimedOut,
            18 => Self::CutShort,
            19..=20 => Self::DieBefore,
            21..=23 => Self::DieAfter,
            _ => Self::Pause(rng.u64(5..120)),
        }
    }
}

impl Fate {
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(..4) {
            0..=1 => Self::DiesAtWake(rng.usize(1..200)),
            2 => Self::Interrupted(rng.u64(..1_500)),
            _ => Self::ClockJumps(rng.u64(..1_500), rng.i64(-4_000..4_000)),
        }
    }
}

impl Meddle {
    fn draw(rng: &mut Rng, releases: usize) -> Self {
        let object = ObjectPlan::draw(rng);
        let release = ReleaseIndex(rng.usize(..releases));
        match rng.u8(..16) {
            0..=3 => Self::Edit(object),
            4..=6 => Self::Delete(object),
            7..=9 => Self::Create(object),
            10..=11 => Self::StripLabels(object),
            12 => Self::Finalizer(object, rng.u64(1_000..100_000)),
            13 => Self::DeleteRecord(release),
            14 => Self::TruncateRecord(release),
            _ => Self::RestoreRecord(release, rng.u64(..5_000)),
        }
    }
}

impl Outage {
    fn draw(rng: &mut Rng) -> Self {
        let kind = KINDS[rng.usize(..KINDS.len())];
        match rng.u8(..4) {
            0 => Self::Down,
            1 => Self::NoWrites(kind),
            2 => Self::NoReads(kind),
            _ => Self::Webhook(kind),
        }
    }
}

impl fmt::Display for ObjectPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/n{}={}", self.kind, self.name, self.value)?;
        for (flag, word) in [
            (self.place().2, " elsewhere"),
            (self.stays, " prune=false"),
            (self.shared, " shared"),
        ] {
            if flag {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(release, module, flags) => {
                write!(f, "apply {} {module} {flags:?}", release.name())
            }
            Self::Diff(release, module) => write!(f, "diff {} {module}", release.name()),
            Self::Rollback(release, flags) => write!(f, "rollback {} {flags:?}", release.name()),
            Self::Delete(release, flags) => write!(f, "delete {} {flags:?}", release.name()),
            Self::Prune(release) => write!(f, "prune {}", release.name()),
            Self::Forget(release, object) => write!(f, "forget {} {object}", release.name()),
            Self::Repair(release) => write!(f, "repair {}", release.name()),
            Self::Unlock(release) => write!(f, "unlock {}", release.name()),
            Self::Status(release) => write!(f, "status {}", release.name()),
            Self::List => f.write_str("list"),
            Self::History(release) => write!(f, "history {}", release.name()),
        }
    }
}

impl fmt::Display for ModulePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects: Vec<_> = self.objects.iter().map(ToString::to_string).collect();
        write!(f, "{{{}}}", objects.join(", "))?;
        if self.in_order {
            f.write_str(" in order")?;
        }
        if self.bulk > 0 {
            write!(f, " with {} bytes of values", self.bulk)?;
        }
        Ok(())
    }
}
