//! A lock that this run holds: one owner of every write of the record, and a renewal that runs
//! beside the work for as long as it takes.
//!
//! A write that was lost is looked at again: if the lock in the record is still this run's, it
//! was somebody else's edit beside it (a label, an annotation), and the write is made anew on
//! top of that. If not, the lock is gone, and nothing more is sent.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use futures::lock::Mutex;
use opm_core::managed::MANAGER_ANNOTATION;
use opm_core::protocol::{renewed, still_held};
use opm_core::record::size::{FittedRecord, Records};
use opm_core::record::{Record, encode_lock};

use super::secret;
use crate::ports::{ApiError, Fence, Permit, RemoveOutcome, StoredSecret, WriteOutcome};
use crate::report::Release;
use crate::run::Run;

/// How often a write is made anew on top of somebody else's edit.
const ATTEMPTS: usize = 5;

/// How soon a renewal that got no answer is tried again.
const RENEW_AGAIN: Duration = Duration::from_secs(1);

/// Why the record could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The lock in the record is no longer this run's.
    Lost,
    /// The request failed.
    Api(ApiError),
}

impl From<ApiError> for WriteError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

/// A record whose lock this run holds.
pub(crate) struct LockGuard {
    pub(crate) release: Release,
    /// Whether what is too large may move into record Secrets.
    records: Records,
    state: Mutex<GuardState>,
    /// Ends what this run may do when the lock is no longer certain.
    pub(crate) fence: Fence,
}

impl LockGuard {
    /// The lock was just taken.
    pub(super) fn new(
        release: Release,
        stored: StoredSecret,
        record: Record,
        records: Records,
    ) -> Self {
        Self {
            release,
            records,
            state: Mutex::new(GuardState {
                stored,
                record,
                held: true,
                notes: Vec::new(),
            }),
            fence: Fence::default(),
        }
    }

    /// For writes of the record itself: a cancelled run makes them too, because the lock has to
    /// be released then.
    fn permit(&self) -> Permit<'_> {
        Permit {
            fence: Some(&self.fence),
            ..Permit::default()
        }
    }

    /// The record as it is stored: what was too large is not in it.
    pub(crate) async fn record(&self) -> Record {
        self.state.lock().await.record.clone()
    }

    /// The Secret as this run wrote it last.
    pub(super) async fn stored(&self) -> StoredSecret {
        self.state.lock().await.stored.clone()
    }

    /// One thing more that people should know.
    pub(super) async fn note(&self, note: String) {
        self.state.lock().await.notes.push(note);
    }

    /// What had to give way for good when the record was written, each once.
    pub(crate) async fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().await.notes)
    }
}

struct GuardState {
    stored: StoredSecret,
    record: Record,
    held: bool,
    notes: Vec<String>,
}

