//! Taking the lock: the first write of a run, with the intent in it.
//!
//! What is too large for the release's Secret moves out only under the lock: two runs that both
//! began to move would write over each other. So such a run claims the lock first, with nothing
//! but the lock in the write, and writes its intent down in a second one. Nothing is touched in
//! between.

use opm_core::protocol::Locked;
use opm_core::record::Record;
use opm_core::record::size::Records;

use super::hold::{LockGuard, WriteError};
use super::spill::all_in_place;
use super::{LoadedRecord, secret};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiError, Clock, Cluster, ErrorKind, SecretStore, StoredSecret, WriteOutcome};
use crate::report::Release;

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Writes a record with this run's lock and intent in it. None if somebody else was faster.
    pub(crate) async fn take_lock(
        &self,
        release: &Release,
        loaded: Option<&LoadedRecord>,
        locked: &Locked,
        records: Records,
    ) -> Result<Option<LockGuard>, Failure> {
        let fitted = self.fit(locked.record().clone(), records);
        let fitted = fitted.map_err(|error| unwritten(release, &error))?;
        let stored = loaded.map(|loaded| &loaded.stored);
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

    async fn take(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        record: Record,
        records: Records,
    ) -> Result<Option<LockGuard>, Failure> {
        let content = secret::content(release, stored, &record);
        let sent = self.now();
        let written = match stored {
            None => self.secrets.create(&content, &self.gate).await,
            Some(stored) => {
                let version = &stored.resource_version;
                self.secrets.replace(&content, version, &self.gate).await
            }
        };
        let stored = match written.map_err(|error| unwritten(release, &error))? {
            WriteOutcome::Written(stored) => *stored,
            WriteOutcome::Lost => {
                // A repeated request may have met its own first attempt.
                let now = self.secrets.get(&content.namespace, &content.name).await;
                let now = now.map_err(|error| unwritten(release, &error))?;
                match now.filter(|now| now.content.data == content.data) {
                    Some(stored) => stored,
                    None => return Ok(None),
                }
            }
        };
        let guard = self.hold(release.clone(), stored, record, sent, records);
        Ok(Some(guard))
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
        let result = opm_core::record::LogResult::Failed;
        let ended = self.ended(result, Some(failure.message.clone()), &[]);
        let record = locked.give_up(guard.record().await, &ended);
        if self.write(guard, record).await.is_err() {
            let warning = "the lock could not be released and expires by itself";
            failure.report.warnings.push(warning.to_owned());
        }
        failure
    }
}

fn unwritten(release: &Release, error: &ApiError) -> Failure {
    let name = release.id.inventory_secret(&release.name);
    let what = format!("cannot write the release's record, Secret/{name}");
    let failure = Failure::before_writing(&what, error);
    match error.kind {
        ErrorKind::NamespaceMissing => failure.hint("--create-namespace creates it"),
        ErrorKind::TooLarge => failure.hint(
            "with records (no --no-record, and the feature change-records), what does not fit \
             moves into Secrets of its own",
        ),
        _ => failure,
    }
}
