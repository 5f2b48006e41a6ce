//! The frame of every use case that writes a release's record: wait for the lock, decide from
//! the record as it stands, begin, renew while working, write, let go.
//!
//! Losing the race for the record at `begin` means starting over from the load: a bounded number
//! of times, or for as long as the caller wants to wait for the lock. What a use case does in
//! between is its own.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use opm_core::managed::ManagerState;
use opm_core::protocol::{Partial, RunEnd};
use opm_core::record::{LogResult, RecordRef};

use super::{LockGuard, Reading, WritableRecord, WriteError};
use crate::failure::{Failure, FailureKind};
use crate::ports::ServedKinds;
use crate::report::Release;
use crate::run::Run;

/// How often everything starts over at once because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

/// How long those rest who have lost the race so often and want to wait.
const REST: Duration = Duration::from_secs(1);

/// What became of one attempt.
pub(crate) enum Attempt<T> {
    /// It was carried out, or there was nothing to carry out.
    Done(T),
    /// Somebody else wrote the record first, or what was in the way is gone: once more.
    Again,
}

/// Comes as soon as there is no record under the release's name, and fails where there is one. One
/// under another name may still be found.
pub(crate) type NoRecord = oneshot::Receiver<()>;

/// What a use case does with the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordAccess {
    /// Shows what would happen, which everybody may.
    Show,
    /// Changes the one that is there.
    Change,
    /// Makes one where there is none.
    Create,
}

impl RecordAccess {
    /// That of a use case that changes the record, unless it is a dry run.
    pub(crate) fn to_change(dry_run: bool) -> Self {
        match dry_run {
            true => Self::Show,
            false => Self::Change,
        }
    }
}

/// What was found out while the record was loaded.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// What the cluster serves.
    pub(crate) served: Option<Arc<ServedKinds>>,
    /// What there is of a resource that may manage a release without a record.
    pub(crate) manager: Option<ManagerState>,
}

/// A use case that writes a release's record.
pub(crate) trait RecordWriter: Send {
    /// What it comes to.
    type Output: Send;

    /// How much of the record it has to read.
    const READING: Reading = Reading::Whole;

    /// What it does with the record.
    fn access(&self) -> RecordAccess {
        RecordAccess::Change
    }

    /// What it needs beside the record; asked for while that is loaded.
    fn prepare(
        &mut self,
        _unrecorded: NoRecord,
    ) -> impl Future<Output = Result<Prepared, Failure>> + Send {
        async { Ok(Prepared::default()) }
    }

    /// Decides from the record as it stands, begins, works, writes and lets go.
    fn attempt(
        &mut self,
        record: WritableRecord,
    ) -> impl Future<Output = Result<Attempt<Self::Output>, Failure>> + Send;
}

impl Run<'_> {
    /// Attempts to write a release's record until nobody else is faster. Who waits for the lock
    /// with others may lose the race for it many times.
    pub(crate) async fn write_release<W: RecordWriter>(
        &self,
        release: &Release,
        lock_timeout: Duration,
        writer: &mut W,
    ) -> Result<W::Output, Failure> {
        let started = self.backend.monotonic();
        let mut attempts = 0;
        let unpacked = self.unpacked.used();
        loop {
            self.unpacked.give_back_to(unpacked);
            let (absent, unrecorded) = oneshot::channel();
            let loading = async {
                *self.absent.lock().await = Some(absent);
                let loading = self.wait_for_lock(release, W::READING, lock_timeout);
                let loaded = Box::pin(self.unless_stopped(self.permit(), loading)).await;
                // Nobody has to wait for it any more.
                self.absent.lock().await.take();
                loaded
            };
            let preparing = writer.prepare(unrecorded);
            let (prepared, record) = futures::join!(Box::pin(preparing), Box::pin(loading));
            let prepared = prepared?;
            let mut record =
                record.map_err(|stopped| Failure::stopped("reading the record", stopped))??;
            let access = writer.access();
            if access != RecordAccess::Show {
                let checked = self.check_manager(release, &record, prepared);
                let warning = Box::pin(checked).await?;
                // Who makes no record has nothing that a resource could come to manage.
                let warning = warning.filter(|_| access == RecordAccess::Create);
                record.warnings.extend(warning);
            }
            // On the heap: an attempt is the whole of a use case, and a thread's stack is small.
            if let Attempt::Done(output) = Box::pin(writer.attempt(record)).await? {
                return Ok(output);
            }
            attempts += 1;
            if attempts < ATTEMPTS {
                continue;
            }
            let waited = self.backend.monotonic().0.saturating_sub(started.0);
            if waited >= lock_timeout {
                return Err(Failure::overtaken(&release.name));
            }
            let rest = self.backend.sleep(REST);
            let rested = self.unless_stopped(self.permit(), rest).await;
            rested.map_err(|stopped| Failure::stopped("waiting for the lock", stopped))?;
        }
    }

    /// Lets go of the lock after something went wrong: the intent stays, nothing is recorded.
    pub(crate) async fn let_go(
        &self,
        partial: Partial,
        guard: &LockGuard,
        failure: Failure,
    ) -> Failure {
        self.let_go_with(partial, guard, failure, None).await
    }

    /// The same, where the manifests of the run are kept.
    pub(crate) async fn let_go_with(
        &self,
        partial: Partial,
        guard: &LockGuard,
        mut failure: Failure,
        kept: Option<RecordRef>,
    ) -> Failure {
        let result = match failure.kind {
            FailureKind::Interrupted => LogResult::Interrupted,
            _ => LogResult::Failed,
        };
        let reason = failure.for_the_log();
        let ended = RunEnd {
            record: kept,
            ..self.ended(result, Some(reason), &failure.report.resources)
        };
        let record = partial.release(&ended, &self.settings.timing);
        failure.report.take_tracked(&record);
        let written = match ended.record {
            Some(_) => self.write_and_sweep(guard, record).await,
            None => self.write(guard, record).await,
        };
        if let Err(error) = written {
            failure = not_let_go(error, failure);
        }
        failure.report.warnings.extend(self.backend.take_warnings());
        failure
    }
}

/// The failure stands; that the record could not be written comes on top.
pub(crate) fn not_let_go(error: WriteError, mut failure: Failure) -> Failure {
    match error {
        WriteError::Lost => {
            if failure.kind != FailureKind::Interrupted {
                failure.kind = FailureKind::LockLost;
            }
            failure.message = format!("{}; and the release's lock was lost", failure.message);
        }
        WriteError::Api(error) => failure.report.warnings.push(format!(
            "the release's record could not be written, its lock expires by itself: {error}"
        )),
    }
    failure
}
