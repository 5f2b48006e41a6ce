//! Breadth first through all states; what is wrong comes with the shortest way to it.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use opm_core::protocol::{PruneOutcome, SendOutcome};
use opm_core::time::Timestamp;

use crate::client::{Client, Note, Phase};
use crate::key::key;
use crate::managed::{Resource, Writer};
use crate::state::{Flight, IN_FLIGHT, Object, Request, Secret, State, Task, named, timing};

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) transitions: usize,
    pub(crate) depth: usize,
    pub(crate) recorded: usize,
    /// How often nothing had to be done.
    pub(crate) touched: usize,
    pub(crate) take_overs: usize,
    /// How often a prune removed the record of a deleted release.
    pub(crate) removed: usize,
    pub(crate) complete: bool,
    pub(crate) violation: Option<(String, Vec<String>)>,
}

pub(crate) type Next = Vec<(String, Result<(State, Note), String>)>;

pub(crate) fn search(start: State, limit: usize) -> Found {
    let mut found = Found::default();
    let mut came: Vec<(usize, String)> = vec![(0, "start".to_owned())];
    let mut seen = HashSet::from([key(&start)]);
    let mut proven = HashSet::new();
    let mut queue = VecDeque::from([(0, 0, start)]);
    while let Some((at, depth, state)) = queue.pop_front() {
        found.depth = found.depth.max(depth);
        if let Err(violation) = progress(&state, &mut proven) {
            found.violation = Some((violation, trace(&came, at)));
            break;
        }
        for (action, next) in successors(&state) {
            found.transitions += 1;
            let checked = next.and_then(|(state, note)| recorded(state).map(|s| (s, note)));
            match checked {
                Err(violation) => {
                    let mut trace = trace(&came, at);
                    trace.push(action);
                    found.violation = Some((violation, trace));
                    found.states = seen.len();
                    return found;
                }
                Ok((next, note)) => {
                    found.touched += usize::from(note == Note::Touched);
                    found.recorded += usize::from(note == Note::Recorded);
                    found.removed += usize::from(note == Note::Removed);
                    found.take_overs += usize::from(note == Note::TookOver);
                    if seen.insert(key(&next)) {
                        came.push((at, action));
                        queue.push_back((came.len() - 1, depth + 1, next));
                    }
                }
            }
        }
        if seen.len() > limit {
            break;
        }
    }
    found.states = seen.len();
    found.complete = queue.is_empty() && found.violation.is_none();
    found
}

fn trace(came: &[(usize, String)], mut at: usize) -> Vec<String> {
    let mut trace = Vec::new();
    while at != 0 {
        trace.push(came[at].1.clone());
        at = came[at].0;
    }
    trace.reverse();
    trace
}

/// Every live object of the release is recorded, at any time.
fn recorded(state: State) -> Result<State, String> {
    match state.unrecorded().first() {
        Some(ghost) => Err(format!("alive and not recorded: {ghost}")),
        None => Ok(state),
    }
}

fn successors(state: &State) -> Next {
    let mut next: Next = Vec::new();
    let quiet = |state: State| Ok((state, Note::Nothing));
    start(state, &mut next);
    for at in 0..2 {
        let client = &state.clients[at];
        if client.is_idle() {
            continue;
        }
        if !client.waits() && !resting(state, client) {
            next.push((
                format!("client {at}: {}", step_name(client)),
                state.clone().step(at),
            ));
        }
    }
    for flight in 0..state.flights.len() {
        land(state, flight, &mut next);
        give_up(state, flight, &mut next);
        send_again(state, flight, &mut next);
    }
    strangers(state, &mut next);
    forgers(state, &mut next);
    state.manage(&mut next);
    if let Some(ticked) = tick(state) {
        for at in 0..2 {
            let client = &state.clients[at];
            if client.holds() && (resting(state, client) || state.budget.renewals) {
                let renewed = ticked.clone().renew(at).map(asleep).and_then(quiet);
                next.push((format!("tick, and client {at} renews"), renewed));
            }
        }
        next.push(("tick".to_owned(), quiet(asleep(ticked))));
    }
    next
}

