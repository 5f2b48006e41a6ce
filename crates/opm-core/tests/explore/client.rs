//! One client: the flow of a run, step by step, each step made by the real functions.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use opm_core::check::{Adopt, ApplyMethod, CheckContext, CheckedPlan, LiveObject, Observed, check};
use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::labels::OwnerLabels;
use opm_core::managed::ManagerMark;
use opm_core::observation::Observation;
use opm_core::plan::{Plan, PlanOptions, plan, plan_delete, plan_prune_kept};
use opm_core::protocol::{
    Applied, Deadline, LockAcquisition, LockState, Locked, PruneOutcome, Resume, RunEnd, RunStart,
    SendOutcome, begin, is_idle, is_settled, renewed,
};
use opm_core::record::{LogResult, Record};
use opm_core::time::Timestamp;

use crate::fixtures::{change, lock, new_record};
use crate::managed::Writer;
use crate::state::{Flight, Request, State, TICK, Task, desired, release, timing};

/// Where a run is.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Idle,
    Checked {
        stored: Option<Rc<Record>>,
        acquisition: LockAcquisition,
        checked: CheckedPlan,
    },
    /// The lock is claimed, the intent is not written down yet.
    Claimed {
        locked: Locked,
    },
    Applying {
        locked: Locked,
        answers: HashMap<Identity, SendOutcome>,
    },
    Pruning {
        applied: Applied,
        answers: HashMap<Identity, PruneOutcome>,
    },
    Resting {
        resume: Resume,
        until: Timestamp,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) phase: Rc<Phase>,
    pub(crate) task: Task,
    pub(crate) writer: Writer,
    /// What it does to the annotation that says who manages the release.
    pub(crate) mark: ManagerMark,
    pub(crate) run: u32,
    /// The version of the record that it read or wrote last.
    pub(crate) version: Option<u32>,
    /// When it sent its last successful renewal.
    pub(crate) renewed: u64,
    /// Whether nobody else's request has landed since it loaded.
    pub(crate) undisturbed: bool,
    /// Whether it sent a request again that was not answered, and the first may still land.
    pub(crate) in_doubt: bool,
    /// Whether it took over somebody else's lock.
    pub(crate) took_over: bool,
    /// Until when it said so.
    pub(crate) doubt_until: Option<Timestamp>,
}

/// What a step came to, beside the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Nothing,
    TookOver,
    Recorded,
    /// Nothing had to be done, and the record says so.
    Touched,
    /// A prune removed the record of a deleted release.
    Removed,
}

impl Client {
    pub(crate) fn idle() -> Self {
        Self {
            phase: Rc::new(Phase::Idle),
            task: Task::Narrow,
            writer: Writer::Anybody,
            mark: ManagerMark::Keep,
            run: 0,
            version: None,
            renewed: 0,
            undisturbed: true,
            in_doubt: false,
            took_over: false,
            doubt_until: None,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        matches!(*self.phase, Phase::Idle)
    }

    pub(crate) fn holds(&self) -> bool {
        matches!(
            *self.phase,
            Phase::Claimed { .. }
                | Phase::Applying { .. }
                | Phase::Pruning { .. }
                | Phase::Resting { .. }
        )
    }

    /// Whether it waits for answers.
    pub(crate) fn waits(&self) -> bool {
        match &*self.phase {
            Phase::Applying { locked, answers } => answers.len() < locked.plan().applies().count(),
            Phase::Pruning { applied, answers } => answers.len() < applied.prune().len(),
            _ => false,
        }
    }
}

impl State {
    /// Loads the record, unless somebody holds it, and looks at the cluster. Both in one step:
    /// whatever lands in between might as well have landed before, and whoever writes the record
    /// in between makes `begin` fail.
    pub(crate) fn start(mut self, at: usize, task: Task, writer: Writer) -> Option<Self> {
        let stored = self.secret.as_ref().map(|secret| secret.record.clone());
        match (task, &stored) {
            (Task::Delete | Task::Prune, None) => return None,
            (Task::Prune, Some(record)) if record.kept.objects.is_empty() => return None,
            _ => {}
        }
        let mark = self.mark(writer, stored.as_deref())?;
        let sight = self.lock_observation();
        let LockState::Open(acquisition) = LockState::of(stored.as_deref(), &sight, &timing())
        else {
            return None;
        };
        let checked = self.check(self.plan(task, stored.as_deref()))?;
        let run = self.fresh();
        let version = self.secret.as_ref().map(|secret| secret.version);
        let phase = Rc::new(Phase::Checked {
            stored,
            acquisition,
            checked,
        });
        let renewed = self.now;
        self.clients[at] = Client {
            phase,
            task,
            writer,
            mark,
            run,
            version,
            renewed,
            ..Client::idle()
        };
        Some(self)
    }

