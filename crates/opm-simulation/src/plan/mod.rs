//! What happens in one history: who does what when, what goes wrong, and who meddles. All of it
//! is drawn from a seed and written down before it begins, so that a part of it can be left out.

mod display;
mod draw;
mod mix;

/// One history, before it has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What decides everything that is not written down: delays, ids, jitter.
    pub seed: u64,
    /// From how many bytes on parts of a record move out, if not as it is shipped.
    pub record_limit: Option<usize>,
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
    /// How fast its clocks run: 1000 is right.
    pub clock_rate: u32,
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
    Diff(ReleaseIndex, ModulePlan, ApplyFlags),
    /// Go back.
    Rollback(ReleaseIndex, ApplyFlags),
    /// Delete the release.
    Delete(ReleaseIndex, DeleteFlags),
    /// Delete what was kept: this object, or all.
    Prune(ReleaseIndex, Option<ObjectPlan>),
    /// Stop tracking an object, or the whole release.
    Forget(ReleaseIndex, Option<ObjectPlan>),
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
            | Self::Diff(release, ..)
            | Self::Rollback(release, _)
            | Self::Delete(release, _)
            | Self::Prune(release, _)
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
            Self::Prune(..) => true,
            _ => false,
        }
    }

    /// Whether it may take over what is not the release's.
    pub fn takes_over(&self) -> bool {
        match self {
            Self::Apply(_, _, flags) | Self::Rollback(_, flags) => {
                flags.adopt || flags.adopt_named || flags.take
            }
            _ => false,
        }
    }

    /// Whether it may change the cluster or a record.
    pub fn writes(&self) -> bool {
        match self {
            Self::Diff(..) | Self::Status(_) | Self::List | Self::History(_) => false,
            Self::Apply(..)
            | Self::Rollback(..)
            | Self::Delete(..)
            | Self::Prune(..)
            | Self::Forget(..)
            | Self::Repair(_)
            | Self::Unlock(_) => true,
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
    /// Take over the module's first object by its name, whoever owns it.
    pub adopt_named: bool,
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
    /// Let the server pretend first.
    pub preflight: bool,
    /// Wait for objects that are being deleted.
    pub wait_for_deletion: bool,
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
    /// Only the second component.
    pub component: bool,
    /// Wait until everything is gone.
    pub wait: bool,
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
    /// The second component is optional; whether it is selected, if the apply says so.
    pub optional: Option<Option<bool>>,
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
    /// Just before the next one that names an object arrives, somebody replaces that object.
    Replaced,
    /// The connection breaks; it is carried out so many milliseconds later.
    LandsLate(u64),
    /// It is carried out, the connection breaks before the answer, and so many milliseconds later
    /// it is carried out once more.
    Twice(u64),
    /// It is carried out, and the answer takes so many milliseconds more.
    LateAnswer(u64),
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

impl Fault {
    /// Whether the client never hears what became of its request.
    pub(crate) fn loses_the_answer(self) -> bool {
        matches!(
            self,
            Self::LostAnswer
                | Self::LandsLate(_)
                | Self::Twice(_)
                | Self::HangsAfter
                | Self::CutShort
        )
    }
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
    /// Helm brings an object of that name.
    Helm(ObjectPlan),
    /// A controller works on an object, so many milliseconds apart.
    Controller(Controller, ObjectPlan, u64),
    /// The record's Secret is deleted.
    DeleteRecord(ReleaseIndex),
    /// The record's Secret loses its current change.
    TruncateRecord(ReleaseIndex),
    /// Somebody edits the record's Secret.
    EditRecord(ReleaseIndex, RecordEdit),
    /// One of the Secrets that keep changes is deleted.
    DeleteRecordSecret(ReleaseIndex),
    /// The record is put back to how it was so many milliseconds ago.
    RestoreRecord(ReleaseIndex, u64),
}

/// What controllers do to objects that are not theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Fills in fields that nobody has set.
    Defaults,
    /// Changes what the module has set, again and again.
    Edits,
    /// Deletes the object and creates it again as it was, labels and all.
    Recreates,
}

/// What people do to a record by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEdit {
    /// Its times are set far ahead.
    TimesAhead,
    /// It gets a key that nobody knows.
    UnknownKey,
    /// Its log is emptied.
    NoLog,
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

impl Plan {
    /// How much happens in it: the smaller, the easier to follow.
    pub fn size(&self) -> usize {
        let steps = self.clients.iter().flat_map(|client| &client.steps);
        let steps: usize = steps
            .map(|step| {
                let objects = match &step.action {
                    Action::Apply(_, module, _) | Action::Diff(_, module, _) => {
                        module.objects.len()
                    }
                    _ => 0,
                };
                2 + objects + step.faults.len() + usize::from(step.fate.is_some())
            })
            .sum();
        self.clients.len() + steps + 2 * (self.meddling.len() + self.weather.len())
    }
}

impl ObjectPlan {
    /// What tells it from other objects.
    pub fn place(&self) -> (Kind, u8, bool) {
        let elsewhere = self.elsewhere && self.kind != Kind::ClusterRole;
        (self.kind, self.name, elsewhere)
    }
}