/// Holders that did not renew in time: whether they crashed or slept, they send nothing more.
fn asleep(mut state: State) -> State {
    for at in 0..2 {
        if state.clients[at].holds() && state.must_stop(at) {
            state.clients[at] = Client::idle();
        }
    }
    state
}

fn resting(state: &State, client: &Client) -> bool {
    matches!(&*client.phase, Phase::Resting { until, .. } if state.time() < *until)
}

fn step_name(client: &Client) -> &'static str {
    match &*client.phase {
        Phase::Idle => "nothing",
        Phase::Checked { .. } => "begin",
        Phase::Claimed { .. } => "write the intent down and send",
        Phase::Applying { .. } => "finish, then prune or release",
        Phase::Pruning { .. } => "settle and record",
        Phase::Resting { .. } => "look again",
    }
}

fn start(state: &State, next: &mut Next) {
    if state.runs == 0 {
        return;
    }
    for (at, writer) in state.beginners() {
        for task in &state.budget.tasks {
            let mut begun = state.clone();
            begun.runs -= 1;
            if let Some(begun) = begun.start(at, *task, writer) {
                let what = match writer {
                    Writer::Anybody => String::new(),
                    writer => format!(" as {writer:?}"),
                };
                next.push((
                    format!("client {at}: load for {task:?}{what}"),
                    Ok((begun, Note::Nothing)),
                ));
            }
        }
    }
}

/// A request reaches the server; its answer arrives, or is lost if the budget allows.
fn land(state: &State, flight: usize, next: &mut Next) {
    let mut landed = state.clone();
    let flight = landed.flights.remove(flight);
    let name = format!(
        "run {}: {} {:?} lands",
        flight.run, flight.identity.name, flight.request
    );
    let applied = effect(&mut landed, &flight);
    let answered = applied.map(|(done, uid)| {
        for client in &mut landed.clients {
            if !client.is_idle() && client.run != flight.run {
                client.undisturbed = false;
            }
        }
        let lost = (landed.losses > 0).then(|| {
            let mut lost = landed.clone();
            lost.losses -= 1;
            answer(
                &mut lost,
                &flight,
                SendOutcome::Uncertain,
                failed("answer lost"),
            );
            lost
        });
        let outcome = match own_creation(&landed, &flight) {
            Some(uid) => SendOutcome::Done { uid: Some(uid) },
            None if done => SendOutcome::Done { uid },
            None => SendOutcome::Failed,
        };
        let present = landed.objects.contains_key(&flight.identity);
        let pruned = match done || !present {
            true => PruneOutcome::Done,
            false => PruneOutcome::NotMine("another uid".to_owned()),
        };
        answer(&mut landed, &flight, outcome, pruned);
        (landed, lost)
    });
    match answered {
        Err(violation) => next.push((name, Err(violation))),
        Ok((landed, lost)) => {
            next.push((name.clone(), Ok((landed, Note::Nothing))));
            let lost = lost.map(|lost| (format!("{name}, answer lost"), Ok((lost, Note::Nothing))));
            next.extend(lost);
        }
    }
}

/// A client waits for an answer no longer, while its request is still on its way.
fn give_up(state: &State, flight: usize, next: &mut Next) {
    let flight = &state.flights[flight];
    let waits = |client: &Client| client.run == flight.run && client.waits();
    if state.losses == 0 || !state.clients.iter().any(waits) {
        return;
    }
    let mut given_up = state.clone();
    given_up.losses -= 1;
    answer(
        &mut given_up,
        flight,
        SendOutcome::Uncertain,
        failed("no answer"),
    );
    let name = format!(
        "run {}: no answer for {} in time",
        flight.run, flight.identity.name
    );
    next.push((name, Ok((given_up, Note::Nothing))));
}

