//! Everything that really happened, as the world sees it: each object from its first to its last
//! moment, who did what to it, who held which lock when. Clients see none of this.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use opm_core::ids::ReleaseId;
use opm_core::labels;
use serde_json::Value;

use crate::modules::{home, module_path, release_name};
use crate::plan::{Action, Fault, ReleaseIndex};
use crate::rules;
use crate::server::{Sent, uids};

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

/// The life of one object.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) path: String,
    /// The releases that it belongs to.
    pub(crate) owners: BTreeSet<ReleaseIndex>,
    pub(crate) from: u64,
    pub(crate) until: Option<u64>,
    /// Who created, changed or deleted it, and when.
    pub(crate) deeds: Vec<(u64, Actor, Method)>,
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

/// One step of a client.
#[derive(Debug, Clone)]
pub(crate) struct StepLife {
    pub(crate) action: Action,
    pub(crate) from: u64,
}

/// The record's Secret of a release, at one moment.
#[derive(Debug, Clone)]
pub(crate) struct RecordMoment {
    pub(crate) at: u64,
    pub(crate) by: Actor,
    pub(crate) secret: Option<Value>,
    pub(crate) lock: Option<String>,
}

/// Figures of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that clients sent.
    pub requests: u64,
    /// Requests with something wrong.
    pub faults: u64,
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
        self.deaths += other.deaths;
        self.takeovers += other.takeovers;
        self.repairs += other.repairs;
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) objects: BTreeMap<String, Life>,
    pub(crate) steps: BTreeMap<Actor, StepLife>,
    pub(crate) records: BTreeMap<ReleaseIndex, Vec<RecordMoment>>,
    pub(crate) figures: Figures,
    pub(crate) violations: Vec<Violation>,
    lock_owners: BTreeMap<String, Actor>,
    shown: BTreeMap<Actor, BTreeSet<String>>,
    lines: Vec<(u64, String)>,
}

/// The name of a release's Secret.
pub(crate) fn record_name(release: ReleaseIndex) -> String {
    let name = release_name(release);
    ReleaseId::of(&module_path(release), &name, &home()).inventory_secret(&name)
}

/// The release whose Secret this is.
fn release_of_secret(path: &str) -> Option<ReleaseIndex> {
    let (_, name) = path.rsplit_once('/')?;
    (0..ReleaseIndex::NAMES.len())
        .map(ReleaseIndex)
        .find(|release| record_name(*release) == name)
}

fn is_record(path: &str) -> bool {
    path.contains("/secrets/opm.")
}

pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Whether an object says that it belongs to a release.
fn carries_label(object: &Value, release: ReleaseIndex) -> bool {
    let id = ReleaseId::of(&module_path(release), &release_name(release), &home());
    let all = &object["metadata"]["labels"];
    all[labels::RELEASE_ID].as_str() == Some(id.to_string().as_str())
        || all[labels::shared_label(&id)].is_string()
}

