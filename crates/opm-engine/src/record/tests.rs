//! What only a clock and a store under control can show: locks that age, renewals that fail,
//! and edits by others in between.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use opm_core::event::Event;
use opm_core::protocol::{LockAcquisition, Timing};
use opm_core::record::size::Records;
use opm_core::record::{Extra, Lock, Metadata, Record};

use super::secret::content;
use super::{WritableRecord, WriteError};
use crate::engine::{Actor, Engine, Settings};
use crate::failure::FailureKind;
use crate::ports::{
    Answer, ApiError, ApiErrorKind, Backend, Events, Instant, Prompt, Question, RemoveOutcome,
    SecretContent, SecretVersion, Stopped, StoredSecret, Timestamp, WriteOutcome,
};
use crate::report::Release;

/// A clock that moves only when somebody sleeps.
#[derive(Clone, Default)]
struct TestClock(Arc<Mutex<Duration>>);

impl TestClock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

impl Clock for TestClock {
    fn wall(&self) -> Timestamp {
        Timestamp(self.now())
    }

    fn monotonic(&self) -> Instant {
        Instant(self.now())
    }

    async fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
        yield_once().await;
    }
}

/// One Secret, and what happens to it when nobody looks.
#[derive(Clone, Default)]
struct Store {
    secret: Arc<Mutex<Option<StoredSecret>>>,
    clock: TestClock,
    /// Whether lock writes get no answer.
    silent: Arc<Mutex<bool>>,
    /// Called on every read, with how many there were.
    on_read: Arc<Mutex<Option<OnRead>>>,
    reads: Arc<Mutex<usize>>,
}

type OnRead = Box<dyn Fn(usize, &mut StoredSecret) + Send>;

impl Store {
    fn put(&self, content: &SecretContent, lock_written: Option<Timestamp>) -> StoredSecret {
        let mut slot = self.secret.lock().unwrap();
        let version = slot
            .as_ref()
            .map_or(0, |s| s.resource_version.parse::<u64>().unwrap());
        let stored = StoredSecret {
            content: content.clone(),
            uid: "u".to_owned(),
            resource_version: (version + 1).to_string(),
            lock_written,
            server_time: self.backend.wall(),
            terminating: false,
        };
        *slot = Some(stored.clone());
        stored
    }

    fn at(&self, version: &str) -> bool {
        let slot = self.secret.lock().unwrap();
        slot.as_ref().is_some_and(|s| s.resource_version == version)
    }
}

fn no_answer() -> ApiError {
    ApiError {
        kind: ApiErrorKind::Unreachable,
        status: None,
        reason: String::new(),
        message: "no answer".to_owned(),
        causes: Vec::new(),
    }
}

impl SecretStore for Store {
    fn server_time(&self) -> Option<Timestamp> {
        Some(self.backend.wall())
    }

    async fn get(&self, _: &str, _: &str) -> Result<Option<StoredSecret>, ApiError> {
        let mut slot = self.secret.lock().unwrap();
        let mut reads = self.reads.lock().unwrap();
        *reads += 1;
        if let (Some(stored), Some(act)) = (slot.as_mut(), &*self.on_read.lock().unwrap()) {
            act(*reads, stored);
        }
        if let Some(stored) = slot.as_mut() {
            stored.server_time = self.backend.wall();
        }
        Ok(slot.clone())
    }

    async fn list(
        &self,
        _: Option<&str>,
        _: &[(&str, &str)],
    ) -> Result<Vec<StoredSecret>, ApiError> {
        Ok(Vec::new())
    }

    async fn create(&self, _: &SecretContent, _: &Gate) -> Result<WriteOutcome, ApiError> {
        Ok(WriteOutcome::Lost)
    }

    async fn replace(
        &self,
        content: &SecretContent,
        version: &str,
        gate: &Gate,
    ) -> Result<WriteOutcome, ApiError> {
        let now = (self.backend.monotonic(), self.backend.wall());
        gate.check(now).map_err(ApiError::stopped)?;
        match self.at(version) {
            true => Ok(WriteOutcome::Written(Box::new(
                self.put(content, Some(self.backend.wall())),
            ))),
            false => Ok(WriteOutcome::Lost),
        }
    }