    /// The next step of a client that does not wait for anything.
    pub(crate) fn step(self, at: usize) -> Result<(Self, Note), String> {
        let phase = self.clients[at].phase.clone();
        match &*phase {
            Phase::Idle => Ok((self, Note::Nothing)),
            Phase::Checked {
                stored,
                acquisition,
                checked,
            } => self.begin(at, stored.as_deref(), acquisition, checked),
            Phase::Claimed { locked } => self.intend(at, locked),
            Phase::Applying { locked, answers } => self.finish(at, locked, answers),
            Phase::Pruning { applied, answers } => self.reconcile(at, applied, answers),
            Phase::Resting { resume, until } => self.go_on(at, resume, *until),
        }
    }

    /// Whether a holder must stop: it checks that before every request.
    pub(crate) fn must_stop(&self, at: usize) -> bool {
        let elapsed = Duration::from_secs((self.now - self.clients[at].renewed) * TICK);
        Deadline::after_renewal(Duration::ZERO, Duration::ZERO, &timing())
            .has_passed(elapsed, Duration::ZERO)
    }

    pub(crate) fn plan(&self, task: Task, stored: Option<&Record>) -> Plan {
        let options = PlanOptions {
            allow_empty: true,
            ..PlanOptions::default()
        };
        match (task, stored) {
            (Task::Delete, Some(record)) => plan_delete(record, options).unwrap(),
            (Task::Prune, Some(record)) => plan_prune_kept(record, |_| true, options).unwrap(),
            _ => plan(&desired(task), stored, options).unwrap(),
        }
    }

    pub(crate) fn check(&self, plan: Plan) -> Option<CheckedPlan> {
        let checking = CheckContext {
            release: release(),
            adopt: Adopt::None,
            take_ownership: false,
            occupants: &HashMap::new(),
        };
        let look = |entry: &Entry| {
            let seen = match self.objects.get(&entry.identity) {
                None => Observation::Absent,
                Some(object) => {
                    let id = (!object.strangers).then(|| release().to_string());
                    Observation::Present(LiveObject {
                        uid: object.uid.clone(),
                        owner: OwnerLabels {
                            id,
                            ..OwnerLabels::default()
                        },
                        applied_by_opm: !object.strangers,
                        opted_out: self.budget.keeps && entry.identity.name == "f",
                        ..LiveObject::default()
                    })
                }
            };
            (entry.identity.clone(), seen)
        };
        let observed: Observed = plan.to_observe().map(look).collect();
        check(plan, &observed, &checking).ok()
    }

    fn begin(
        mut self,
        at: usize,
        stored: Option<&Record>,
        acquisition: &LockAcquisition,
        checked: &CheckedPlan,
    ) -> Result<(Self, Note), String> {
        let client = &self.clients[at];
        let run = RunStart {
            lock: lock(client.run),
            from: String::new(),
            who: String::new(),
            opm: String::new(),
            message: None,
            change: None,
            deployed: None,
            manager: client.mark.clone(),
            log_entries: 50,
            timing: timing(),
            now: self.time(),
        };
        let (version, task, writer) = (client.version, client.task, client.writer);
        let record = stored.cloned().unwrap_or_else(new_record);
        let settled = stored.is_some_and(|record| is_settled(record, acquisition.loaded()));
        let unchanged = unchanged(checked, settled);
        let applies = matches!(task, Task::Wide | Task::Narrow);
        let current = record.current().map(|current| current.id.clone());
        let idle = applies
            && current == Some(change(task).id)
            && self.budget.touches
            && is_idle(&record, acquisition, checked, |one| {
                unchanged.contains_key(one)
            });
        let locked = begin(record, acquisition.clone(), checked.clone(), run).unwrap();
        if idle {
            return self.touch(at, version, locked, &unchanged);
        }
        let first = match self.budget.claims {
            true => locked.claim(stored.cloned()),
            false => locked.record().clone(),
        };
        let Some(version) = self.write(version, &first) else {
            self.clients[at] = Client::idle();
            return Ok((self, Note::Nothing));
        };
        self.has_begun(writer)?;
        self.clients[at].version = Some(version);
        self.clients[at].renewed = self.now;
        let took_over = matches!(acquisition, LockAcquisition::TakeOver(_));
        self.clients[at].took_over = took_over;
        match self.budget.claims {
            true => self.clients[at].phase = Rc::new(Phase::Claimed { locked }),
            false => self.send(at, locked, settled)?,
        }
        let note = if took_over {
            Note::TookOver
        } else {
            Note::Nothing
        };
        Ok((self, note))
    }

