//! Beginning a run: the first write, with lock and intent in it.
//!
//! What is too large for the release's Secret moves out only under the lock: two runs that both
//! began to move would write over each other. So such a run claims the lock first, with nothing
//! but the lock in the write, and writes its intent down in a second one. Nothing is touched in
//! between.

use opm_core::check::CheckedPlan;
use opm_core::event::Event;
use opm_core::failure::Remedy;
use opm_core::protocol::{LockAcquisition, Locked, RunStart, begin};
use opm_core::record::size::Records;
use opm_core::record::{LogResult, Record};

use super::lock_guard::{LockGuard, WriteError};
use super::spill::all_in_place;
use super::{holder, secret};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, ApiErrorKind, SecretContent, StoredSecret, WriteOutcome};
use crate::report::Release;
use crate::run::Run;

/// What a run begins with.
pub(crate) struct Beginning {
    /// The record that the plan stands on: the stored one, or a new one.
    pub(crate) record: Record,
    /// The Secret that it is written over, if there is one.
    pub(crate) stored: Option<StoredSecret>,
    /// How the lock is taken.
    pub(crate) acquisition: LockAcquisition,
    /// What is to be done.
    pub(crate) checked: CheckedPlan,
    /// This run, as lock and log name it.
    pub(crate) start: RunStart,
    /// Whether what is too large may move into record Secrets.
    pub(crate) records: Records,
}

/// A run that holds the lock, has written its intent down, and may touch things.
pub(crate) struct LockedRun {
    pub(crate) locked: Locked,
    pub(crate) guard: LockGuard,
}

impl Run<'_> {
    /// Takes the lock and writes the intent down. None if somebody else was faster.
    pub(crate) async fn begin(
        &self,
        release: &Release,
        beginning: Beginning,
    ) -> Result<Option<LockedRun>, Failure> {
        let Beginning {
            record,
            stored,
            acquisition,
            checked,
            start,
            records,
        } = beginning;
        let took_over = match &acquisition {
            LockAcquisition::TakeOver(expired) => Some(holder(&expired.lock)),
            LockAcquisition::Free { .. } => None,
        };
        let Ok(locked) = begin(record, acquisition, checked, start) else {
            return Ok(None);
        };
        let guard = self.take_lock(release, stored.as_ref(), &locked, records);
        let Some(guard) = guard.await? else {
            return Ok(None);
        };
        if let Some(holder) = took_over {
            self.emit(Event::TookOver { holder });
        }
        self.emit(Event::Begun);
        Ok(Some(LockedRun { locked, guard }))
    }

    async fn take_lock(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        locked: &Locked,
        records: Records,
    ) -> Result<Option<LockGuard>, Failure> {
        let fitted = self.fit(locked.record().clone(), records);
        let fitted = fitted.map_err(|error| unwritten(release, &error))?;
        if fitted.moves.is_empty() {
            return self.take(release, stored, fitted.record, records).await;
        }
        let before = match stored {
            // One that cannot be read is about to be replaced by its repaired self.
            Some(stored) => secret::read(stored).ok().map(|(record, _)| record),
            None => None,
        };
        if let Some(record) = all_in_place(fitted, before.as_ref()) {
            return self.take(release, stored, record, records).await;
        }
        let claim = locked.claim(before);
        let Some(guard) = self.take(release, stored, claim, records).await? else {
            return Ok(None);
        };
        match self.write(&guard, locked.record().clone()).await {
            Ok(()) => Ok(Some(guard)),
            Err(error) => Err(self.give_up(&guard, locked, error).await),
        }
    }

    /// Writes a record over the one that was read, without a lock: nothing else may be touched on
    /// the strength of it. None if it does not fit without moving something first; false if
    /// somebody else wrote it first.
    pub(crate) async fn write_unlocked(
        &self,
        release: &Release,
        stored: &StoredSecret,
        record: Record,
        records: Records,
    ) -> Result<Option<bool>, Failure> {
        let fitted = self.fit(record, records);
        let fitted = fitted.map_err(|error| unwritten(release, &error))?;
        let record = match fitted.moves.is_empty() {
            true => fitted.record,
            false => {
                let before = secret::read(stored).ok().map(|(record, _)| record);
                match all_in_place(fitted, before.as_ref()) {
                    Some(record) => record,
                    None => return Ok(None),
                }
            }
        };
        let content = secret::content(release, Some(stored), &record);
        let taken = self.put(release, Some(stored), &content).await?;
        Ok(Some(taken.is_some()))
    }

    async fn take(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        record: Record,
        records: Records,
    ) -> Result<Option<LockGuard>, Failure> {
        let content = secret::content(release, stored, &record);
        let sent = self.now();
        let Some(stored) = self.put(release, stored, &content).await? else {
            return Ok(None);
        };
        let guard = LockGuard::new(release.clone(), stored, record, records);
        guard.fence.extend(sent, &self.settings.timing);
        Ok(Some(guard))
    }

    /// Writes the Secret, bound to what it was. None if somebody else was faster.
    async fn put(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        content: &SecretContent,
    ) -> Result<Option<StoredSecret>, Failure> {
        let permit = self.permit();
        let written = match stored {
            None => self.backend.create_secret(content, permit).await,
            Some(stored) => {
                let version = &stored.resource_version;
                self.backend.replace_secret(content, version, permit).await
            }
        };
        match written.map_err(|error| unwritten(release, &error))? {
            WriteOutcome::Written(stored) => Ok(Some(*stored)),
            WriteOutcome::Lost => {
                // A repeated request may have met its own first attempt.
                let now = self
                    .backend
                    .get_secret(&content.namespace, &content.name)
                    .await;
                let now = now.map_err(|error| unwritten(release, &error))?;
                Ok(now.filter(|now| now.content.data == content.data))
            }
        }
    }

    /// The lock was claimed, but the intent could not be written down: nothing was touched, and
    /// the lock is given back.
    async fn give_up(&self, guard: &LockGuard, locked: &Locked, error: WriteError) -> Failure {
        let error = match error {
            WriteError::Lost => {
                let message = "the release's lock was lost before anything was done";
                return Failure::new(FailureKind::LockLost, message);
            }
            WriteError::Api(error) => error,
        };
        let mut failure = unwritten(&guard.release, &error);
        let ended = self.ended(LogResult::Failed, Some(failure.message.clone()), &[]);
        let record = locked.give_up(guard.record().await, &ended);
        if let Err(error) = self.write(guard, record).await {
            let warning = "the lock could not be released and expires by itself";
            let warning = match error {
                WriteError::Lost => warning.to_owned(),
                WriteError::Api(error) => format!("{warning}: {error}"),
            };
            failure.report.warnings.push(warning);
        }
        failure
    }
}

fn unwritten(release: &Release, error: &ApiError) -> Failure {
    let name = release.id.inventory_secret(&release.name);
    let what = format!("cannot write the release's record, Secret/{name}");
    let failure = Failure::before_writing(&what, error);
    match error.kind {
        ApiErrorKind::NamespaceMissing => {
            failure.remedy(Remedy::CreateNamespace(release.namespace.to_string()))
        }
        ApiErrorKind::TooLarge => failure.remedy(Remedy::KeepRecords),
        _ => failure,
    }
}
