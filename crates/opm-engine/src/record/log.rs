//! Small writes of the log, by runs that do not hold the lock: what was refused, and what did not
//! become ready after it was recorded.
//!
//! They carry the version of the record that was read, and give up silently when somebody else
//! wrote meanwhile: whoever did has more to say.

use std::future::Future;

use opm_core::protocol::{LockAcquisition, RunStart, log_not_ready, log_refusal};
use opm_core::record::{LogEntry, Record};

use super::{LockGuard, WritableRecord, secret};
use crate::failure::{Failure, FailureKind};
use crate::ports::StoredSecret;
use crate::report::Release;
use crate::run::Run;

/// The record of a release that nobody else was writing when a run looked at it.
#[derive(Debug, Clone)]
pub(crate) struct FreeRecord(StoredSecret);

impl WritableRecord {
    /// None without a record, or where the lock is another's to take over.
    pub(crate) fn free(&self) -> Option<FreeRecord> {
        let loaded = self.loaded.as_ref();
        match self.acquisition {
            LockAcquisition::Free { .. } => loaded.map(|one| FreeRecord(one.stored.clone())),
            LockAcquisition::TakeOver(_) => None,
        }
    }
}

impl Run<'_> {
    /// Says in the log that checks refused a run, if that is what happened and the release has a
    /// record that nobody else writes.
    pub(crate) async fn log_if_refused(
        &self,
        release: &Release,
        free: Option<FreeRecord>,
        failure: Failure,
        start: impl Future<Output = RunStart>,
    ) -> Failure {
        if let (FailureKind::Refused, Some(FreeRecord(stored))) = (failure.kind, free) {
            let (start, reason) = (start.await, failure.for_the_log());
            let logged = |log: Vec<LogEntry>| log_refusal(log, &start, &reason);
            self.rewrite_log(release, &stored, logged).await;
        }
        failure
    }

    /// Says in the log that a run which recorded its change did not become ready in time.
    pub(crate) async fn log_not_ready(&self, guard: &LockGuard, lock_id: &str, reason: &str) {
        let stored = guard.stored().await;
        let now = self.server_now();
        let logged =
            |mut log: Vec<LogEntry>| log_not_ready(&mut log, lock_id, reason, now).then_some(log);
        self.rewrite_log(&guard.release, &stored, logged).await;
    }

    async fn rewrite_log(
        &self,
        release: &Release,
        stored: &StoredSecret,
        logged: impl FnOnce(Vec<LogEntry>) -> Option<Vec<LogEntry>>,
    ) {
        let Ok((record, _)) = secret::read(stored) else {
            return;
        };
        let Some(log) = logged(record.log.clone()) else {
            return;
        };
        let record = Record { log, ..record };
        let content = secret::content(release, Some(stored), &record);
        let version = &stored.resource_version;
        let written = self
            .backend
            .replace_secret(&content, version, self.permit());
        if let Err(error) = written.await {
            tracing::debug!(%error, "the log could not be written");
        }
    }
}
