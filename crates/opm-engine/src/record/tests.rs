//! What only a clock and a store under control can show: locks that age, renewals that fail,
//! and edits by others in between.

mod kit;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::executor::block_on;
use opm_core::protocol::LockAcquisition;
use opm_core::record::size::Records;
use opm_core::record::{Extra, Lock, Metadata, Record, ReleaseState};

use self::kit::Store;
use super::secret::content;
use super::{Attempt, LockGuard, Reading, RecordWriter, WritableRecord, WriteError};
use crate::actor::Actor;
use crate::engine::Settings;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiErrorKind, Caller, Clock as _, Stopped, StoredSecret};
use crate::report::Release;
use crate::run::Run;

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
        state: ReleaseState::Live,
        extra: Extra::default(),
    };
    let mut record = Record::new(metadata, BTreeMap::new());
    record.lock = lock;
    record
}

fn settings() -> Settings {
    Settings::of(Actor::named("grace"))
}

fn wait(store: &Store, timeout: u64) -> Result<WritableRecord, FailureKind> {
    let (settings, caller) = (settings(), Caller::default());
    let run = Run::new(store, &settings, 0, &caller);
    let timeout = Duration::from_secs(timeout);
    let writable = block_on(run.wait_for_lock(&release(), Reading::Whole, timeout));
    writable.map_err(|failure| failure.kind)
}

/// A lock that this run has just taken.
fn guard(run: &Run<'_>, stored: StoredSecret, held: Record) -> LockGuard {
    let guard = LockGuard::new(release(), stored, held, Records::Used);
    guard.fence.extend(run.now(), &run.settings.timing);
    guard
}

#[test]
fn a_lock_whose_times_were_wiped_is_watched_for_a_ttl() {
    let store = Store::default();
    store.put(&content(&release(), None, &record(Some(lock("old")))), None);
    let taken = wait(&store, 0).unwrap();
    assert!(matches!(taken.acquisition, LockAcquisition::TakeOver(_)));
    let waited = store.clock.now();
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
    assert_eq!(wait(&store, 0).unwrap_err(), FailureKind::Locked);
    assert!(store.clock.now() < Duration::from_secs(10));
}

#[test]
fn a_fresh_lock_is_refused_at_once_or_waited_for() {
    let store = Store::default();
    let held = content(&release(), None, &record(Some(lock("old"))));
    store.put(&held, Some(store.clock.wall()));
    assert_eq!(wait(&store, 0).unwrap_err(), FailureKind::Locked);
    assert_eq!(store.clock.now(), Duration::ZERO);
    assert_eq!(wait(&store, 10).unwrap_err(), FailureKind::Locked);
    assert!(matches!(
        wait(&store, 60).unwrap().acquisition,
        LockAcquisition::TakeOver(_)
    ));
}

/// A use case that loses the race for the record so often.
struct Overtaken(usize);

impl RecordWriter for Overtaken {
    type Output = ();

    async fn attempt(&mut self, _: WritableRecord) -> Result<Attempt<()>, Failure> {
        Ok(match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                Attempt::Again
            }
            None => Attempt::Done(()),
        })
    }
}

#[test]
fn who_waits_may_lose_the_race_for_the_record_more_often_than_who_does_not() {
    for (losses, timeout, expected) in [
        (4, 0, Ok(())),
        (5, 0, Err(FailureKind::LockLost)),
        (30, 60, Ok(())),
        (90, 60, Err(FailureKind::LockLost)),
    ] {
        let store = Store::default();
        let (settings, caller) = (settings(), Caller::default());
        let run = Run::new(&store, &settings, 0, &caller);
        let (mut writer, timeout) = (Overtaken(losses), Duration::from_secs(timeout));
        let written = block_on(run.write_release(&release(), timeout, &mut writer));
        let written = written.map_err(|failure| failure.kind);
        assert_eq!(written, expected, "{losses} within {timeout:?}");
    }
}

#[test]
fn renewals_go_on_until_the_work_is_done() {
    let store = Store::default();
    let (settings, caller) = (settings(), Caller::default());
    let run = Run::new(&store, &settings, 0, &caller);
    let held = record(Some(lock("mine")));
    let stored = store.put(&content(&release(), None, &held), None);
    let guard = guard(&run, stored, held);
    let work = async {
        for _ in 0..100 {
            run.backend.sleep(Duration::from_millis(500)).await;
        }
        run.permit_under(&guard).check(run.now())
    };
    assert_eq!(block_on(run.while_renewing(&guard, work)), Ok(()));
    assert!(store.clock.now() > Duration::from_secs(100));
}

#[test]
fn without_renewal_the_fence_closes_and_nothing_is_written() {
    let store = Store::default();
    let (settings, caller) = (settings(), Caller::default());
    let run = Run::new(&store, &settings, 0, &caller);
    let held = record(Some(lock("mine")));
    let stored = store.put(&content(&release(), None, &held), None);
    let guard = guard(&run, stored, held);
    *store.silent.lock().unwrap() = true;
    block_on(run.backend.sleep(Duration::from_secs(19)));
    assert_eq!(run.permit_under(&guard).check(run.now()), Ok(()));
    block_on(run.backend.sleep(Duration::from_secs(1)));
    let closed = run.permit_under(&guard).check(run.now());
    assert_eq!(closed, Err(Stopped::LockUncertain));
    let written = block_on(run.write(&guard, record(None)));
    assert!(matches!(written, Err(WriteError::Api(error))
        if error.kind == ApiErrorKind::Stopped(Stopped::LockUncertain)));
}

#[test]
fn edits_beside_the_lock_survive_and_a_lost_lock_stops_everything() {
    let store = Store::default();
    let (settings, caller) = (settings(), Caller::default());
    let run = Run::new(&store, &settings, 0, &caller);
    let held = record(Some(lock("mine")));
    let first = content(&release(), None, &held);
    let stored = store.put(&first, None);
    let guard = guard(&run, stored, held);
    let mut edited = first;
    edited
        .annotations
        .insert("team".to_owned(), "games".to_owned());
    edited.data.insert("notes".to_owned(), b"x".to_vec());
    store.put(&edited, None);
    let mut next = record(Some(lock("mine")));
    next.metadata.last_transition_time = Some("2026-01-01T00:00:00Z".to_owned());
    block_on(run.write(&guard, next)).unwrap();
    let now = store.secret.lock().unwrap().clone().unwrap().content;
    assert_eq!(now.annotations["team"], "games");
    assert_eq!(now.data["notes"], b"x");
    assert!(now.data["metadata"].starts_with(b"{"));

    store.put(
        &content(&release(), None, &record(Some(lock("theirs")))),
        None,
    );
    let written = block_on(run.write(&guard, record(None)));
    assert!(matches!(written, Err(WriteError::Lost)));
}
