//! Everything that really happened, as the world sees it: each object from its first to its last
//! moment, who did what to it, who held which lock when. Clients see none of this. What must
//! hold of it is in `rules`.

mod lives;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use http::Method;
use serde_json::Value;

use crate::coverage::{Coverage, Visit};
use crate::plan::{Action, Fault, ReleaseIndex};
use crate::rules;
use crate::server::{Sent, uids};

pub(crate) use lives::{Life, contains, is_labelled, is_shared, uid};
pub(crate) use record::{RecordMoment, is_release_secret, part, record_name};

/// Who does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Actor {
    /// A client of `opm`, in one of its steps.
    Client {
        /// Which.
        client: usize,
        /// Which of its steps.
        step: usize,
    },
    /// Somebody else.
    Meddler,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { client, step } => write!(f, "client {client}.{step}"),
            Self::Meddler => f.write_str("meddler"),
        }
    }
}

/// A write that arrived, with what it found and what it left.
#[derive(Debug)]
pub(crate) struct Landing {
    pub(crate) at: u64,
    pub(crate) actor: Actor,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
    pub(crate) body: Value,
}

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule it breaks.
    pub rule: &'static str,
    /// When, in milliseconds.
    pub at: u64,
    /// What happened.
    pub text: String,
}

/// One step of a client, with what befell it.
#[derive(Debug, Clone)]
pub(crate) struct StepLife {
    pub(crate) action: Action,
    pub(crate) from: u64,
    /// Objects that it wrote, records aside.
    pub(crate) wrote: u64,
    /// Whether a request of it was forbidden.
    pub(crate) forbidden: bool,
    /// Whether anything of its requests went wrong.
    pub(crate) troubled: bool,
    /// The uids that it was shown.
    shown: BTreeSet<String>,
}

impl StepLife {
    pub(crate) fn was_shown(&self, uid: &str) -> bool {
        self.shown.contains(uid)
    }
}

/// Figures of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that clients sent.
    pub requests: u64,
    /// Requests with something wrong.
    pub faults: u64,
    /// Answers that never arrived.
    pub lost_answers: u64,
    /// Clients that died.
    pub deaths: u64,
    /// Locks that were taken from somebody who had not given them back.
    pub takeovers: u64,
    /// Repairs that wrote a record.
    pub repairs: u64,
}

impl Figures {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.faults += other.faults;
        self.lost_answers += other.lost_answers;
        self.deaths += other.deaths;
        self.takeovers += other.takeovers;
        self.repairs += other.repairs;
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) objects: BTreeMap<String, Life>,
    pub(crate) records: BTreeMap<ReleaseIndex, Vec<RecordMoment>>,
    pub(crate) figures: Figures,
    pub(crate) coverage: Coverage,
    pub(crate) violations: Vec<Violation>,
    steps: BTreeMap<Actor, StepLife>,
    lock_owners: BTreeMap<String, Actor>,
    lines: Vec<(u64, String)>,
}

fn is_record(path: &str) -> bool {
    path.contains("/secrets/opm.")
}

impl Ledger {
    pub(crate) fn say(&mut self, at: u64, text: impl Into<String>) {
        self.lines.push((at, text.into()));
    }

    pub(crate) fn violate(&mut self, rule: &'static str, at: u64, text: impl Into<String>) {
        let text = text.into();
        self.say(at, format!("VIOLATION of {rule}: {text}"));
        self.violations.push(Violation { rule, at, text });
    }

    /// The history as numbered lines.
    pub(crate) fn story(&self) -> String {
        use fmt::Write as _;
        let mut story = String::new();
        for (number, (at, line)) in self.lines.iter().enumerate() {
            let (seconds, rest) = (*at / 1000, *at % 1000);
            let _ = writeln!(story, "{:>4}  {seconds:>5}.{rest:03}  {line}", number + 1);
        }
        story
    }

    pub(crate) fn begin_step(&mut self, actor: Actor, action: &Action, at: u64) {
        self.say(at, format!("{actor}: {action}"));
        self.visit_begin(action);
        let life = StepLife {
            action: action.clone(),
            from: at,
            wrote: 0,
            forbidden: false,
            troubled: false,
            shown: BTreeSet::new(),
        };
        self.steps.insert(actor, life);
    }

    pub(crate) fn step(&self, actor: Actor) -> Option<&StepLife> {
        self.steps.get(&actor)
    }

    /// The step in which something is done, and the release that it is about.
    pub(crate) fn release_of(&self, actor: Actor) -> Option<(&StepLife, ReleaseIndex)> {
        let step = self.steps.get(&actor)?;
        Some((step, step.action.release()?))
    }

    /// A client sends something.
    pub(crate) fn send(
        &mut self,
        actor: Actor,
        at: u64,
        number: usize,
        sent: &Sent,
        fault: Option<Fault>,
    ) {
        self.figures.requests += 1;
        if let Some(fault) = fault {
            self.figures.faults += 1;
            self.figures.lost_answers += u64::from(fault.loses_the_answer());
            self.coverage.visit(Visit::of_fault(fault));
            self.trouble(actor);
            let (method, path) = (&sent.method, &sent.path);
            self.say(
                at,
                format!("{actor}: request {number}, {method} {path}: {fault:?}"),
            );
        }
        if sent.writes() && !is_record(&sent.path) {
            rules::one_writer(self, actor, at, sent);
        }
    }

    /// Something of a client's requests goes wrong.
    pub(crate) fn trouble(&mut self, actor: Actor) {
        if let Some(step) = self.steps.get_mut(&actor) {
            step.troubled = true;
        }
    }

    /// An outage keeps a client's request from being carried out.
    pub(crate) fn refuse(&mut self, actor: Actor, status: u16) {
        if let Some(step) = self.steps.get_mut(&actor) {
            step.forbidden |= status == 403;
            step.troubled = true;
        }
    }

    /// A client is shown something.
    pub(crate) fn show(&mut self, actor: Actor, status: u16, bytes: &[u8]) {
        if let Some(step) = self.steps.get_mut(&actor) {
            step.forbidden |= status == 403;
            step.troubled |= status >= 400 && status != 404;
            step.shown.extend(uids(bytes));
        }
    }

    /// Something arrives.
    pub(crate) fn land(&mut self, landing: &Landing) {
        let Landing {
            at,
            actor,
            ref method,
            ref path,
            status,
            ..
        } = *landing;
        let short = path.rsplit('/').take(2).collect::<Vec<_>>();
        let short = short.into_iter().rev().collect::<Vec<_>>().join("/");
        self.say(at, format!("{actor}: {method} {short} → {status}"));
        let done = (200..300).contains(&status);
        if let Some(step) = self.steps.get_mut(&actor) {
            step.wrote += u64::from(done && !is_record(path));
            step.forbidden |= status == 403;
            step.troubled |= !done;
            let objects = [&landing.before, &landing.after];
            let objects = objects.into_iter().flatten();
            step.shown
                .extend(objects.map(|object| uid(object).to_owned()));
        }
        if !done {
            return;
        }
        if is_record(path) {
            self.land_record(landing);
            return;
        }
        if actor != Actor::Meddler {
            rules::landed(self, landing);
        }
        self.keep(landing);
    }
}