    /// Writes the intent down under a lock that was claimed before.
    fn intend(mut self, at: usize, locked: &Locked) -> Result<(Self, Note), String> {
        if !self.write_as(at, locked.record())? {
            self.clients[at] = Client::idle();
            return Ok((self, Note::Nothing));
        }
        self.clients[at].version = self.secret.as_ref().map(|secret| secret.version);
        self.clients[at].renewed = self.now;
        // What was seen before the claim may have changed since: all of it is sent.
        self.send(at, locked.clone(), false)?;
        Ok((self, Note::Nothing))
    }

    /// A run that has nothing to do: the whole protocol in memory, and one write without a lock.
    fn touch(
        mut self,
        at: usize,
        version: Option<u32>,
        locked: Locked,
        unchanged: &HashMap<Identity, SendOutcome>,
    ) -> Result<(Self, Note), String> {
        let Ok(applied) = locked.finish(unchanged) else {
            return Err("a run with nothing to do has not done it".to_owned());
        };
        let reconciled = applied.reconcile(&HashMap::new(), self.time());
        let client = self.clients[at].clone();
        let ended = self.ended(LogResult::Succeeded);
        let recorded = reconciled.record(change(client.task), 10, &ended);
        self.clients[at] = Client::idle();
        if self.write(version, &recorded.record).is_none() {
            return Ok((self, Note::Nothing));
        }
        self.has_begun(client.writer)?;
        if client.undisturbed {
            self.is_clean()?;
        }
        Ok((self, Note::Touched))
    }

    /// Sends at once: a crash before it is the same as requests that never land. An update is
    /// answered at once too, because landing late it would change nothing that matters here.
    /// What would not change is not sent, and counts as done as it was seen.
    pub(crate) fn send(&mut self, at: usize, locked: Locked, settled: bool) -> Result<(), String> {
        let (run, sent) = (self.clients[at].run, self.now);
        let mut answers = unchanged(locked.plan(), settled);
        for step in locked.plan().applies() {
            if answers.contains_key(&step.entry.identity) {
                continue;
            }
            let identity = step.entry.identity.clone();
            match &step.method {
                ApplyMethod::Create => {
                    self.flights.push(Flight {
                        run,
                        identity,
                        request: Request::Create,
                        sent,
                    });
                }
                ApplyMethod::Update { uid } => {
                    let there = self.objects.get(&identity).is_some_and(|o| o.uid == *uid);
                    let done = SendOutcome::Done {
                        uid: Some(uid.clone()),
                    };
                    answers.insert(identity, if there { done } else { SendOutcome::Failed });
                }
                other => return Err(format!("nothing in this model is sent as {other:?}")),
            }
        }
        self.clients[at].phase = Rc::new(Phase::Applying { locked, answers });
        Ok(())
    }

    fn finish(
        mut self,
        at: usize,
        locked: &Locked,
        answers: &HashMap<Identity, SendOutcome>,
    ) -> Result<(Self, Note), String> {
        let mut locked = locked.clone();
        if self.clients[at].in_doubt {
            let until = self.time() + timing().request;
            locked.may_land_until(until);
            self.clients[at].doubt_until = Some(until);
        }
        match locked.finish(answers) {
            Ok(applied) => self.prune(at, applied),
            Err(partial) => {
                let record = partial.release(&self.ended(LogResult::Failed), &timing());
                self.write_as(at, &record)?;
                self.clients[at] = Client::idle();
            }
        }
        Ok((self, Note::Nothing))
    }