/// A client that waits for an answer sends its request once more; the first may still land.
fn send_again(state: &State, flight: usize, next: &mut Next) {
    let flight = &state.flights[flight];
    let waits = |client: &Client| client.run == flight.run && client.waits();
    let at = state.clients.iter().position(waits);
    let (Some(at), Request::Create) = (at, &flight.request) else {
        return;
    };
    if state.retries == 0 {
        return;
    }
    let mut again = state.clone();
    again.retries -= 1;
    again.clients[at].in_doubt = true;
    again.flights.push(Flight {
        sent: again.now,
        ..flight.clone()
    });
    let name = format!("run {}: {} is sent again", flight.run, flight.identity.name);
    next.push((name, Ok((again, Note::Nothing))));
}

/// Whether an object that stands in the way of a repeated create is that very create's.
fn own_creation(state: &State, flight: &Flight) -> Option<String> {
    let sender = state
        .clients
        .iter()
        .find(|client| client.run == flight.run)?;
    let object = state.objects.get(&flight.identity)?;
    let own = sender.in_doubt && !object.strangers && flight.request == Request::Create;
    own.then(|| object.uid.clone())
}

fn failed(why: &str) -> PruneOutcome {
    PruneOutcome::Failed(why.to_owned())
}

/// What the server does; whether it did what was asked, and the uid.
fn effect(state: &mut State, flight: &Flight) -> Result<(bool, Option<String>), String> {
    let uid_there = state
        .objects
        .get(&flight.identity)
        .map(|object| object.uid.clone());
    match &flight.request {
        Request::Create if uid_there.is_some() => Ok((false, None)),
        Request::Create => {
            let uid = format!("uid-{}", state.fresh());
            let object = Object {
                uid: uid.clone(),
                strangers: false,
            };
            state.objects.insert(flight.identity.clone(), object);
            Ok((true, Some(uid)))
        }
        Request::Delete { uid } if uid_there.as_ref() != Some(uid) => Ok((false, None)),
        _ if state.objects[&flight.identity].strangers => Err(format!(
            "a stranger's object was touched: {}",
            flight.identity
        )),
        Request::Delete { .. } => {
            state.objects.remove(&flight.identity);
            Ok((true, None))
        }
    }
}

/// Tells the client that sent a request what became of it, if it is still there.
fn answer(state: &mut State, flight: &Flight, sent: SendOutcome, pruned: PruneOutcome) {
    let Some(client) = state
        .clients
        .iter_mut()
        .find(|client| client.run == flight.run)
    else {
        return;
    };
    let mut phase = (*client.phase).clone();
    let name = flight.identity.clone();
    match &mut phase {
        Phase::Applying { answers, .. } => _ = answers.entry(name).or_insert(sent),
        Phase::Pruning { answers, .. } => _ = answers.entry(name).or_insert(pruned),
        _ => {}
    }
    client.phase = Rc::new(phase);
}

/// Somebody else creates an object of one of the names, or replaces one.
fn strangers(state: &State, next: &mut Next) {
    if state.strangers == 0 {
        return;
    }
    for name in ["f", "x"] {
        let mut changed = state.clone();
        changed.strangers -= 1;
        let uid = format!("uid-{}", changed.fresh());
        changed.objects.insert(
            named(name),
            Object {
                uid,
                strangers: true,
            },
        );
        next.push((
            format!("a stranger puts {name}"),
            Ok((changed, Note::Nothing)),
        ));
    }
    let mut changed = state.clone();
    changed.strangers -= 1;
    if changed.objects.remove(&named("x")).is_some() {
        next.push((
            "a stranger deletes x".to_owned(),
            Ok((changed, Note::Nothing)),
        ));
    }
}

