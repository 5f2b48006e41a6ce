//! Where histories have been: the transitions of the protocol's model, the rows of the table of
//! ownership, and the rows of the table of outcomes.

use std::collections::{BTreeMap, BTreeSet};

use opm_core::check::{LiveObject, Ownership};
use opm_core::ids::ReleaseId;
use opm_engine::{Failure, FailureKind};
use serde_json::Value;

use crate::client::Outcome;
use crate::ledger::{Actor, Ledger, RecordMoment};
use crate::modules::{home, module_path, release_name};
use crate::plan::{Action, Fault, Meddle, ObjectPlan, RECORD_OF_BETA, RecordEdit, ReleaseIndex};

macro_rules! visits {
    ($($name:ident: $area:literal, $words:literal;)*) => {
        /// A place that a history can get to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Visit { $(#[doc = $words] $name,)* }

        impl Visit {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it is a part of.
            pub fn area(self) -> &'static str {
                match self { $(Self::$name => $area,)* }
            }

            /// In words.
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

visits! {
    LoadForApply: "model", "load for an apply";
    LoadForDelete: "model", "load for a delete";
    LoadForPrune: "model", "load for a prune";
    TookFreeLock: "model", "begin, with a lock that is free";
    TookOver: "model", "begin, with a lock that is taken over";
    Claimed: "model", "begin with a claim, before the intent";
    WroteIntent: "model", "write the intent down and send";
    LandedLate: "model", "a request lands when nobody waits for it";
    LostAnswer: "model", "a request lands and its answer is lost";
    NoAnswer: "model", "no answer in time";
    SentAgain: "model", "a request is sent again and lands twice";
    Pruned: "model", "finish, then prune";
    Released: "model", "finish, then release what was not applied completely";
    Recorded: "model", "settle and record";
    Rested: "model", "rest, and look again";
    Removed: "model", "a delete removes the record";
    PrunedAway: "model", "a prune removes the record of a deleted release";
    MarkedDeleted: "model", "a delete keeps something, and the record says so";
    TakenUpAgain: "model", "an apply takes a deleted release up again";
    Renewed: "model", "time passes, and the holder renews";
    Slept: "model", "time passes, and the holder sleeps past its lock";
    Died: "model", "the holder dies";
    StrangerPuts: "model", "a stranger puts an object of that name";
    StrangerDeletes: "model", "a stranger deletes an object";
    ForgedTimes: "model", "somebody sets the record's times far ahead";
    MineByLabel: "ownership", "label mine";
    OthersByLabel: "ownership", "label another's";
    MineByUid: "ownership", "no label, uid as recorded, applied by opm: mine";
    NotApplied: "ownership", "no label, uid as recorded, not applied by opm: nobody's";
    OtherUid: "ownership", "no label, another uid or none recorded: nobody's";
    Rebuilt: "ownership", "no label, only the aggregation controller: mine";
    SharedMine: "ownership", "shared, this release among the owners";
    SharedOthers: "ownership", "shared by others";
    IsRecord: "ownership", "a release's record: nobody's";
    Interrupted: "outcome", "interrupted (130)";
    Locked: "outcome", "locked (7)";
    LockLost: "outcome", "the lock was lost (7)";
    NotPermitted: "outcome", "nothing written: not permitted (4)";
    Unreachable: "outcome", "nothing written: unreachable (3)";
    NotFound: "outcome", "nothing written: not found (5)";
    Refused: "outcome", "nothing written: refused (2)";
    Failed: "outcome", "an object failed, not recorded (1)";
    WentBack: "outcome", "an atomic apply went back (1)";
    DeleteFailed: "outcome", "a delete with failures, the record stays (1)";
    Incomplete: "outcome", "recorded, not all pruned or ready (8)";
    SucceededKept: "outcome", "recorded, some objects kept (0)";
    Succeeded: "outcome", "recorded (0)";
}

impl Visit {
    pub(crate) fn of_fault(fault: Fault) -> Option<Self> {
        match fault {
            Fault::LostAnswer | Fault::CutShort => Some(Self::LostAnswer),
            Fault::Hangs | Fault::HangsAfter => Some(Self::NoAnswer),
            Fault::LandsLate(_) => Some(Self::LandedLate),
            Fault::Twice(_) => Some(Self::SentAgain),
            Fault::DieBefore | Fault::DieAfter | Fault::DieLate(_) => Some(Self::Died),
            Fault::Pause(seconds) if seconds > 20 => Some(Self::Slept),
            _ => None,
        }
    }

    pub(crate) fn of_meddling(what: Meddle) -> Option<Self> {
        match what {
            Meddle::Create(_) | Meddle::Helm(_) => Some(Self::StrangerPuts),
            Meddle::Delete(_) => Some(Self::StrangerDeletes),
            Meddle::EditRecord(_, RecordEdit::TimesAhead) => Some(Self::ForgedTimes),
            _ => None,
        }
    }

    fn of_load(action: &Action) -> Option<Self> {
        match action {
            Action::Apply(..) | Action::Rollback(..) => Some(Self::LoadForApply),
            Action::Delete(..) => Some(Self::LoadForDelete),
            Action::Prune(..) => Some(Self::LoadForPrune),
            _ => None,
        }
    }

    fn of_result(action: &Action, result: &Result<Outcome, Failure>) -> Option<Self> {
        let failure = match result {
            Ok(Outcome::Report(report)) if report.kept.is_empty() => return Some(Self::Succeeded),
            Ok(Outcome::Report(_)) => return Some(Self::SucceededKept),
            Ok(_) => return None,
            Err(failure) => failure,
        };
        let words = ["went back", "removed again", "rolled back"];
        let went_back = words.iter().any(|word| failure.message.contains(word));
        Some(match failure.kind {
            FailureKind::Interrupted => Self::Interrupted,
            FailureKind::Locked => Self::Locked,
            FailureKind::LockLost => Self::LockLost,
            FailureKind::NotPermitted => Self::NotPermitted,
            FailureKind::Unreachable => Self::Unreachable,
            FailureKind::NotFound => Self::NotFound,
            FailureKind::Refused => Self::Refused,
            FailureKind::Failed if went_back => Self::WentBack,
            FailureKind::Failed if matches!(action, Action::Delete(..)) => Self::DeleteFailed,
            FailureKind::Failed => Self::Failed,
            FailureKind::Incomplete => Self::Incomplete,
        })
    }
}

/// How often histories have been where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Visit, u64>);

impl Coverage {
    pub(crate) fn visit(&mut self, visit: impl Into<Option<Visit>>) {
        if let Some(visit) = visit.into() {
            *self.0.entry(visit).or_default() += 1;
        }
    }

    /// Both together.
    pub fn add(&mut self, other: &Self) {
        for (visit, times) in &other.0 {
            *self.0.entry(*visit).or_default() += times;
        }
    }

    /// How often it was there.
    pub fn times(&self, visit: Visit) -> u64 {
        self.0.get(&visit).copied().unwrap_or_default()
    }

    /// What became of the record from one write to the next.
    pub(crate) fn record(
        &mut self,
        before: Option<&RecordMoment>,
        now: &RecordMoment,
        action: Option<&Action>,
    ) {
        let Some(action) = action.filter(|_| now.by != Actor::Meddler) else {
            return;
        };
        let lock = |moment: Option<&RecordMoment>| moment.and_then(|moment| moment.lock.clone());
        let (old, new) = (lock(before), now.lock.clone());
        if now.secret.is_none() {
            self.visit(match action {
                Action::Prune(..) => Some(Visit::PrunedAway),
                Action::Delete(..) => Some(Visit::Removed),
                _ => None,
            });
            return;
        }
        let pending = |moment: &RecordMoment| moment.part("pending").unwrap_or_default();
        if new.is_some() && old == new && before.map(pending) != Some(pending(now)) {
            self.visit(Visit::Claimed);
        }
        if new.is_some() && !pending(now)["objects"].is_null() {
            self.visit(Visit::WroteIntent);
        }
        let Some(run) = old.filter(|_| new.is_none()) else {
            return;
        };
        self.visit(match now.result_of(&run).as_deref() {
            Some("succeeded" | "not-ready") => Some(Visit::Recorded),
            Some("failed" | "interrupted") => Some(Visit::Released),
            _ => None,
        });
        let was = before.is_some_and(RecordMoment::is_deleted);
        match (was, now.is_deleted(), action) {
            (false, true, Action::Delete(..)) => self.visit(Visit::MarkedDeleted),
            (true, false, Action::Apply(..)) => self.visit(Visit::TakenUpAgain),
            _ => {}
        }
    }
}

impl Ledger {
    /// A step ends: what it came to, and how long a delete rested.
    pub(crate) fn visit_end(&mut self, action: &Action, result: &Result<Outcome, Failure>) {
        self.coverage.visit(Visit::of_result(action, result));
        let pruned = match result {
            Ok(Outcome::Report(report)) => report.resources.iter(),
            _ => return,
        };
        if pruned
            .map(|one| one.action.word())
            .any(|word| word == "pruned")
        {
            self.coverage.visit(Visit::Pruned);
        }
    }

    /// A step begins: whose the objects are that it finds.
    pub(crate) fn visit_begin(&mut self, action: &Action) {
        self.coverage.visit(Visit::of_load(action));
        let (Some(release), true) = (action.release(), action.writes()) else {
            return;
        };
        let id = ReleaseId::of(&module_path(release), &release_name(release), &home());
        let recorded = self.recorded_uids(release);
        let mut rows = BTreeSet::new();
        for (uid, life) in &self.objects {
            let Some(object) = life.state().filter(|_| life.until.is_none()) else {
                continue;
            };
            let live = LiveObject::read(object, &id);
            let known = recorded.contains(uid).then_some(uid.as_str());
            rows.insert(row(&live, known, &id));
        }
        if let Action::Apply(_, module, _) = action {
            let record = |object: &ObjectPlan| object.name == RECORD_OF_BETA;
            if module.objects.iter().any(record) {
                rows.insert(Visit::IsRecord);
            }
        }
        for visit in rows {
            self.coverage.visit(visit);
        }
    }

    /// The uids in a release's record.
    fn recorded_uids(&self, release: ReleaseIndex) -> BTreeSet<String> {
        let Some(moment) = self.last_moment(release) else {
            return BTreeSet::new();
        };
        let current = moment.index().into_iter().next();
        let current = current.and_then(|id| moment.part(&id));
        let inventory = current.unwrap_or_default()["inventory"]["entries"].take();
        let rest = ["pending", "kept"].map(|key| {
            let mut part = moment.part(key).unwrap_or_default();
            part["objects"].take()
        });
        let entries = [inventory].into_iter().chain(rest);
        entries
            .flat_map(|list| list.as_array().cloned().unwrap_or_default())
            .filter_map(|entry: Value| entry["uid"].as_str().map(str::to_owned))
            .collect()
    }
}

/// The row of the table of ownership that decides.
fn row(live: &LiveObject, recorded: Option<&str>, release: &ReleaseId) -> Visit {
    match Ownership::of(live, recorded, release) {
        _ if live.is_record => Visit::IsRecord,
        Ownership::Mine if live.owner.id.is_some() => Visit::MineByLabel,
        Ownership::Mine if live.rebuilt => Visit::Rebuilt,
        Ownership::Mine => Visit::MineByUid,
        Ownership::OtherRelease(_) => Visit::OthersByLabel,
        Ownership::Shared { mine: true, .. } => Visit::SharedMine,
        Ownership::Shared { .. } => Visit::SharedOthers,
        Ownership::Unowned if recorded.is_some() => Visit::NotApplied,
        Ownership::Unowned => Visit::OtherUid,
    }
}
