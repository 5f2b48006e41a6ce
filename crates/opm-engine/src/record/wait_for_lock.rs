//! Waiting for the lock: a record that somebody else is writing is left alone until its lock is
//! released or has expired.

use std::time::Duration;

use opm_core::event::{Event, Wait};
use opm_core::failure::Remedy;
use opm_core::protocol::{LockAcquisition, LockAge, LockObservation, LockState};
use opm_core::record::{Lock, Record};

use super::LoadedRecord;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Instant, StoredSecret};
use crate::report::Release;
use crate::run::Run;

/// How often a held lock is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A record, or none, that may be written now.
#[derive(Debug)]
pub(crate) struct WritableRecord {
    pub(crate) loaded: Option<LoadedRecord>,
    pub(crate) acquisition: LockAcquisition,
    pub(crate) warnings: Vec<String>,
}

impl WritableRecord {
    /// The record, if there is one.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.loaded.as_ref().map(|loaded| &loaded.record)
    }
}

/// Whether a record has to be readable to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The whole of it.
    Whole,
    /// Only its lock, as far as that goes: the rest may be damaged.
    LockOnly,
}

/// A lock that is seen unchanged since then.
#[derive(Clone, PartialEq, Eq)]
struct WatchedLock {
    id: String,
    beat: u64,
    since: Instant,
}

impl Run<'_> {
    /// Loads the record, and waits for at most `timeout` while somebody else holds its lock.
    pub(crate) async fn wait_for_lock(
        &self,
        release: &Release,
        reading: Reading,
        timeout: Duration,
    ) -> Result<WritableRecord, Failure> {
        let started = self.backend.monotonic();
        let mut watched: Option<WatchedLock> = None;
        let mut first: Option<WatchedLock> = None;
        let mut told = false;
        let unpacked = self.unpacked.used();
        loop {
            // What an earlier look unpacked is gone by now.
            self.unpacked.give_back_to(unpacked);
            let (loaded, warnings) = match reading {
                Reading::Whole => self.load_to_write(release).await?,
                Reading::LockOnly => self.load_lock(release).await?,
            };
            let Some(loaded) = loaded else {
                return Ok(WritableRecord {
                    loaded: None,
                    acquisition: LockAcquisition::without_record(),
                    warnings,
                });
            };
            let observation = self.observe_lock(&loaded.stored, &loaded.record, &mut watched);
            first = first.or_else(|| watched.clone());
            let state = LockState::of(Some(&loaded.record), &observation, &self.settings.timing);
            let (lock, expires_in, age) = match state {
                LockState::Open(acquisition) => {
                    return Ok(WritableRecord {
                        loaded: Some(loaded),
                        acquisition,
                        warnings,
                    });
                }
                LockState::Held {
                    lock,
                    expires_in,
                    age,
                } => (lock, expires_in, age),
            };
            let waited = self.backend.monotonic().0.saturating_sub(started.0);
            // Only watching tells the age of a lock whose times somebody wiped or made up.
            let unknown_age = !matches!(age, LockAge::Written(_)) && first == watched;
            if waited >= timeout && !unknown_age {
                return Err(locked(release, &lock, expires_in));
            }
            if !told {
                self.emit(Event::Waiting(Wait::Lock(held_by(&lock, age))));
                told = true;
            }
            let pause = self.backend.sleep(LOOK_AGAIN.min(expires_in));
            let paused = self.unless_stopped(self.permit(), pause).await;
            paused.map_err(|stopped| Failure::stopped("waiting for the lock", stopped))?;
        }
    }

    fn observe_lock(
        &self,
        stored: &StoredSecret,
        record: &Record,
        watched: &mut Option<WatchedLock>,
    ) -> LockObservation {
        let now = self.backend.monotonic();
        let lock = record.lock.as_ref();
        let same = watched
            .as_ref()
            .zip(lock)
            .is_some_and(|(watched, lock)| watched.id == lock.id && watched.beat == lock.beat);
        if !same {
            *watched = lock.map(|lock| WatchedLock {
                id: lock.id.clone(),
                beat: lock.beat,
                since: now,
            });
        }
        LockObservation {
            written: stored.lock_written,
            server_time: stored.server_time,
            unchanged_for: watched.as_ref().map_or(Duration::ZERO, |watched| {
                now.0.saturating_sub(watched.since.0)
            }),
            holder_dead: lock.is_some_and(|lock| self.is_dead(lock)),
        }
    }

    /// Only of this very machine, boot and pid namespace is it known.
    fn is_dead(&self, lock: &Lock) -> bool {
        let actor = &self.settings.actor;
        actor.boot.is_some()
            && lock.boot == actor.boot
            && actor.pid_namespace.is_some()
            && lock.pid_namespace == actor.pid_namespace
            && lock.host == actor.host
            && !(actor.is_alive)(lock.pid)
    }
}

/// Who holds a lock, in words.
pub(crate) fn holder(lock: &Lock) -> String {
    format!(
        "{} on {} (pid {}, {} since {})",
        lock.holder, lock.host, lock.pid, lock.command, lock.since
    )
}

/// The same, with what is odd about its time.
pub(crate) fn held_by(lock: &Lock, age: LockAge) -> String {
    match age {
        LockAge::Ahead(written) => format!(
            "{}; its time, {written}, is ahead of the server's clock and is not believed: it \
             expires when it stays unchanged",
            holder(lock)
        ),
        LockAge::Written(_) | LockAge::Unknown => holder(lock),
    }
}

fn locked(release: &Release, lock: &Lock, expires_in: Duration) -> Failure {
    let message = format!(
        "release {} in namespace {} is locked by {}",
        release.name,
        release.namespace,
        holder(lock)
    );
    Failure::new(FailureKind::Locked, message)
        .remedy(Remedy::WaitForLock)
        .remedy(format!(
            "if its holder is dead, the lock expires in {} s by itself",
            expires_in.as_secs() + 1
        ))
}