/// Somebody who may write the Secret sets its times far ahead.
fn forgers(state: &State, next: &mut Next) {
    let Some(secret) = state.secret.clone().filter(|_| state.forgeries > 0) else {
        return;
    };
    let mut forged = state.clone();
    forged.forgeries -= 1;
    let version = forged.fresh();
    let mut record = (*secret.record).clone();
    record.pending.until = Some("9999-12-30T22:00:00Z".to_owned());
    forged.secret = Some(Secret {
        lock_forged: record.lock.is_some(),
        record: Rc::new(record),
        version,
        ..secret
    });
    let name = "somebody sets the record's times far ahead".to_owned();
    next.push((name, Ok((forged, Note::Nothing))));
}

/// Time passes. A request that has not landed by then never does.
fn tick(state: &State) -> Option<State> {
    let lock = state
        .secret
        .as_ref()
        .is_some_and(|secret| secret.record.lock.is_some());
    let until = state
        .secret
        .as_ref()
        .and_then(|secret| secret.record.pending.until.clone());
    let latest = timing().latest(state.time());
    let until = until.and_then(|until| Timestamp::stored(&until, latest));
    let waits = until.is_some_and(|until| until > state.time());
    if !lock && !waits && state.flights.is_empty() {
        return None;
    }
    let mut ticked = state.clone();
    ticked.now += 1;
    let now = ticked.now;
    let (dead, alive): (Vec<Flight>, Vec<Flight>) = ticked
        .flights
        .into_iter()
        .partition(|flight| now - flight.sent > IN_FLIGHT);
    ticked.flights = alive;
    for flight in &dead {
        answer(
            &mut ticked,
            flight,
            SendOutcome::Uncertain,
            failed("no answer"),
        );
    }
    Some(ticked)
}

/// Whatever has happened: once all is quiet, two undisturbed applies leave exactly what they
/// render, and nothing pending.
fn progress(state: &State, proven: &mut HashSet<u128>) -> Result<(), String> {
    let mut quiet = state.clone();
    quiet.clients = [Client::idle(), Client::idle()];
    (quiet.losses, quiet.retries, quiet.strangers, quiet.runs) = (0, 0, 0, 0);
    if let Some(management) = &mut quiet.management {
        (management.moves, management.changes) = (0, 0);
    }
    if !proven.insert(key(&quiet)) {
        return Ok(());
    }
    // All that is in flight lands, in the order in which it was sent.
    while !quiet.flights.is_empty() {
        let flight = quiet.flights.remove(0);
        effect(&mut quiet, &flight)?;
    }
    quiet.now += 10;
    for _ in 0..2 {
        // A rest that somebody made up takes as long as the longest that is true.
        quiet.now += if state.budget.forgeries > 0 { 10 } else { 0 };
        quiet = undisturbed(quiet)?;
    }
    quiet.is_clean()?;
    let record = &quiet.secret.as_ref().unwrap().record;
    match record.pending.objects().first() {
        Some(object) => Err(format!(
            "pending after two applies: {}",
            object.entry.identity
        )),
        None => Ok(()),
    }
}

fn undisturbed(state: State) -> Result<State, String> {
    let stuck = || "an undisturbed apply does not succeed".to_owned();
    let mut state = state;
    let writer = match &mut state.management {
        None => Writer::Anybody,
        Some(management) => {
            (management.resource, management.leader) = (Resource::Active, 0);
            Writer::Replica
        }
    };
    let mut state = state.start(0, Task::Narrow, writer).ok_or_else(stuck)?;
    for _ in 0..20 {
        let (next, note) = state.step(0)?;
        state = next;
        if matches!(note, Note::Recorded | Note::Touched) {
            return Ok(state);
        }
        while !state.flights.is_empty() {
            let flight = state.flights.remove(0);
            let (done, uid) = effect(&mut state, &flight)?;
            let sent = if done {
                SendOutcome::Done { uid }
            } else {
                SendOutcome::Failed
            };
            answer(&mut state, &flight, sent, PruneOutcome::Done);
        }
    }
    Err(stuck())
}