fn is_shared(object: &Value) -> bool {
    object["metadata"]["annotations"][labels::SHARED] == "true"
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
        let mut story = String::new();
        for (number, (at, line)) in self.lines.iter().enumerate() {
            use fmt::Write as _;
            let seconds = *at / 1000;
            let _ = writeln!(
                story,
                "{:>4}  {seconds:>5}.{:03}  {line}",
                number + 1,
                at % 1000
            );
        }
        story
    }

    pub(crate) fn begin_step(&mut self, actor: Actor, action: &Action, at: u64) {
        self.say(at, format!("{actor}: {action}"));
        let life = StepLife {
            action: action.clone(),
            from: at,
        };
        self.steps.insert(actor, life);
    }

    fn release_of(&self, actor: Actor) -> Option<ReleaseIndex> {
        self.steps.get(&actor)?.action.release()
    }

    /// A client sends something.
    pub(crate) fn send(&mut self, actor: Actor, number: usize, sent: &Sent, fault: Option<Fault>) {
        self.figures.requests += 1;
        if let Some(fault) = fault {
            self.figures.faults += 1;
            let line = format!(
                "{actor}: request {number}, {} {}: {fault:?}",
                sent.method, sent.path
            );
            let at = self.lines.last().map_or(0, |(at, _)| *at);
            self.say(at, line);
        }
        if sent.writes() && !is_record(&sent.path) {
            self.check_lock(actor, sent);
        }
    }

    /// Whoever writes an object holds the release's lock at that moment.
    fn check_lock(&mut self, actor: Actor, sent: &Sent) {
        let (Some(step), Some(release)) = (self.steps.get(&actor), self.release_of(actor)) else {
            return;
        };
        let from = step.from;
        let moments = self.records.get(&release);
        let moments = moments.map_or(&[][..], Vec::as_slice);
        let meddled = moments
            .iter()
            .any(|m| m.at >= from && m.by == Actor::Meddler);
        let lock = moments.last().and_then(|moment| moment.lock.as_ref());
        let holder = lock.and_then(|id| self.lock_owners.get(id));
        if holder != Some(&actor) && !meddled {
            let at = moments.last().map_or(0, |moment| moment.at).max(from);
            let text = format!(
                "{actor} sends {} {} while the lock of {} is held by {}",
                sent.method,
                sent.path,
                release.name(),
                holder.map_or("nobody".to_owned(), ToString::to_string)
            );
            self.violate(rules::ONE_WRITER, at, text);
        }
    }

    /// A client is shown something.
    pub(crate) fn show(&mut self, actor: Actor, bytes: &[u8]) {
        let shown = self.shown.entry(actor).or_default();
        shown.extend(uids(bytes));
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
        for object in [&landing.before, &landing.after].into_iter().flatten() {
            let shown = self.shown.entry(actor).or_default();
            shown.insert(uid(object).to_owned());
        }
        if !(200..300).contains(&status) {
            return;
        }
        if is_record(path) {
            self.land_record(landing);
            return;
        }
        if let Actor::Client { .. } = actor {
            self.check_write(landing);
        }
        self.keep(landing);
    }

    fn land_record(&mut self, landing: &Landing) {
        let Some(release) = release_of_secret(&landing.path) else {
            return;
        };
        let secret = landing.after.clone();
        let lock = secret.as_ref().and_then(lock_id);
        if let Some(id) = &lock {
            let known = self.lock_owners.contains_key(id);
            if !known && landing.actor != Actor::Meddler {
                let moments = self.records.get(&release);
                let before = moments.and_then(|m| m.last()?.lock.clone());
                self.figures.takeovers += u64::from(before.is_some());
                self.lock_owners.insert(id.clone(), landing.actor);
            }
        }
        let bytes = secret.as_ref().map_or(0, |secret| secret.to_string().len());
        if bytes > rules::LARGEST_SECRET {
            let text = format!("the Secret of {} has {bytes} bytes", release.name());
            self.violate(rules::BOUNDED, landing.at, text);
        }
        let moment = RecordMoment {
            at: landing.at,
            by: landing.actor,
            secret,
            lock,
        };
        self.records.entry(release).or_default().push(moment);
    }

    /// What a client may do to an object.
    fn check_write(&mut self, landing: &Landing) {
        let (actor, at) = (landing.actor, landing.at);
        let (Some(step), Some(release)) = (self.steps.get(&actor).cloned(), self.release_of(actor))
        else {
            return;
        };
        let Some(before) = &landing.before else {
            return;
        };
        let path = &landing.path;
        let life = self.objects.get(uid(before)).cloned();
        let owners = life.map(|life| life.owners).unwrap_or_default();
        let own = owners.contains(&release);
        if landing.method == Method::DELETE {
            if !own || owners.len() > 1 {
                let text = format!("{actor} deletes {path}, which belongs to {owners:?}");
                self.violate(rules::FOREIGN, at, text);
            }
            let guarded = path.contains("/persistentvolumeclaims/");
            if guarded && !step.action.lifts_guards() {
                let text = format!("{actor} deletes {path} without being told to");
                self.violate(rules::GUARDED, at, text);
            }
            let stays = before["metadata"]["annotations"][labels::PRUNE] == "false";
            if stays && !matches!(step.action, Action::Prune(_)) {
                let text = format!("{actor} deletes {path}, which says that it stays");
                self.violate(rules::GUARDED, at, text);
            }
            let meant = landing.body["preconditions"]["uid"].as_str();
            let shown = self.shown.get(&actor);
            let looked = meant.is_some_and(|uid| shown.is_some_and(|shown| shown.contains(uid)));
            if !looked {
                let text = format!("{actor} deletes {path} as {meant:?}, which it never saw");
                self.violate(rules::LOOKED_AT, at, text);
            }
        } else {
            let shares = landing.after.as_ref().is_some_and(is_shared);
            if !own && !shares && !step.action.takes_over() {
                let text = format!("{actor} changes {path}, which belongs to {owners:?}");
                self.violate(rules::FOREIGN, at, text);
            }
        }
    }

    /// Writes down what became of an object.
    fn keep(&mut self, landing: &Landing) {
        let deed = (landing.at, landing.actor, landing.method.clone());
        let release = self.release_of(landing.actor);
        let before = landing.before.as_ref();
        let after = landing.after.as_ref();
        if let Some(before) = before
            && after.is_none_or(|after| uid(after) != uid(before))
            && let Some(life) = self.objects.get_mut(uid(before))
        {
            life.until.get_or_insert(landing.at);
            life.deeds.push(deed.clone());
        }
        let Some(after) = after else {
            return;
        };
        let fresh = before.is_none_or(|before| uid(before) != uid(after));
        let life = self
            .objects
            .entry(uid(after).to_owned())
            .or_insert_with(|| Life {
                path: landing.path.clone(),
                owners: BTreeSet::new(),
                from: landing.at,
                until: None,
                deeds: Vec::new(),
            });
        life.deeds.push(deed);
        let Some(release) = release else {
            return;
        };
        if landing.method == Method::DELETE {
            return;
        }
        let carries = carries_label(after, release);
        let carried = before.is_some_and(|before| !fresh && carries_label(before, release));
        match (carries, carried) {
            (true, _) => {
                if !is_shared(after) {
                    life.owners.clear();
                }
                life.owners.insert(release);
            }
            (false, true) => {
                life.owners.remove(&release);
            }
            (false, false) => {}
        }
    }

    /// All lives at a place that overlap with a span of time.
    fn lives_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Life> {
        self.objects.values().filter(move |life| life.path == path)
    }

    /// Whether something was there at some moment of a span.
    pub(crate) fn existed(&self, path: &str, from: u64, until: u64) -> bool {
        self.lives_at(path)
            .any(|life| life.from <= until && life.until.is_none_or(|end| end >= from))
    }

    /// Whether nothing was there at some moment of a span.
    pub(crate) fn was_absent(&self, path: &str, from: u64, until: u64) -> bool {
        let mut lives: Vec<_> = self.lives_at(path).collect();
        lives.sort_by_key(|life| life.from);
        let mut covered = from;
        for life in lives {
            if life.from > covered {
                return true;
            }
            match life.until {
                None => return false,
                Some(end) if end >= covered => covered = end,
                Some(_) => {}
            }
        }
        covered <= until
    }

    /// Whether an actor did this to the object at a place.
    pub(crate) fn did(&self, actor: Actor, path: &str, method: &Method) -> bool {
        self.lives_at(path).any(|life| {
            life.deeds
                .iter()
                .any(|(_, by, how)| *by == actor && how == method)
        })
    }

    /// The release's Secret at each moment of a span, beginning with how it stood then.
    pub(crate) fn record_during(
        &self,
        release: ReleaseIndex,
        from: u64,
        until: u64,
    ) -> Vec<Option<&RecordMoment>> {
        let moments = self.records.get(&release);
        let moments = moments.map_or(&[][..], Vec::as_slice);
        let before = moments.iter().rfind(|moment| moment.at < from);
        let mut all = vec![before];
        let during = moments.iter().filter(|m| (from..=until).contains(&m.at));
        all.extend(during.map(Some));
        all
    }
}

/// Who holds a record, by the lock in it.
fn lock_id(secret: &Value) -> Option<String> {
    let text = secret["data"]["lock"].as_str()?;
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    let lock: Value = serde_json::from_slice(&bytes).ok()?;
    lock["id"].as_str().map(str::to_owned)
}
