//! A release that controllers keep for a resource: replicas, of which a lease names one, and whoever
//! runs a command. The lease moves at any time, and whoever had it goes on as if nothing had happened,
//! until he notices; the resource comes, is suspended and resumed, and goes.

use std::collections::HashMap;
use std::rc::Rc;

use opm_core::managed::{Manager, ManagerMark, ManagerState, resource_to_ask};
use opm_core::protocol::{PruneOutcome, SendOutcome};
use opm_core::record::Record;

use crate::client::{Client, Note, Phase};
use crate::search::Next;
use crate::state::State;

/// Who runs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Writer {
    /// Somebody where there are no resources.
    Anybody,
    /// A replica of the controller, for the resource.
    Replica,
    /// Somebody at a command line.
    Command,
}

/// The resource that a release is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Gone,
    Active,
    Suspended,
}

/// The resource, the lease, and what may still become of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Management {
    pub(crate) resource: Resource,
    /// Whom the lease names.
    pub(crate) leader: usize,
    /// How often the lease may move.
    pub(crate) moves: u8,
    /// How often the resource may change.
    pub(crate) changes: u8,
    /// Whether a replica has written the record since the resource became active.
    pub(crate) taken: bool,
}

impl Management {
    /// Nobody has written anything yet.
    pub(crate) fn of(resource: Resource, moves: u8, changes: u8) -> Self {
        Self {
            resource,
            leader: 0,
            moves,
            changes,
            taken: false,
        }
    }
}

fn manager() -> Manager {
    Manager {
        name: "web".to_owned(),
        uid: "1".to_owned(),
    }
}

impl State {
    /// Who may begin a run as which client.
    pub(crate) fn beginners(&self) -> Vec<(usize, Writer)> {
        let Some(management) = &self.management else {
            // Clients are alike, so a new run goes to the first that is idle.
            let idle = self.clients.iter().position(Client::is_idle);
            return idle.map(|at| (at, Writer::Anybody)).into_iter().collect();
        };
        let idle = (0..2).filter(|at| self.clients[*at].is_idle());
        let both = idle.flat_map(|at| [(at, Writer::Replica), (at, Writer::Command)]);
        let active = management.resource == Resource::Active;
        both.filter(|(at, writer)| match writer {
            Writer::Replica => active && *at == management.leader,
            _ => true,
        })
        .collect()
    }

    /// What a run does to the annotation; none if its writer may not write the release.
    pub(crate) fn mark(&self, writer: Writer, stored: Option<&Record>) -> Option<ManagerMark> {
        let Some(management) = &self.management else {
            return Some(ManagerMark::Keep);
        };
        let own = manager();
        let writer = (writer == Writer::Replica).then_some(&own);
        let recorded = stored.map(|record| &record.annotations);
        let Some(_) = resource_to_ask(recorded, writer, "web") else {
            return Some(writer.cloned().map_or(ManagerMark::Keep, ManagerMark::Set));
        };
        let state = match management.resource {
            Resource::Gone => ManagerState::Gone,
            Resource::Active => ManagerState::Active,
            Resource::Suspended => ManagerState::Suspended,
        };
        state.mark_of_others(recorded.is_some())
    }

    /// Somebody has begun to write the release.
    pub(crate) fn has_begun(&mut self, writer: Writer) -> Result<(), String> {
        let Some(management) = &mut self.management else {
            return Ok(());
        };
        match writer {
            Writer::Command if management.taken => {
                Err("a command has begun on a release that a resource manages".to_owned())
            }
            Writer::Replica => {
                management.taken = management.resource == Resource::Active;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn managing(&self, change: impl FnOnce(&mut Management)) -> Self {
        let mut changed = self.clone();
        if let Some(management) = &mut changed.management {
            change(management);
        }
        changed
    }

    /// What becomes of the lease and the resource, and of a run whose replica notices that it has
    /// lost the lease.
    pub(crate) fn manage(&self, next: &mut Next) {
        let Some(management) = &self.management else {
            return;
        };
        let mut push = |name: String, state: State| next.push((name, Ok((state, Note::Nothing))));
        if management.moves > 0 {
            let moved = self.managing(|management| {
                management.leader = 1 - management.leader;
                management.moves -= 1;
            });
            push("the lease moves".to_owned(), moved);
        }
        let others = [Resource::Gone, Resource::Active, Resource::Suspended];
        for resource in others {
            if management.changes == 0 || resource == management.resource {
                continue;
            }
            let changed = self.managing(|management| {
                management.resource = resource;
                management.changes -= 1;
                management.taken = false;
            });
            push(format!("the resource is {resource:?}"), changed);
        }
        for at in 0..2 {
            if self.clients[at].writer == Writer::Replica && at != management.leader {
                let what = format!("client {at} notices that it leads no more");
                for sent in [true, false] {
                    if let Some(stopped) = self.stopped(at, sent) {
                        push(format!("{what} (all was sent: {sent})"), stopped);
                    }
                }
            }
        }
    }

    /// A client sends nothing more and waits for nothing: what was sent may still land.
    fn stopped(&self, at: usize, sent: bool) -> Option<Self> {
        if !self.clients[at].waits() {
            return None;
        }
        let (mut stopped, run) = (self.clone(), self.clients[at].run);
        let unsent = |flight: &crate::state::Flight| !sent && flight.run == run;
        stopped.flights.retain(|flight| !unsent(flight));
        let mut phase = (*self.clients[at].phase).clone();
        match &mut phase {
            Phase::Applying { locked, answers } => {
                let outcome = match sent {
                    true => SendOutcome::Uncertain,
                    false => SendOutcome::NotSent,
                };
                let objects = locked.plan().applies().map(|step| &step.entry.identity);
                fill(answers, objects, &outcome);
            }
            Phase::Pruning { applied, answers } => {
                let failed = PruneOutcome::Failed("stopped".to_owned());
                let objects = applied.prune().iter().map(|step| &step.entry.identity);
                fill(answers, objects, &failed);
            }
            _ => return None,
        }
        stopped.clients[at].phase = Rc::new(phase);
        Some(stopped)
    }
}

fn fill<'a, K, V>(answers: &mut HashMap<K, V>, of: impl Iterator<Item = &'a K>, missing: &V)
where
    K: Clone + Eq + std::hash::Hash + 'a,
    V: Clone,
{
    for one in of {
        answers
            .entry(one.clone())
            .or_insert_with(|| missing.clone());
    }
}