    async fn write_lock(
        &self,
        at: SecretVersion<'_>,
        lock: &[u8],
        gate: &Gate,
    ) -> Result<WriteOutcome, ApiError> {
        let now = (self.backend.monotonic(), self.backend.wall());
        gate.check(now).map_err(ApiError::stopped)?;
        if *self.silent.lock().unwrap() {
            return Err(no_answer());
        }
        if !self.at(at.resource_version) {
            return Ok(WriteOutcome::Lost);
        }
        let mut content = self.secret.lock().unwrap().clone().unwrap().content;
        content.data.insert("lock".to_owned(), lock.to_vec());
        let stored = self.put(&content, Some(self.backend.wall()));
        Ok(WriteOutcome::Written(Box::new(stored)))
    }

    async fn remove(
        &self,
        _: &str,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: &Gate,
    ) -> Result<RemoveOutcome, ApiError> {
        Ok(RemoveOutcome::Gone)
    }
}

struct Nobody;

impl Events for Nobody {
    fn emit(&self, _: Event) {}
}

impl Prompt for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        Box::pin(async { Answer::CannotAsk })
    }
}

fn lock(id: &str) -> Lock {
    Lock {
        id: id.to_owned(),
        holder: "deployer".to_owned(),
        host: "far-away".to_owned(),
        pid: 1,
        boot: None,
        pid_namespace: None,
        command: "apply".to_owned(),
        since: String::new(),
        beat: 0,
        extra: Extra::default(),
    }
}

fn release() -> Release {
    Release {
        name: "web".parse().unwrap(),
        namespace: "games".parse().unwrap(),
        id: "11111111-2222-5333-8444-555555555555".parse().unwrap(),
    }
}

fn record(lock: Option<Lock>) -> Record {
    let metadata = Metadata {
        name: "web".to_owned(),
        namespace: "games".to_owned(),
        release_id: release().id.to_string(),
        last_transition_time: None,
        extra: Extra::default(),
    };
    let mut record = Record::new(metadata, BTreeMap::new());
    record.lock = lock;
    record
}

fn engine(store: &Store) -> Engine<(), Store, TestClock> {
    let actor = Actor {
        who: "grace".to_owned(),
        host: "here".to_owned(),
        pipeline: None,
        pid: 7,
        boot: None,
        pid_namespace: None,
        version: "0".to_owned(),
        is_alive: |_| true,
    };
    let settings = Settings {
        actor,
        timing: Timing::default(),
        record_limit: opm_core::record::size::MAX_RECORD_BYTES,
        features: BTreeMap::new(),
    };
    let gate = Arc::new(Gate::default());
    Engine::new((), store.clone(), store.backend.clone(), gate, settings)
}

fn frontend() -> Frontend<'static> {
    Frontend {
        events: &Nobody,
        prompt: &Nobody,
    }
}

fn turn(store: &Store, patience: u64) -> Result<WritableRecord, FailureKind> {
    let engine = engine(store);
    let patience = Duration::from_secs(patience);
    let turn = block_on(engine.turn(&release(), patience, frontend()));
    turn.map_err(|failure| failure.kind)
}

#[test]
fn a_lock_whose_times_were_wiped_is_watched_for_a_ttl() {
    let store = Store::default();
    store.put(&content(&release(), None, &record(Some(lock("old")))), None);
    let taken = turn(&store, 0).unwrap();
    assert!(matches!(taken.acquisition, LockAcquisition::TakeOver(_)));
    let waited = store.backend.now();
    assert!(waited >= Duration::from_secs(30) && waited < Duration::from_secs(33));
}