impl Run<'_> {
    /// Works, and renews the lock until the work is done. When the lock is lost, the
    /// fence closes, and the work comes to its end by itself.
    pub(crate) async fn while_renewing<T>(
        &self,
        guard: &LockGuard,
        work: impl Future<Output = T>,
    ) -> T {
        let renewal = pin!(self.keep_renewing(guard));
        match select(pin!(work), renewal).await {
            Either::Left((done, _)) => done,
            Either::Right(((), work)) => work.await,
        }
    }

    async fn keep_renewing(&self, guard: &LockGuard) {
        let mut pause = self.settings.timing.renew;
        loop {
            self.backend.sleep(pause).await;
            pause = match self.renew(guard).await {
                Ok(true) => self.settings.timing.renew,
                Ok(false) => return,
                Err(WriteError::Lost) => {
                    guard.fence.close();
                    return;
                }
                // The deadline stands; until then it is worth trying.
                Err(WriteError::Api(_)) => RENEW_AGAIN.min(self.settings.timing.renew),
            };
        }
    }

    /// Writes the lock once more. False when it is no longer held on purpose.
    async fn renew(&self, guard: &LockGuard) -> Result<bool, WriteError> {
        let mut state = guard.state.lock().await;
        for _ in 0..ATTEMPTS {
            let Some(mut lock) = state.record.lock.clone().filter(|_| state.held) else {
                return Ok(false);
            };
            lock = renewed(&lock);
            let bytes = encode_lock(&lock);
            let sent = self.now();
            let written = self
                .backend
                .write_lock(state.stored.version(), &bytes, guard.permit())
                .await?;
            match written {
                WriteOutcome::Written(stored) => {
                    state.stored = *stored;
                    state.record.lock = Some(lock);
                    guard.fence.extend(sent, &self.settings.timing);
                    return Ok(true);
                }
                WriteOutcome::Lost => self.read_again(&mut state).await?,
            }
        }
        Ok(true)
    }

    /// Writes the record; what is too large moves out of it first. One without a lock releases
    /// it.
    pub(crate) async fn write(&self, guard: &LockGuard, record: Record) -> Result<(), WriteError> {
        let mut state = guard.state.lock().await;
        let LockGuard {
            release, records, ..
        } = guard;
        let slim = self.slim(release, record, &state.record, *records, guard.permit());
        let FittedRecord {
            mut record, notes, ..
        } = slim.await?;
        state.notes.extend(notes);
        for _ in 0..ATTEMPTS {
            // The server tells the age of a lock by when it changed: what goes on counts anew only
            // if this write renews it.
            if record.lock.is_some() {
                record.lock = state.record.lock.as_ref().map(renewed);
            }
            let content = secret::content(&guard.release, Some(&state.stored), &record);
            let sent = self.now();
            let version = state.stored.resource_version.clone();
            let written = self
                .backend
                .replace_secret(&content, &version, guard.permit())
                .await?;
            let stored = match written {
                WriteOutcome::Written(stored) => *stored,
                WriteOutcome::Lost => match self.landed(&state.stored, &content.data).await? {
                    Some(stored) => stored,
                    None => {
                        self.read_again(&mut state).await?;
                        take_edits(&mut record, &state.record);
                        continue;
                    }
                },
            };
            state.held = record.lock.is_some();
            state.stored = stored;
            state.record = record;
            match state.held {
                true => guard.fence.extend(sent, &self.settings.timing),
                false => guard.fence.open(),
            }
            return Ok(());
        }
        Err(WriteError::Lost)
    }

    /// Removes the record, and the lock with it.
    pub(crate) async fn remove(&self, guard: &LockGuard) -> Result<(), WriteError> {
        let mut state = guard.state.lock().await;
        for _ in 0..ATTEMPTS {
            let stored = &state.stored;
            let removed = self
                .backend
                .remove_secret(
                    &stored.content.namespace,
                    &stored.content.name,
                    &stored.uid,
                    Some(&stored.resource_version),
                    guard.permit(),
                )
                .await?;
            match removed {
                RemoveOutcome::Gone => {
                    state.held = false;
                    guard.fence.open();
                    return Ok(());
                }
                RemoveOutcome::Lost => self.read_again(&mut state).await?,
            }
        }
        Err(WriteError::Lost)
    }

    /// A repeated request may find its own first attempt in the way: what was to be written is
    /// there already.
    async fn landed(
        &self,
        before: &StoredSecret,
        data: &std::collections::BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<StoredSecret>, WriteError> {
        let content = &before.content;
        let now = self
            .backend
            .get_secret(&content.namespace, &content.name)
            .await?;
        Ok(now.filter(|now| now.uid == before.uid && now.content.data == *data))
    }

    /// Takes the record as it is now, if its lock is still this run's.
    async fn read_again(&self, state: &mut GuardState) -> Result<(), WriteError> {
        let content = &state.stored.content;
        let now = self
            .backend
            .get_secret(&content.namespace, &content.name)
            .await?;
        let now = now.filter(|now| now.uid == state.stored.uid && !now.terminating);
        let Some(stored) = now else {
            return Err(WriteError::Lost);
        };
        let Ok((record, _)) = secret::read(&stored) else {
            return Err(WriteError::Lost);
        };
        let mine = state.record.lock.as_ref();
        if !mine.is_some_and(|lock| still_held(&record, &lock.id)) {
            return Err(WriteError::Lost);
        }
        state.stored = stored;
        state.record = record;
        Ok(())
    }
}

/// What somebody else wrote beside what is this run's to write.
fn take_edits(record: &mut Record, now: &Record) {
    record.labels.clone_from(&now.labels);
    // Who manages the release is told under the lock alone, so here is who tells it.
    let manager = record.annotations.remove(MANAGER_ANNOTATION);
    record.annotations.clone_from(&now.annotations);
    record.annotations.remove(MANAGER_ANNOTATION);
    let manager = manager.map(|manager| (MANAGER_ANNOTATION.to_owned(), manager));
    record.annotations.extend(manager);
    record.unknown.clone_from(&now.unknown);
}
