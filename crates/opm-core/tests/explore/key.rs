//! When two states are the same: uids, versions and run numbers are replaced by the order in
//! which they appear, and times by their distance from now. Texts that decide nothing (the log,
//! `since`) are left out.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use opm_core::check::CheckedPlan;
use opm_core::protocol::LockAcquisition;
use opm_core::record::Record;
use opm_core::time::Timestamp;

use crate::client::{Client, Phase};
use crate::state::{State, TICK};

struct Key<'a> {
    text: String,
    seen: HashMap<String, usize>,
    state: &'a State,
}

/// A hash that equal states share.
pub(crate) fn key(state: &State) -> u128 {
    let mut key = Key {
        text: String::new(),
        seen: HashMap::new(),
        state,
    };
    key.write();
    let hash = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, &key.text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    hash(1) << 64 | hash(2)
}

impl Key<'_> {
    fn write(&mut self) {
        let state = self.state;
        for (identity, object) in &state.objects {
            self.put(&identity.name);
            self.name(&object.uid);
            self.put(if object.strangers { "s" } else { "m" });
        }
        if let Some(secret) = &state.secret {
            self.record(&secret.record);
            let age = (state.now - secret.lock_written).min(9);
            let _ = write!(self.text, "w{age}{}", secret.lock_forged);
        }
        let mut flights: Vec<String> = Vec::new();
        for flight in &state.flights {
            let uid = match &flight.request {
                crate::state::Request::Create => String::new(),
                crate::state::Request::Delete { uid } => format!("d{}", self.number(uid)),
            };
            let run = self.number(&format!("run-{}", flight.run));
            let age = state.now - flight.sent;
            flights.push(format!("{run}{}{uid}{age}", flight.identity.name));
        }
        flights.sort();
        self.put(&flights.join(","));
        // Clients are alike unless a lease names one, so it does not matter which of them is idle.
        let [first, second] = &state.clients;
        let pair = if first.is_idle() && state.management.is_none() {
            [second, first]
        } else {
            [first, second]
        };
        for client in pair {
            self.client(client);
        }
        let budget = (state.runs, state.losses, state.retries, state.strangers);
        let _ = write!(self.text, "{budget:?}{}", state.forgeries);
        if let Some(management) = &state.management {
            let _ = write!(self.text, "{management:?}");
        }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push(';');
    }

    fn number(&mut self, name: &str) -> usize {
        let next = self.seen.len();
        *self.seen.entry(name.to_owned()).or_insert(next)
    }

    fn name(&mut self, name: &str) {
        let number = self.number(name);
        let _ = write!(self.text, "#{number};");
    }

    fn uid(&mut self, uid: Option<&str>) {
        match uid {
            Some(uid) => self.name(uid),
            None => self.put("-"),
        }
    }

    fn until(&mut self, until: Option<Timestamp>) {
        let now = Timestamp::from_secs(self.state.now * TICK);
        // Times that are far ahead are all alike.
        let left = until.map_or(0, |until| until.since(now).as_secs().min(99 * TICK));
        let _ = write!(self.text, "r{left};");
    }

    fn record(&mut self, record: &Record) {
        self.put("[");
        if record.is_deleted() {
            self.put("deleted");
        }
        for slot in &record.history {
            self.put(&slot.id);
        }
        for recorded in record.inventory() {
            self.put(&recorded.entry.identity.name);
            self.uid(recorded.entry.uid.as_deref());
        }
        let mut pending: Vec<_> = record.pending.objects().iter().collect();
        pending.sort_by_key(|object| &object.entry.identity);
        for object in pending {
            let late = if object.late { "late" } else { "" };
            let _ = write!(
                self.text,
                "p{}{}{late}",
                object.entry.identity.name,
                object.why.word()
            );
            self.uid(object.entry.uid.as_deref());
        }
        self.until(
            record
                .pending
                .until
                .as_deref()
                .and_then(|text| text.parse().ok()),
        );
        for kept in &record.kept.objects {
            let _ = write!(
                self.text,
                "k{}{}",
                kept.entry.identity.name,
                kept.why.word()
            );
        }
        for mark in record.annotations.values() {
            self.put(mark);
        }
        match &record.lock {
            Some(lock) => self.name(&lock.id),
            None => self.put("free"),
        }
        self.put("]");
    }

    fn stored(&mut self, stored: Option<&Record>, acquisition: &LockAcquisition) {
        if let Some(record) = stored {
            self.record(record);
        }
        self.until(Some(acquisition.loaded() + Duration::from_secs(9 * TICK)));
        if let LockAcquisition::TakeOver(expired) = acquisition {
            self.until(expired.rest_until);
        }
    }

    fn checked(&mut self, checked: &CheckedPlan) {
        for step in checked.applies() {
            self.put(&step.entry.identity.name);
            let uid = match &step.method {
                opm_core::check::ApplyMethod::Update { uid } => Some(uid.as_str()),
                _ => None,
            };
            self.uid(uid);
        }
        for step in &checked.stale.prune {
            let _ = write!(self.text, "-{}{:?}", step.entry.identity.name, step.origin);
            self.name(&step.uid);
        }
        for gone in &checked.stale.gone {
            let _ = write!(self.text, "g{}{:?}", gone.entry.identity.name, gone.origin);
        }
        for keep in &checked.stale.keep {
            let _ = write!(
                self.text,
                "K{}{}",
                keep.entry.identity.name,
                keep.why.word()
            );
        }
    }

    fn client(&mut self, client: &Client) {
        if client.is_idle() {
            return self.put("idle");
        }
        let current = self.state.secret.as_ref().map(|secret| secret.version);
        let age = (self.state.now - client.renewed).min(9);
        let _ = write!(
            self.text,
            "{:?}{:?}{:?}{}{}{}{}{age}",
            client.task,
            client.writer,
            client.mark,
            client.version == current,
            client.undisturbed,
            client.in_doubt,
            client.took_over
        );
        self.until(client.doubt_until);
        self.name(&format!("run-{}", client.run));
        match &*client.phase {
            Phase::Idle => {}
            Phase::Checked {
                stored,
                acquisition,
                checked,
            } => {
                self.put("checked");
                self.stored(stored.as_deref(), acquisition);
                self.checked(checked);
            }
            Phase::Claimed { locked } => {
                self.put("claimed");
                self.record(locked.record());
                self.checked(locked.plan());
            }
            Phase::Applying { locked, answers } => {
                self.put("applying");
                self.record(locked.record());
                self.checked(locked.plan());
                self.answers(
                    answers
                        .iter()
                        .map(|(id, answer)| (id, format!("{answer:?}"))),
                );
            }
            Phase::Pruning { applied, answers } => {
                self.put("pruning");
                self.checked(applied.plan());
                self.answers(
                    answers
                        .iter()
                        .map(|(id, answer)| (id, format!("{answer:?}"))),
                );
            }
            Phase::Resting { resume, until } => {
                self.put("resting");
                self.record(resume.record());
                self.until(Some(*until));
            }
        }
    }

    fn answers<'a>(
        &mut self,
        answers: impl Iterator<Item = (&'a opm_core::identity::Identity, String)>,
    ) {
        let mut sorted: Vec<_> = answers.collect();
        sorted.sort();
        for (identity, answer) in sorted {
            self.put(&identity.name);
            // An answer with a uid in it is told apart by the uid's number, not by its text.
            match answer.split('"').nth(1) {
                Some(uid) => self.name(uid),
                None => self.put(&answer),
            }
        }
    }
}