#[test]
fn a_lock_whose_times_were_wiped_and_that_beats_is_held() {
    let store = Store::default();
    store.put(&content(&release(), None, &record(Some(lock("old")))), None);
    *store.on_read.lock().unwrap() = Some(Box::new(|reads, stored| {
        if reads == 5 {
            let mut beating = lock("old");
            beating.beat = 1;
            let bytes = opm_core::record::encode_lock(&beating);
            stored.content.data.insert("lock".to_owned(), bytes);
        }
    }));
    assert_eq!(turn(&store, 0).unwrap_err(), FailureKind::Locked);
    assert!(store.backend.now() < Duration::from_secs(10));
}

#[test]
fn a_fresh_lock_is_refused_at_once_or_waited_for() {
    let store = Store::default();
    let held = content(&release(), None, &record(Some(lock("old"))));
    store.put(&held, Some(store.backend.wall()));
    assert_eq!(turn(&store, 0).unwrap_err(), FailureKind::Locked);
    assert_eq!(store.backend.now(), Duration::ZERO);
    assert_eq!(turn(&store, 10).unwrap_err(), FailureKind::Locked);
    assert!(matches!(
        turn(&store, 60).unwrap().acquisition,
        LockAcquisition::TakeOver(_)
    ));
}

#[test]
fn renewals_go_on_until_the_work_is_done() {
    let store = Store::default();
    let engine = engine(&store);
    let held = record(Some(lock("mine")));
    let stored = store.put(&content(&release(), None, &held), None);
    let guard = engine.hold(release(), stored, held, engine.now(), Records::Used);
    let work = async {
        for _ in 0..100 {
            engine.backend.sleep(Duration::from_millis(500)).await;
        }
        engine.gate.check(engine.now())
    };
    assert_eq!(block_on(engine.while_renewing(&guard, work)), Ok(()));
    assert!(store.backend.now() > Duration::from_secs(100));
}

#[test]
fn without_renewal_the_gate_closes_and_nothing_is_written() {
    let store = Store::default();
    let engine = engine(&store);
    let held = record(Some(lock("mine")));
    let stored = store.put(&content(&release(), None, &held), None);
    let guard = engine.hold(release(), stored, held, engine.now(), Records::Used);
    *store.silent.lock().unwrap() = true;
    block_on(engine.backend.sleep(Duration::from_secs(19)));
    assert_eq!(engine.gate.check(engine.now()), Ok(()));
    block_on(engine.backend.sleep(Duration::from_secs(1)));
    let closed = engine.gate.check(engine.now());
    assert_eq!(closed, Err(Stopped::LockUncertain));
    let written = block_on(engine.write(&guard, record(None)));
    assert!(matches!(written, Err(WriteError::Api(error))
        if error.kind == ApiErrorKind::Stopped(Stopped::LockUncertain)));
}

#[test]
fn edits_beside_the_lock_survive_and_a_lost_lock_stops_everything() {
    let store = Store::default();
    let engine = engine(&store);
    let held = record(Some(lock("mine")));
    let first = content(&release(), None, &held);
    let stored = store.put(&first, None);
    let guard = engine.hold(release(), stored, held, engine.now(), Records::Used);
    let mut edited = first;
    edited
        .annotations
        .insert("team".to_owned(), "games".to_owned());
    edited.data.insert("notes".to_owned(), b"x".to_vec());
    store.put(&edited, None);
    let mut next = record(Some(lock("mine")));
    next.metadata.last_transition_time = Some("2026-01-01T00:00:00Z".to_owned());
    block_on(engine.write(&guard, next)).unwrap();
    let now = store.secret.lock().unwrap().clone().unwrap().content;
    assert_eq!(now.annotations["team"], "games");
    assert_eq!(now.data["notes"], b"x");
    assert!(now.data["metadata"].starts_with(b"{"));

    store.put(
        &content(&release(), None, &record(Some(lock("theirs")))),
        None,
    );
    let written = block_on(engine.write(&guard, record(None)));
    assert!(matches!(written, Err(WriteError::Lost)));
}

/// Lets the other side of a select have its turn.
async fn yield_once() {
    let mut polled = false;
    futures::future::poll_fn(|context| {
        if polled {
            return std::task::Poll::Ready(());
        }
        polled = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
