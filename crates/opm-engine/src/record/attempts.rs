//! The frame of every use case that writes a release's record: wait for the lock, decide from
//! the record as it stands, begin, renew while working, write, let go.
//!
//! Losing the race for the record at `begin` means starting over from the load: a bounded number
//! of times, or for as long as the caller wants to wait for the lock. What a use case does in
//! between is its own.

use std::future::Future;
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

/// A use case that writes a release's record.
pub(crate) trait RecordWriter: Send {
    /// What it comes to.
    type Output: Send;

    /// How much of the record it has to read.
    const READING: Reading = Reading::Whole;

    /// What it needs beside the record; asked for while that is loaded.
    fn prepare(
        &mut self,
        _unrecorded: NoRecord,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async { Ok(()) }
    }

    /// Whether it writes at all: who only shows what would happen may always do so.
    fn writes(&self) -> bool {
        true
    }

    /// What the cluster serves, once that was asked for.
    fn served(&self) -> Option<&ServedKinds> {
        None
    }

    /// Whether it makes a record where there is none.
    fn creates(&self) -> bool {
        false
    }

    /// What was seen of a resource that may manage a release without a record, if anybody looked.
    fn seen_manager(&mut self) -> Option<ManagerState> {
        None
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
            prepared?;
            let mut record =
                record.map_err(|stopped| Failure::stopped("reading the record", stopped))??;
            if writer.writes() {
                let seen = writer.seen_manager();
                let checked = self.check_manager(release, &record, writer.served(), seen);
                let warning = Box::pin(checked).await?;
                // Who makes no record has nothing that a resource could come to manage.
                record.warnings.extend(warning.filter(|_| writer.creates()));
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
