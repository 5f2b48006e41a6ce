//! The state of the model: a cluster with three names in it, the release's Secret, two clients,
//! and requests in flight.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::plan::{ComponentOrder, Desired, DesiredObject};
use opm_core::protocol::{LockObservation, Timing};
use opm_core::record::Record;
use opm_core::time::Timestamp;

use crate::client::Client;
use crate::managed::Management;

/// One tick of the clock.
pub(crate) const TICK: u64 = 10;

/// A holder stops one tick after its last renewal, a lock expires two ticks after its last write,
/// and a request lands within three or never: so some land after the lock was taken over.
pub(crate) fn timing() -> Timing {
    Timing {
        ttl: Duration::from_secs(18),
        renew: Duration::from_secs(10),
        hold: Duration::from_secs(10),
        take_over_rest: Duration::from_secs(40),
        request: Duration::from_secs(40),
    }
}

/// For how many ticks a request that was sent may still land.
pub(crate) const IN_FLIGHT: u64 = 3;

pub(crate) fn release() -> ReleaseId {
    "ba7ef080-f6d7-5049-9ee5-a5e34cd652de".parse().unwrap()
}

/// What a run is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// Apply x and f.
    Wide,
    /// Apply y.
    Narrow,
    /// Delete the release.
    Delete,
    /// Prune everything that is kept.
    Prune,
}

/// How much may happen.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub(crate) runs: u8,
    /// Answers that never arrive although the request landed.
    pub(crate) losses: u8,
    /// Requests that are sent once more because they were not answered in time.
    pub(crate) retries: u8,
    /// Whether the lock is claimed first, and the intent written down in a second write.
    pub(crate) claims: bool,
    /// Objects of the same names that a stranger creates.
    pub(crate) strangers: u8,
    /// Times of the record that somebody sets far ahead.
    pub(crate) forgeries: u8,
    pub(crate) tasks: Vec<Task>,
    /// Whether f has opted out of being pruned.
    pub(crate) keeps: bool,
    /// Whether a run that has nothing to do only touches the record.
    pub(crate) touches: bool,
    /// Whether clients renew their locks; those that rest always do.
    pub(crate) renewals: bool,
    /// The resource that the release is kept for, and the lease of its controllers.
    pub(crate) management: Option<Management>,
}

impl Default for Budget {
    fn default() -> Self {
        let tasks = vec![Task::Wide, Task::Narrow];
        Self {
            runs: 2,
            losses: 0,
            retries: 0,
            claims: false,
            strangers: 0,
            forgeries: 0,
            tasks,
            keeps: false,
            touches: true,
            renewals: false,
            management: None,
        }
    }
}

/// A live object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) uid: String,
    pub(crate) strangers: bool,
}

/// What a request does when it lands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Create,
    Delete { uid: String },
}

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) run: u32,
    pub(crate) identity: Identity,
    pub(crate) request: Request,
    pub(crate) sent: u64,
}

/// The release's Secret, as the server has it.
#[derive(Debug, Clone)]
pub(crate) struct Secret {
    pub(crate) record: Rc<Record>,
    pub(crate) version: u32,
    /// When `data.lock` was last written.
    pub(crate) lock_written: u64,
    /// Whether somebody has made up another time for that, which is far ahead.
    pub(crate) lock_forged: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) now: u64,
    pub(crate) objects: BTreeMap<Identity, Object>,
    pub(crate) secret: Option<Secret>,
    pub(crate) clients: [Client; 2],
    pub(crate) flights: Vec<Flight>,
    pub(crate) budget: Rc<Budget>,
    pub(crate) runs: u8,
    pub(crate) losses: u8,
    pub(crate) retries: u8,
    pub(crate) strangers: u8,
    pub(crate) forgeries: u8,
    pub(crate) management: Option<Management>,
    /// Makes uids, versions and run numbers.
    pub(crate) next: u32,
}

impl State {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            now: 100,
            objects: BTreeMap::new(),
            secret: None,
            clients: [Client::idle(), Client::idle()],
            flights: Vec::new(),
            runs: budget.runs,
            losses: budget.losses,
            retries: budget.retries,
            strangers: budget.strangers,
            forgeries: budget.forgeries,
            management: budget.management.clone(),
            budget: Rc::new(budget),
            next: 0,
        }
    }

    pub(crate) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::from_secs(self.now * TICK)
    }

    /// Writes the record if nobody else has written it since `version`; a new one for none.
    pub(crate) fn write(&mut self, version: Option<u32>, record: &Record) -> Option<u32> {
        if self.secret.as_ref().map(|secret| secret.version) != version {
            return None;
        }
        let lock_moved = self
            .secret
            .as_ref()
            .is_none_or(|secret| secret.record.lock != record.lock);
        let before = self
            .secret
            .as_ref()
            .map_or(self.now, |secret| secret.lock_written);
        let lock_written = if lock_moved { self.now } else { before };
        let forged = self.secret.as_ref().is_some_and(|s| s.lock_forged);
        let version = self.fresh();
        let record = Rc::new(record.clone());
        self.secret = Some(Secret {
            record,
            version,
            lock_written,
            lock_forged: forged && !lock_moved,
        });
        Some(version)
    }

    /// What the server says about the lock. One with a time that is far ahead has been watched
    /// since it was written.
    pub(crate) fn lock_observation(&self) -> LockObservation {
        let (server_time, secret) = (self.time(), self.secret.as_ref());
        let ahead = server_time + Duration::from_secs(1_000_000);
        let written = secret.map(|secret| match secret.lock_forged {
            true => ahead,
            false => Timestamp::from_secs(secret.lock_written * TICK),
        });
        let watched = secret.filter(|secret| secret.lock_forged);
        let ticks = watched.map_or(0, |secret| self.now - secret.lock_written);
        LockObservation {
            written,
            server_time,
            unchanged_for: Duration::from_secs(ticks * TICK),
            holder_dead: false,
        }
    }

    /// The live objects of the release that its record does not know.
    pub(crate) fn unrecorded(&self) -> Vec<&Identity> {
        let record = self.secret.as_ref().map(|secret| &secret.record);
        let known = |identity: &&Identity| {
            record.is_some_and(|record| {
                record
                    .inventory()
                    .iter()
                    .any(|r| r.entry.identity == **identity)
                    || record
                        .pending
                        .objects()
                        .iter()
                        .any(|o| o.entry.identity == **identity)
                    || record
                        .kept
                        .objects
                        .iter()
                        .any(|o| o.entry.identity == **identity)
            })
        };
        let mine = self.objects.iter().filter(|(_, object)| !object.strangers);
        mine.map(|(identity, _)| identity)
            .filter(|identity| !known(identity))
            .collect()
    }
}

pub(crate) fn named(name: &str) -> Identity {
    Identity::new(GroupKind::new("", "ConfigMap"), Some("default"), name)
}

pub(crate) fn desired(task: Task) -> Desired {
    let names: &[&str] = match task {
        Task::Wide => &["f", "x"],
        Task::Narrow => &["y"],
        Task::Delete | Task::Prune => &[],
    };
    let objects = names
        .iter()
        .map(|name| DesiredObject::new(Entry::new(named(name), "v1", "app")));
    Desired {
        components: vec![ComponentOrder::first("app")],
        objects: objects.collect(),
    }
}
