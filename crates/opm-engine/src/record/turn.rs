//! Waiting for one's turn: a record that somebody else is writing is left alone until its lock
//! is released or has expired.

use std::time::Duration;

use opm_core::event::{Event, Wait};
use opm_core::protocol::{LockAcquisition, LockObservation, LockState};
use opm_core::record::Lock;

use super::LoadedRecord;
use super::secret::check_writable;
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Frontend, Instant, SecretStore};
use crate::report::Release;

/// How often a held lock is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A record, or none, that may be written now.
#[derive(Debug)]
pub(crate) struct WritableRecord {
    pub(crate) loaded: Option<LoadedRecord>,
    pub(crate) acquisition: LockAcquisition,
    pub(crate) warnings: Vec<String>,
}

/// Since when a lock has been seen as it is.
#[derive(Clone, PartialEq, Eq)]
struct WatchedLock {
    id: String,
    beat: u64,
    since: Instant,
}

impl<C, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Loads the record, and waits for at most `patience` while somebody else holds its lock.
    pub(crate) async fn turn(
        &self,
        release: &Release,
        patience: Duration,
        frontend: Frontend<'_>,
    ) -> Result<WritableRecord, Failure> {
        let load = async || {
            let (loaded, warnings) = self.load(release).await?;
            if let Some(loaded) = &loaded {
                check_writable(&loaded.stored)?;
            }
            Ok((loaded, warnings))
        };
        self.turn_by(release, patience, frontend, load).await
    }

    /// The same, for whoever reads the record in another way.
    pub(crate) async fn turn_by(
        &self,
        release: &Release,
        patience: Duration,
        frontend: Frontend<'_>,
        load: impl AsyncFn() -> Result<(Option<LoadedRecord>, Vec<String>), Failure>,
    ) -> Result<WritableRecord, Failure> {
        // Whatever became of an earlier run, this one holds no lock yet.
        self.gate.no_lock();
        let started = self.clock.monotonic();
        let mut watched: Option<WatchedLock> = None;
        let mut first: Option<WatchedLock> = None;
        let mut told = false;
        loop {
            let (loaded, warnings) = load().await?;
            let Some(loaded) = loaded else {
                return Ok(WritableRecord {
                    loaded: None,
                    acquisition: LockAcquisition::without_record(),
                    warnings,
                });
            };
            let sight = self.sight(&loaded, &mut watched);
            first = first.or_else(|| watched.clone());
            let record = Some(&loaded.record);
            let (lock, expires_in) = match LockState::of(record, &sight, &self.settings.timing) {
                LockState::Open(acquisition) => {
                    return Ok(WritableRecord {
                        loaded: Some(loaded),
                        acquisition,
                        warnings,
                    });
                }
                LockState::Held { lock, expires_in } => (lock, expires_in),
            };
            let waited = self.clock.monotonic().0.saturating_sub(started.0);
            // Only watching tells the age of a lock whose times somebody wiped.
            let unknown_age = sight.written.is_none() && first == watched;
            if waited >= patience && !unknown_age {
                return Err(locked(release, &lock, expires_in));
            }
            if !told {
                frontend
                    .events
                    .emit(Event::Waiting(Wait::Lock(holder(&lock))));
                told = true;
            }
            self.unless_stopped(self.clock.sleep(LOOK_AGAIN.min(expires_in)))
                .await
                .map_err(|s| {
                    Failure::before_writing("waiting for the lock", &ApiError::stopped(s))
                })?;
        }
    }

    fn sight(&self, loaded: &LoadedRecord, watched: &mut Option<WatchedLock>) -> LockObservation {
        let now = self.clock.monotonic();
        let lock = loaded.record.lock.as_ref();
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
            written: loaded.stored.lock_written,
            server_time: loaded.stored.server_time,
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

fn locked(release: &Release, lock: &Lock, expires_in: Duration) -> Failure {
    Failure::new(
        FailureKind::Locked,
        format!(
            "release {} in namespace {} is locked by {}",
            release.name,
            release.namespace,
            holder(lock)
        ),
    )
    .hint("--lock-timeout waits for it")
    .hint(format!(
        "if its holder is dead, the lock expires in {} s by itself",
        expires_in.as_secs() + 1
    ))
}