    fn prune(&mut self, at: usize, applied: Applied) {
        let (run, sent) = (self.clients[at].run, self.now);
        for step in applied.prune() {
            let request = Request::Delete {
                uid: step.uid.clone(),
            };
            let identity = step.entry.identity.clone();
            self.flights.push(Flight {
                run,
                identity,
                request,
                sent,
            });
        }
        let answers = HashMap::new();
        self.clients[at].phase = Rc::new(Phase::Pruning { applied, answers });
    }

    fn reconcile(
        mut self,
        at: usize,
        applied: &Applied,
        answers: &HashMap<Identity, PruneOutcome>,
    ) -> Result<(Self, Note), String> {
        let reconciled = applied.clone().reconcile(answers, self.time());
        let ended = self.ended(LogResult::Succeeded);
        let client = self.clients[at].clone();
        match client.task {
            Task::Delete => return self.conclude(at, reconciled.conclude(&ended, false)),
            Task::Prune => return self.release(at, reconciled.release(&ended)),
            Task::Wide | Task::Narrow => {}
        }
        let recorded = reconciled.record(change(client.task), 10, &ended);
        let written = self.write_as(at, &recorded.record)?;
        self.clients[at] = Client::idle();
        if !written {
            return Ok((self, Note::Nothing));
        }
        if client.undisturbed && !recorded.unpruned {
            self.is_clean()?;
        }
        Ok((self, Note::Recorded))
    }

    /// After an undisturbed apply, the release is exactly its inventory.
    pub(crate) fn is_clean(&self) -> Result<(), String> {
        let record = &self.secret.as_ref().unwrap().record;
        let known = |identity: &Identity| {
            record
                .inventory()
                .iter()
                .any(|recorded| recorded.entry.identity == *identity)
                || record
                    .kept
                    .objects
                    .iter()
                    .any(|kept| kept.entry.identity == *identity)
        };
        let mut mine = self.objects.iter().filter(|(_, object)| !object.strangers);
        match mine.find(|(identity, _)| !known(identity)) {
            Some((ghost, _)) => Err(format!("a ghost after a successful apply: {ghost}")),
            None if record.pending.counted().count() > 0 => {
                Err("something counts as pending after a successful apply".to_owned())
            }
            None => Ok(()),
        }
    }

    /// Renews the lock; who cannot has lost it and stops.
    pub(crate) fn renew(mut self, at: usize) -> Result<Self, String> {
        let client = self.clients[at].clone();
        let Some(secret) = self
            .secret
            .clone()
            .filter(|s| Some(s.version) == client.version)
        else {
            self.clients[at] = Client::idle();
            return Ok(self);
        };
        let mut record = (*secret.record).clone();
        record.lock = record.lock.as_ref().map(renewed);
        self.write_as(at, &record)?;
        self.clients[at].version = self.secret.as_ref().map(|secret| secret.version);
        self.clients[at].renewed = self.now;
        Ok(self)
    }

    /// A write by the holder of the lock: whoever succeeds must hold it.
    pub(crate) fn write_as(&mut self, at: usize, record: &Record) -> Result<bool, String> {
        let holder = self
            .secret
            .as_ref()
            .and_then(|secret| secret.record.lock.clone());
        let (run, version) = (self.clients[at].run, self.clients[at].version);
        // A resource version is never none here: the holder wrote the record before.
        let written = version.is_some() && self.write(version, record).is_some();
        if written && holder.map(|lock| lock.id) != Some(lock(run).id) {
            return Err("a record was written by somebody who had lost the lock".to_owned());
        }
        Ok(written)
    }

    fn ended(&self, result: LogResult) -> RunEnd {
        RunEnd {
            result,
            reason: None,
            counts: BTreeMap::new(),
            record: None,
            now: self.time(),
        }
    }
}

/// What would not change: what is the release's already, where nothing of an earlier run can land.
fn unchanged(checked: &CheckedPlan, settled: bool) -> HashMap<Identity, SendOutcome> {
    let there = checked.applies().filter_map(|step| match &step.method {
        ApplyMethod::Update { uid } if settled => {
            let uid = Some(uid.clone());
            Some((step.entry.identity.clone(), SendOutcome::Done { uid }))
        }
        _ => None,
    });
    there.collect()
}
